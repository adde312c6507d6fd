// One place that knows both, so that bench and verify treat them alike.
#include "measure/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/error.h"

// What opening a set warns of, said once for all that are opened one after the other.
static void warn(void) {
    static char said[512];
    if (!*tmagen_warning_last() || !strncmp(said, tmagen_warning_last(), sizeof said - 1)) return;
    snprintf(said, sizeof said, "%s", tmagen_warning_last());
    fprintf(stderr, "tmagen: warning: %s\n", said);
}

static int open_set(tmagen_device *device, const struct kernel_text *text, tmagen_set **set) {
    const struct table_text *table = text->table;
    tmagen_set_kernel *kernels = calloc(table->count + 1, sizeof *kernels);
    if (!kernels) return tmg_fail_memory();
    for (size_t i = 0; i < table->count; ++i)
        kernels[i] = (tmagen_set_kernel){.name = table->kernels[i].name,
                                         .manifest_text = table->kernels[i].manifest,
                                         .source_text = table->kernels[i].source,
                                         .lines = table->kernels[i].lines,
                                         .line_count = table->kernels[i].line_count};
    const tmagen_set_options options = {.flags = TMAGEN_SET_COMPILE,
                                        .table_text = table->text,
                                        .kernels = kernels,
                                        .kernel_count = table->count};
    const int status = tmagen_set_open(device, text->name, &options, set);
    free(kernels);
    if (status == TMAGEN_OK) warn();
    return status;
}

int target_load(tmagen_device *device, const struct kernel_text *text, struct target *target) {
    *target = (struct target){NULL, NULL};
    return text->table ? open_set(device, text, &target->set)
                       : kernel_load(device, text, &target->kernel);
}

void target_unload(struct target *target) {
    tmagen_kernel_unload(target->kernel);
    tmagen_set_close(target->set);
    *target = (struct target){NULL, NULL};
}

bool target_loaded(const struct target *target) { return target->kernel || target->set; }

const struct tmg_manifest *target_manifest(const struct target *target) {
    return target->set ? tmg_set_interface(target->set) : tmg_kernel_manifest(target->kernel);
}

int target_launch(const struct target *target, void *stream, const tmagen_launch *launch) {
    return target->set ? tmagen_set_launch(target->set, stream, launch)
                       : tmagen_kernel_launch(target->kernel, stream, launch);
}

int target_prepare(const struct target *target, const tmagen_launch *launch) {
    return target->set ? tmg_set_prepare(target->set, launch)
                       : tmg_kernel_prepare(target->kernel, launch);
}

int target_pick(const struct target *target, const tmagen_launch *launch,
                struct tmg_picked *picked) {
    if (target->set) return tmg_set_picked(target->set, launch, picked);
    *picked = (struct tmg_picked){.manifest = tmg_kernel_manifest(target->kernel)};
    return tmg_kernel_layout(target->kernel, launch, &picked->layout);
}

void target_name_pick(const struct target *target, const struct tmg_picked *picked, char *text,
                      size_t size) {
    *text = 0;
    if (!target->set || !picked->manifest) return;
    snprintf(text, size, "%s", picked->manifest->name);
    if (picked->splits > 1) snprintf(text, size, "%s/%d", picked->manifest->name, picked->splits);
}

// What choosing by shape costs: launches of a set and of the kernel that it takes, in alternating
// batches, whose difference is the look-up; and rankings of shapes that were never asked for.
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "measure/overhead.h"
#include "measure/random.h"
#include "measure/stats.h"
#include "measure/watchdog.h"
#include "runtime/error.h"
#include "runtime/seconds.h"

enum { BATCHES = 200, CALLS = 200, OPENINGS = 20, SHAPES = 2000, LARGEST = 64, STEP = 64 };

struct set_figures {
    struct stats set_us, kernel_us, extra_us;  // of one launch; the difference batch by batch
    struct stats new_us;                       // of a choice for a new shape
    struct stats open_us;                      // from the texts to the first choice
};

// A batch of launches of [target]; returns microseconds a launch, or -1.
static double batch(struct gpu *gpu, const struct target *target, const tmagen_launch *launch) {
    int status = TMAGEN_OK;
    const double begin = tmg_seconds();
    for (int i = 0; i < CALLS && status == TMAGEN_OK; ++i)
        status = target_launch(target, gpu->stream, launch);
    const double end = tmg_seconds();
    return gpu_wait(gpu) == TMAGEN_OK && status == TMAGEN_OK ? (end - begin) / CALLS * 1e6 : -1;
}

static int time_seen(struct gpu *gpu, const struct target *set, const tmagen_launch *launch,
                     struct set_figures *figures) {
    double by_set[BATCHES], by_kernel[BATCHES], extra[BATCHES];
    struct tmg_choice choice;
    struct target kernel = {NULL, NULL};
    int status =
        tmg_set_pick(set->set, launch, (int64_t)launch->workspace_bytes, &choice, &kernel.kernel);
    tmagen_launch own = *launch;
    if (status == TMAGEN_OK) own.splits = choice.splits;
    for (int i = -5; i < BATCHES && status == TMAGEN_OK; ++i) {
        const double chosen = batch(gpu, set, launch), bare = batch(gpu, &kernel, &own);
        if (chosen < 0 || bare < 0) status = tmg_fail(TMAGEN_ERROR_DEVICE, "a launch failed");
        if (i >= 0) by_set[i] = chosen, by_kernel[i] = bare, extra[i] = chosen - bare;
    }
    if (status != TMAGEN_OK) return status;
    figures->set_us = stats_of(by_set, BATCHES);
    figures->kernel_us = stats_of(by_kernel, BATCHES);
    figures->extra_us = stats_of(extra, BATCHES);
    return TMAGEN_OK;
}

// Asks for a shape that nobody asked for yet.
static int choose(const struct target *set, const int64_t *sizes) {
    const struct tmg_table *table = set->set->table;
    struct tmg_choice choices[TMG_CHOICES];
    struct tmg_asked asked;
    unsigned count;
    tmg_ask_at(&asked, table->interface, table->dims, sizes, table->dim_count);
    return tmg_set_choose(set->set, &asked.launch, -1, TMG_PICKED, choices, &count);
}

// Chooses for shapes of random sizes, each once.
static int time_new(const struct target *set, uint64_t seed, struct set_figures *figures) {
    const struct tmg_table *table = set->set->table;
    static double us[SHAPES];
    for (uint64_t i = 0; i < SHAPES; ++i) {
        int64_t sizes[TMG_MAX_TABLE_DIMS];
        for (unsigned j = 0; j < table->dim_count; ++j)
            sizes[j] =
                (int64_t)(STEP * (1 + random_below(seed, i * table->dim_count + j, LARGEST)));
        const double begin = tmg_seconds();
        const int status = choose(set, sizes);
        us[i] = (tmg_seconds() - begin) * 1e6;
        if (status != TMAGEN_OK) return status;
    }
    figures->new_us = stats_of(us, SHAPES);
    return TMAGEN_OK;
}

static int time_open(struct gpu *gpu, const struct kernel_text *text, struct set_figures *figures) {
    double us[OPENINGS];
    const int64_t sizes[TMG_MAX_TABLE_DIMS] = {STEP, STEP, STEP, STEP, STEP, STEP, STEP, STEP};
    for (int i = 0; i < OPENINGS; ++i) {
        struct target set;
        const double begin = tmg_seconds();
        int status = target_load(gpu->device, text, &set);
        if (status != TMAGEN_OK) return status;
        status = choose(&set, sizes);
        us[i] = (tmg_seconds() - begin) * 1e6;
        target_unload(&set);
        if (status != TMAGEN_OK) return status;
    }
    figures->open_us = stats_of(us, OPENINGS);
    return TMAGEN_OK;
}

static int measure(struct gpu *gpu, struct rotation_source *source, const struct kernel_text *text,
                   const struct target *set, struct set_figures *figures) {
    const struct tmg_manifest *manifest = target_manifest(set);
    tmagen_tensor tensors[TMG_MAX_TENSORS];
    tmagen_launch launch = {.tensors = tensors, .tensor_count = manifest->tensor_count};
    struct rotation rotation = {0};
    struct reference reference;
    int status = reference_open(manifest, &text->reference, gpu->device, &reference);
    if (status == TMAGEN_OK)
        status = rotation_smallest(gpu, source, manifest, &reference, &rotation, tensors);
    watchdog_step("%s: launches", text->name);
    if (status == TMAGEN_OK)
        status = tmagen_set_workspace(set->set, &launch, &launch.workspace_bytes);
    if (status == TMAGEN_OK)
        status = tmagen_memory_alloc(gpu->device, launch.workspace_bytes, &launch.workspace);
    if (status == TMAGEN_OK) status = time_seen(gpu, set, &launch, figures);
    watchdog_step("%s: choices", text->name);
    if (status == TMAGEN_OK) status = time_new(set, source->seed, figures);
    if (status == TMAGEN_OK) status = time_open(gpu, text, figures);
    tmagen_memory_free(gpu->device, launch.workspace);
    rotation_free(gpu, &rotation);
    reference_close(&reference);
    return status;
}

static void print(const char *name, const struct set_figures *f, bool json) {
    if (!json) {
        printf("%s: launch %.3f us, of the kernel alone %.3f us, difference %+.3f us; choice for a "
               "new shape %.2f us; from opening to the first %.2f ms\n",
               name, f->set_us.median, f->kernel_us.median, f->extra_us.median, f->new_us.median,
               f->open_us.median / 1000);
        return;
    }
    json_t *object =
        json_pack("{ss sf sf sf sf sf}", "name", name, "launch_us", f->set_us.median,
                  "kernel_launch_us", f->kernel_us.median, "extra_us", f->extra_us.median,
                  "new_shape_us", f->new_us.median, "open_us", f->open_us.median);
    char *line = object ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(6)) : NULL;
    if (line) puts(line);
    free(line);
    json_decref(object);
}

int overhead_set(struct gpu *gpu, struct rotation_source *source, const struct kernel_text *text,
                 bool json) {
    struct set_figures figures;
    struct target set;
    int status = target_load(gpu->device, text, &set);
    if (status == TMAGEN_OK) {
        status = measure(gpu, source, text, &set, &figures);
        if (status == TMAGEN_OK) print(text->name, &figures, json);
        target_unload(&set);
    }
    if (status != TMAGEN_OK) kernel_complain(text->name);
    return status;
}

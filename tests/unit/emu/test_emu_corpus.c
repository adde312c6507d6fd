// Bugs planted in kernels that are otherwise right, as tests/emu/bugs.txt lists them: each must be
// reported by its class and at its line, and the kernels as they are must not be reported at all.
// TMAGEN_SEEDS is the number of orders that each is run in; ONLY_BUG=N runs bugs of that number.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen/generate.h"
#include "measure/random.h"
#include "runtime/device.h"
#include "runtime/kernel.h"
#include "runtime/manifest.h"
#include "runtime/whole_file.h"

enum {
    BUGS = 128,
    CHANGES = 4,
    TABLE_BYTES = 1 << 18,
    SOURCE_BYTES = 1 << 20,
    TITLE = 160,
    BLOCK = 1 << 20
};
static const uint8_t poison = 0xff;

// One bug: what to change in which kernel, and what must come of it. Texts point into the table.
struct bug {
    char title[TITLE];
    const char *kernel;  // tests/emu/NAME or out/NAME, whose .cu and .json exist; or a spec's text
    const char *class_;  // of the report, or "unwritten" or "wrong" of the output; "sound"
    const char *at;      // a part of the line that the report names
    const char *cause;   // a part of another line that it names; "" for none
    const char *seeds;   // "all" or "any" of them must show it, or all of that many
    const char *memory;  // "one": all tensors lie in one allocation, with gaps
    const char *next;    // the tensor as which a second launch reads the last one of the first
    int64_t shape[TMG_MAX_DIMS];
    int dims;
    struct change {
        const char *old, *new;
        bool in_manifest;
    } changes[CHANGES];
    int change_count;
};

// A kernel, loaded, with its tensors on the device.
struct loaded_kernel {
    tmagen_device *device;
    tmagen_kernel *kernel;
    char *source, *manifest;
    const struct tmg_manifest *read;
    tmagen_tensor tensors[TMG_MAX_TENSORS];
    size_t bytes[TMG_MAX_TENSORS];
    tmagen_dim dims[TMG_MAX_DIMS];
    tmagen_launch launch;
    tmagen_address block;      // where tensors share one allocation: BLOCK bytes each
    tmagen_address elsewhere;  // room for the last tensor of a next launch
    uint8_t *outputs;          // of the latest launch, one after the other
    size_t output_bytes;
};

// ---- The table

static char *table;

// Cuts the next "key: value" line off *at; "\n" in a value becomes a line's end. NULL at the end.
static char *next_field(char **at, char **value) {
    while (**at) {
        char *line = *at, *end = line + strcspn(line, "\n");
        *at = *end ? end + 1 : end;
        *end = 0;
        char *colon = strstr(line, ": ");
        if (*line == '#' || !colon) continue;
        *colon = 0;
        *value = colon + 2;
        for (char *escape = *value; (escape = strstr(escape, "\\n")); ++escape) {
            *escape = '\n';
            memmove(escape + 1, escape + 2, strlen(escape + 2) + 1);
        }
        return line;
    }
    return NULL;
}

static void set_field(struct bug *bug, const char *key, char *value) {
    if (!strcmp(key, "kernel")) bug->kernel = value;
    if (!strcmp(key, "class")) bug->class_ = value;
    if (!strcmp(key, "at")) bug->at = value;
    if (!strcmp(key, "cause")) bug->cause = value;
    if (!strcmp(key, "seeds")) bug->seeds = value;
    if (!strcmp(key, "memory")) bug->memory = value;
    if (!strcmp(key, "next")) bug->next = value;
    if (!strcmp(key, "by")) bug->changes[bug->change_count - 1].new = value;
    if (!strcmp(key, "replace") || !strcmp(key, "replace in manifest")) {
        assert_true(bug->change_count < CHANGES);
        bug->changes[bug->change_count++] = (struct change){value, NULL, key[7] != 0};
    }
    if (strcmp(key, "shape") != 0) return;
    for (char *at = value; *at; at += strspn(at, " "))
        bug->shape[bug->dims++] = strtoll(at, &at, 10);
}

// Each "N: title" begins a bug.
static int read_table(struct bug *bugs) {
    char *value, *key;
    size_t bytes;
    int count = 0;
    if (tmg_file_read("tests/emu/bugs.txt", TABLE_BYTES, &table, &bytes)) return 0;
    for (char *at = table; (key = next_field(&at, &value));) {
        if (!isdigit((unsigned char)*key)) {
            if (count) set_field(&bugs[count - 1], key, value);
        } else if (count < BUGS) {
            bugs[count] = (struct bug){.seeds = "all", .class_ = "sound", .at = "", .cause = ""};
            snprintf(bugs[count++].title, TITLE, "%s %s", key, value);
        }
    }
    return count;
}

// ---- Planting

static char *read_file(const char *kernel, const char *ending) {
    char path[256], *text;
    size_t bytes;
    snprintf(path, sizeof path, "%s%s", kernel, ending);
    if (tmg_file_read(path, SOURCE_BYTES, &text, &bytes)) fail_msg("%s", tmagen_error_last());
    return text;
}

static void generate(const char *spec, char **source, char **manifest) {
    struct gen_options options;
    struct gen_result result;
    gen_options_init(&options);
    if (gen_text("planted.yaml", spec, &options, &result)) fail_msg("%s", spec);
    *source = strdup(result.outputs[0].source);
    *manifest = strdup(result.outputs[0].manifest);
    assert_true(*source && *manifest);
    gen_result_free(&result);
    gen_options_free(&options);
}

static void read_kernel(const char *kernel, char **source, char **manifest) {
    if (*kernel == '{') {
        generate(kernel, source, manifest);
        return;
    }
    *source = read_file(kernel, ".cu");
    *manifest = read_file(kernel, ".json");
}

// *text with the first [old] replaced; it must be there, or the table has grown old.
static void change(char **text, const char *old, const char *new) {
    char *found = strstr(*text, old);
    if (!found) fail_msg("the kernel has no '%s'", old);
    const size_t before = (size_t)(found - *text), size = strlen(*text) + strlen(new) + 1;
    char *changed = malloc(size);
    assert_non_null(changed);
    snprintf(changed, size, "%.*s%s%s", (int)before, *text, new, found + strlen(old));
    free(*text);
    *text = changed;
}

// ---- Running

static void need(int status) {
    if (status) fail_msg("%s", tmagen_error_last());
}

// Room for tensor [i], with random contents where the kernel reads it.
static void make_tensor(struct loaded_kernel *run, const struct bug *bug, unsigned i) {
    const struct tmg_tensor *declared = &run->read->tensors[i];
    tmagen_tensor *tensor = &run->tensors[i];
    *tensor = (tmagen_tensor){.name = declared->name, .rank = declared->rank};
    size_t count = 1;
    for (int axis = 0; axis < declared->rank; ++axis) {
        const struct tmg_extent *extent = &declared->dims[axis];
        tensor->dims[axis] =
            extent->plus + (extent->dim < 0 ? 0 : extent->times * bug->shape[extent->dim]);
        count *= (size_t)tensor->dims[axis];
    }
    const struct tmg_dtype *dtype = &tmg_dtypes[declared->dtype];
    run->bytes[i] = count * dtype->bits / 8;
    if (declared->writes) run->output_bytes += run->bytes[i];
    if (bug->memory)
        tensor->data = run->block + i * BLOCK;
    else
        need(tmagen_memory_alloc(run->device, run->bytes[i], &tensor->data));
    if (!declared->reads) return;
    void *data = malloc(run->bytes[i]);
    assert_non_null(data);
    assert_int_equal(random_normal(declared->dtype, data, count, i), 0);
    need(tmagen_memory_upload(run->device, tensor->data, data, run->bytes[i]));
    free(data);
}

static void make_workspace(struct loaded_kernel *run) {
    size_t bytes;
    need(tmagen_kernel_workspace(run->kernel, &run->launch, &bytes));
    need(tmagen_memory_alloc(run->device, bytes, &run->launch.workspace));
    run->launch.workspace_bytes = bytes;
}

// A source with a bug in it is not the one that the manifest names.
static void forget_source(char *manifest) {
    char *at = strstr(manifest, "\"source_sha256\"");
    if (at) memset(at, ' ', strcspn(at, "\n"));
}

// Loads the bug's kernel, changed or as it is. The first order is that of seed 0.
static void start(struct loaded_kernel *run, const struct bug *bug, bool planted) {
    *run = (struct loaded_kernel){0};
    read_kernel(bug->kernel, &run->source, &run->manifest);
    for (int i = 0; planted && i < bug->change_count; ++i)
        change(bug->changes[i].in_manifest ? &run->manifest : &run->source, bug->changes[i].old,
               bug->changes[i].new);
    if (planted) forget_source(run->manifest);
    const tmagen_load_options options = {.source_text = run->source,
                                         .manifest_text = run->manifest};
    need(tmagen_device_open("emu", &run->device));
    need(tmagen_kernel_load(run->device, bug->kernel, &options, &run->kernel));
    run->read = tmg_kernel_manifest(run->kernel);
    assert_int_equal(run->read->dim_count, bug->dims);
    for (unsigned i = 0; i < run->read->dim_count; ++i)
        run->dims[i] = (tmagen_dim){run->read->dims[i].name, bug->shape[i]};
    if (bug->memory)
        need(tmagen_memory_alloc(run->device, run->read->tensor_count * BLOCK, &run->block));
    for (unsigned i = 0; i < run->read->tensor_count; ++i) make_tensor(run, bug, i);
    run->launch = (tmagen_launch){.tensors = run->tensors,
                                  .tensor_count = run->read->tensor_count,
                                  .dims = run->dims,
                                  .dim_count = run->read->dim_count};
    make_workspace(run);
    const size_t last = run->bytes[run->read->tensor_count - 1];
    if (bug->next) need(tmagen_memory_alloc(run->device, last, &run->elsewhere));
    run->outputs = malloc(run->output_bytes + 1);
    assert_non_null(run->outputs);
}

static void stop(struct loaded_kernel *run) {
    tmagen_kernel_unload(run->kernel);
    tmagen_device_close(run->device);
    free(run->source);
    free(run->manifest);
    free(run->outputs);
}

// Launches, and once more where the bug has a next launch: that may overlap the first, reads as
// [next] what it wrote as its last tensor, and writes elsewhere.
static int launch_all(struct loaded_kernel *run, const char *next) {
    const unsigned last = run->read->tensor_count - 1;
    const int status = tmagen_kernel_launch(run->kernel, NULL, &run->launch);
    tmagen_tensor tensors[TMG_MAX_TENSORS];
    tmagen_launch again = run->launch;
    if (!next || status) return status;
    memcpy(tensors, run->tensors, sizeof tensors);
    again.tensors = tensors;
    again.flags = TMAGEN_LAUNCH_OVERLAP;
    for (unsigned i = 0; i < last; ++i)
        if (!strcmp(tensors[i].name, next)) tensors[i].data = tensors[last].data;
    tensors[last].data = run->elsewhere;
    return tmagen_kernel_launch(run->kernel, NULL, &again);
}

// Launches on outputs that count as never written. Returns the reports.
static const char *launch(struct loaded_kernel *run, const struct bug *bug) {
    uint8_t *at = run->outputs;
    for (unsigned i = 0; i < run->read->tensor_count; ++i)
        if (run->read->tensors[i].writes && !run->read->tensors[i].reads)
            need(tmg_memory_poison(run->device, run->tensors[i].data, poison, run->bytes[i]));
    const int status = launch_all(run, bug->next);
    const char *reports = tmagen_device_reports(run->device);
    if (status && !*reports) fail_msg("%s", tmagen_error_last());
    for (unsigned i = 0; i < run->read->tensor_count; ++i) {
        if (!run->read->tensors[i].writes) continue;
        need(tmagen_memory_download(run->device, at, run->tensors[i].data, run->bytes[i]));
        at += run->bytes[i];
    }
    return reports;
}

// ---- Judging

// True where line [number] of [source], from 1, has [part] in it.
static bool line_has(const char *source, long number, const char *part) {
    for (; number > 1 && *source; --number) {
        source += strcspn(source, "\n");
        source += *source == '\n';
    }
    const size_t len = strcspn(source, "\n");
    return number == 1 && (!*part || memmem(source, len, part, strlen(part)));
}

// True where the place at [text], "x.cu:365, in 258, in 151", names a line with [part] in it.
static bool place_has(const char *source, const char *text, const char *part) {
    char *rest;
    bool has = line_has(source, strtol(text, &rest, 10), part);
    while (!strncmp(rest, ", in ", 5)) has |= line_has(source, strtol(rest + 5, &rest, 10), part);
    return has;
}

// True where the report at [text], up to [end], names a line with [part] in it: the first place
// that it names, or [any].
static bool names_line(const struct loaded_kernel *run, const char *part, bool any,
                       const char *text, const char *end) {
    for (; (text = strstr(text, ".cu:")) && text < end; ++text) {
        if (place_has(run->source, text + 4, part)) return true;
        if (!any) return false;
    }
    return false;
}

// Where the causes of a deadlock end, and the picture of everyone who stands still begins.
static const char *causes_end(const char *text, const char *end) {
    static const char last[] = " waits for it at ";
    const char *found = text;
    for (const char *at = text; (at = strstr(at, last)) && at < end; ++at) found = strchr(at, '\n');
    return found ? found : end;
}

// True where the report names the bug's line: where the fault is, that is the first place; of a
// deadlock, where one of its causes is waited for.
static bool names_bug(const struct loaded_kernel *run, const struct bug *bug, const char *text,
                      const char *end) {
    const bool hangs = !strcmp(bug->class_, "deadlock");
    const char *last = hangs ? causes_end(text, end) : end;
    return (!*bug->at || names_line(run, bug->at, hangs, text, last)) &&
           (!*bug->cause || names_line(run, bug->cause, true, text, end));
}

// True where one of the reports is of the bug's class and names its line.
static bool is_reported(const struct loaded_kernel *run, const struct bug *bug,
                        const char *reports) {
    const size_t len = strlen(bug->class_);
    for (const char *end; (end = strstr(reports, "\n\n")); reports = end + 2)
        if (!strncmp(reports, bug->class_, len) && !strncmp(reports + len, " in ", 4) &&
            names_bug(run, bug, reports, end))
            return true;
    return false;
}

// What is wrong with the output, in the words of bug.class_; "sound" where nothing is.
static const char *judge_output(const struct loaded_kernel *run, const uint8_t *right) {
    bool wrong = false;
    for (size_t i = 0; i + 2 <= run->output_bytes; i += 2) {
        if (!memcmp(run->outputs + i, right + i, 2)) continue;
        if (run->outputs[i] == poison && run->outputs[i + 1] == poison) return "unwritten";
        wrong = true;
    }
    return wrong ? "wrong" : "sound";
}

// A sanitizer build looks for our own faults and is slow: a few orders will do, whatever they show.
static bool sanitized(void) { return getenv("SANITIZED") != NULL; }

static bool any_order(const struct bug *bug) { return !strcmp(bug->seeds, "any"); }

// What any order may show is looked for longer than what all of them must.
static int seed_count(const struct bug *bug) {
    const char *text = getenv("TMAGEN_SEEDS");
    const int own = any_order(bug) ? 20 : atoi(bug->seeds);
    const int count = text ? atoi(text) : sanitized() ? 2 : own ? own : 6;
    return count > 0 ? count : 1;
}

static int seeds_wanted(const struct bug *bug) {
    if (!any_order(bug)) return seed_count(bug);
    return sanitized() ? 0 : 1;
}

// What a kernel gives as it is; bugs are planted in the same one many times.
static struct sound {
    const struct bug *bug;  // the first of that kernel and shape
    uint8_t *outputs;
} sound[BUGS + 1];

static bool of_one_kernel(const struct bug *a, const struct bug *b) {
    return !strcmp(a->kernel, b->kernel) && !a->next == !b->next &&
           !memcmp(a->shape, b->shape, sizeof a->shape);
}

// Runs the kernel as it is, once: no report under any seed. Returns its output.
static const uint8_t *run_sound(const struct bug *bug) {
    struct loaded_kernel run;
    struct sound *is = sound;
    for (; is->bug; ++is)
        if (of_one_kernel(is->bug, bug)) return is->outputs;
    start(&run, bug, false);
    for (int seed = 0; seed < seed_count(&(struct bug){.seeds = "all"}); ++seed) {
        const char *reports = launch(&run, bug);
        if (*reports) fail_msg("without the bug, seed %d:\n%s", seed, reports);
    }
    *is = (struct sound){bug, run.outputs};
    run.outputs = NULL;
    stop(&run);
    return is->outputs;
}

static void test_bug(void **state) {
    const struct bug *bug = *state;
    struct loaded_kernel run;
    const bool any = any_order(bug);
    char *other = NULL;
    int shown = 0;
    const uint8_t *right = run_sound(bug);
    start(&run, bug, true);
    // of a bug that any order may show the others say nothing
    for (int seed = 0; seed < seed_count(bug) && !(any && shown); ++seed) {
        const char *reports = launch(&run, bug);
        const bool hit = *reports ? is_reported(&run, bug, reports)
                                  : !strcmp(judge_output(&run, right), bug->class_);
        shown += hit;
        if (!hit && !other) other = strdup(*reports ? reports : judge_output(&run, right));
    }
    if (shown < seeds_wanted(bug))
        fail_msg("%s: shown as '%s' at '%s' by %d of %d seeds; another shows:\n%.3000s", bug->title,
                 bug->class_, bug->at, shown, seed_count(bug), other);
    free(other);
    stop(&run);
}

int main(void) {
    static struct bug bugs[BUGS];
    static struct CMUnitTest tests[BUGS];
    char compiler[512];
    const char *only = getenv("ONLY_BUG");
    const int count = read_table(bugs);
    size_t tests_count = 0;
    if (tmagen_compiler_describe(compiler, sizeof compiler)) return puts("no NVRTC"), 0;
    if (getenv("KERNELS")) setenv("TMAGEN_CACHE", getenv("KERNELS"), 1);
    for (int i = 0; i < count; ++i)
        if (!only || !strncmp(bugs[i].title, only, strlen(only)))
            tests[tests_count++] =
                (struct CMUnitTest){bugs[i].title, test_bug, NULL, NULL, &bugs[i]};
    const int failed = _cmocka_run_group_tests("emu_corpus", tests, tests_count, NULL, NULL);
    for (struct sound *is = sound; is->bug; ++is) free(is->outputs);
    free(table);
    return failed;
}

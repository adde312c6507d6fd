// What a dispatch table lacks: which launches of other kernels the model holds much faster than all
// of the table's, at shapes of which nothing need be measured. The model errs by less than such a
// gap: of six launches that it held a tenth ahead four were 1.05 to 1.26 times as fast on an H200,
// and two as fast (out/EXPERIMENTS.md). No GPU is asked.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/columns.h"
#include "measure/reference.h"
#include "measure/tune.h"
#include "runtime/error.h"

// A shape counts for a launch from so much faster on; what is hardly faster adds little.
static const double counts_from = 1.03;

struct launch {
    const struct tmg_manifest *manifest;
    const struct reference *reference;
    const char *name;
    int splits;
    float *us;  // at each shape; INFINITY: not taken
};

struct lack {
    const struct shape_list *shapes;
    const struct predict_gpu *gpu;
    struct launch *launches;
    size_t count, capacity;
    float *best;  // at each shape, of what the table has or has been given
};

static double predicted(const struct lack *lack, const struct launch *launch,
                        const struct shape *shape) {
    int64_t dims[TMG_MAX_DIMS];
    char error[160];
    struct tmg_estimate estimate;
    if (!shape_is_for(shape, launch->manifest) ||
        shape_dims(shape, launch->reference, launch->manifest, dims, error, sizeof error) ||
        predict_launch(launch->manifest, dims, launch->splits, lack->gpu, &estimate))
        return INFINITY;
    return launch->splits > 1 && estimate.steps < 1 ? INFINITY : estimate.us;
}

// What the launch takes at each shape becomes known.
static void look(const struct lack *lack, struct launch *launch) {
    launch->us = calloc(lack->shapes->count, sizeof *launch->us);
    if (!launch->us) abort();
    for (size_t i = 0; i < lack->shapes->count; ++i)
        launch->us[i] = (float)predicted(lack, launch, &lack->shapes->shapes[i]);
}

// The table's launches only tell what is best with them.
static void look_at_table(struct lack *lack, const struct tmg_table *table) {
    for (unsigned i = 0; i < table->launch_count; ++i) {
        const struct tmg_manifest *manifest = table->kernels[table->listed[i].kernel].manifest;
        struct reference reference = {0};
        if (reference_read(manifest, &reference)) continue;
        struct launch launch = {manifest, &reference, "", table->listed[i].splits, NULL};
        look(lack, &launch);
        for (size_t j = 0; j < lack->shapes->count; ++j)
            lack->best[j] = fminf(lack->best[j], launch.us[j]);
        free(launch.us);
    }
}

static void add(struct lack *lack, const struct launch *launch) {
    if (lack->count == lack->capacity) {
        lack->capacity = lack->capacity * 2 + 64;
        lack->launches = realloc(lack->launches, lack->capacity * sizeof *lack->launches);
        if (!lack->launches) abort();
    }
    lack->launches[lack->count++] = *launch;
    look(lack, &lack->launches[lack->count - 1]);
}

static void add_kernel(struct lack *lack, const char *name, const struct tmg_manifest *manifest,
                       const struct reference *reference) {
    struct launch launch = {manifest, reference, name, 0, NULL};
    for (int i = 0; (launch.splits = predict_splits(manifest, i)) >= 0; ++i) add(lack, &launch);
}

// The log of how much faster than all that there is.
static double ahead(const struct lack *lack, const struct launch *launch, size_t shape) {
    const double times = (double)lack->best[shape] / (double)launch->us[shape];
    return isfinite(times) && times > counts_from ? log(times) : 0;
}

// What a launch would bring: gaps count by their squares, so that the worst shapes decide.
static double worth(const struct lack *lack, const struct launch *launch) {
    double sum = 0;
    for (size_t i = 0; i < lack->shapes->count; ++i) {
        const double log = ahead(lack, launch, i);
        sum += log * log;
    }
    return sum;
}

static void print_row(const struct lack *lack, const struct launch *launch, struct table *rows) {
    size_t most = 0, count = 0;
    for (size_t i = 0; i < lack->shapes->count; ++i) {
        const double log = ahead(lack, launch, i);
        count += log > 0;
        if (log > ahead(lack, launch, most)) most = i;
    }
    const struct shape *shape = &lack->shapes->shapes[most];
    int64_t dims[TMG_MAX_DIMS];
    char text[128], error[160];
    if (shape_dims(shape, launch->reference, launch->manifest, dims, error, sizeof error)) return;
    shape_format(launch->reference, launch->manifest, dims, shape->inputs, text, sizeof text);
    table_cell(rows, "%s", launch->name);
    if (launch->splits)
        table_cell(rows, "%d", launch->splits);
    else
        table_cell(rows, "%s", "");
    table_cell(rows, "%zu", count);
    table_cell(rows, "%.3f", exp(ahead(lack, launch, most)));
    table_cell(rows, "%.4g", (double)launch->us[most]);
    table_cell(rows, "%s", text);
}

// Takes what brings most, one after the other, [most] at most.
static void print_all(struct lack *lack, int most, FILE *out) {
    static const char *const titles[] = {"kernel", ">splits", ">shapes", ">times faster",
                                         ">us",    "at",      NULL};
    struct table *rows = table_new(titles);
    int found = 0;
    for (; found < most; ++found) {
        const struct launch *best = NULL;
        double most_worth = 0;
        for (size_t i = 0; i < lack->count; ++i) {
            const double its = worth(lack, &lack->launches[i]);
            if (its > most_worth) most_worth = its, best = &lack->launches[i];
        }
        if (!best) break;
        print_row(lack, best, rows);
        for (size_t i = 0; i < lack->shapes->count; ++i)
            lack->best[i] = fminf(lack->best[i], best->us[i]);
    }
    if (found)
        table_print(rows, out);
    else
        fprintf(out, "nothing: at %zu shapes no other launch is predicted %.0f%% faster\n",
                lack->shapes->count, 100 * (counts_from - 1));
    table_free(rows);
}

static int find(struct lack *lack, const struct kernel_text *kernels, size_t count, int most,
                FILE *out) {
    struct tmg_manifest **manifests = calloc(count + 1, sizeof *manifests);
    struct reference *references = calloc(count + 1, sizeof *references);
    int status = manifests && references ? TMAGEN_OK : tmg_fail_memory();
    for (size_t i = 0; i < count && !status; ++i) {
        const struct kernel_text *text = &kernels[i];
        status =
            tmg_manifest_parse(text->manifest, strlen(text->manifest), text->name, &manifests[i]);
        if (!status) status = reference_read(manifests[i], &references[i]);
        if (!status) add_kernel(lack, text->name, manifests[i], &references[i]);
        if (status) kernel_complain(text->name);
    }
    if (!status) print_all(lack, most, out);
    for (size_t i = 0; i < lack->count; ++i) free(lack->launches[i].us);
    for (size_t i = 0; manifests && i < count; ++i) tmg_manifest_free(manifests[i]);
    free(lack->launches);
    free(references);
    free(manifests);
    return status ? 1 : 0;
}

int tune_lack(const struct kernel_text *text, const struct kernel_text *kernels, size_t count,
              const struct shape_list *shapes, const struct predict_gpu *gpu, int most, FILE *out) {
    struct tmg_table *table = NULL;
    struct lack lack = {.shapes = shapes, .gpu = gpu};
    if (predict_open(text, &table)) return kernel_complain(text->name), 1;
    lack.best = calloc(shapes->count + 1, sizeof *lack.best);
    if (!lack.best) abort();
    for (size_t i = 0; i < shapes->count; ++i) lack.best[i] = INFINITY;
    look_at_table(&lack, table);
    const int code = find(&lack, kernels, count, most, out);
    free(lack.best);
    tmg_table_free(table);
    return code;
}

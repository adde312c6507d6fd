// Predictions of several kernels at a shape, as a table.
#include "measure/predict.h"

#include <stdlib.h>
#include <string.h>

#include "measure/reference.h"
#include "measure/columns.h"
#include "runtime/error.h"

int predict_read(const char *text, const char *origin, struct predict_gpu *gpu) {
    struct tmg_document document = {.origin = origin, .code = TMAGEN_ERROR_FILE};
    const struct tmg_node root = tmg_node_parse(&document, text, strlen(text), SIZE_MAX);
    if (!root.value) return document.status;
    const struct tmg_node version = tmg_node_member(&root, "tmagen_rates");
    const struct tmg_node name = tmg_node_member(&root, "gpu"), sms = tmg_node_member(&root, "sms");
    const struct tmg_node rates = tmg_node_member(&root, "rates");
    tmg_node_keys(&root, "tmagen_rates gpu sms sources rates");
    tmg_node_integer(&version, 1, 1, TMG_REQUIRED_INTEGER);
    gpu->capacity =
        (struct tmg_capacity){.sms = (int)tmg_node_integer(&sms, 1, 4096, TMG_REQUIRED_INTEGER)};
    snprintf(gpu->name, sizeof gpu->name, "%s",
             json_is_string(name.value) ? json_string_value(name.value) : "");
    if (!*gpu->name) tmg_node_fail(&name, "must be the GPU's name");
    tmg_rates_read(&rates, &gpu->rates);
    json_decref(root.value);
    return document.status;
}

// A kernel at a shape.
struct prediction {
    const struct kernel_text *text;
    struct tmg_estimate estimate;
};

static int bind(const struct tmg_manifest *manifest, const int64_t *dims, int splits,
                struct tmg_binding *binding) {
    struct tmg_asked asked;
    tmg_ask_at(&asked, manifest, NULL, dims, manifest->dim_count);
    asked.launch.splits = splits;
    return tmg_bind(manifest, &asked.launch, binding);
}

int predict_launch(const struct tmg_manifest *manifest, const int64_t *dims, int splits,
                   const struct predict_gpu *gpu, struct tmg_estimate *estimate) {
    struct tmg_binding binding;
    int status = bind(manifest, dims, splits, &binding);
    if (!status && binding.empty) status = tmg_fail(TMAGEN_ERROR_ARGUMENT, "nothing to compute");
    return status ? status : tmg_estimate(&binding, &gpu->capacity, &gpu->rates, estimate);
}

int predict_splits(const struct tmg_manifest *manifest, int place) {
    static const int parts[] = {2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 20, 24, 32};
    const int64_t most = manifest->grid.max_splits, own = manifest->grid.splits;
    if (!place) return most > 1 ? (int)own : 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && parts[i] <= most; ++i)
        if (parts[i] != own && !--place) return parts[i];
    return -1;
}

// 0, or -1 where the kernel does not take the shape, or has no model; it says so.
static int predict(const struct kernel_text *text, const struct shape *shape,
                   const struct predict_gpu *gpu, struct prediction *prediction) {
    struct tmg_manifest *manifest = NULL;
    struct reference reference = {0};
    int64_t dims[TMG_MAX_DIMS];
    char error[160] = "";
    prediction->text = text;
    int status = tmg_manifest_parse(text->manifest, strlen(text->manifest), text->name, &manifest);
    if (!status) status = reference_read(manifest, &reference);
    if (!status && shape_dims(shape, &reference, manifest, dims, error, sizeof error))
        status = tmg_fail(TMAGEN_ERROR_ARGUMENT, "%s", error);
    if (!status) status = predict_launch(manifest, dims, 0, gpu, &prediction->estimate);
    if (status) kernel_complain(text->name);
    tmg_manifest_free(manifest);
    return status ? -1 : 0;
}

static int faster(const void *left, const void *right) {
    const double a = ((const struct prediction *)left)->estimate.us;
    const double b = ((const struct prediction *)right)->estimate.us;
    return (a > b) - (a < b);
}

static void print_row(struct table *table, const struct prediction *prediction) {
    const struct tmg_estimate *estimate = &prediction->estimate;
    table_cell(table, "%s", prediction->text->name);
    table_cell(table, "%.4g", estimate->us);
    table_cell(table, "%s", tmg_bound_name(estimate->binds));
    table_cell(table, "%.0f", estimate->items);
    table_cell(table, "%.0f", estimate->waves);
    for (int bound = 0; bound < TMG_BOUNDS; ++bound)
        table_cell(table, "%.3g", estimate->bound[bound]);
}

static void print_shape(const struct shape *shape, const struct predict_gpu *gpu,
                        const struct prediction *predictions, size_t count, FILE *out) {
    static const char *const titles[] = {"kernel",  ">us",       "bound by", ">items", ">waves",
                                         ">tensor", ">shared",   ">L2",      ">DRAM",  ">latency",
                                         ">steps",  ">epilogue", ">launch",  ">power", NULL};
    fprintf(out, "%s, ", gpu->name);
    shape_print(shape, out);
    fputs(": predicted, and the us that each unit would need if nothing else took time\n", out);
    struct table *table = table_new(titles);
    for (size_t i = 0; i < count; ++i) print_row(table, &predictions[i]);
    table_print(table, out);
    table_free(table);
}

int predict_all(const struct kernel_text *kernels, size_t count, const struct shape_list *shapes,
                const struct predict_gpu *gpu, FILE *out) {
    int code = 0;
    struct prediction *predictions = calloc(count + 1, sizeof *predictions);
    if (!predictions) return tmg_fail_memory(), kernel_complain("explain"), 1;
    for (size_t i = 0; i < shapes->count; ++i) {
        size_t good = 0;
        for (size_t j = 0; j < count; ++j)
            good += !predict(&kernels[j], &shapes->shapes[i], gpu, &predictions[good]);
        qsort(predictions, good, sizeof *predictions, faster);
        if (good) print_shape(&shapes->shapes[i], gpu, predictions, good, out);
        if (good < count) code = good ? 1 : 2;
    }
    free(predictions);
    return code;
}

// A reference.c as kernels: on a GPU, where a result is too large for the CPU, and on an emulator
// where there is no C compiler. A call takes the whole problem to the device, and its answer back.
#include <stdlib.h>
#include <string.h>

#include "measure/reference_code.h"
#include "runtime/device.h"
#include "runtime/error.h"

enum { THREADS = 128, CHUNK = 1 << 22, ENTRIES = 3 };

// An entry of templates/lib/reference.h and the bytes of its parameters.
static const struct {
    const char *name;
    size_t param_bytes[6], params;
} entries[ENTRIES] = {
    {"reference_elements", {8, 4, 8, 8, 8, 8}, 6},
    {"reference_errors", {8, 4, 8, 8, 8}, 5},
    {"reference_draws", {8, 4, 8}, 3},
};
enum { ELEMENTS, ERRORS, DRAWS_ROWS };

struct ref_kernel {
    tmagen_device *device;
    bool own;  // the device
    void *modules[ENTRIES];
};

static int load(struct ref_kernel *kernel, const tmagen_code *code) {
    int status = TMAGEN_OK;
    for (int i = 0; status == TMAGEN_OK && i < ENTRIES; ++i) {
        const struct tmg_module_source source = {.code = code->data,
                                                 .bytes = code->bytes,
                                                 .entry = entries[i].name,
                                                 .param_bytes = entries[i].param_bytes,
                                                 .param_count = entries[i].params,
                                                 .block = {THREADS, 1, 1},
                                                 .cluster = {1, 1, 1},
                                                 .manifest = "{}"};
        struct tmg_module_info info = {-1, -1, -1, 0, 0};
        status = kernel->device->backend->module_load(kernel->device->state, &source,
                                                      &kernel->modules[i], &info);
    }
    return status;
}

// CUDA needs none of C's headers, and what the cache's key is made of must not ask for other files.
static void drop_includes(char *source) {
    static const char include[] = "#include";
    for (char *line = source; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (!strncmp(line, include, sizeof include - 1)) memcpy(line, "//", 2);
    }
}

static int compile(struct ref_kernel *kernel, const struct reference_text *text) {
    char *source = reference_assemble(text);
    if (!source) return tmg_fail_memory();
    drop_includes(source);
    tmagen_compile_options options = {.kind = kernel->device->backend->kind,
                                      .arch = kernel->device->info.arch,
                                      .name = "reference.cu"};
    tmagen_code code;
    int status = tmagen_compile(source, strlen(source), &options, &code);
    free(source);
    if (status != TMAGEN_OK) return tmg_fail_within(status, "%s", text->files->path);
    status = load(kernel, &code);
    tmagen_code_free(&code);
    return status;
}

int ref_kernel_open(const struct reference_text *text, tmagen_device *device,
                    struct ref_kernel **kernel) {
    *kernel = calloc(1, sizeof **kernel);
    if (!*kernel) return tmg_fail_memory();
    (*kernel)->device = device;
    (*kernel)->own = !device;
    int status = device ? TMAGEN_OK : tmagen_device_open("emu", &(*kernel)->device);
    if (status == TMAGEN_OK) status = compile(*kernel, text);
    if (status == TMAGEN_OK) return TMAGEN_OK;
    ref_kernel_close(*kernel);
    *kernel = NULL;
    return status;
}

void ref_kernel_close(struct ref_kernel *kernel) {
    if (!kernel) return;
    for (int i = 0; i < ENTRIES; ++i) {
        if (!kernel->modules[i]) continue;
        kernel->device->backend->module_unload(kernel->device->state, kernel->modules[i]);
    }
    if (kernel->own && kernel->device) tmagen_device_close(kernel->device);
    free(kernel);
}

// ---- A problem on the device

struct placed {
    tmagen_device *device;
    tmagen_address problem, tensors[TMG_MAX_TENSORS], quantiles[TMG_DTYPES_OF_HOST];
};

static int place_bytes(tmagen_device *device, const void *data, size_t bytes, tmagen_address *to) {
    int status = tmagen_memory_alloc(device, bytes, to);
    if (status == TMAGEN_OK) status = tmagen_memory_upload(device, *to, data, bytes);
    return status;
}

static void *pointer(tmagen_address address) { return (void *)(uintptr_t)address; }

static void take_away(struct placed *placed) {
    tmagen_memory_free(placed->device, placed->problem);
    for (int i = 0; i < TMG_MAX_TENSORS; ++i) {
        tmagen_memory_free(placed->device, placed->tensors[i]);
    }
    for (int i = 0; i < TMG_DTYPES_OF_HOST; ++i) {
        tmagen_memory_free(placed->device, placed->quantiles[i]);
    }
}

// To be taken away in either case.
static int place(tmagen_device *device, const struct ref_problem *problem, struct placed *placed) {
    *placed = (struct placed){.device = device};
    struct problem *copy = malloc(sizeof *copy);
    if (!copy) return tmg_fail_memory();
    *copy = *problem->described;
    int status = TMAGEN_OK;
    for (int i = 0; status == TMAGEN_OK && i < copy->tensor_count; ++i) {
        const struct ref_tensor *from = &problem->tensors[i];
        tmagen_address *table = &placed->quantiles[from->dtype];
        status = place_bytes(device, from->data, from->bytes, &placed->tensors[i]);
        if (status == TMAGEN_OK && !*table) {
            status = place_bytes(device, copy->tensors[i].quantiles,
                                 REFERENCE_QUANTILES * tmg_dtype_bytes(from->dtype), table);
        }
        copy->tensors[i].data = pointer(placed->tensors[i]);
        copy->tensors[i].quantiles = pointer(*table);
    }
    if (status == TMAGEN_OK) status = place_bytes(device, copy, sizeof *copy, &placed->problem);
    free(copy);
    return status;
}

// Runs entry [entry] with a thread for each of [threads], and waits for it.
static int run(struct ref_kernel *kernel, int entry, int64_t threads, void **params) {
    const struct tmg_launch_config config = {
        .grid = {(unsigned)((threads + THREADS - 1) / THREADS), 1, 1},
        .block = {THREADS, 1, 1},
        .cluster = {1, 1, 1}};
    const int status = kernel->device->backend->launch(
        kernel->device->state, kernel->modules[entry], &config, NULL, params);
    return status == TMAGEN_OK ? tmagen_device_synchronize(kernel->device) : status;
}

int ref_kernel_fill(struct ref_kernel *kernel, const struct ref_problem *problem, unsigned number) {
    const struct ref_tensor *tensor = &problem->tensors[number];
    struct placed placed;
    int tensor_number = (int)number;
    int64_t rows = tensor->count / tensor->dims[tensor->rank - 1];
    int status = place(kernel->device, problem, &placed);
    void *params[] = {&placed.problem, &tensor_number, &rows};
    if (status == TMAGEN_OK) status = run(kernel, DRAWS_ROWS, rows, params);
    if (status == TMAGEN_OK) {
        status = tmagen_memory_download(kernel->device, tensor->data, placed.tensors[number],
                                        tensor->bytes);
    }
    take_away(&placed);
    return status;
}

int ref_kernel_values(struct ref_kernel *kernel, const struct ref_problem *problem, unsigned output,
                      const int64_t *list, int64_t first, int64_t count, struct ref_value *values) {
    struct placed placed;
    int number = (int)output;
    tmagen_address places = 0, results = 0;
    int status = place(kernel->device, problem, &placed);
    if (status == TMAGEN_OK && list) {
        status = place_bytes(kernel->device, list, (size_t)count * sizeof *list, &places);
    }
    const size_t bytes = (size_t)count * sizeof *values;
    if (status == TMAGEN_OK) status = tmagen_memory_alloc(kernel->device, bytes, &results);
    void *params[] = {&placed.problem, &number, &places, &first, &count, &results};
    if (status == TMAGEN_OK) status = run(kernel, ELEMENTS, count, params);
    if (status == TMAGEN_OK)
        status = tmagen_memory_download(kernel->device, values, results, bytes);
    tmagen_memory_free(kernel->device, places);
    tmagen_memory_free(kernel->device, results);
    take_away(&placed);
    return status;
}

// Lists runs of elements whose errors are more than they may be, or no number.
static void list_errors(const float *errors, int64_t first, int64_t count,
                        struct ref_spans *spans) {
    for (int64_t begin = 0; begin < count; ++begin) {
        int64_t end = begin;
        while (end < count && end - begin < 256 && !(errors[end] <= 1)) ++end;
        if (end > begin) ref_spans_add(spans, (struct ref_span){first + begin, end - begin});
        if (end > begin) begin = end - 1;
    }
}

int ref_kernel_suspects(struct ref_kernel *kernel, const struct ref_problem *problem,
                        unsigned output, struct ref_spans *spans) {
    struct placed placed;
    int number = (int)output;
    const int64_t total = problem->tensors[output].count;
    const size_t bytes = CHUNK * sizeof(float);
    float *errors = malloc(bytes);
    tmagen_address results = 0;
    int status = place(kernel->device, problem, &placed);
    if (status == TMAGEN_OK && !errors) status = tmg_fail_memory();
    if (status == TMAGEN_OK) status = tmagen_memory_alloc(kernel->device, bytes, &results);
    for (int64_t first = 0; status == TMAGEN_OK && first < total; first += CHUNK) {
        int64_t count = total - first < CHUNK ? total - first : CHUNK;
        void *params[] = {&placed.problem, &number, &first, &count, &results};
        status = run(kernel, ERRORS, count, params);
        if (status == TMAGEN_OK) {
            status = tmagen_memory_download(kernel->device, errors, results,
                                            (size_t)count * sizeof *errors);
        }
        if (status == TMAGEN_OK) list_errors(errors, first, count, spans);
    }
    tmagen_memory_free(kernel->device, results);
    free(errors);
    take_away(&placed);
    return status;
}

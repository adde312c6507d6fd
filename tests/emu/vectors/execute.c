// Runs a program on a device, GPU or emulator alike, through the runtime's table of its functions.
// Everything is made for one launch and given back: programs are small, and none sees another's.
#include <stdlib.h>
#include <string.h>

#include "runtime/device.h"
#include "tests/emu/vectors/vectors.h"

enum { BUFFERS = 3, PARAMS_MAX = 64 };

struct execution {
    tmagen_device *device;
    const struct form *forms;
    size_t count;
    size_t in_slots, out_slots, threads;  // threads of all blocks
    tmagen_address buffers[BUFFERS];      // inputs, results, scratch
    struct tmg_tensor_map maps[PARAMS_MAX];
    void *params[PARAMS_MAX];
    size_t param_bytes[PARAMS_MAX], param_count;
};

static int make_buffers(struct execution *run, uint64_t seed) {
    const struct tmg_backend *backend = run->device->backend;
    size_t row = 8 * run->threads;
    size_t bytes[BUFFERS] = {(run->in_slots + 1) * row, (run->out_slots + 1) * row,
                             (size_t)run->forms->table->rounds * SCRATCH_BYTES};
    uint64_t *values = calloc(run->in_slots + 1, row);
    int status = values ? TMAGEN_OK : TMAGEN_ERROR_MEMORY;
    for (int i = 0; i < BUFFERS && !status; ++i) {
        status = backend->alloc(run->device->state, bytes[i], &run->buffers[i]);
        if (!status) status = backend->fill(run->device->state, run->buffers[i], 0, bytes[i]);
    }
    size_t at = 0;
    for (size_t f = 0; f < run->count && !status; ++f)
        for (size_t slot = 0; slot < run->forms[f].in_count; ++slot)
            for (size_t i = 0; i < run->threads; ++i)
                values[at++] =
                    input_value(class_of(run->forms[f].in[slot]), run->forms[f].key, seed, slot, i);
    if (!status) status = backend->upload(run->device->state, run->buffers[0], values, bytes[0]);
    free(values);
    return status;
}

static int make_params(struct execution *run) {
    for (int i = 0; i < BUFFERS; ++i) {
        run->params[i] = &run->buffers[i];
        run->param_bytes[i] = sizeof run->buffers[i];
    }
    run->param_count = BUFFERS;
    for (size_t f = 0; f < run->count; ++f) {
        if (!run->forms[f].row->map) continue;
        struct tmg_tensor_map_args args = *run->forms[f].row->map;
        struct tmg_tensor_map *map = &run->maps[run->param_count];
        args.address = run->buffers[2];
        int status = run->device->backend->tensor_map(run->device->state, &args, map);
        if (status) return status;
        run->params[run->param_count] = map;
        run->param_bytes[run->param_count++] = sizeof *map;
    }
    return TMAGEN_OK;
}

static int launch(struct execution *run, const char *text) {
    const struct tmg_backend *backend = run->device->backend;
    const struct vector_table *table = run->forms->table;
    unsigned cluster = table->cluster ? table->cluster : 1;
    struct tmg_module_source source = {.code = text,
                                       .bytes = strlen(text),
                                       .entry = "vectors",
                                       .param_bytes = run->param_bytes,
                                       .param_count = run->param_count,
                                       .block = {table->threads, 1, 1},
                                       .cluster = {cluster, 1, 1}};
    struct tmg_launch_config config = {
        .grid = {table->rounds, 1, 1}, .block = {table->threads, 1, 1}, .cluster = {cluster, 1, 1}};
    struct tmg_module_info info;
    void *module;
    int status = backend->module_load(run->device->state, &source, &module, &info);
    if (status) return status;
    status = backend->launch(run->device->state, module, &config, NULL, run->params);
    if (!status) status = backend->synchronize(run->device->state);
    backend->module_unload(run->device->state, module);
    return status;
}

int execute(tmagen_device *device, const struct form *forms, size_t count, uint64_t seed,
            uint64_t **results) {
    const struct vector_table *table = forms->table;
    struct execution run = {.device = device,
                            .forms = forms,
                            .count = count,
                            .threads = (size_t)table->threads * table->rounds};
    for (size_t i = 0; i < count; ++i) {
        run.in_slots += forms[i].in_count;
        run.out_slots += forms[i].out_count;
    }
    size_t bytes = 8 * run.threads * (run.out_slots + 1);
    char *text = program_text(forms, count);
    *results = malloc(bytes);
    int status = *results ? make_buffers(&run, seed) : TMAGEN_ERROR_MEMORY;
    if (!status) status = make_params(&run);
    if (!status) status = launch(&run, text);
    if (!status) status = device->backend->download(device->state, *results, run.buffers[1], bytes);
    for (int i = 0; i < BUFFERS; ++i)
        if (run.buffers[i]) device->backend->free(device->state, run.buffers[i]);
    if (status) {
        free(*results);
        *results = NULL;
    }
    free(text);
    return status ? -1 : 0;
}

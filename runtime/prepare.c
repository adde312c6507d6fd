// Prepares a launch: grid, tensor maps and values, in the order of the kernel's parameters.
// It runs once for given arguments, so it may take its time; what it writes is all that
// kernel_launch.c needs.
#include "runtime/prepare.h"

#include <inttypes.h>
#include <string.h>

#include "runtime/error.h"
#include "runtime/map_encode.h"

enum { SLOTS = 512 };  // of prepared launches

// What one preparation works on; [function] and the binding's manifest are those of the kernel at
// hand.
struct preparation {
    tmagen_kernel *kernel;
    const struct tmg_loaded *function;
    const tmagen_launch *launch;
    struct tmg_binding binding;
    struct tmg_layout layout;
};

static const struct {
    size_t bytes;
    int64_t least, most;  // of an integer
} types[] = {
    {4, INT32_MIN, INT32_MAX}, {4, 0, UINT32_MAX}, {8, INT64_MIN, INT64_MAX},
    {8, 0, INT64_MAX},         {4, 0, 0},          {8, 0, 0},
};

size_t tmg_param_bytes(const struct tmg_param *param) {
    if (param->kind == TMG_PARAM_TENSOR_MAP)
        return (size_t)param->rows_apart * sizeof(struct tmg_tensor_map);
    if (param->kind == TMG_PARAM_POINTER || param->kind == TMG_PARAM_WORKSPACE) return 8;
    return types[param->type].bytes;
}

int tmg_find_scalar(const struct tmg_manifest *manifest, const char *name) {
    for (unsigned i = 0; name && i < manifest->param_count; ++i)
        if (manifest->params[i].kind == TMG_PARAM_SCALAR && !strcmp(manifest->params[i].name, name))
            return (int)i;
    return -1;
}

static size_t place_maps(struct tmg_loaded *function, size_t word) {
    for (unsigned i = 0; i < function->manifest->param_count; ++i) {
        const struct tmg_param *param = &function->manifest->params[i];
        if (param->kind != TMG_PARAM_TENSOR_MAP) continue;
        function->param_word[i] = word;
        word += (size_t)param->rows_apart * TMG_MAP_WORDS;
    }
    return word;
}

static size_t place_values(struct tmg_loaded *function, size_t word) {
    function->head_word = word;
    word += TMG_HEAD_WORDS;
    for (unsigned i = 0; i < function->manifest->param_count; ++i)
        if (function->manifest->params[i].kind != TMG_PARAM_TENSOR_MAP)
            function->param_word[i] = word++;
    return word;
}

int tmg_prepare_layout(tmagen_kernel *kernel) {
    const struct tmg_manifest *manifest = kernel->manifest;
    size_t word = 0;
    kernel->main.manifest = manifest;
    for (unsigned i = 0; i < manifest->before_count; ++i)
        kernel->before[i].manifest = manifest->before[i];
    for (unsigned i = 0; i <= manifest->before_count; ++i)
        word = place_maps(tmg_loaded_of(kernel, i), word);
    for (unsigned i = 0; i <= manifest->before_count; ++i)
        word = place_values(tmg_loaded_of(kernel, i), word);
    size_t key_words = (size_t)manifest->tensor_count * TMG_TENSOR_KEY_WORDS + manifest->dim_count +
                       manifest->param_count + TMG_WORKSPACE_KEY_WORDS;
    return tmg_prepared_init(&kernel->prepared, SLOTS, key_words, word) ? tmg_fail_memory()
                                                                        : TMAGEN_OK;
}

// ---- Parameters

// Writes the integer [value] in the type of [param]; [what] and [name] say what it is.
static int write_integer(const struct preparation *work, const struct tmg_param *param,
                         int64_t value, const char *what, const char *name, uint64_t *word) {
    if (value < types[param->type].least || value > types[param->type].most)
        return tmg_fail(TMAGEN_ERROR_ARGUMENT,
                        "%s: %s '%s': %" PRId64 " does not fit into the kernel's %s parameter",
                        work->kernel->manifest->name, what, name, value,
                        tmg_value_names[param->type]);
    memcpy(word, &value, sizeof value);  // the low bytes come first
    return TMAGEN_OK;
}

// The tensor of [param], or the matrix of its part of the workspace, as it is in this launch.
static struct tmg_bound_tensor matrix_of(const struct preparation *work,
                                         const struct tmg_param *param) {
    struct tmg_bound_tensor bound;
    if (!param->of_part) return work->binding.tensors[param->index];
    tmg_bind_part(&work->kernel->manifest->parts[param->index], work->binding.dims, &bound);
    bound.data = work->launch->workspace + (uint64_t)work->layout.offsets[param->index];
    return bound;
}

static int write_tensor_map(const struct preparation *work, const struct tmg_param *param,
                            uint64_t *words) {
    struct tmg_tensor_map maps[TMG_MAX_MAPS];
    const struct tmg_bound_tensor bound = matrix_of(work, param);
    int status =
        tmg_tensor_map_encode(work->kernel->device, work->kernel->manifest, param, &bound, maps);
    if (!status) memcpy(words, maps, tmg_param_bytes(param));
    return status;
}

static int write_pointer(const struct preparation *work, const struct tmg_param *param,
                         uint64_t *word) {
    *word = work->binding.tensors[param->index].data;
    return TMAGEN_OK;
}

static int write_dim(const struct preparation *work, const struct tmg_param *param,
                     uint64_t *word) {
    const char *name = work->kernel->manifest->dims[param->index].name;
    return write_integer(work, param, work->binding.dims[param->index], "dim", name, word);
}

static int write_stride(const struct preparation *work, const struct tmg_param *param,
                        uint64_t *word) {
    const struct tmg_manifest *manifest = work->kernel->manifest;
    const char *name =
        param->of_part ? manifest->parts[param->index].name : manifest->tensors[param->index].name;
    const int64_t stride = matrix_of(work, param).strides[param->axis];
    return write_integer(work, param, stride, "the stride of tensor", name, word);
}

static int write_tiles(const struct preparation *work, const struct tmg_param *param,
                       uint64_t *word) {
    int64_t tiles = tmg_tile_count(&work->binding, (unsigned)param->index);
    return write_integer(work, param, tiles, "the tiles of", work->kernel->manifest->name, word);
}

static int write_workspace(const struct preparation *work, const struct tmg_param *param,
                           uint64_t *word) {
    *word = work->launch->workspace + (uint64_t)work->layout.offsets[param->index];
    return TMAGEN_OK;
}

static int write_splits(const struct preparation *work, const struct tmg_param *param,
                        uint64_t *word) {
    return write_integer(work, param, work->binding.splits, "the splits of",
                         work->kernel->manifest->name, word);
}

// The value given for the scalar [param], else its default.
static int scalar_value(const struct preparation *work, const struct tmg_param *param,
                        double *value) {
    const tmagen_launch *launch = work->launch;
    for (size_t i = 0; i < launch->scalar_count; ++i) {
        if (strcmp(launch->scalars[i].name, param->name)) continue;
        *value = launch->scalars[i].value;
        return TMAGEN_OK;
    }
    *value = param->value;
    if (param->has_default) return TMAGEN_OK;
    return tmg_fail(TMAGEN_ERROR_ARGUMENT, "%s: scalar '%s': is missing and has no default",
                    work->kernel->manifest->name, param->name);
}

static int write_scalar(const struct preparation *work, const struct tmg_param *param,
                        uint64_t *word) {
    double value;
    int status = scalar_value(work, param, &value);
    if (status) return status;
    if (param->type == TMG_VALUE_F64) {
        memcpy(word, &value, sizeof value);
    } else if (param->type == TMG_VALUE_F32) {
        float narrow = (float)value;
        memcpy(word, &narrow, sizeof narrow);
    } else {
        int fits = value > -0x1p63 && value < 0x1p63 && (double)(int64_t)value == value;
        if (!fits)
            return tmg_fail(TMAGEN_ERROR_ARGUMENT, "%s: scalar '%s': %g is no %s",
                            work->kernel->manifest->name, param->name, value,
                            tmg_value_names[param->type]);
        return write_integer(work, param, (int64_t)value, "scalar", param->name, word);
    }
    return TMAGEN_OK;
}

// By enum tmg_param_kind.
static int (*const writers[])(const struct preparation *, const struct tmg_param *, uint64_t *) = {
    write_tensor_map, write_pointer,   write_dim,    write_stride,
    write_tiles,      write_workspace, write_splits, write_scalar,
};

// ---- The whole

static int check_scalars(const struct tmg_manifest *manifest, const tmagen_launch *launch) {
    for (size_t i = 0; i < launch->scalar_count; ++i) {
        const char *name = launch->scalars[i].name, *rule = NULL;
        if (tmg_find_scalar(manifest, name) < 0) rule = "the kernel has none of that name";
        for (size_t j = 0; j < i && !rule; ++j)
            if (!strcmp(launch->scalars[j].name, name)) rule = "is given twice";
        if (rule)
            return tmg_fail(TMAGEN_ERROR_ARGUMENT, "%s: scalar '%s': %s", manifest->name,
                            name ? name : "(null)", rule);
    }
    return TMAGEN_OK;
}

static int check_workspace(struct preparation *work) {
    const tmagen_launch *launch = work->launch;
    int status = tmg_workspace_layout(&work->binding, &work->kernel->main.capacity, &work->layout);
    if (status || !work->layout.bytes) return status;
    if (launch->workspace && launch->workspace_bytes >= (uint64_t)work->layout.bytes &&
        launch->workspace % 256 == 0)
        return TMAGEN_OK;
    return tmg_fail(TMAGEN_ERROR_ARGUMENT,
                    "%s: the workspace has %zu bytes at 0x%" PRIx64 "; legal: at least %" PRId64
                    " bytes at a multiple of 256",
                    work->kernel->manifest->name, launch->workspace_bytes, launch->workspace,
                    work->layout.bytes);
}

static int write_head(const struct preparation *work, uint64_t *head) {
    unsigned grid[3];
    int status = tmg_grid_size(&work->binding, &work->function->capacity, grid);
    if (status) return status;
    head[0] = grid[0] | (uint64_t)grid[1] << 32;
    head[1] = grid[2];
    head[2] = (uint64_t)work->layout.zero_launch;
    return TMAGEN_OK;
}

// Writes the head and the parameters of one function. What a launch chooses is for the last one.
static int write_function(struct preparation *work, const struct tmg_loaded *function,
                          uint64_t *words) {
    const struct tmg_manifest *manifest = function->manifest;
    work->function = function;
    work->binding.manifest = manifest;
    if (function != &work->kernel->main) work->binding.splits = 1;
    int status = write_head(work, words + function->head_word);
    for (unsigned i = 0; i < manifest->param_count && !status; ++i) {
        const struct tmg_param *param = &manifest->params[i];
        status = writers[param->kind](work, param, words + function->param_word[i]);
    }
    return status;
}

int tmg_prepare(tmagen_kernel *kernel, const tmagen_launch *launch, uint64_t *words,
                uint64_t *clear) {
    const struct tmg_manifest *manifest = kernel->manifest;
    struct preparation work = {.kernel = kernel, .launch = launch};
    memset(words, 0, kernel->prepared.value_words * sizeof *words);
    int status = tmg_bind(manifest, launch, &work.binding);
    if (!status) status = check_scalars(manifest, launch);
    if (status || work.binding.empty) return status;
    status = check_workspace(&work);
    *clear = (uint64_t)work.layout.zero_first;
    if (!status) status = write_function(&work, &kernel->main, words);
    for (unsigned i = 0; i < manifest->before_count && !status; ++i)
        status = write_function(&work, &kernel->before[i], words);
    return status;
}

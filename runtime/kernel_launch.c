// Launches a kernel: arguments to a key, the key to prepared parameters, those to the device.
// The first launch with given arguments checks and encodes them (prepare.c); later ones find the
// result by comparing words, without a lock or an allocation.
#include <stdlib.h>
#include <string.h>

#include "runtime/error.h"
#include "runtime/prepare.h"
#include "runtime/sized.h"

static int key_tensors(const struct tmg_manifest *manifest, const tmagen_launch *launch,
                       uint64_t *key) {
    if (launch->tensor_count != manifest->tensor_count) return 0;
    for (size_t i = 0; i < launch->tensor_count; ++i) {
        const tmagen_tensor *tensor = &launch->tensors[i];
        int index = tmg_find_tensor(manifest, tensor->name, i);
        uint64_t *words = key + (size_t)index * TMG_TENSOR_KEY_WORDS;
        if (index < 0 || words[1]) return 0;  // none of that name, or given twice
        if (!tmg_same_elements(&manifest->tensors[index], tensor)) return 0;
        words[0] = tensor->data;
        words[1] = (uint64_t)tensor->rank + 1;
        for (int axis = 0; axis < manifest->tensors[index].rank; ++axis) {
            words[2 + axis] = tensor->rank ? (uint64_t)tensor->dims[axis] : 0;
            words[2 + TMAGEN_MAX_RANK + axis] = (uint64_t)tensor->strides[axis];
        }
    }
    return 1;
}

// A word for each dim: its value and one more, 0 where it is not given.
static int key_dims(const struct tmg_manifest *manifest, const tmagen_launch *launch,
                    uint64_t *key) {
    for (size_t i = 0; i < launch->dim_count; ++i) {
        int index = tmg_find_dim(manifest, launch->dims[i].name, i);
        if (index < 0 || key[index] || launch->dims[i].value < 0) return 0;
        key[index] = (uint64_t)launch->dims[i].value + 1;
    }
    return 1;
}

// A word for each parameter: a scalar's bits and one more, 0 where it is not given.
static int key_scalars(const struct tmg_manifest *manifest, const tmagen_launch *launch,
                       uint64_t *key) {
    for (size_t i = 0; i < launch->scalar_count; ++i) {
        double value = launch->scalars[i].value;
        int index = tmg_find_scalar(manifest, launch->scalars[i].name);
        if (index < 0 || key[index] || value != value) return 0;
        memcpy(&key[index], &value, sizeof value);
        ++key[index];
    }
    return 1;
}

// Writes all that distinguishes [launch] to [key]. Returns 0 for arguments that only prepare.c can
// judge.
static int make_key(const tmagen_kernel *kernel, const tmagen_launch *launch, uint64_t *key) {
    const struct tmg_manifest *manifest = kernel->manifest;
    uint64_t *dims = key + (size_t)manifest->tensor_count * TMG_TENSOR_KEY_WORDS;
    uint64_t *scalars = dims + manifest->dim_count, *workspace = scalars + manifest->param_count;
    memset(key, 0, kernel->prepared.key_words * sizeof *key);
    workspace[0] = launch->workspace;
    workspace[1] = launch->workspace_bytes;
    workspace[2] = (uint32_t)launch->sms | (uint64_t)(uint32_t)launch->splits << 32;
    return key_tensors(manifest, launch, key) && key_dims(manifest, launch, dims) &&
           key_scalars(manifest, launch, scalars);
}

// Takes the prepared launch from the table, else prepares it and puts it there. *clear gets the
// bytes of workspace to clear before it starts.
static int obtain(tmagen_kernel *kernel, const tmagen_launch *launch, uint64_t *words,
                  uint64_t *clear) {
    uint64_t key[TMG_MAX_KEY_WORDS], hash = 0;
    int keyed = make_key(kernel, launch, key);
    if (keyed) {
        hash = tmg_hash_words(key, kernel->prepared.key_words);
        if (tmg_prepared_find(&kernel->prepared, hash, key, words)) {
            *clear = words[kernel->main.head_word + 2];
            return TMAGEN_OK;
        }
    }
    int status = tmg_prepare(kernel, launch, words, clear);
    if (!status && keyed) tmg_prepared_put(&kernel->prepared, hash, key, words);
    return status;
}

static int clear_workspace(tmagen_kernel *kernel, const tmagen_launch *launch, void *stream,
                           uint64_t bytes) {
    const tmagen_device *device = kernel->device;
    return device->backend->clear_async(device->state, launch->workspace, bytes, stream);
}

// Launches with the tensors bound anew, which words do not keep.
static int launch_bound(tmagen_kernel *kernel, void *module, const tmagen_launch *launch,
                        struct tmg_launch_config *config, void *stream, void **params) {
    struct tmg_binding binding;
    int status = tmg_bind(kernel->manifest, launch, &binding);
    config->binding = &binding;
    if (status) return status;
    return kernel->device->backend->launch(kernel->device->state, module, config, stream, params);
}

// The caller's are the main function's. One that waits for what is before it may begin while the
// functions that run before it end.
static unsigned flags_of(const tmagen_kernel *kernel, const struct tmg_loaded *function,
                         const tmagen_launch *launch) {
    if (function != &kernel->main) return 0;
    const int waits = kernel->manifest->dependent_launch && kernel->manifest->before_count;
    return waits ? launch->flags | TMAGEN_LAUNCH_OVERLAP : launch->flags;
}

static int start(tmagen_kernel *kernel, const struct tmg_loaded *function, void *stream,
                 const tmagen_launch *launch, uint64_t *words) {
    const struct tmg_manifest *manifest = function->manifest;
    const uint64_t *head = words + function->head_word;
    struct tmg_launch_config config = {
        .grid = {(unsigned)head[0], (unsigned)(head[0] >> 32), (unsigned)head[1]},
        .dynamic_shared_bytes = manifest->shared_memory,
        .flags = flags_of(kernel, function, launch),
        .workspace = launch->workspace,
        .workspace_bytes = launch->workspace_bytes};
    memcpy(config.block, manifest->block, sizeof config.block);
    memcpy(config.cluster, manifest->cluster, sizeof config.cluster);
    void *params[TMG_MAX_PARAMS + 1];
    for (unsigned i = 0; i < manifest->param_count; ++i)
        params[i] = words + function->param_word[i];
    const struct tmagen_device *device = kernel->device;
    if (device->backend->wants_binding)
        return launch_bound(kernel, function->module, launch, &config, stream, params);
    return device->backend->launch(device->state, function->module, &config, stream, params);
}

// Clears what is to be cleared, and starts all functions in their order.
static int start_all(tmagen_kernel *kernel, void *stream, const tmagen_launch *launch,
                     uint64_t *words, uint64_t clear) {
    int status = clear ? clear_workspace(kernel, launch, stream, clear) : TMAGEN_OK;
    for (unsigned i = 0; i <= kernel->manifest->before_count && !status; ++i)
        status = start(kernel, tmg_loaded_of(kernel, i), stream, launch, words);
    return status;
}

static int check_flags(const struct tmg_manifest *manifest, unsigned flags) {
    if (flags & ~(unsigned)TMAGEN_LAUNCH_OVERLAP)
        return tmg_fail(TMAGEN_ERROR_ARGUMENT, "%s: flags 0x%x; legal: 0 or TMAGEN_LAUNCH_OVERLAP",
                        manifest->name, flags);
    if (flags && !manifest->dependent_launch)
        return tmg_fail(TMAGEN_ERROR_ARGUMENT,
                        "%s: TMAGEN_LAUNCH_OVERLAP, but it does not wait for the launch before it; "
                        "legal: a kernel whose manifest says dependent_launch",
                        manifest->name);
    return TMAGEN_OK;
}

int tmg_check_lists(const char *name, const tmagen_launch *launch) {
    const char *missing = launch->tensor_count && !launch->tensors   ? "tensors"
                          : launch->dim_count && !launch->dims       ? "dims"
                          : launch->scalar_count && !launch->scalars ? "scalars"
                                                                     : NULL;
    if (!missing) return TMAGEN_OK;
    return tmg_fail(TMAGEN_ERROR_ARGUMENT, "%s: %s are counted, but their list is missing", name,
                    missing);
}

static int launch_own(tmagen_kernel *kernel, void *stream, const tmagen_launch *launch) {
    _Alignas(128) uint64_t words[TMG_MAX_VALUE_WORDS];
    uint64_t clear = 0;
    if (!kernel || !launch)
        return tmg_fail(TMAGEN_ERROR_ARGUMENT, "the kernel or the launch is missing");
    int status = tmg_device_check(kernel->device);
    if (!status) status = check_flags(kernel->manifest, launch->flags);
    if (!status) status = tmg_check_lists(kernel->manifest->name, launch);
    if (!status) status = obtain(kernel, launch, words, &clear);
    if (status || !words[kernel->main.head_word])
        return status;  // a grid of 0 blocks: nothing to do
    return start_all(kernel, stream, launch, words, clear);
}

int tmg_kernel_prepare(tmagen_kernel *kernel, const tmagen_launch *launch) {
    _Alignas(128) uint64_t words[TMG_MAX_VALUE_WORDS];
    uint64_t clear;
    const int status = tmg_check_lists(kernel->manifest->name, launch);
    return status ? status : obtain(kernel, launch, words, &clear);
}

int tmagen_kernel_launch_sized(tmagen_kernel *kernel, void *stream, const tmagen_launch *launch,
                               uint64_t sizes) {
    struct tmg_own_launch *room = NULL;
    if (sizes == TMAGEN_LAUNCH_SIZES) return launch_own(kernel, stream, launch);
    int status = tmg_take_launch(&launch, sizes, &room);
    if (!status) status = launch_own(kernel, stream, launch);
    free(room);
    return status;
}

int tmg_kernel_layout(tmagen_kernel *kernel, const tmagen_launch *launch,
                      struct tmg_layout *layout) {
    struct tmg_binding binding;
    *layout = (struct tmg_layout){0};
    int status = tmg_check_lists(kernel->manifest->name, launch);
    if (!status) status = tmg_bind(kernel->manifest, launch, &binding);
    if (!status && !binding.empty)
        status = tmg_workspace_layout(&binding, &kernel->main.capacity, layout);
    return status;
}

static int workspace_own(tmagen_kernel *kernel, const tmagen_launch *launch, size_t *bytes) {
    struct tmg_layout layout;
    if (!kernel || !launch || !bytes)
        return tmg_fail(TMAGEN_ERROR_ARGUMENT, "the kernel, the launch or the result is missing");
    const int status = tmg_kernel_layout(kernel, launch, &layout);
    if (!status) *bytes = (size_t)layout.bytes;
    return status;
}

int tmagen_kernel_workspace_sized(tmagen_kernel *kernel, const tmagen_launch *launch,
                                  uint64_t sizes, size_t *bytes) {
    struct tmg_own_launch *room = NULL;
    int status = tmg_take_launch(&launch, sizes, &room);
    if (!status) status = workspace_own(kernel, launch, bytes);
    free(room);
    return status;
}

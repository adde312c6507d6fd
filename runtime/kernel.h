// A loaded kernel: its manifest, its module on a device, and the layout of its launches.
// All of it is fixed when it is loaded but the table of prepared launches, which guards itself.
#pragma once

#include "runtime/device.h"
#include "runtime/grid.h"
#include "runtime/manifest.h"
#include "runtime/prepared.h"

enum {
    TMG_TENSOR_KEY_WORDS = 2 + 2 * TMAGEN_MAX_RANK,  // address, rank, dims, strides
    TMG_WORKSPACE_KEY_WORDS = 3,                     // address, bytes, choices
    TMG_MAX_KEY_WORDS = TMG_MAX_TENSORS * TMG_TENSOR_KEY_WORDS + TMG_MAX_DIMS + TMG_MAX_PARAMS +
                        TMG_WORKSPACE_KEY_WORDS,
    TMG_MAP_WORDS = 16,
    TMG_HEAD_WORDS = 3,  // grid x and y, grid z, bytes of workspace to clear
    TMG_MAX_VALUE_WORDS = (1 + TMG_MAX_BEFORE) * (TMG_MAX_PARAMS * TMG_MAP_WORDS + TMG_HEAD_WORDS)
};

// A function of the kernel's source, loaded, and where its words are among a prepared launch's:
// tensor maps of all functions first, for their alignment.
struct tmg_loaded {
    const struct tmg_manifest *manifest;
    void *module;
    struct tmg_capacity capacity;
    size_t param_word[TMG_MAX_PARAMS], head_word;
};

struct tmagen_kernel {
    tmagen_device *device;
    struct tmg_manifest *manifest;
    struct tmg_loaded main, before[TMG_MAX_BEFORE];  // as many as the manifest has
    struct tmg_prepared prepared;
    tmagen_kernel_info info;
};

// The [index]th function in the order in which they run; the main one is the last.
static inline struct tmg_loaded *tmg_loaded_of(tmagen_kernel *kernel, unsigned index) {
    return index < kernel->manifest->before_count ? &kernel->before[index] : &kernel->main;
}

// Where the parts of the launch's workspace lie, and what of it is cleared when.
int tmg_kernel_layout(tmagen_kernel *kernel, const tmagen_launch *launch,
                      struct tmg_layout *layout);

// Prepares [launch] as the first with its arguments does, but starts and clears nothing: the next
// with them is a later one. For whoever clears the semaphores himself.
int tmg_kernel_prepare(tmagen_kernel *kernel, const tmagen_launch *launch);

// Fails, naming [name], where a list of [launch] counts something and is not there.
int tmg_check_lists(const char *name, const tmagen_launch *launch);

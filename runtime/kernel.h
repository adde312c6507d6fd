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
    TMG_MAX_VALUE_WORDS = TMG_MAX_PARAMS * TMG_MAP_WORDS + TMG_HEAD_WORDS
};

struct tmagen_kernel {
    tmagen_device *device;
    struct tmg_manifest *manifest;
    void *module;
    struct tmg_capacity capacity;
    struct tmg_prepared prepared;
    // Where things are among a prepared launch's words: tensor maps first, for their alignment.
    size_t param_word[TMG_MAX_PARAMS], head_word;
    tmagen_kernel_info info;
};

// Where the parts of the launch's workspace lie, and what of it is cleared when.
int tmg_kernel_layout(tmagen_kernel *kernel, const tmagen_launch *launch,
                      struct tmg_layout *layout);

// Fails, naming [name], where a list of [launch] counts something and is not there.
int tmg_check_lists(const char *name, const tmagen_launch *launch);

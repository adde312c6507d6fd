// From a launch's arguments to the words that the device is launched with.
// Words and not pointers, so that they can be kept in a table and copied out of it.
#pragma once

#include "runtime/kernel.h"

// Lays out the words of [kernel]'s launches and makes the table that keeps them.
int tmg_prepare_layout(tmagen_kernel *kernel);

// Checks [launch] and writes its head and parameters to [words]; a grid of 0 when there is nothing
// to do. *clear gets the bytes of workspace to clear now that it is the first with its arguments.
int tmg_prepare(tmagen_kernel *kernel, const tmagen_launch *launch, uint64_t *words,
                uint64_t *clear);

// The bytes that a parameter has in the kernel.
size_t tmg_param_bytes(const struct tmg_param *param);

// The index of the scalar parameter [name], or -1.
int tmg_find_scalar(const struct tmg_manifest *manifest, const char *name);

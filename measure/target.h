// What is run and measured: a kernel, or a set, which takes another kernel at each shape.
#pragma once
#include "measure/kernels.h"
#include "runtime/set.h"

struct target {
    tmagen_kernel *kernel;  // NULL: it is a set, or not loaded
    tmagen_set *set;
};

// Loads [text] on [device], as kernel_load(); a set's kernels are compiled as they are taken. A
// library error code, after which nothing is loaded.
int target_load(tmagen_device *device, const struct kernel_text *text, struct target *target);
void target_unload(struct target *target);
bool target_loaded(const struct target *target);

// Its manifest; of a set what its kernels take together.
const struct tmg_manifest *target_manifest(const struct target *target);

int target_launch(const struct target *target, void *stream, const tmagen_launch *launch);

// Prepares the next launch with these arguments, which then clears no semaphores.
int target_prepare(const struct target *target, const tmagen_launch *launch);

// What a launch of it runs, loaded, and how its workspace is laid out.
int target_pick(const struct target *target, const tmagen_launch *launch,
                struct tmg_picked *picked);

// Writes what was picked, as "gemm_16x64_split/4"; "" for a kernel, which is always itself.
void target_name_pick(const struct target *target, const struct tmg_picked *picked, char *text,
                      size_t size);

// A set of kernels that are launched alike, and what was picked for the shapes it has seen.
// Fixed when it is opened but for the kernels, which are loaded when they are first taken, the
// pins, and the table of picks, which guards itself.
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "runtime/choose.h"
#include "runtime/kernel.h"

enum {
    TMG_MAX_PINS = 1024,
    TMG_SET_KEY_TENSOR = 2 + 2 * TMAGEN_MAX_RANK,
    // of tensors and dims; workspace, choices, pins
    TMG_MAX_SET_KEY = TMG_MAX_TENSORS * TMG_SET_KEY_TENSOR + TMG_MAX_DIMS + 3
};

// A choice for a shape, or for all: then [dims] are none.
struct tmg_pin {
    int64_t dims[TMG_MAX_DIMS];
    int kernel, splits;
};

struct tmagen_set {
    tmagen_device *device;
    struct tmg_table *table;
    unsigned flags;
    char *folder, *cache_dir;           // NULL: as by default
    tmagen_bundle *bundle;              // that all is in; NULL: none
    char *packed;                       // the table's name there
    _Atomic int ready;                  // table, picks and room are there
    tmagen_set_kernel *own_kernels;     // the caller's list in our layout; NULL: none
    const tmagen_set_kernel **texts;    // by the table's kernels; NULL: they are files
    struct tmg_capacity capacity;       // by which choices are made
    struct tmg_prepared picks;          // from launches to a kernel and its splits
    _Atomic(tmagen_kernel *) *kernels;  // NULL: not loaded
    _Atomic(signed char) *missing;      // it could not be loaded on a launch's way
    pthread_mutex_t lock;               // of loading, and of what follows
    struct tmg_pin all, *pins;          // all.kernel -1: nothing is pinned
    unsigned pin_count;
    _Atomic int pinned;           // anything at all is
    _Atomic uint64_t generation;  // of the pins and of what could not be loaded
    struct tmg_pin environment;   // $TMAGEN_PICK; kernel -1: none
};

// Before the set's table or anything that follows from it is looked at.
int tmg_set_ready(tmagen_set *set);

// Loads kernel [index] if it is not; [compile]: also where the cache does not have it.
int tmg_set_obtain(tmagen_set *set, int index, int compile, tmagen_kernel **kernel);

// What a launch of [launch] takes, loaded; with [workspace] bytes of it, -1: as many as it needs.
// *kernel is NULL, successfully, where a size is 0.
int tmg_set_pick(tmagen_set *set, const tmagen_launch *launch, int64_t workspace,
                 struct tmg_choice *choice, tmagen_kernel **kernel);

// Asks the table, with the pins, for the [most] best for [launch].
int tmg_set_choose(tmagen_set *set, const tmagen_launch *launch, int64_t workspace, unsigned most,
                   struct tmg_choice *choices, unsigned *count);

// What [launch] takes with as much workspace as it needs, loaded, and how that is laid out.
struct tmg_picked {
    const struct tmg_manifest *manifest;  // NULL: a size is 0, and nothing is launched
    int splits;
    struct tmg_layout layout;
};
int tmg_set_picked(tmagen_set *set, const tmagen_launch *launch, struct tmg_picked *picked);

// tmg_kernel_prepare() of what [launch] runs.
int tmg_set_prepare(tmagen_set *set, const tmagen_launch *launch);

// What its kernels take together, under the table's name; NULL where that cannot be read.
const struct tmg_manifest *tmg_set_interface(tmagen_set *set);

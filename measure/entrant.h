// One of our kernels as it takes part in a contest: its arguments for each copy of the inputs.
#pragma once
#include "measure/gpu.h"
#include "measure/rotation.h"
#include "measure/target.h"

struct entrant {
    struct target target;  // borrowed
    struct tmg_picked picked;
    int splits, tensor_count;
    tmagen_tensor *tensors;  // [sets][tensor_count]
    tmagen_address workspace;
    size_t workspace_bytes;
    unsigned flags;  // of its launches
};

// Makes the launches of [target] on all copies of [rotation], whose manifest describes its tensors,
// with so many [splits]; 0: as its manifest says. A library error code; to be freed in either case.
int entrant_make(struct gpu *gpu, const struct target *target, int splits,
                 const struct rotation *rotation, struct entrant *entrant);
void entrant_free(struct gpu *gpu, struct entrant *entrant);

// Launches on copy [set], as contestants do; [context] is the entrant.
int entrant_launch(void *context, CUstream stream, int set);

// True where two manifests describe the same tensors, so that their kernels can share a rotation.
bool entrant_same_tensors(const struct ref_problem *a, const struct ref_problem *b);

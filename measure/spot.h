// Samples of the shape that is measured, held against the reference: computed once, looked at for
// every kernel of the shape. What verify does with small shapes finds more, but not what breaks at
// this size.
#pragma once
#include "measure/gpu.h"
#include "measure/rotation.h"

struct spot_place;

struct spot {
    struct spot_place *places;
    int count;  // 0: nothing can be held against the reference here
};

// Chooses elements of the output of that name, of all where it is NULL, and computes them from the
// first copy of the inputs, as they lie on the device. A library error code; to be freed in either
// case.
int spot_make(struct gpu *gpu, const struct rotation *rotation, uint64_t seed, const char *output,
              struct spot *spot);
void spot_free(struct spot *spot);

// Holds what lies in the outputs of the first copy against them. [worst] gets the largest error as
// a share of what it may be; *why, "" where all are right, says which is not. A library error code.
int spot_check(struct gpu *gpu, const struct rotation *rotation, const struct spot *spot,
               double *worst, char *why, size_t size);

// Several copies of a problem's tensors in device memory, so that no launch finds its data in the
// L2. All copies hold random data; a launch takes the next copy in turn.
#pragma once
#include "measure/gpu.h"
#include "measure/reference.h"

// Random values on the device, one block an element type, from which all inputs are cut.
struct rotation_source {
    tmagen_address blocks[TMG_DTYPES_OF_HOST];
    uint64_t seed;
    double scale;  // of the values; 0: 1
};

struct rotation {
    struct ref_problem problem;  // laid out, without host memory
    int sets;
    tmagen_address memory;
    size_t set_bytes;                 // from one copy to the next
    size_t offsets[TMG_MAX_TENSORS];  // of the tensors in a copy
};

// At least two copies, and as many as exceed twice the L2 and 256 MiB. TMAGEN_ERROR_MEMORY where
// the device cannot hold them.
int rotation_make(struct gpu *gpu, struct rotation_source *source, const struct ref_problem *,
                  struct rotation *rotation);
void rotation_free(struct gpu *gpu, struct rotation *rotation);
void rotation_source_free(struct gpu *gpu, struct rotation_source *source);

// The address of tensor [i] in copy [set].
tmagen_address rotation_address(const struct rotation *rotation, int set, unsigned i);

// Makes a rotation of the smallest shape that the reference knows, and the [tensors] of its first
// copy.
int rotation_smallest(struct gpu *gpu, struct rotation_source *source,
                      const struct tmg_manifest *manifest, const struct reference *reference,
                      struct rotation *rotation, tmagen_tensor *tensors);

// Fills every output of all copies with ones bits, which is NaN.
int rotation_poison(struct gpu *gpu, const struct rotation *rotation);

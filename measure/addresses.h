// Tensors whose rows begin with addresses of other tensors, as `addresses` of a family's reference
// says: the reference draws offsets, since only the device knows where the others lie.
#ifndef TMAGEN_MEASURE_ADDRESSES_H
#define TMAGEN_MEASURE_ADDRESSES_H

#include "measure/reference.h"

// Uploads tensor [i] to [to], offsets as addresses; [at] says where tensors begin, in their order.
// A status of tmagen.h.
int addresses_upload(tmagen_device *, const struct ref_problem *, unsigned i, const uint64_t *at,
                     uint64_t to);

// Makes addresses in [bytes], which came from there, offsets again.
void addresses_drop(const struct ref_problem *, unsigned i, const uint64_t *at, void *bytes);

#endif

// A launch's arguments held against the manifest: every size known, every rule checked.
// What comes after (grid, tensor maps, values) can rely on it and checks nothing twice.
#pragma once

#include "runtime/manifest.h"

struct tmg_bound_tensor {
    tmagen_address data;
    int64_t dims[TMAGEN_MAX_RANK];     // outermost first
    int64_t strides[TMAGEN_MAX_RANK];  // in elements; the last is 1
};

struct tmg_binding {
    const struct tmg_manifest *manifest;
    int64_t dims[TMG_MAX_DIMS];
    struct tmg_bound_tensor tensors[TMG_MAX_TENSORS];
    int64_t sms, splits;  // sms: 0 where the launch leaves it to the device
    int empty;            // some size is 0: there is nothing to do
};

// Writes tensors without strides, at an address that suits every alignment, where a launch is asked
// about and not made. Returns how many.
size_t tmg_stand_ins(const struct tmg_manifest *manifest, tmagen_tensor *tensors);

// A launch that is asked about, with what it points to.
struct tmg_asked {
    tmagen_tensor tensors[TMG_MAX_TENSORS];
    tmagen_dim dims[TMG_MAX_DIMS];
    tmagen_launch launch;
};

// Makes [asked] a launch of the kernel, or of all those of that interface, with stand-ins for its
// tensors and [count] dims of these names and sizes. [names] NULL: its own that are not derived, of
// which [sizes] has all.
void tmg_ask_at(struct tmg_asked *asked, const struct tmg_manifest *manifest,
                const char (*names)[TMG_MAX_NAME], const int64_t *sizes, unsigned count);

// Resolves [launch] into [binding]; workspace and scalars are not looked at. TMAGEN_ERROR_ARGUMENT
// with the tensor or dim and the rule that it breaks.
int tmg_bind(const struct tmg_manifest *manifest, const tmagen_launch *launch,
             struct tmg_binding *binding);

// The layout that all tensors have: the last dimension's elements lie beside each other.
extern const char tmg_layout[];

// Whether the dtype and layout of [given], where it says them, are those of [tensor].
int tmg_same_elements(const struct tmg_tensor *tensor, const tmagen_tensor *given);

// The bytes from the first to behind the last element, or -1 where that is no number of bytes.
int64_t tmg_span_bytes(const struct tmg_tensor *tensor, const struct tmg_bound_tensor *bound);

// The matrix of [part] for those [dims], none of which is 0: sizes, and strides of its multiple.
// Returns its bytes; more than 2^48 where they are no number.
int64_t tmg_bind_part(const struct tmg_part *part, const int64_t *dims,
                      struct tmg_bound_tensor *bound);

// The size that [extent] has; at most 2^62 in magnitude. Divisions of 64 bits take some processors
// several times as long as those of 32, and a new shape waits for a hundred.
static inline int64_t tmg_extent_value(const struct tmg_extent *extent, const int64_t *dims) {
    int64_t size = extent->plus + (extent->dim < 0 ? 0 : extent->times * dims[extent->dim]);
    if (extent->by == 1 || size <= 0) return size;
    const uint64_t rest = (uint64_t)size - 1;
    const uint32_t by = (uint32_t)extent->by;
    return (int64_t)(rest <= UINT32_MAX ? (uint32_t)rest / by : rest / by) + 1;
}

// The index of the manifest's tensor or dim called [name], looked at first at [hint], where it is
// when the caller keeps the manifest's order; -1 for none. Names are not copied or hashed.
int tmg_find_tensor(const struct tmg_manifest *manifest, const char *name, size_t hint);
int tmg_find_dim(const struct tmg_manifest *manifest, const char *name, size_t hint);

// What choosing asks of each kernel, taken from its manifest and laid close together:
// which sizes and tensors it takes, and what its launches spend. A manifest is some 40 KB, most of
// it names and room, and a new shape asks every kernel, of which no cache holds anything by then.
#pragma once

#include "runtime/binding.h"

struct tmg_dim_rule {
    int32_t multiple_of, most, value;  // as the dim's
};

struct tmg_tensor_rule {
    int32_t alignment;                     // of the address, in bytes
    int32_t stride_bits;                   // what every stride but the last is a multiple of
    unsigned char rank, bits, takes_gaps;  // bits: of an element
};

// What the model of a launch's time adds up.
enum tmg_spent {
    TMG_SPENT_FLOPS,
    TMG_SPENT_SHARED,
    TMG_SPENT_L2,
    TMG_SPENT_DRAM,  // that is read
    TMG_SPENT_ALL_DRAM,
    TMG_SPENT_STORE,
    TMG_SPENT_STEPS,
    TMG_SPENT_L1,
    TMG_SPENT_SUMS,   // loaded from tensor memory by an epilogue of its own warps
    TMG_SPENT_WARPS,  // of that epilogue
    TMG_SPENT_COUNT
};

// A row of the manifest's cost that the model looks at. Its factors are numbers of sizes: 0 is the
// size 1, and i + 1 that of extent i.
struct tmg_cost_rule {
    double amount;
    unsigned char per, spends, factors[TMG_MAX_FACTORS];
    unsigned char pitch;  // the tensor, and 1, on whose pitch the bytes depend; 0: none
    unsigned char reads;  // it counts as TMG_SPENT_DRAM too
};

enum { TMG_CACHE_LINE = 64, TMG_RULES_USUAL = 448 };  // 448: the bytes of most

// Everything that it points to lies behind it, in the order of the members.
struct tmg_rules {
    unsigned char dim_count, tensor_count, extent_count, cost_count;
    unsigned counted;  // a bit for each [per] of a row
    int overlaps;      // stores go on beside the next tile
    int64_t ahead;     // loads under way
    struct tmg_cost_rule *costs;
    struct tmg_extent *extents;  // each once, of all cost rows
    struct tmg_dim_rule *dims;
    struct tmg_tensor_rule *tensors;
};

// The rules of [manifest] in a block of their own, which free() frees; NULL where memory ends.
struct tmg_rules *tmg_rules_make(const struct tmg_manifest *manifest);

// Whether a kernel of the same tensors and dims as [binding]'s has no rule that those break: what
// tmg_bind() would say of the same launch, without the words.
int tmg_rules_fit(const struct tmg_rules *rules, const struct tmg_binding *binding);

// Whether tmg_rules_fit() says the same by [a] and [b], kernels of the same tensors and dims.
int tmg_rules_alike(const struct tmg_rules *a, const struct tmg_rules *b);

// Asks for [bytes] at [at] to be brought near, while others are worked on.
static inline void tmg_bring(const void *at, size_t bytes) {
    for (size_t i = 0; i < bytes; i += TMG_CACHE_LINE) __builtin_prefetch((const char *)at + i);
}

int tmg_same_extent(const struct tmg_extent *a, const struct tmg_extent *b);

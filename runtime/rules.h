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
    TMG_SPENT_PEERS,
    TMG_SPENT_BEYOND,  // what boxes hold and tensors do not
    TMG_SPENT_COUNT
};

// A product of sizes: that of a term before it, by the last.
struct tmg_term {
    uint16_t last;    // the number of the size
    uint16_t before;  // of the term of all other factors
};

enum {
    TMG_MAX_TERMS = 1024,         // of a set, and sizes
    TMG_TERM_ONE = TMG_MAX_TERMS  // the number of no term, which is 1
};

// The kernels of a set share theirs, so that each is worked out once for all.
struct tmg_terms {
    unsigned count, size_count;
    struct tmg_extent *sizes;
    struct tmg_term *of;
};

// A row of the manifest's cost that the model looks at.
struct tmg_cost_rule {
    double amount;
    uint16_t term;  // by which it is multiplied
    unsigned char per, spends;
    unsigned char pitch;  // the tensor, and 1, on whose pitch the bytes depend; 0: none
    unsigned char reads;  // it counts as TMG_SPENT_DRAM too
};

enum { TMG_CACHE_LINE = 64 };

// Everything that it points to lies behind it, in the order of the members.
struct tmg_rules {
    unsigned char dim_count, tensor_count, cost_count, tile_count;
    int overlaps;                   // stores go on beside the next tile
    int scatters;                   // parts of a tile add up a share of it each
    double ahead;                   // loads under way
    const struct tmg_terms *terms;  // its own, or those of the set that it has joined
    uint16_t tiles[TMG_MAX_TILES];  // terms: the sizes of the grid's tiles
    uint16_t tile;                  // and all of them
    struct tmg_cost_rule *costs;
    struct tmg_dim_rule *dims;
    struct tmg_tensor_rule *tensors;
    struct tmg_terms own;
};

// More parts of a tile leave their sums to who comes last, as scatter_parts() of gemm does.
enum { TMG_MOST_SHARES = 16 };

// How many of a tile's parts add up its sums, where they come together.
static inline double tmg_sharers(const struct tmg_rules *rules, int64_t splits) {
    return rules->scatters && splits <= TMG_MOST_SHARES ? (double)splits : 1;
}

// The rules of [manifest] in a block of their own, which free() frees; NULL where memory ends.
struct tmg_rules *tmg_rules_make(const struct tmg_manifest *manifest);

// Makes [rules] refer to [terms], to which it adds those that are not there yet; they must outlive
// it. 0 where there is no room.
int tmg_rules_join(struct tmg_rules *rules, struct tmg_terms *terms);

// Whether a kernel of the same tensors and dims as [binding]'s has no rule that those break: what
// tmg_bind() would say of the same launch, without the words. In two parts: that no size is too
// large, in which kernels differ most, and all the rest.
int tmg_rules_reach(const struct tmg_rules *rules, const struct tmg_binding *binding);
int tmg_rules_lie(const struct tmg_rules *rules, const struct tmg_binding *binding);

// Whether tmg_rules_lie() says the same by [a] and [b], kernels of the same tensors and dims.
int tmg_rules_alike(const struct tmg_rules *a, const struct tmg_rules *b);

int tmg_same_extent(const struct tmg_extent *a, const struct tmg_extent *b);

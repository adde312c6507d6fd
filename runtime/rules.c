// Packs a manifest's rules, and holds bound arguments to them.
#include "runtime/rules.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_EXTENTS = TMG_MAX_COSTS * TMG_MAX_FACTORS };

int tmg_same_extent(const struct tmg_extent *a, const struct tmg_extent *b) {
    return a->dim == b->dim && a->times == b->times && a->plus == b->plus && a->by == b->by;
}

// ---- Packing

// The number of [extent] among the first [count] of [extents], where it is put if it is new.
static unsigned number_of(const struct tmg_extent *extent, struct tmg_extent *extents,
                          unsigned *count) {
    unsigned at = 0;
    while (at < *count && !tmg_same_extent(&extents[at], extent)) ++at;
    if (at == *count) extents[(*count)++] = *extent;
    return at;
}

// What a row of that unit is added to; TMG_SPENT_COUNT where the model does not look at it.
static enum tmg_spent spent_of(enum tmg_unit unit) {
    switch (unit) {
    case TMG_UNIT_TENSOR_FLOPS: return TMG_SPENT_FLOPS;
    case TMG_UNIT_SHARED_BYTES: return TMG_SPENT_SHARED;
    case TMG_UNIT_L2_BYTES: return TMG_SPENT_L2;
    case TMG_UNIT_DRAM_BYTES: return TMG_SPENT_ALL_DRAM;
    case TMG_UNIT_STORE_BYTES: return TMG_SPENT_STORE;
    case TMG_UNIT_STEPS: return TMG_SPENT_STEPS;
    case TMG_UNIT_L1_BYTES: return TMG_SPENT_L1;
    case TMG_UNIT_SUMS_BYTES: return TMG_SPENT_SUMS;
    case TMG_UNIT_EPILOGUE_WARPS: return TMG_SPENT_WARPS;
    default: return TMG_SPENT_COUNT;
    }
}

static struct tmg_cost_rule cost_rule(const struct tmg_manifest *manifest,
                                      const struct tmg_cost *cost, struct tmg_extent *extents,
                                      unsigned *count) {
    const int named = cost->tensor >= 0;
    struct tmg_cost_rule rule = {.amount = (double)cost->amount,
                                 .per = (unsigned char)cost->per,
                                 .spends = (unsigned char)spent_of(cost->unit)};
    if (cost->unit == TMG_UNIT_L2_BYTES && named) rule.pitch = (unsigned char)(cost->tensor + 1);
    rule.reads =
        cost->unit == TMG_UNIT_DRAM_BYTES && named && manifest->tensors[cost->tensor].reads;
    for (unsigned i = 0; i < cost->factor_count; ++i)
        rule.factors[i] = (unsigned char)(1 + number_of(&cost->factors[i], extents, count));
    return rule;
}

static void pack_sizes(const struct tmg_manifest *manifest, struct tmg_rules *rules) {
    for (unsigned i = 0; i < rules->dim_count; ++i) {
        const struct tmg_dim *dim = &manifest->dims[i];
        rules->dims[i] = (struct tmg_dim_rule){(int32_t)dim->multiple_of, (int32_t)dim->most,
                                               (int32_t)dim->value};
    }
    for (unsigned i = 0; i < rules->tensor_count; ++i) {
        const struct tmg_tensor *tensor = &manifest->tensors[i];
        rules->tensors[i] =
            (struct tmg_tensor_rule){.alignment = (int32_t)tensor->alignment,
                                     .stride_bits = (int32_t)(8 * tensor->stride_bytes_multiple),
                                     .rank = (unsigned char)tensor->rank,
                                     .bits = (unsigned char)tmg_dtypes[tensor->dtype].bits,
                                     .takes_gaps = tensor->takes_gaps != 0};
    }
}

// What the rows say of the kernel as a whole.
static void pack_overlap(const struct tmg_manifest *manifest, struct tmg_rules *rules) {
    for (unsigned i = 0; i < manifest->cost_count; ++i) {
        const struct tmg_cost *cost = &manifest->costs[i];
        if (cost->unit == TMG_UNIT_STORE_BYTES) rules->overlaps |= cost->overlaps;
        if (cost->unit == TMG_UNIT_STEPS) rules->ahead = cost->ahead;
    }
}

struct tmg_rules *tmg_rules_make(const struct tmg_manifest *manifest) {
    struct tmg_extent extents[MOST_EXTENTS];
    struct tmg_cost_rule costs[TMG_MAX_COSTS];
    unsigned extent_count = 0, cost_count = 0, counted = 0;
    for (unsigned i = 0; i < manifest->cost_count; ++i) {
        const struct tmg_cost *cost = &manifest->costs[i];
        if (spent_of(cost->unit) == TMG_SPENT_COUNT) continue;
        costs[cost_count++] = cost_rule(manifest, cost, extents, &extent_count);
        counted |= 1u << cost->per;
    }
    struct tmg_rules *rules;
    const size_t bytes =
        sizeof *rules + cost_count * sizeof *rules->costs + extent_count * sizeof *rules->extents +
        manifest->dim_count * sizeof *rules->dims + manifest->tensor_count * sizeof *rules->tensors;
    rules = aligned_alloc(TMG_CACHE_LINE, (bytes / TMG_CACHE_LINE + 1) * TMG_CACHE_LINE);
    if (!rules) return NULL;
    *rules = (struct tmg_rules){.dim_count = (unsigned char)manifest->dim_count,
                                .tensor_count = (unsigned char)manifest->tensor_count,
                                .extent_count = (unsigned char)extent_count,
                                .cost_count = (unsigned char)cost_count,
                                .counted = counted};
    rules->costs = (struct tmg_cost_rule *)(rules + 1);
    rules->extents = (struct tmg_extent *)(rules->costs + cost_count);
    rules->dims = (struct tmg_dim_rule *)(rules->extents + extent_count);
    rules->tensors = (struct tmg_tensor_rule *)(rules->dims + manifest->dim_count);
    memcpy(rules->costs, costs, cost_count * sizeof *costs);
    memcpy(rules->extents, extents, extent_count * sizeof *extents);
    pack_sizes(manifest, rules);
    pack_overlap(manifest, rules);
    return rules;
}

// ---- Another kernel on the same tensors

static int fits_tensor(const struct tmg_tensor_rule *rule, const struct tmg_bound_tensor *bound) {
    int64_t dense = bound->dims[rule->rank - 1];
    for (int axis = rule->rank - 2; axis >= 0; --axis) {
        const int64_t stride = bound->strides[axis];
        if (bound->dims[axis] > 1 &&
            (stride * rule->bits % rule->stride_bits || (!rule->takes_gaps && stride != dense)))
            return 0;
        dense *= bound->dims[axis];
    }
    return bound->data % (uint64_t)rule->alignment == 0;
}

int tmg_rules_fit(const struct tmg_rules *rules, const struct tmg_binding *binding) {
    for (unsigned i = 0; i < rules->dim_count; ++i) {
        const struct tmg_dim_rule *dim = &rules->dims[i];
        const int64_t size = binding->dims[i];
        if (size > dim->most || size % dim->multiple_of || (dim->value > 0 && size != dim->value))
            return 0;
    }
    for (unsigned i = 0; i < rules->tensor_count; ++i)
        if (!fits_tensor(&rules->tensors[i], &binding->tensors[i])) return 0;
    return 1;
}

static int same_tensor(const struct tmg_tensor_rule *a, const struct tmg_tensor_rule *b) {
    return a->alignment == b->alignment && a->stride_bits == b->stride_bits && a->rank == b->rank &&
           a->bits == b->bits && a->takes_gaps == b->takes_gaps;
}

int tmg_rules_alike(const struct tmg_rules *a, const struct tmg_rules *b) {
    for (unsigned i = 0; i < a->dim_count; ++i)
        if (a->dims[i].multiple_of != b->dims[i].multiple_of ||
            a->dims[i].most != b->dims[i].most || a->dims[i].value != b->dims[i].value)
            return 0;
    for (unsigned i = 0; i < a->tensor_count; ++i)
        if (!same_tensor(&a->tensors[i], &b->tensors[i])) return 0;
    return 1;
}

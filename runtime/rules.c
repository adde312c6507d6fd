// Packs a manifest's rules, and holds bound arguments to them.
#include "runtime/rules.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_OWN = TMG_MAX_COSTS * TMG_MAX_FACTORS + 2 * TMG_MAX_TILES };  // terms of a kernel

int tmg_same_extent(const struct tmg_extent *a, const struct tmg_extent *b) {
    return a->dim == b->dim && a->times == b->times && a->plus == b->plus && a->by == b->by;
}

// ---- Packing

// The number of [size] among those of [terms], where it is put if it is new: then there must be
// room.
static uint16_t number_of_size(const struct tmg_extent *size, struct tmg_terms *terms) {
    unsigned at = 0;
    while (at < terms->size_count && !tmg_same_extent(&terms->sizes[at], size)) ++at;
    if (at == terms->size_count) terms->sizes[terms->size_count++] = *size;
    return (uint16_t)at;
}

// The same of the term of [size] and what the term [before] has.
static uint16_t number_of(const struct tmg_extent *size, uint16_t before, struct tmg_terms *terms) {
    const struct tmg_term term = {number_of_size(size, terms), before};
    unsigned at = 0;
    while (at < terms->count &&
           (terms->of[at].before != term.before || terms->of[at].last != term.last))
        ++at;
    if (at == terms->count) terms->of[terms->count++] = term;
    return (uint16_t)at;
}

// The same of the product of [count] factors, and of those that it is made from.
static uint16_t number_of_product(const struct tmg_extent *factors, unsigned count,
                                  struct tmg_terms *terms) {
    uint16_t at = TMG_TERM_ONE;
    for (unsigned i = 0; i < count; ++i) at = number_of(&factors[i], at, terms);
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
    case TMG_UNIT_PEERS: return TMG_SPENT_PEERS;
    case TMG_UNIT_BOX_BYTES: return TMG_SPENT_BEYOND;
    default: return TMG_SPENT_COUNT;
    }
}

static struct tmg_cost_rule cost_rule(const struct tmg_manifest *manifest,
                                      const struct tmg_cost *cost, struct tmg_terms *terms) {
    const int named = cost->tensor >= 0;
    struct tmg_cost_rule rule = {.amount = (double)cost->amount,
                                 .term =
                                     number_of_product(cost->factors, cost->factor_count, terms),
                                 .per = (unsigned char)cost->per,
                                 .spends = (unsigned char)spent_of(cost->unit)};
    if (cost->unit == TMG_UNIT_L2_BYTES && named) rule.pitch = (unsigned char)(cost->tensor + 1);
    rule.reads =
        cost->unit == TMG_UNIT_DRAM_BYTES && named && manifest->tensors[cost->tensor].reads;
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
        if (cost->unit == TMG_UNIT_STORE_BYTES) {
            rules->overlaps |= cost->overlaps;
            rules->scatters |= cost->scatters;
        }
        if (cost->unit == TMG_UNIT_STEPS) rules->ahead = (double)cost->ahead;
    }
}

static void pack_tiles(const struct tmg_manifest *manifest, struct tmg_rules *rules,
                       struct tmg_terms *terms) {
    rules->tile_count = (unsigned char)manifest->grid.tile_count;
    rules->tile = TMG_TERM_ONE;
    for (unsigned i = 0; i < rules->tile_count; ++i) {
        rules->tiles[i] = number_of(&manifest->grid.tiles[i].extent, TMG_TERM_ONE, terms);
        rules->tile = number_of(&manifest->grid.tiles[i].extent, rules->tile, terms);
    }
}

// A block with room for what [head] counts and points to; NULL where memory ends.
static struct tmg_rules *make_room(const struct tmg_rules *head) {
    const size_t bytes =
        sizeof *head + head->cost_count * sizeof *head->costs +
        head->dim_count * sizeof *head->dims + head->tensor_count * sizeof *head->tensors +
        head->own.size_count * sizeof *head->own.sizes + head->own.count * sizeof *head->own.of;
    struct tmg_rules *rules =
        aligned_alloc(TMG_CACHE_LINE, (bytes / TMG_CACHE_LINE + 1) * TMG_CACHE_LINE);
    if (!rules) return NULL;
    *rules = *head;
    rules->costs = (struct tmg_cost_rule *)(rules + 1);
    rules->dims = (struct tmg_dim_rule *)(rules->costs + rules->cost_count);
    rules->tensors = (struct tmg_tensor_rule *)(rules->dims + rules->dim_count);
    rules->own.sizes = (struct tmg_extent *)(rules->tensors + rules->tensor_count);
    rules->own.of = (struct tmg_term *)(rules->own.sizes + rules->own.size_count);
    rules->terms = &rules->own;
    return rules;
}

struct tmg_rules *tmg_rules_make(const struct tmg_manifest *manifest) {
    struct tmg_term of[MOST_OWN];
    struct tmg_extent sizes[MOST_OWN];
    struct tmg_cost_rule costs[TMG_MAX_COSTS];
    struct tmg_rules head = {.dim_count = (unsigned char)manifest->dim_count,
                             .tensor_count = (unsigned char)manifest->tensor_count,
                             .own = {.of = of, .sizes = sizes}};
    for (unsigned i = 0; i < manifest->cost_count; ++i)
        if (spent_of(manifest->costs[i].unit) != TMG_SPENT_COUNT)
            costs[head.cost_count++] = cost_rule(manifest, &manifest->costs[i], &head.own);
    pack_tiles(manifest, &head, &head.own);
    struct tmg_rules *rules = make_room(&head);
    if (!rules) return NULL;
    memcpy(rules->costs, costs, head.cost_count * sizeof *costs);
    memcpy(rules->own.of, of, head.own.count * sizeof *of);
    memcpy(rules->own.sizes, sizes, head.own.size_count * sizeof *sizes);
    pack_sizes(manifest, rules);
    pack_overlap(manifest, rules);
    return rules;
}

int tmg_rules_join(struct tmg_rules *rules, struct tmg_terms *terms) {
    uint16_t numbers[TMG_MAX_TERMS + 1] = {[TMG_TERM_ONE] = TMG_TERM_ONE};
    if (terms->count + rules->own.count > TMG_MAX_TERMS) return 0;
    for (unsigned i = 0; i < rules->own.count; ++i) {
        const struct tmg_term *term = &rules->own.of[i];
        numbers[i] = number_of(&rules->own.sizes[term->last], numbers[term->before], terms);
    }
    for (unsigned i = 0; i < rules->cost_count; ++i)
        rules->costs[i].term = numbers[rules->costs[i].term];
    for (unsigned i = 0; i < rules->tile_count; ++i) rules->tiles[i] = numbers[rules->tiles[i]];
    rules->tile = numbers[rules->tile];
    rules->terms = terms;
    return 1;
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

int tmg_rules_reach(const struct tmg_rules *rules, const struct tmg_binding *binding) {
    for (unsigned i = 0; i < rules->dim_count; ++i)
        if (binding->dims[i] > rules->dims[i].most) return 0;
    return 1;
}

int tmg_rules_lie(const struct tmg_rules *rules, const struct tmg_binding *binding) {
    for (unsigned i = 0; i < rules->dim_count; ++i) {
        const struct tmg_dim_rule *dim = &rules->dims[i];
        const int64_t size = binding->dims[i];
        if ((dim->multiple_of > 1 && size % dim->multiple_of) ||
            (dim->value > 0 && size != dim->value))
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
            a->dims[i].value != b->dims[i].value)
            return 0;
    for (unsigned i = 0; i < a->tensor_count; ++i)
        if (!same_tensor(&a->tensors[i], &b->tensors[i])) return 0;
    return 1;
}

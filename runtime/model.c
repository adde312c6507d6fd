// The model of a launch's time: work of a step, steps of a wave, waves, floors.
#include "runtime/model.h"

#include <math.h>
#include <string.h>

#include "runtime/error.h"

static const char *const rate_names[TMG_RATES] = {
    "tensor",    "shared",   "l2_sm",    "l2",       "dram", "store",
    "sustained", "launch",   "latency",  "turn",     "tile", "cluster",
    "split",     "pitch_64", "pitch_32", "pitch_16", "l1",   "sums"};

static const char *const bound_names[TMG_BOUNDS] = {
    "tensor cores",     "shared memory", "L2",     "DRAM",
    "latency of loads", "epilogue",      "launch", "power"};

const char *tmg_rate_name(enum tmg_rate rate) { return rate_names[rate]; }
const char *tmg_bound_name(enum tmg_bound bound) { return bound_names[bound]; }

void tmg_rates_read(const struct tmg_node *node, struct tmg_rates *rates) {
    char legal[512] = "";
    for (int i = 0; i < TMG_RATES; ++i) {
        struct tmg_node member = tmg_node_member(node, rate_names[i]);
        rates->of[i] = 0;
        strcat(strcat(legal, i ? " " : ""), rate_names[i]);
        if (i >= TMG_RATE_NEEDED && !member.value) continue;
        rates->of[i] = tmg_node_number(&member);
        if (!(rates->of[i] > 0)) tmg_node_fail(&member, "must be positive");
    }
    tmg_node_keys(node, legal);
}

// A launch as the model sees it; flops and bytes are those of one step of one CTA.
struct work {
    double items, steps, ahead, ctas, slots;  // steps and ctas of an item; items at work at once
    double sms;
    double flops, shared, l2, dram;
    double store, l1, sums, warps;  // of an item and CTA: bytes, warps of an epilogue of its own
    int overlaps;
    double all_flops, all_dram;  // of the launch
};

// The share of its bytes that moving rows of [tensor] costs more than where lines begin with them.
static double pitch_share(const struct tmg_binding *binding, int tensor,
                          const struct tmg_rates *rates) {
    const struct tmg_tensor *row = &binding->manifest->tensors[tensor];
    const int64_t bits = tmg_dtypes[row->dtype].bits;
    if (row->rank < 2 || binding->tensors[tensor].dims[row->rank - 1] * bits <= 1024) return 0;
    const int64_t pitch = binding->tensors[tensor].strides[row->rank - 2] * bits / 8;
    if (pitch % 128 == 0) return 0;
    return rates->of[pitch % 64 == 0   ? TMG_RATE_PITCH_64
                     : pitch % 32 == 0 ? TMG_RATE_PITCH_32
                                       : TMG_RATE_PITCH_16];
}

// Adds what row [row] spends, whose factors are among [sizes].
static inline void add_row(const struct tmg_cost_rule *row, const double *sizes,
                           const struct tmg_pitches *pitches, struct tmg_work *work) {
    double spent = row->amount, *each = work->spent[row->per];
#pragma GCC unroll 4
    for (int i = 0; i < TMG_MAX_FACTORS; ++i) spent *= sizes[row->factors[i]];
    each[row->spends] += spent * pitches->times[row->pitch];
    if (row->reads) each[TMG_SPENT_DRAM] += spent;
}

// The share of the tiles' flops that the problem asks for: those of ragged edges are left out.
static double asked_share(const struct tmg_binding *binding) {
    double covered = 1;
    const struct tmg_grid *grid = &binding->manifest->grid;
    for (unsigned i = 0; i < grid->tile_count; ++i) {
        const struct tmg_extent *extent = &grid->tiles[i].extent;
        if (extent->dim >= 0)
            covered *= (double)binding->dims[extent->dim] /
                       (double)(tmg_tile_count(binding, i) * extent->by);
    }
    return covered;
}

void tmg_pitches_of(const struct tmg_binding *binding, const struct tmg_rates *rates,
                    struct tmg_pitches *pitches) {
    pitches->times[0] = 1;
    for (unsigned i = 0; i < binding->manifest->tensor_count; ++i)
        pitches->times[i + 1] = 1 + pitch_share(binding, (int)i, rates);
}

void tmg_work_of(const struct tmg_binding *binding, const struct tmg_pitches *pitches,
                 struct tmg_work *work) {
    const struct tmg_rules *rules = binding->manifest->rules;
    double sizes[1 + TMG_MAX_COSTS * TMG_MAX_FACTORS];
    work->counted = rules->counted;
    work->ahead = (double)rules->ahead;
    work->overlaps = rules->overlaps;
    work->asked = asked_share(binding);
    for (unsigned left = rules->counted; left; left &= left - 1)
        memset(work->spent[__builtin_ctz(left)], 0, sizeof work->spent[0]);
    sizes[0] = 1;
    for (unsigned i = 0; i < rules->extent_count; ++i)
        sizes[i + 1] = (double)tmg_extent_value(&rules->extents[i], binding->dims);
    for (unsigned i = 0; i < rules->cost_count; ++i)
        add_row(&rules->costs[i], sizes, pitches, work);
}

// What the whole launch spends.
static void sum_up(const struct tmg_work *work, const int64_t counts[TMG_PER_COUNT],
                   double sum[TMG_SPENT_COUNT]) {
#pragma GCC unroll 8
    for (int i = 0; i < TMG_SPENT_COUNT; ++i) sum[i] = 0;
    for (unsigned left = work->counted; left; left &= left - 1) {
        const int per = __builtin_ctz(left);
        const double count = (double)counts[per];
#pragma GCC unroll 8
        for (int i = 0; i < TMG_SPENT_COUNT; ++i) sum[i] += count * work->spent[per][i];
    }
}

static inline double larger(double a, double b) { return a > b ? a : b; }

// The items at work at once.
static double slots_of(const struct tmg_manifest *manifest, const struct tmg_capacity *capacity,
                       const int64_t counts[TMG_PER_COUNT]) {
    const int64_t ctas = manifest->grid.blocks_per_tile;
    int64_t slots = capacity->resident_blocks;
    if (slots <= 0) slots = manifest->grid.blocks_per_sm * capacity->sms;
    if (counts[TMG_PER_BLOCK] < slots) slots = counts[TMG_PER_BLOCK];
    if (ctas > 1) slots /= ctas;
    return slots > 1 ? (double)slots : 1;
}

static int share_work(const struct tmg_binding *binding, const struct tmg_capacity *capacity,
                      const int64_t counts[TMG_PER_COUNT], const struct tmg_work *all,
                      struct work *work) {
    const struct tmg_manifest *manifest = binding->manifest;
    double sum[TMG_SPENT_COUNT];
    const double items = (double)counts[TMG_PER_ITEM],
                 ctas = (double)manifest->grid.blocks_per_tile;
    sum_up(all, counts, sum);
    if (!(sum[TMG_SPENT_STEPS] > 0) || !(items > 0))
        return tmg_fail(TMAGEN_ERROR_ARGUMENT, "%s: its manifest does not say what a step costs",
                        manifest->name);
    const double each = 1 / (sum[TMG_SPENT_STEPS] * ctas);
    *work = (struct work){.items = items,
                          .steps = sum[TMG_SPENT_STEPS] / items,
                          .ahead = all->ahead,
                          .ctas = ctas,
                          .slots = slots_of(manifest, capacity, counts),
                          .sms = (double)capacity->sms,
                          .flops = sum[TMG_SPENT_FLOPS] * each,
                          .shared = sum[TMG_SPENT_SHARED] * each,
                          .l2 = sum[TMG_SPENT_L2] * each,
                          .dram = sum[TMG_SPENT_DRAM] * each,
                          .store = sum[TMG_SPENT_STORE] / (items * ctas),
                          .l1 = sum[TMG_SPENT_L1] / (items * ctas),
                          .sums = sum[TMG_SPENT_SUMS] / (items * ctas),
                          .warps = sum[TMG_SPENT_WARPS] / (items * ctas),
                          .overlaps = all->overlaps,
                          .all_flops = sum[TMG_SPENT_FLOPS] * all->asked,
                          .all_dram = sum[TMG_SPENT_ALL_DRAM]};
    return TMAGEN_OK;
}

// How sharp the maximum is over the units of a step, and over the floors of a launch: fitted to
// measurements. Both are powers of two.
#define STEP_POWER   2
#define LAUNCH_POWER 8
// And over the roles of a CTA, of which each works on a tile of its own: clocks that system 2 took
// on a B200 have tiles of 1.21 times the time of either role where both take the same.
#define ROLE_POWER 4

// A maximum that is rounded where two come close: neither quite hides the other. It is the norm of
// the values with the exponent [power], a power of two: pow() would be most of a prediction's time,
// and a launch of a new shape waits for one of each kernel.
static inline double smooth_max(const double *values, int count, int power) {
    double sum = 0;
#pragma GCC unroll 8
    for (int i = 0; i < count; ++i) {
        double term = values[i];
#pragma GCC unroll 3
        for (int exponent = 1; exponent < power; exponent *= 2) term *= term;
        sum += term;
    }
#pragma GCC unroll 3
    for (int exponent = 1; exponent < power; exponent *= 2) sum = sqrt(sum);
    return sum;
}

// The times that each unit needs for a step while [active] CTAs are at work, which share the SMs.
static void step_times(const struct work *work, const struct tmg_rates *rates, double active,
                       double times[TMG_BOUND_STEPS]) {
    const double *rate = rates->of;
    const double share = larger(1, active / work->sms);
    times[TMG_BOUND_TENSOR] = work->flops * share / rate[TMG_RATE_TENSOR];
    times[TMG_BOUND_SHARED] = work->shared * share / rate[TMG_RATE_SHARED];
    times[TMG_BOUND_L2] =
        work->l2 * larger(share / rate[TMG_RATE_L2_SM], active / rate[TMG_RATE_L2]);
    times[TMG_BOUND_DRAM] = work->dram * active / rate[TMG_RATE_DRAM];
    times[TMG_BOUND_LATENCY] = rate[TMG_RATE_LATENCY] / work->ahead;
}

// Adds the time of [waves] waves of [items] items each.
static double add_waves(const struct work *work, const struct tmg_rates *rates, double waves,
                        double items, struct tmg_estimate *estimate) {
    double times[TMG_BOUND_STEPS];
    if (!(waves > 0)) return 0;
    step_times(work, rates, items * work->ctas, times);
    const double steps = waves * work->steps;
#pragma GCC unroll 8
    for (int i = 0; i < TMG_BOUND_STEPS; ++i) estimate->bound[i] += steps * times[i];
    return steps * smooth_max(times, TMG_BOUND_STEPS, STEP_POWER);
}

// The time of the kernels that run before: each its launch and the bytes that it moves.
static double before_us(const struct tmg_binding *binding, const struct tmg_capacity *capacity,
                        const struct tmg_rates *rates, struct tmg_estimate *estimate) {
    struct tmg_binding own = *binding;
    double us = 0, cost[TMG_UNITS];
    own.splits = 1;
    for (unsigned i = 0; i < binding->manifest->before_count; ++i) {
        own.manifest = binding->manifest->before[i];
        if (tmg_launch_cost(&own, capacity, cost)) continue;
        const double bytes = cost[TMG_UNIT_DRAM_BYTES] / rates->of[TMG_RATE_DRAM];
        estimate->bound[TMG_BOUND_DRAM] += bytes;
        us += bytes + rates->of[TMG_RATE_LAUNCH];
    }
    return us;
}

// The time of all items where an epilogue of its own warps, four of which are one to each quarter
// of tensor memory's lanes, takes the sums; loads and products of an item take [main] us of a CTA.
// What each warp does once a tile meets at units that all share. The L1 serves both roles.
static double role_us(const struct work *work, const struct tmg_rates *rates, double main,
                      struct tmg_estimate *estimate) {
    const double *rate = rates->of, item = main / estimate->waves + rate[TMG_RATE_TILE];
    const double epilogue = rate[TMG_RATE_TURN] * work->warps / 4 +
                            work->sums / rate[TMG_RATE_SUMS] + work->store / rate[TMG_RATE_STORE];
    const double roles[] = {item, epilogue, work->l1 / rate[TMG_RATE_L1]};
    estimate->bound[TMG_BOUND_EPILOGUE] = estimate->waves * epilogue;
    if (!work->overlaps) return estimate->waves * (item + epilogue);
    return estimate->waves * smooth_max(roles, 3, ROLE_POWER) + epilogue;
}

int tmg_estimate_of(const struct tmg_binding *binding, const struct tmg_capacity *capacity,
                    const int64_t counts[TMG_PER_COUNT], const struct tmg_work *all,
                    const struct tmg_rates *rates, struct tmg_estimate *estimate) {
    struct work work = {0};
    const double *rate = rates->of;
    const int status = share_work(binding, capacity, counts, all, &work);
    if (status) return status;
    if (work.sums > 0 && !(rate[TMG_RATE_SUMS] > 0 && rate[TMG_RATE_L1] > 0))
        return tmg_fail(TMAGEN_ERROR_ARGUMENT,
                        "%s: loads from tensor memory, for which these "
                        "rates have no sums and l1: another GPU's?",
                        binding->manifest->name);
    const double full = floor(work.items / work.slots), rest = work.items - full * work.slots;
    *estimate =
        (struct tmg_estimate){.items = work.items, .steps = work.steps, .waves = full + (rest > 0)};
    double *bound = estimate->bound;
    const double us = add_waves(&work, rates, full, work.slots, estimate) +
                      add_waves(&work, rates, rest > 0, rest, estimate);
    bound[TMG_BOUND_EPILOGUE] = (rate[TMG_RATE_TURN] + work.store / rate[TMG_RATE_STORE]) *
                                (work.overlaps ? 1 : estimate->waves);
    const double between = rate[TMG_RATE_TILE] * (estimate->waves - 1) +
                           (work.ctas > 1 ? rate[TMG_RATE_CLUSTER] : 0) +
                           (binding->splits > 1 ? rate[TMG_RATE_SPLIT] : 0);
    bound[TMG_BOUND_LAUNCH] = rate[TMG_RATE_LAUNCH] + between;
    bound[TMG_BOUND_POWER] = work.all_flops / rate[TMG_RATE_SUSTAINED];
    const double roles = work.sums > 0 ? role_us(&work, rates, us, estimate) : 0;
    const double floors[] = {roles > 0 ? roles : us + bound[TMG_BOUND_EPILOGUE] + between,
                             work.all_dram / rate[TMG_RATE_DRAM], bound[TMG_BOUND_POWER]};
    estimate->us = rate[TMG_RATE_LAUNCH] + smooth_max(floors, 3, LAUNCH_POWER);
    if (binding->manifest->before_count)
        estimate->us += before_us(binding, capacity, rates, estimate);
#pragma GCC unroll 8
    for (int i = 1; i < TMG_BOUNDS; ++i)
        if (bound[i] > bound[estimate->binds]) estimate->binds = (enum tmg_bound)i;
    return TMAGEN_OK;
}

int tmg_estimate(const struct tmg_binding *binding, const struct tmg_capacity *capacity,
                 const struct tmg_rates *rates, struct tmg_estimate *estimate) {
    int64_t counts[TMG_PER_COUNT];
    struct tmg_pitches pitches;
    struct tmg_work work;
    const int status = tmg_launch_counts(binding, capacity, counts);
    if (status) return status;
    tmg_pitches_of(binding, rates, &pitches);
    tmg_work_of(binding, &pitches, &work);
    return tmg_estimate_of(binding, capacity, counts, &work, rates, estimate);
}

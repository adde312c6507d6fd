// The model of a launch's time: work of a step, steps of a wave, waves, floors.
#include "runtime/model.h"

#include <math.h>
#include <string.h>

#include "runtime/error.h"

static const char *const rate_names[TMG_RATES] = {
    "tensor",    "shared",   "l2_sm", "l2",   "dram",    "store", "sustained",
    "launch",    "latency",  "turn",  "tile", "cluster", "split", "pitch_64",
    "pitch_32",  "pitch_16", "l1",    "sums", "step",    "part",  "parts",
    "clustered", "sixes",    "start", "walk", "writes",  "peer",  "beyond"};

static const char *const bound_names[TMG_BOUNDS] = {
    "tensor cores",   "shared memory", "L2",     "DRAM", "latency of loads",
    "turns of steps", "epilogue",      "launch", "power"};

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
    double flops, shared, l2, dram, beyond;
    // of an item and CTA: bytes, warps of an epilogue of its own, CTAs whose sums it takes
    double store, l1, sums, warps, peers;
    int overlaps;
    double sharers;              // of a tile's parts that add up its sums, if they come together
    double all_flops, all_dram;  // of the launch; what is written to DRAM counts more than once
    double blocks;
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

void tmg_ground_of(const struct tmg_binding *binding, const struct tmg_terms *terms,
                   const struct tmg_rates *rates, struct tmg_ground *ground) {
    double sizes[TMG_MAX_TERMS];
    ground->rates = rates;
    for (int i = 0; i < TMG_RATES; ++i) ground->us[i] = rates->of[i] > 0 ? 1 / rates->of[i] : 0;
    ground->pitch[0] = 1;
    ground->tensor_count = binding->manifest->tensor_count;
    ground->term_count = terms->count;
    ground->terms[TMG_TERM_ONE] = 1;
    for (unsigned i = 0; i < ground->tensor_count; ++i)
        ground->pitch[i + 1] = 1 + pitch_share(binding, (int)i, rates);
    for (unsigned i = 0; i < terms->size_count; ++i)
        sizes[i] = (double)tmg_extent_value(&terms->sizes[i], binding->dims);
#pragma GCC unroll 4
    for (unsigned i = 0; i < terms->count; ++i)
        ground->terms[i] = sizes[terms->of[i].last] * ground->terms[terms->of[i].before];
}

void tmg_ground_tiles(const struct tmg_binding *binding, const struct tmg_ground *ground,
                      int64_t tiles[3]) {
    const struct tmg_grid *grid = &binding->manifest->grid;
    const struct tmg_rules *rules = binding->manifest->rules;
    tiles[0] = tiles[1] = tiles[2] = 1;
    for (unsigned i = 0; i < rules->tile_count; ++i) {
        const double count = ground->terms[rules->tiles[i]];
        int64_t *axis = &tiles[grid->tiles[i].axis];
        if (__builtin_mul_overflow(*axis, count > 0 ? (int64_t)count : 0, axis)) *axis = INT64_MAX;
    }
}

// The share of the tiles' flops that the problem asks for: those of ragged edges are left out.
static double asked_share(const struct tmg_binding *binding, const struct tmg_ground *ground) {
    double covered = 1;
    const struct tmg_grid *grid = &binding->manifest->grid;
    const struct tmg_rules *rules = binding->manifest->rules;
    for (unsigned i = 0; i < rules->tile_count; ++i) {
        const struct tmg_extent *extent = &grid->tiles[i].extent;
        if (extent->dim >= 0)
            covered *=
                (double)binding->dims[extent->dim] / (ground->terms[rules->tiles[i]] * extent->by);
    }
    return covered;
}

// What the whole launch spends.
static void sum_up(const struct tmg_rules *rules, const struct tmg_ground *ground,
                   const int64_t counts[TMG_PER_COUNT], double sum[TMG_SPENT_COUNT]) {
    double times[TMG_PER_COUNT];
#pragma GCC unroll 8
    for (int i = 0; i < TMG_PER_COUNT; ++i) times[i] = (double)counts[i];
#pragma GCC unroll 16
    for (int i = 0; i < TMG_SPENT_COUNT; ++i) sum[i] = 0;
    for (const struct tmg_cost_rule *row = rules->costs, *end = row + rules->cost_count; row < end;
         ++row) {
        const double spent = row->amount * ground->terms[row->term] * times[row->per];
        sum[row->spends] += spent * ground->pitch[row->pitch];
        if (row->reads) sum[TMG_SPENT_DRAM] += spent;
        if (row->spends == TMG_SPENT_L2) sum[TMG_SPENT_BEYOND] -= spent;
    }
}

static inline double larger(double a, double b) { return a > b ? a : b; }

// The items at work at once.
static double slots_of(const struct tmg_manifest *manifest, const struct tmg_capacity *capacity,
                       const int64_t counts[TMG_PER_COUNT], const struct tmg_rates *rates) {
    const int64_t ctas = manifest->grid.blocks_per_tile;
    int64_t slots = capacity->resident_blocks;
    if (slots <= 0)
        slots = manifest->grid.blocks_per_sm * tmg_room_for_clusters(ctas, capacity->sms, rates);
    if (counts[TMG_PER_BLOCK] < slots) slots = counts[TMG_PER_BLOCK];
    if (ctas > 1) slots /= ctas;
    return slots > 1 ? (double)slots : 1;
}

// 0 where the manifest does not say what a step costs.
static int share_work(const struct tmg_binding *binding, const struct tmg_capacity *capacity,
                      const int64_t counts[TMG_PER_COUNT], const struct tmg_ground *ground,
                      struct work *work) {
    const struct tmg_manifest *manifest = binding->manifest;
    const struct tmg_rates *rates = ground->rates;
    double sum[TMG_SPENT_COUNT];
    const double items = (double)counts[TMG_PER_ITEM],
                 ctas = (double)manifest->grid.blocks_per_tile;
    sum_up(manifest->rules, ground, counts, sum);
    if (!(sum[TMG_SPENT_STEPS] > 0) || !(items > 0)) return 0;
    const double each = 1 / (sum[TMG_SPENT_STEPS] * ctas), of_item = 1 / (items * ctas);
    const double written = sum[TMG_SPENT_ALL_DRAM] - sum[TMG_SPENT_DRAM];
    *work =
        (struct work){.items = items,
                      .steps = sum[TMG_SPENT_STEPS] / items,
                      .ahead = manifest->rules->ahead,
                      .ctas = ctas,
                      .slots = slots_of(manifest, capacity, counts, rates),
                      .sms = (double)capacity->sms,
                      .flops = sum[TMG_SPENT_FLOPS] * each,
                      .shared = sum[TMG_SPENT_SHARED] * each,
                      .l2 = sum[TMG_SPENT_L2] * each,
                      .dram = sum[TMG_SPENT_DRAM] * each,
                      .beyond = larger(0, sum[TMG_SPENT_BEYOND]) * each,
                      .store = sum[TMG_SPENT_STORE] * of_item,
                      .l1 = sum[TMG_SPENT_L1] * of_item,
                      .sums = sum[TMG_SPENT_SUMS] * of_item,
                      .warps = sum[TMG_SPENT_WARPS] * of_item,
                      .peers = sum[TMG_SPENT_PEERS] * of_item,
                      .overlaps = manifest->rules->overlaps,
                      .sharers = tmg_sharers(manifest->rules, binding->splits),
                      .all_flops = sum[TMG_SPENT_FLOPS],
                      .all_dram = sum[TMG_SPENT_ALL_DRAM] + written * rates->of[TMG_RATE_WRITES],
                      .blocks = (double)counts[TMG_PER_BLOCK]};
    return 1;
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
static void step_times(const struct work *work, const struct tmg_ground *ground, double active,
                       double times[TMG_BOUND_STEPS]) {
    const double *us = ground->us;
    const double share = larger(1, ceil(active / work->sms));  // of the busiest SM
    times[TMG_BOUND_TENSOR] = work->flops * share * us[TMG_RATE_TENSOR];
    times[TMG_BOUND_SHARED] = work->shared * share * us[TMG_RATE_SHARED];
    times[TMG_BOUND_L2] = work->l2 * larger(share * us[TMG_RATE_L2_SM], active * us[TMG_RATE_L2]);
    times[TMG_BOUND_DRAM] = work->dram * active * us[TMG_RATE_DRAM];
    times[TMG_BOUND_LATENCY] = ground->rates->of[TMG_RATE_LATENCY] / work->ahead;
    times[TMG_BOUND_STEP] = ground->rates->of[TMG_RATE_STEP];
}

// Adds the time of [waves] waves of [items] items each. Nothing hides what boxes hold beyond a
// tensor's edges, of which all SMs together get but so many.
static double add_waves(const struct work *work, const struct tmg_ground *ground, double waves,
                        double items, struct tmg_estimate *estimate) {
    double times[TMG_BOUND_STEPS];
    if (!(waves > 0)) return 0;
    step_times(work, ground, items * work->ctas, times);
    const double steps = waves * work->steps,
                 beyond = work->beyond * items * work->ctas * ground->us[TMG_RATE_BEYOND];
#pragma GCC unroll 8
    for (int i = 0; i < TMG_BOUND_STEPS; ++i) estimate->bound[i] += steps * times[i];
    estimate->bound[TMG_BOUND_L2] += steps * beyond;
    return steps * (smooth_max(times, TMG_BOUND_STEPS, STEP_POWER) + beyond);
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

// What it costs that tiles are split: the last part of each adds up the others, or each a share if
// nobody has more to do; a CTA that has another part begins it behind what the last one wrote.
static double split_us(const struct work *work, const struct tmg_rates *rates, int64_t splits,
                       double waves) {
    if (splits <= 1) return 0;
    const double *rate = rates->of,
                 others = work->store * (double)(splits - 1) / (waves <= 1 ? work->sharers : 1);
    return rate[TMG_RATE_SPLIT] + rate[TMG_RATE_PART] * (waves - 1) +
           (rate[TMG_RATE_PARTS] > 0 ? others / rate[TMG_RATE_PARTS] : 0);
}

int tmg_estimate_of(const struct tmg_binding *binding, const struct tmg_capacity *capacity,
                    const int64_t counts[TMG_PER_COUNT], const struct tmg_ground *ground,
                    double limit, struct tmg_estimate *estimate) {
    struct work work;
    const struct tmg_rates *rates = ground->rates;
    const double *rate = rates->of;
    if (!share_work(binding, capacity, counts, ground, &work))
        return tmg_fail(TMAGEN_ERROR_ARGUMENT, "%s: its manifest does not say what a step costs",
                        binding->manifest->name);
    if (work.sums > 0 && !(rate[TMG_RATE_SUMS] > 0 && rate[TMG_RATE_L1] > 0))
        return tmg_fail(TMAGEN_ERROR_ARGUMENT,
                        "%s: loads from tensor memory, for which these "
                        "rates have no sums and l1: another GPU's?",
                        binding->manifest->name);
    const double full = floor(work.items / work.slots), rest = work.items - full * work.slots;
    double *bound = estimate->bound;
    estimate->binds = TMG_BOUND_TENSOR;
    estimate->waves = full + (rest > 0);
    estimate->items = work.items;
    estimate->steps = work.steps;
    estimate->blocks = work.blocks;
#pragma GCC unroll 16
    for (int i = 0; i < TMG_BOUNDS; ++i) bound[i] = 0;
    const double us = add_waves(&work, ground, full, work.slots, estimate) +
                      add_waves(&work, ground, rest > 0, rest, estimate);
    bound[TMG_BOUND_EPILOGUE] = (rate[TMG_RATE_TURN] + work.store * ground->us[TMG_RATE_STORE]) *
                                (work.overlaps ? 1 : estimate->waves);
    const double between = rate[TMG_RATE_TILE] * (estimate->waves - 1) +
                           (work.ctas > 1 ? rate[TMG_RATE_CLUSTER] : 0) +
                           (tmg_walks(binding->manifest) ? rate[TMG_RATE_WALK] : 0) +
                           split_us(&work, rates, binding->splits, estimate->waves) +
                           rate[TMG_RATE_PEER] * work.peers * estimate->waves;
    const double roles = work.sums > 0 ? role_us(&work, rates, us, estimate) : 0;
    const double all = roles > 0 ? roles : us + bound[TMG_BOUND_EPILOGUE] + between;
    const double launch = rate[TMG_RATE_LAUNCH] + rate[TMG_RATE_START] * work.blocks / work.sms;
    estimate->us = launch + all;
    if (estimate->us > limit) return TMAGEN_OK;
    bound[TMG_BOUND_LAUNCH] = launch + between;
    bound[TMG_BOUND_POWER] =
        work.all_flops * asked_share(binding, ground) * ground->us[TMG_RATE_SUSTAINED];
    const double floors[] = {all, work.all_dram * ground->us[TMG_RATE_DRAM],
                             bound[TMG_BOUND_POWER]};
    estimate->us = launch + smooth_max(floors, 3, LAUNCH_POWER);
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
    struct tmg_ground ground;
    const int status = tmg_launch_counts(binding, capacity, counts);
    if (status) return status;
    tmg_ground_of(binding, binding->manifest->rules->terms, rates, &ground);
    return tmg_estimate_of(binding, capacity, counts, &ground, INFINITY, estimate);
}

// Bounds launches from below, so far as few numbers do: steps of an SM that has them to itself, and
// the bytes of the launch at full rates.
#include "runtime/least.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LANES TMG_LANES
#include "runtime/abreast.h"

int tmg_leasts_init(struct tmg_leasts *leasts, unsigned count) {
    leasts->of = calloc(count / TMG_LANES + 1, sizeof *leasts->of);
    leasts->count = count;
    return leasts->of != NULL;
}

// ---- Of a launch

// What each tile or item spends of [spent] for each of what the term [term] counts.
static double spent_for(const struct tmg_rules *rules, enum tmg_spent spent, enum tmg_per per,
                        unsigned term) {
    double amount = 0;
    for (unsigned i = 0; i < rules->cost_count; ++i) {
        const struct tmg_cost_rule *row = &rules->costs[i];
        if (row->spends == spent && row->per == per && row->term == term) amount += row->amount;
    }
    return amount;
}

// The term that is the steps of a tile; -1 where the manifest counts them otherwise.
static int term_of_steps(const struct tmg_rules *rules) {
    int term = -1;
    for (unsigned i = 0; i < rules->cost_count; ++i) {
        const struct tmg_cost_rule *row = &rules->costs[i];
        if (row->spends == TMG_SPENT_SUMS) return -1;
        if (row->spends != TMG_SPENT_STEPS) continue;
        if (term >= 0 || row->per != TMG_PER_TILE || row->amount > 1) return -1;
        term = row->term;
    }
    return term;
}

// What of DRAM each launch reads alike: of rows that the [first] has as much as all others have.
static void keep_common(struct tmg_leasts *leasts, const struct tmg_rules *rules, int first) {
    for (unsigned i = 0; first && i < rules->cost_count; ++i) {
        const struct tmg_cost_rule *row = &rules->costs[i];
        if (!row->reads || row->per != TMG_PER_LAUNCH || leasts->common_count == TMG_LEAST_COMMON)
            continue;
        leasts->common[leasts->common_count].term = row->term;
        leasts->common[leasts->common_count++].bytes = INFINITY;
    }
    for (unsigned i = 0; i < leasts->common_count; ++i) {
        double bytes = 0;
        for (unsigned j = 0; j < rules->cost_count; ++j)
            if (rules->costs[j].reads && rules->costs[j].per == TMG_PER_LAUNCH &&
                rules->costs[j].term == leasts->common[i].term)
                bytes += rules->costs[j].amount;
        leasts->common[i].bytes = fmin(bytes, leasts->common[i].bytes);
    }
}

// Rows of another tensor than the first launch's that has one count as if of none.
static void set_l2(struct tmg_leasts *leasts, struct tmg_least *least, unsigned at,
                   const struct tmg_rules *rules, const struct tmg_rates *rates) {
    unsigned count = 0;
    for (unsigned i = 0; i < rules->cost_count && count < TMG_LEAST_L2; ++i) {
        const struct tmg_cost_rule *row = &rules->costs[i];
        if (row->spends != TMG_SPENT_L2 || row->per != TMG_PER_LAUNCH) continue;
        if (!leasts->pitch[count]) leasts->pitch[count] = row->pitch;
        const float us = (float)(row->amount / rates->of[TMG_RATE_L2]);
        least->l2_us[count][at] = us;
        least->pitch_us[count][at] = row->pitch && row->pitch == leasts->pitch[count] ? us : 0;
        least->l2[count++][at] = row->term;
    }
}

// What splits, turns, peers' sums and stores of [store] us take: of a launch with one wave, and of
// each other.
static void set_waves(struct tmg_least *least, unsigned at, const struct tmg_manifest *manifest,
                      double store, int splits, const struct tmg_rates *rates) {
    const double *rate = rates->of, ctas = (double)manifest->grid.blocks_per_tile;
    const int overlaps = manifest->rules->overlaps;
    const double peers = rate[TMG_RATE_PEER] / ctas *
                         spent_for(manifest->rules, TMG_SPENT_PEERS, TMG_PER_ITEM, TMG_TERM_ONE);
    double launch = rate[TMG_RATE_LAUNCH] + rate[TMG_RATE_TURN] + store + peers,
           wave = rate[TMG_RATE_TILE] + (overlaps ? 0 : rate[TMG_RATE_TURN] + store) + peers;
    if (manifest->grid.blocks_per_tile > 1) launch += rate[TMG_RATE_CLUSTER];
    if (tmg_walks(manifest)) launch += rate[TMG_RATE_WALK];
    if (splits > 1) {
        launch += rate[TMG_RATE_SPLIT];
        wave += rate[TMG_RATE_PART];
        const double sharers = tmg_sharers(manifest->rules, splits);
        if (rate[TMG_RATE_PARTS] > 0)
            launch += store * (splits - 1) / sharers * rate[TMG_RATE_STORE] / rate[TMG_RATE_PARTS];
    }
    least->launch_us[at] = (float)launch;
    least->wave_us[at] = (float)wave;
}

// Steps, and stores of each tile and item of a CTA.
static void set_work(struct tmg_least *least, unsigned at, const struct tmg_manifest *manifest,
                     int splits, const struct tmg_rates *rates) {
    const struct tmg_rules *rules = manifest->rules;
    const double *rate = rates->of, ctas = (double)manifest->grid.blocks_per_tile;
    const unsigned steps = least->steps[at];
    const double flops = spent_for(rules, TMG_SPENT_FLOPS, TMG_PER_TILE, steps) / ctas,
                 shared = spent_for(rules, TMG_SPENT_SHARED, TMG_PER_TILE, steps) / ctas,
                 of_tile = spent_for(rules, TMG_SPENT_STORE, TMG_PER_TILE, TMG_TERM_ONE) / ctas,
                 of_item = spent_for(rules, TMG_SPENT_STORE, TMG_PER_ITEM, TMG_TERM_ONE) / ctas;
    const double times[] = {flops / rate[TMG_RATE_TENSOR], shared / rate[TMG_RATE_SHARED],
                            rate[TMG_RATE_LATENCY] / rules->ahead, rate[TMG_RATE_STEP]};
    double squares = 0;
    for (int i = 0; i < 4; ++i) squares += times[i] * times[i];
    least->step_us[at] = (float)(sqrt(squares) / splits);
    set_waves(least, at, manifest, (of_tile / splits + of_item) / rate[TMG_RATE_STORE], splits,
              rates);
}

void tmg_leasts_set(struct tmg_leasts *leasts, unsigned launch, const struct tmg_manifest *manifest,
                    int splits, const struct tmg_rates *rates) {
    struct tmg_least *least = &leasts->of[launch / TMG_LANES];
    const unsigned at = launch % TMG_LANES;
    const struct tmg_rules *rules = manifest->rules;
    const double ctas = (double)manifest->grid.blocks_per_tile;
    const int steps = term_of_steps(rules);
    keep_common(leasts, rules, launch == 0);
    least->splits[at] = least->slots[at] = least->most_sms[at] = 1;
    least->launch_us[at] = (float)rates->of[TMG_RATE_LAUNCH];
    least->tiles[at] = TMG_TERM_ONE;
    if (steps < 0) return;
    least->steps[at] = (uint16_t)steps;
    least->tiles[at] = rules->tile;
    least->splits[at] = (float)splits;
    least->slots[at] = (float)((double)manifest->grid.blocks_per_sm / ctas);
    least->most_sms[at] =
        (float)tmg_room_for_clusters(manifest->grid.blocks_per_tile, INT_MAX, rates);
    least->start_us[at] = (float)(rates->of[TMG_RATE_START] * ctas);
    least->starting[at] = tmg_walks(manifest) ? 1 : 1e30F;
    set_l2(leasts, least, at, rules, rates);
    set_work(least, at, manifest, splits, rates);
}

// ---- Of all launches

ON_LANES lanes gather(const float *values, const uint16_t *at) {
    return (lanes){values[at[0]], values[at[1]], values[at[2]], values[at[3]],
                   values[at[4]], values[at[5]], values[at[6]], values[at[7]]};
}

// Of what is not below zero.
ON_LANES lanes rounded_down(lanes value) {
    return __builtin_convertvector(__builtin_convertvector(value, bits), lanes);
}

// The same; beyond what floats count by ones, as it is.
ON_LANES lanes rounded_up(lanes value) {
    const bits counted = value < 8e6F;
    const lanes whole = rounded_down((lanes)((bits)value & counted));
    return choose(counted, whole + (lanes)((bits)(1 + (lanes){0}) & (whole < value)), value);
}

ON_LANES lanes square_root(lanes value) {
    lanes root;
    for (int i = 0; i < LANES; ++i) root[i] = sqrtf(value[i]);
    return root;
}

// e to the [power], which is within 60 of zero, to .3%.
ON_LANES lanes power_of_e(lanes power) {
    const lanes twos = power * 1.442695F + 127;
    const bits whole = __builtin_convertvector(twos, bits);
    const lanes rest = twos - rounded_down(twos);
    return (lanes)(whole << 23) * (rest * (rest * .3435F + .6565F) + 1);
}

// Below what roundings and power_of_e() are off by.
#define BELOW .995F

// [pitch]: the shares that it adds to rows of L2 bytes.
ON_LANES lanes least_us(const struct tmg_least *least, const float *terms, const float *pitch,
                        float dram, int sms) {
    const lanes items = load(least->splits) * gather(terms, least->tiles);
    lanes l2 = {0};
    for (unsigned i = 0; i < TMG_LEAST_L2; ++i)
        l2 += (load(least->l2_us[i]) + load(least->pitch_us[i]) * pitch[i]) *
              gather(terms, least->l2[i]);
    const lanes all = (float)sms + (lanes){0}, one = 1 + (lanes){0};
    const lanes room = load(least->slots) * smaller(all, load(least->most_sms));
    const lanes slots = larger(one, rounded_down(room + .001F));
    const lanes waves = rounded_up(items / slots);
    const lanes steps = waves * gather(terms, least->steps) * load(least->step_us);
    const lanes starting = smaller(items, slots * load(least->starting));
    return load(least->launch_us) + load(least->wave_us) * (waves - 1) +
           load(least->start_us) * starting / all + square_root(steps * steps + l2 * l2 + dram);
}

// Writes [count] numbers as floats, and more up to whole lanes.
ON_LANES void round_all(const double *from, unsigned count, float *to) {
    typedef double many __attribute__((vector_size(8 * TMG_LANES)));
    many numbers;
    for (unsigned i = 0; i < count; i += TMG_LANES) {
        memcpy(&numbers, from + i, sizeof numbers);
        store(to + i, __builtin_convertvector(numbers, lanes));
    }
}

ON_LANES void all_least_us(const struct tmg_leasts *leasts, const struct tmg_ground *ground,
                           int sms, const float *misses, float *us) {
    float terms[TMG_MAX_TERMS + TMG_LANES], pitch[TMG_LEAST_L2];
    double dram = 0;
    round_all(ground->terms, ground->term_count, terms);
    for (unsigned i = 0; i < TMG_LEAST_L2; ++i)
        pitch[i] = (float)(ground->pitch[leasts->pitch[i]] - 1);
    terms[TMG_TERM_ONE] = 1;
    for (unsigned i = 0; i < leasts->common_count; ++i)
        dram += leasts->common[i].bytes * ground->terms[leasts->common[i].term];
    dram *= ground->us[TMG_RATE_DRAM];
    for (unsigned i = 0; i < leasts->count; i += TMG_LANES) {
        const lanes least =
            least_us(&leasts->of[i / TMG_LANES], terms, pitch, (float)(dram * dram), sms) *
            power_of_e(load(misses + i)) * BELOW;
        store(us + i, least);
    }
}

BY_CPU(void, tmg_leasts_us,
       (const struct tmg_leasts *leasts, const struct tmg_ground *ground, int sms,
        const float *misses, float *us),
       all_least_us, (leasts, ground, sms, misses, us))

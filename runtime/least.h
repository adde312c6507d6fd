// What the model cannot say less than of each launch of a table: a few numbers of each, eight
// launches at once, so that a new shape has estimates made of the few that come first.
#pragma once

#include "runtime/model.h"

enum {
    TMG_LANES = 8,        // numbers that are worked on at once
    TMG_LEAST_L2 = 2,     // rows of L2 bytes that are looked at
    TMG_LEAST_COMMON = 4  // and rows of DRAM bytes
};

// Numbers of eight launches. All times are in us; terms are numbers of the table's.
struct tmg_least {
    float splits[TMG_LANES];
    float slots[TMG_LANES];                   // items at work at once on an SM
    float most_sms[TMG_LANES];                // that have room for the clusters
    float launch_us[TMG_LANES];               // of a launch and its first wave's ends
    float wave_us[TMG_LANES];                 // of those of each other wave
    float step_us[TMG_LANES];                 // of a step that nothing else slows down
    float start_us[TMG_LANES];                // times items that start
    float starting[TMG_LANES];                // times slots: items that start at most
    float l2_us[TMG_LEAST_L2][TMG_LANES];     // of what the terms l2 count
    float pitch_us[TMG_LEAST_L2][TMG_LANES];  // and of those that a pitch adds its share to
    uint16_t l2[TMG_LEAST_L2][TMG_LANES];
    uint16_t steps[TMG_LANES];  // of a tile
    uint16_t tiles[TMG_LANES];  // of the grid
};

// Of all launches of a table.
struct tmg_leasts {
    struct tmg_least *of;          // the launches by eights
    unsigned count;                // of launches
    unsigned pitch[TMG_LEAST_L2];  // whose the rows of L2 bytes are, as of a tmg_cost_rule
    // what every one of them reads of DRAM
    unsigned common_count;
    struct {
        uint16_t term;
        double bytes;
    } common[TMG_LEAST_COMMON];
};

// Makes room for [count] launches, which free(leasts->of) gives up; 0 where memory ends.
int tmg_leasts_init(struct tmg_leasts *leasts, unsigned count);

// Sets what [launch] of a kernel with so many splits takes at least; its terms are the table's.
void tmg_leasts_set(struct tmg_leasts *leasts, unsigned launch, const struct tmg_manifest *manifest,
                    int splits, const struct tmg_rates *rates);

// Writes what each launch takes at least on [sms] SMs, times e to what [misses] has of it, to [us]:
// both have room for whole lanes.
void tmg_leasts_us(const struct tmg_leasts *leasts, const struct tmg_ground *ground, int sms,
                   const float *misses, float *us);

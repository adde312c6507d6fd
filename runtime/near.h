// What was measured of shapes nearby. Where the model is wrong about a kernel at a shape, it is
// likely to be as wrong about it at shapes like that one; so its times are corrected by the mean of
// what it missed there, the nearer shapes weighing more.
#pragma once

#include "runtime/table.h"

enum { TMG_NEAR_MOST = 24 };  // shapes that a correction is the mean of, at most

struct tmg_near {
    const struct tmg_table *table;
    unsigned count;
    const struct tmg_measured *shapes[TMG_NEAR_MOST];
    float weights[TMG_NEAR_MOST];
};

// Finds what was measured near [shape], whose rows lie at multiples of [alignment] bytes.
void tmg_near_find(const struct tmg_table *table, const int64_t *shape, int alignment,
                   struct tmg_near *near);

// The same without what was measured nearer than .22 powers of two: of a shape that the table has
// measured, what it would say if it had not.
void tmg_near_find_others(const struct tmg_table *table, const int64_t *shape, int alignment,
                          struct tmg_near *near);

#define TMG_NEAR_ALIKE .05F  // the square of that distance

// What the shapes that measured a launch weigh together at least where it counts as measured
// nearby: 1 is the shape itself, .3 1.4 octaves along one dim.
#define TMG_NEAR_ENOUGH .3F

// What a shape weighs of which a launch was measured itself.
#define TMG_NEAR_ITSELF 100.0F

// Writes the log of how many times as long as predicted each of the table's launches is likely to
// take, 0 where nothing near was measured of it, and what those that measured it weigh together.
// Both have room for TMG_MAX_LAUNCHES; whole lanes are written.
void tmg_near_misses(const struct tmg_near *near, float *misses, float *weights);

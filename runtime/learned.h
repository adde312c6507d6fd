// What a table has learnt of its model's errors, and corrections by shapes nearby do not say: a
// small network, of two layers of units that are linear from zero on, which looks at the few
// launches that rank first and close together, and says how many times as long each is likely to
// take beside the others. `tmagen tune learn` fits it to what the table has measured.
#pragma once

#include "runtime/near.h"

enum {
    TMG_LEARNED_UNITS = 48,     // of the first layer
    TMG_LEARNED_SECOND = 16,    // of the second
    TMG_LEARNED_AMONG = 8,      // launches that are told apart at most: the first of the ranking
    TMG_LEARNED_OF_DIM = 2,     // inputs of each dim of a shape
    TMG_LEARNED_OF_LAUNCH = 37  // and others
};

// At most, in whole lanes.
enum {
    TMG_LEARNED_INPUTS =
        (TMG_LEARNED_OF_DIM * TMG_MAX_TABLE_DIMS + TMG_LEARNED_OF_LAUNCH + TMG_LANES - 1) /
        TMG_LANES * TMG_LANES
};

// What is learnt: what both layers' units begin with, what is made of the second's, and the weights
// of each unit of the first layer and of each input.
struct tmg_network {
    float offsets[TMG_LEARNED_UNITS], second_offsets[TMG_LEARNED_SECOND], last[TMG_LEARNED_SECOND];
    float second[TMG_LEARNED_UNITS][TMG_LEARNED_SECOND];
    float weights[TMG_LEARNED_INPUTS][TMG_LEARNED_UNITS];
};

// All numbers are thousandths in a table, a text each for the centers, the scales, and each row of
// the network.
struct tmg_learned {
    unsigned inputs;
    float center[TMG_LEARNED_INPUTS], scale[TMG_LEARNED_INPUTS];  // input - center, by scale
    struct tmg_network network;
};

enum { TMG_LEARNED_ROWS = 5 };  // before those of the inputs

unsigned tmg_learned_inputs(unsigned dim_count);

// Launches that are told apart take at most so many times as long as the first, by the ranking.
#define TMG_LEARNED_WITHIN 1.1

// Inputs beyond this many scales from their center count as there; and what is off by more than
// this log of its time, as if by so much.
#define TMG_LEARNED_FAR  4.0F
#define TMG_LEARNED_MOST 0.7F

// A shape, and what all launches of a table are ranked by there.
struct tmg_scene {
    const struct tmg_table *table;
    struct tmg_capacity capacity;
    int64_t shape[TMG_MAX_TABLE_DIMS];
    struct tmg_binding binding;  // to the table's interface, then to one kernel after the other
    struct tmg_ground ground;
    double bytes;                                               // of all tensors; 0: nobody asks
    float misses[TMG_MAX_LAUNCHES], weights[TMG_MAX_LAUNCHES];  // as tmg_near_misses()
};

// Fills in all behind the binding, which is to the table's interface; if it [learns], what
// tmg_learned_look() alone looks at too.
void tmg_scene_fill(struct tmg_scene *scene, const struct tmg_near *near, int learns);

// Counts and estimates the launch of a kernel, which the scene is bound to from now on; of one
// without a model us is infinite. As tmg_counts_of(), and tmg_estimate_of() for [limit].
int tmg_scene_estimate(struct tmg_scene *scene, const struct tmg_row *row, int splits, double limit,
                       int64_t counts[TMG_PER_COUNT], struct tmg_estimate *estimate);

// Writes what is known of the table's [launch], which the scene is bound to and which has that
// estimate.
void tmg_learned_look(const struct tmg_scene *scene, unsigned launch,
                      const struct tmg_estimate *estimate, float *inputs);

// Makes of it what the network looks at: centered and scaled.
void tmg_learned_scale(const struct tmg_learned *learned, float *inputs);

// What the units of both layers are for some inputs.
struct tmg_learned_units {
    float first[TMG_LEARNED_UNITS], second[TMG_LEARNED_SECOND];
};

// The log of the times as long that the launch takes, beside others of the same shape; writes the
// [units] on the way.
float tmg_learned_miss(const struct tmg_learned *learned, const float *inputs,
                       struct tmg_learned_units *units);

// Weighs measured shapes by their distance, in powers of two of the dims.
#include "runtime/near.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// All fitted to what was measured: each shape's best predicted from all others. A shape weighs by a
// bell curve of its distance, WIDTH wide, and nothing beyond FAR (squared); a class of alignment
// apart is as far as ALIGNED (squared), two at most; DOUBT is the weight of the model itself. The
// shape itself weighs so much that it alone decides.
#define WIDTH   0.9F
#define FAR     4.0F
#define ALIGNED 0.5F
#define DOUBT   0.02F

// Four shapes or launches are worked on at once: a launch of a new shape waits for it.
typedef float lanes __attribute__((vector_size(4 * TMG_LANES)));
typedef int32_t bits __attribute__((vector_size(4 * TMG_LANES)));

// What classes of alignment that are apart add.
static float apart(int alignment, int other) {
    const int classes = abs(__builtin_ctz((unsigned)alignment) - __builtin_ctz((unsigned)other));
    return ALIGNED * (float)(classes < 2 ? classes : 2);
}

static unsigned farthest(const struct tmg_near *near) {
    unsigned at = 0;
    for (unsigned i = 1; i < near->count; ++i)
        if (near->weights[i] > near->weights[at]) at = i;
    return at;
}

// Takes [measured] in; where there is no room, for the one at *last, which is the farthest.
static void take(struct tmg_near *near, const struct tmg_measured *measured, float far,
                 unsigned *last) {
    const int full = near->count == TMG_NEAR_MOST;
    if (full && far >= near->weights[*last]) return;
    const unsigned at = full ? *last : near->count++;
    near->shapes[at] = measured;
    near->weights[at] = far;
    if (near->count == TMG_NEAR_MOST) *last = farthest(near);
}

// The first row whose first dim is not below [least]; they are sorted by it.
static unsigned first_row(const struct tmg_table *table, float least) {
    unsigned at = 0, end = table->measured_count;
    while (at < end) {
        const unsigned middle = (at + end) / 2;
        if (table->measured[middle].at[0] < least)
            at = middle + 1;
        else
            end = middle;
    }
    return at;
}

static lanes load(const float *from) {
    lanes four;
    memcpy(&four, from, sizeof four);
    return four;
}

static int any(bits true_ones) {
    uint64_t halves[2];
    memcpy(halves, &true_ones, sizeof halves);
    return (halves[0] | halves[1]) != 0;
}

// Takes in what lies near [at], from [least] (squared) on; weights are distances so far.
static void look_around(struct tmg_near *near, const float *at, int alignment, float least) {
    const struct tmg_table *table = near->table;
    const unsigned dims = table->dim_count;
    const float reach = sqrtf(FAR);
    float most = FAR;  // that is not too far any more
    unsigned last = 0;
    const unsigned end = first_row(table, at[0] + reach);
    lanes here[TMG_MAX_TABLE_DIMS];
    for (unsigned dim = 0; dim < dims; ++dim) here[dim] = at[dim] + (lanes){0};
    // rows of a four that are not within reach are too far
    for (unsigned i = first_row(table, at[0] - reach) / TMG_LANES * TMG_LANES; i < end;
         i += TMG_LANES) {
        const float *four = table->at + (size_t)i * dims;
        lanes far = {0};
        for (unsigned dim = 0; dim < dims; ++dim, four += TMG_LANES) {
            const lanes along = load(four) - here[dim];
            far += along * along;
        }
        if (!any(far <= most)) continue;
        for (unsigned j = 0; j < TMG_LANES; ++j) {
            if (!(far[j] <= most) || far[j] < least) continue;
            const float all = far[j] + apart(alignment, table->measured[i + j].alignment);
            if (all > most) continue;
            take(near, &table->measured[i + j], all, &last);
            if (near->count == TMG_NEAR_MOST) most = near->weights[last];
        }
    }
}

static void find(const struct tmg_table *table, const int64_t *shape, int alignment, float least,
                 struct tmg_near *near) {
    float at[TMG_MAX_TABLE_DIMS] = {0};
    near->table = table;
    near->count = 0;
    if (!table->measured_count) return;
    for (unsigned i = 0; i < table->dim_count; ++i) at[i] = (float)log2((double)shape[i]);
    look_around(near, at, alignment, least);
    for (unsigned i = 0; i < near->count; ++i) {
        const float far = near->weights[i];
        near->weights[i] = far > 0 ? expf(-far / (2 * WIDTH * WIDTH)) : TMG_NEAR_ITSELF;
    }
}

void tmg_near_find(const struct tmg_table *table, const int64_t *shape, int alignment,
                   struct tmg_near *near) {
    find(table, shape, alignment, 0, near);
}

void tmg_near_find_others(const struct tmg_table *table, const int64_t *shape, int alignment,
                          struct tmg_near *near) {
    find(table, shape, alignment, TMG_NEAR_ALIKE, near);
}

// Adds what is known of each of four launches, and its weight.
static void add_misses(const float *misses, lanes weight, lanes *sum, lanes *weights) {
    const lanes miss = load(misses);
    const bits known = miss == miss;  // it is no NAN
    *sum += (lanes)((bits)(weight * miss) & known);
    *weights += (lanes)((bits)weight & known);
}

// Writes the mean of what is known of each launch from the [first] on, a block of them, and of what
// weight.
static void mean_misses(const struct tmg_near *near, unsigned first, float *means, float *weights) {
    lanes sum[TMG_BLOCK] = {{0}}, all[TMG_BLOCK] = {{0}};
    for (unsigned i = 0; i < near->count; ++i) {
        const float *misses = near->shapes[i]->misses + first;
        const lanes weight = near->weights[i] + (lanes){0};
#pragma GCC unroll 4
        for (unsigned j = 0; j < TMG_BLOCK; ++j)
            add_misses(misses + j * TMG_LANES, weight, &sum[j], &all[j]);
    }
    for (unsigned j = 0; j < TMG_BLOCK; ++j) sum[j] /= all[j] + DOUBT;
    memcpy(means, sum, sizeof sum);
    memcpy(weights, all, sizeof all);
}

void tmg_near_misses(const struct tmg_near *near, float *misses, float *weights) {
    const unsigned count = near->table->launch_count;
    for (unsigned i = 0; i < count; i += TMG_LANES * TMG_BLOCK)
        mean_misses(near, i, misses + i, weights + i);
}

// Weighs measured shapes by their distance, in powers of two of the dims.
#include "runtime/near.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LANES TMG_LANES
#include "runtime/abreast.h"

// All fitted to what was measured: each shape's best predicted from all others. A shape weighs by a
// bell curve of its distance, WIDTH wide, and nothing beyond FAR (squared); a class of alignment
// apart is as far as ALIGNED (squared), two at most; DOUBT is the weight of the model itself. The
// shape itself weighs so much that it alone decides. Boxes within CLOSE (squared) are looked at
// before others, which changes how long that takes and not what is found.
#define WIDTH   0.9F
#define FAR     4.0F
#define ALIGNED 0.5F
#define DOUBT   0.02F
#define CLOSE   0.2F

enum { CACHE_LINE = 64 };  // bytes

ON_LANES lanes magnitude(lanes value) { return (lanes)((bits)value & INT32_MAX); }

ON_LANES float largest(lanes all) {
    all = larger(all, __builtin_shufflevector(all, all, 4, 5, 6, 7, 0, 1, 2, 3));
    all = larger(all, __builtin_shufflevector(all, all, 2, 3, 0, 1, 6, 7, 4, 5));
    return larger(all, __builtin_shufflevector(all, all, 1, 0, 3, 2, 5, 4, 7, 6))[0];
}

// Where [number] stands first among whole lanes of numbers, one of which it is.
ON_LANES unsigned place_of(const float *numbers, float number) {
    unsigned at = 0;
    while (!any(load(numbers + at) == number)) at += TMG_LANES;
    while (numbers[at] < number || numbers[at] > number) ++at;
    return at;
}

// What is looked for, and what was found so far: weights are distances.
struct search {
    struct tmg_near *near;
    lanes at[TMG_MAX_TABLE_DIMS], alignment;  // the power of two
    float least, most;                        // squared; what is nearer or farther is left out
    unsigned last;                            // the farthest, where there is no room for more
};

// Of as many as there is room for.
ON_LANES unsigned farthest(const struct tmg_near *near) {
    _Static_assert(TMG_NEAR_MOST % TMG_LANES == 0, "whole lanes");
    lanes most = load(near->weights);
    for (unsigned i = TMG_LANES; i < TMG_NEAR_MOST; i += TMG_LANES)
        most = larger(most, load(near->weights + i));
    return place_of(near->weights, largest(most));
}

// Writes a number as lanes: loads of lanes wait long for a store of fewer.
ON_LANES void put(float *numbers, unsigned at, float number) {
    const bits here = (bits){0, 1, 2, 3, 4, 5, 6, 7} == (int32_t)(at % TMG_LANES);
    numbers += at / TMG_LANES * TMG_LANES;
    store(numbers, choose(here, number + (lanes){0}, load(numbers)));
}

// Takes [measured] in; where there is no room, for the farthest.
ON_LANES void take(struct search *search, const struct tmg_measured *measured, float far) {
    struct tmg_near *near = search->near;
    const int full = near->count == TMG_NEAR_MOST;
    if (full && far >= search->most) return;
    const unsigned at = full ? search->last : near->count++;
    __builtin_prefetch(measured);
    near->shapes[at] = measured;
    if (full)
        put(near->weights, at, far);
    else
        near->weights[at] = far;
    if (near->count < TMG_NEAR_MOST) return;
    search->last = farthest(near);
    search->most = near->weights[search->last];
}

// Takes in what lies near enough of the rows of a block; [dims] are the table's.
ON_LANES void look_at_block(struct search *search, unsigned block, unsigned dims) {
    const struct tmg_table *table = search->near->table;
    const unsigned first = block * TMG_NEAR_BLOCK;
    const float *at = table->at + (size_t)first * (dims + 1);
    for (unsigned i = first; i < first + TMG_NEAR_BLOCK; i += TMG_LANES) {
        lanes far = {0};
#pragma GCC unroll 3
        for (unsigned dim = 0; dim < dims; ++dim, at += TMG_LANES) {
            const lanes along = load(at) - search->at[dim];
            far += along * along;
        }
        const lanes classes = magnitude(load(at) - search->alignment);
        const lanes all = far + ALIGNED * (classes - positive(classes - 2));
        const bits taken = (all <= search->most) & (far >= search->least);
        at += TMG_LANES;
        if (!any(taken)) continue;
        for (unsigned j = 0; j < TMG_LANES; ++j)
            if (taken[j]) take(search, table->by_place[i + j], all[j]);
    }
}

// Writes to [far] how far the boxes of all blocks are, in whole lanes, and returns the nearest.
ON_LANES unsigned look_at_boxes(const struct search *search, unsigned blocks, unsigned dims,
                                float *far) {
    const float *box = search->near->table->boxes;
    lanes least = INFINITY + (lanes){0};
    for (unsigned i = 0; i < blocks; i += TMG_LANES) {
        lanes all = {0};
#pragma GCC unroll 3
        for (unsigned dim = 0; dim < dims; ++dim, box += 2 * TMG_LANES) {
            const lanes below = load(box) - search->at[dim],
                        above = search->at[dim] - load(box + TMG_LANES);
            const lanes outside = positive(below) + positive(above);
            all += outside * outside;
        }
        store(far + i, all);
        least = smaller(all, least);
    }
    return place_of(far, -largest(-least));
}

// Takes in what lies near enough of the blocks that are [within] and were not looked at.
ON_LANES void look_at_blocks(struct search *search, unsigned blocks, unsigned dims, float *far,
                             float within) {
    for (unsigned i = 0; i < blocks; i += TMG_LANES) {
        const lanes some = load(far + i);
        if (!any((some <= within) & (some <= search->most))) continue;
        for (unsigned j = i; j < i + TMG_LANES; ++j) {
            if (far[j] > within || far[j] > search->most) continue;
            look_at_block(search, j, dims);
            far[j] = INFINITY;
        }
    }
}

// The nearest blocks first: what lies there leaves out most of the others.
ON_LANES void look_around(struct search *search, unsigned dims) {
    float far[TMG_MAX_MEASURED / TMG_NEAR_BLOCK + TMG_LANES];
    const unsigned blocks =
        (search->near->table->measured_count + TMG_NEAR_BLOCK - 1) / TMG_NEAR_BLOCK;
    const unsigned nearest = look_at_boxes(search, blocks, dims, far);
    look_at_block(search, nearest, dims);
    far[nearest] = INFINITY;
    look_at_blocks(search, blocks, dims, far, CLOSE);
    look_at_blocks(search, blocks, dims, far, FAR);
}

// As most tables have, three dims: then nothing is looped over.
ON_LANES void look(struct search *search, unsigned dims) {
    if (dims == 3)
        look_around(search, 3);
    else
        look_around(search, dims);
}

static void look_any(struct search *search, unsigned dims);
BY_CPU(void, look_any, (struct search * search, unsigned dims), look, (search, dims))

static void find(const struct tmg_table *table, const int64_t *shape, int alignment, float least,
                 struct tmg_near *near) {
    struct search search;
    search.near = near;
    search.least = least;
    search.most = FAR;
    near->table = table;
    near->count = 0;
    if (!table->measured_count) return;
    for (unsigned i = 0; i < table->dim_count; ++i)
        search.at[i] = (float)log2((double)shape[i]) + (lanes){0};
    search.alignment = (float)__builtin_ctz((unsigned)alignment) + (lanes){0};
    look_any(&search, table->dim_count);
    for (unsigned i = 0; i < near->count; ++i) {
        const float far = near->weights[i];
        near->weights[i] = far > 0 ? expf(-far / (2 * WIDTH * WIDTH)) : TMG_NEAR_ITSELF;
    }
    for (unsigned i = 0; i < near->count; ++i)  // on their way when they are asked for
        for (unsigned j = near->shapes[i]->first; j < near->shapes[i]->end;
             j += CACHE_LINE / sizeof *table->misses)
            __builtin_prefetch(table->misses + j);
}

void tmg_near_find(const struct tmg_table *table, const int64_t *shape, int alignment,
                   struct tmg_near *near) {
    find(table, shape, alignment, 0, near);
}

void tmg_near_find_others(const struct tmg_table *table, const int64_t *shape, int alignment,
                          struct tmg_near *near) {
    find(table, shape, alignment, TMG_NEAR_ALIKE, near);
}

// What was missed and weights, of a launch and of two.
typedef float pair __attribute__((vector_size(8)));
typedef float pairs __attribute__((vector_size(16)));

// Adds to the sums [a] and [b], of two launches.
ON_LANES void add_two(pairs more, float *a, float *b) {
    pair first, second;
    memcpy(&first, a, sizeof first);
    memcpy(&second, b, sizeof second);
    more += __builtin_shufflevector(first, second, 0, 1, 2, 3);
    first = __builtin_shufflevector(more, more, 0, 1);
    second = __builtin_shufflevector(more, more, 2, 3);
    memcpy(a, &first, sizeof first);
    memcpy(b, &second, sizeof second);
}

// The logs of two launches, and where their numbers are 1: of what their shape weighs.
ON_LANES pairs logs_of(const struct tmg_miss *two) {
    typedef int32_t pairs_bits __attribute__((vector_size(16)));
    _Static_assert(sizeof *two == sizeof(pair), "two in a vector");
    pairs_bits logs;
    memcpy(&logs, two, sizeof logs);
    return (pairs)((logs & (pairs_bits){-1, 0, -1, 0}) | (pairs_bits)(pairs){0, 1, 0, 1});
}

// Adds what each shape nearby missed to its launches' sums, a pair each.
ON_LANES void add_misses(const struct tmg_near *near, float *sums) {
    for (unsigned i = 0; i < near->count; ++i) {
        const struct tmg_miss *at = near->table->misses + near->shapes[i]->first,
                              *end = near->table->misses + near->shapes[i]->end;
        const float weight = near->weights[i];
        for (; at + 1 < end; at += 2)
            add_two(weight * logs_of(at), sums + 2 * (size_t)at[0].launch,
                    sums + 2 * (size_t)at[1].launch);
        if (at == end) continue;
        sums[2 * at->launch] += weight * at->log;
        sums[2 * at->launch + 1] += weight;
    }
}

// What launches miss in the mean near here, whichever were measured.
ON_LANES float mean_of(const struct tmg_near *near) {
    float sum = 0, weights = DOUBT;
    for (unsigned i = 0; i < near->count; ++i) {
        sum += near->weights[i] * near->shapes[i]->mean;
        weights += near->weights[i];
    }
    return sum / weights;
}

ON_LANES void add_up(const struct tmg_near *near, float *misses, float *weights) {
    const unsigned count = near->table->launch_count;
    const float mean = mean_of(near);
    float sums[2 * TMG_MAX_LAUNCHES];
    for (unsigned i = 0; i < count; i += TMG_LANES) {
        store(sums + 2 * i, (lanes){0});
        store(sums + 2 * i + TMG_LANES, (lanes){0});
    }
    add_misses(near, sums);
    for (unsigned i = 0; i < count; i += TMG_LANES) {
        const lanes a = load(sums + 2 * i), b = load(sums + 2 * i + TMG_LANES);
        const lanes missed = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14),
                    weight = __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
        store(misses + i, mean + missed / (weight + DOUBT));
        store(weights + i, weight);
    }
}

BY_CPU(void, tmg_near_misses, (const struct tmg_near *near, float *misses, float *weights), add_up,
       (near, misses, weights))

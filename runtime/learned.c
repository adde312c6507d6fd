// Tells the launches apart that rank first: what is known of each goes through a small network.
#include "runtime/learned.h"

#include <math.h>
#include <string.h>

#include "runtime/abreast.h"
#include "runtime/dtype.h"

unsigned tmg_learned_inputs(unsigned dim_count) {
    return TMG_LEARNED_OF_DIM * dim_count + TMG_LEARNED_OF_LAUNCH;
}

static double bytes_of(const struct tmg_binding *binding) {
    double bytes = 0;
    for (unsigned i = 0; i < binding->manifest->tensor_count; ++i) {
        const struct tmg_tensor *tensor = &binding->manifest->tensors[i];
        double elements = 1;
        for (int axis = 0; axis < tensor->rank; ++axis)
            elements *= (double)binding->tensors[i].dims[axis];
        bytes += elements * tmg_dtypes[tensor->dtype].bits / 8;
    }
    return bytes;
}

void tmg_scene_fill(struct tmg_scene *scene, const struct tmg_near *near, int learns) {
    const struct tmg_table *table = scene->table;
    tmg_ground_of(&scene->binding, &table->terms, &table->rates, &scene->ground);
    scene->bytes = learns ? bytes_of(&scene->binding) : 0;
    tmg_near_misses(near, scene->misses, scene->weights);
}

int tmg_scene_estimate(struct tmg_scene *scene, const struct tmg_row *row, int splits, double limit,
                       int64_t counts[TMG_PER_COUNT], struct tmg_estimate *estimate) {
    struct tmg_binding *binding = &scene->binding;
    int64_t tiles[3];
    binding->manifest = row->manifest;
    binding->splits = splits;
    tmg_ground_tiles(binding, &scene->ground, tiles);
    const int status = tmg_counts_of(binding, &scene->capacity, tiles, counts);
    if (!status &&
        tmg_estimate_of(binding, &scene->capacity, counts, &scene->ground, limit, estimate))
        *estimate = (struct tmg_estimate){.us = INFINITY, .binds = TMG_BOUNDS, .steps = 1};
    return status;
}

// The log2 of each of [count] numbers that are not below zero, and of whole lanes from there on, to
// 2e-4; of 0 as of a thousandth.
static void take_logs(float *numbers, unsigned count) {
    for (unsigned i = 0; i < count; i += LANES) {
        const bits number = (bits)(load(numbers + i) + 1e-3F);
        const lanes twos = __builtin_convertvector((number >> 23) - 127, lanes);
        const lanes rest = (lanes)((number & 0x7fffff) | 0x3f800000) - 1;
        const lanes bend = .43838F + rest * (.080653F * rest - .2375F);
        store(numbers + i, twos + rest + rest * (1 - rest) * bend);
    }
}

// The powers of two that divide a size, up to as many as alignment is worth.
static float twos_of(int64_t size) {
    const int twos = __builtin_ctzll((unsigned long long)size | TMG_LARGEST_CLASS);
    return (float)twos;
}

// The clusters that are at work at once.
static double slots_of(const struct tmg_scene *scene, const struct tmg_estimate *estimate) {
    const struct tmg_grid *grid = &scene->binding.manifest->grid;
    const double room = (double)grid->blocks_per_sm * scene->capacity.sms;
    return fmax(1, floor(fmin(room, estimate->blocks) / (double)grid->blocks_per_tile));
}

// The launch's tiles along each axis, and what these cover, in times of D.
static float *list_tiles(const struct tmg_scene *scene, float *at) {
    const struct tmg_grid *grid = &scene->binding.manifest->grid;
    int64_t tiles[3];
    double size[3] = {1, 1, 1}, covered = 1;
    tmg_ground_tiles(&scene->binding, &scene->ground, tiles);
    for (unsigned i = 0; i < grid->tile_count; ++i) {
        const struct tmg_extent *extent = &grid->tiles[i].extent;
        double *along = &size[grid->tiles[i].axis];
        if (extent->dim < 0) {  // a count: so many tiles share what the other rows' tiles take
            *along /= extent->plus;
            continue;
        }
        *along *= (double)extent->by / extent->times;
        covered /= (double)scene->binding.dims[extent->dim];
    }
    for (int i = 0; i < 3; ++i) {
        *at++ = (float)tiles[i];
        *at++ = (float)size[i];
        covered *= (double)tiles[i] * size[i];
    }
    *at++ = (float)covered;
    return at;
}

// The shape, the launch's work and how it meets the GPU's SMs, and what the model says of it: all
// of which logs are looked at.
static float *list_logs(const struct tmg_scene *scene, const struct tmg_estimate *estimate,
                        double slots, float *at) {
    const struct tmg_binding *binding = &scene->binding;
    const double ctas = (double)binding->manifest->grid.blocks_per_tile;
    for (unsigned i = 0; i < scene->table->dim_count; ++i) *at++ = (float)scene->shape[i];
    at = list_tiles(scene, at);
    *at++ = (float)estimate->waves;
    *at++ = (float)estimate->items;
    *at++ = (float)estimate->steps;
    *at++ = (float)(fmin(estimate->items, slots) * ctas);
    *at++ = (float)estimate->blocks;
    *at++ = (float)ctas;
    *at++ = (float)binding->splits;
    *at++ = (float)estimate->us;
    *at++ = (float)(scene->bytes / estimate->us);
    *at++ = (float)(estimate->bound[TMG_BOUND_L2] / (estimate->waves * estimate->steps));
    return at;
}

// How much of a step's products and of what they read from shared memory is the latter: with the
// tile's size it tells a kernel that computes transposed tiles from one that does not.
static float shared_share(const struct tmg_estimate *estimate) {
    const double shared = estimate->bound[TMG_BOUND_SHARED],
                 both = shared + estimate->bound[TMG_BOUND_TENSOR];
    return both > 0 ? (float)(shared / both) : 0;
}

// What the kernel is like.
static float *list_kernel(const struct tmg_manifest *manifest, float *at) {
    *at++ = (float)manifest->rules->ahead;
    *at++ = (float)manifest->rules->overlaps;
    *at++ = (float)manifest->grid.blocks_per_sm;
    *at++ = (float)(manifest->grid.rule == TMG_GRID_PERSISTENT);
    *at++ = (float)(manifest->block[0] * manifest->block[1] * manifest->block[2]) / 128;
    *at++ = (float)manifest->shared_memory / 32768;
    *at++ = (float)manifest->before_count;
    return at;
}

void tmg_learned_look(const struct tmg_scene *scene, unsigned launch,
                      const struct tmg_estimate *estimate, float *inputs) {
    const double slots = slots_of(scene, estimate);
    float *at = list_logs(scene, estimate, slots, inputs);
    take_logs(inputs, (unsigned)(at - inputs));
    for (unsigned i = 0; i < scene->table->dim_count; ++i) *at++ = twos_of(scene->shape[i]);
    *at++ = (float)(estimate->items / (estimate->waves * slots));
    *at++ = shared_share(estimate);
    at = list_kernel(scene->binding.manifest, at);
    for (int i = 0; i < TMG_BOUNDS; ++i) *at++ = (float)(estimate->bound[i] / estimate->us);
    *at++ = scene->misses[launch];
    *at = scene->weights[launch];
}

void tmg_learned_scale(const struct tmg_learned *learned, float *inputs) {
    const lanes least = -TMG_LEARNED_FAR + (lanes){0}, most = TMG_LEARNED_FAR + (lanes){0};
    for (unsigned i = 0; i < learned->inputs; i += LANES) {
        const lanes far = (load(inputs + i) - load(learned->center + i)) / load(learned->scale + i);
        store(inputs + i, smaller(larger(far, least), most));
    }
}

// Vectors of eight, which are two of four where a CPU has no others: the same sums in one order.
typedef float eight __attribute__((vector_size(32)));
typedef int32_t eight_bits __attribute__((vector_size(32)));

ON_LANES float tell(const struct tmg_learned *learned, const float *inputs,
                    struct tmg_learned_units *units) {
    enum { EIGHT = 8, FIRST = TMG_LEARNED_UNITS / EIGHT, SECOND = TMG_LEARNED_SECOND / EIGHT };
    _Static_assert(FIRST == 6 && SECOND == 2, "vectors, which registers hold");
    const struct tmg_network *network = &learned->network;
    eight first[FIRST], second[SECOND], last[SECOND], weights, sum = {0};
    memcpy(first, network->offsets, sizeof first);
    memcpy(second, network->second_offsets, sizeof second);
    memcpy(last, network->last, sizeof last);
#pragma GCC unroll 4
    for (unsigned i = 0; i < learned->inputs; ++i) {
#pragma GCC unroll 6
        for (int j = 0; j < FIRST; ++j) {
            memcpy(&weights, network->weights[i] + j * EIGHT, sizeof weights);
            first[j] += weights * inputs[i];
        }
    }
    for (int j = 0; j < FIRST; ++j) first[j] = (eight)((eight_bits)first[j] & (first[j] > 0));
    memcpy(units->first, first, sizeof first);
#pragma GCC unroll 8
    for (unsigned i = 0; i < TMG_LEARNED_UNITS; ++i) {
#pragma GCC unroll 2
        for (int j = 0; j < SECOND; ++j) {
            memcpy(&weights, network->second[i] + j * EIGHT, sizeof weights);
            second[j] += weights * units->first[i];
        }
    }
    for (int j = 0; j < SECOND; ++j) {
        second[j] = (eight)((eight_bits)second[j] & (second[j] > 0));
        sum += second[j] * last[j];
    }
    memcpy(units->second, second, sizeof second);
    return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

BY_CPU(float, tmg_learned_miss,
       (const struct tmg_learned *learned, const float *inputs, struct tmg_learned_units *units),
       tell, (learned, inputs, units))

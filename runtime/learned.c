// Tells the launches apart that rank first: what is known of each goes through a small network.
#include "runtime/learned.h"

#include <math.h>
#include <string.h>

#include "runtime/dtype.h"
#include "runtime/four_lanes.h"

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
    tmg_near_misses(near, scene->misses, scene->weights);
    tmg_ground_of(&scene->binding, &table->terms, &table->rates, &scene->ground);
    scene->bytes = learns ? bytes_of(&scene->binding) : 0;
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

static float log_of(double value) { return log2f((float)value + 1e-3F); }

// The powers of two that divide a size, up to as many as alignment is worth.
static float twos_of(int64_t size) {
    const int twos = __builtin_ctzll((unsigned long long)size | TMG_LARGEST_CLASS);
    return (float)twos;
}

static double smaller(double a, double b) { return a < b ? a : b; }

// What the shape is like, and the launch's work: its tiles, and how they meet the GPU's SMs.
static float *look_at_work(const struct tmg_scene *scene, const struct tmg_estimate *estimate,
                           float *at) {
    const struct tmg_grid *grid = &scene->binding.manifest->grid;
    int64_t tiles[3];
    double size[3] = {1, 1, 1}, covered = 1;
    tmg_ground_tiles(&scene->binding, &scene->ground, tiles);
    for (unsigned i = 0; i < scene->table->dim_count; ++i) {
        *at++ = log_of((double)scene->shape[i]);
        *at++ = twos_of(scene->shape[i]);
    }
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
        *at++ = log_of((double)tiles[i]);
        *at++ = log_of(size[i]);
        covered *= (double)tiles[i] * size[i];
    }
    const double ctas = (double)grid->blocks_per_tile;
    const double room = (double)grid->blocks_per_sm * scene->capacity.sms;
    const double slots = fmax(1, floor(smaller(room, estimate->blocks) / ctas));
    *at++ = log_of(covered);
    *at++ = log_of(estimate->waves);
    *at++ = log_of(estimate->items);
    *at++ = log_of(estimate->steps);
    *at++ = (float)(estimate->items / (estimate->waves * slots));
    *at++ = log_of(smaller(estimate->items, slots) * ctas);
    *at++ = log_of(estimate->blocks);
    return at;
}

// What the kernel is like.
static float *look_at_kernel(const struct tmg_binding *binding, float *at) {
    const struct tmg_manifest *manifest = binding->manifest;
    *at++ = (float)manifest->rules->ahead;
    *at++ = (float)manifest->rules->overlaps;
    *at++ = log_of((double)manifest->grid.blocks_per_tile);
    *at++ = (float)manifest->grid.blocks_per_sm;
    *at++ = (float)(manifest->grid.rule == TMG_GRID_PERSISTENT);
    *at++ = (float)(manifest->block[0] * manifest->block[1] * manifest->block[2]) / 128;
    *at++ = (float)manifest->shared_memory / 32768;
    *at++ = (float)manifest->before_count;
    *at++ = log_of((double)binding->splits);
    return at;
}

// What the model says of it.
static float *look_at_times(double bytes, const struct tmg_estimate *estimate, float *at) {
    *at++ = log_of(estimate->us);
    *at++ = log_of(bytes / estimate->us);
    *at++ = log_of(estimate->bound[TMG_BOUND_L2] / (estimate->waves * estimate->steps));
    for (int i = 0; i < TMG_BOUNDS; ++i) *at++ = (float)(estimate->bound[i] / estimate->us);
    return at;
}

void tmg_learned_look(const struct tmg_scene *scene, unsigned launch,
                      const struct tmg_estimate *estimate, float *inputs) {
    float *at = look_at_work(scene, estimate, inputs);
    at = look_at_kernel(&scene->binding, at);
    at = look_at_times(scene->bytes, estimate, at);
    *at++ = scene->misses[launch];
    *at = scene->weights[launch];
}

void tmg_learned_scale(const struct tmg_learned *learned, float *inputs) {
    for (unsigned i = 0; i < learned->inputs; ++i) {
        const float value = (inputs[i] - learned->center[i]) / learned->scale[i];
        const float above = value > -TMG_LEARNED_FAR ? value : -TMG_LEARNED_FAR;
        inputs[i] = above < TMG_LEARNED_FAR ? above : TMG_LEARNED_FAR;
    }
}

float tmg_learned_miss(const struct tmg_learned *learned, const float *inputs,
                       struct tmg_learned_units *units) {
    enum { FIRST = TMG_LEARNED_UNITS / TMG_LANES, SECOND = TMG_LEARNED_SECOND / TMG_LANES };
    _Static_assert(FIRST == 8 && SECOND == 4, "of lanes, which registers hold");
    const struct tmg_network *network = &learned->network;
    lanes first[FIRST], second[SECOND], last[SECOND], sum = {0};
    memcpy(first, network->offsets, sizeof first);
    memcpy(second, network->second_offsets, sizeof second);
    memcpy(last, network->last, sizeof last);
    for (unsigned i = 0; i < learned->inputs; ++i) {
#pragma GCC unroll 8
        for (int j = 0; j < FIRST; ++j)
            first[j] += load(network->weights[i] + j * TMG_LANES) * inputs[i];
    }
    for (int j = 0; j < FIRST; ++j) store(units->first + j * TMG_LANES, positive(first[j]));
    for (unsigned i = 0; i < TMG_LEARNED_UNITS; ++i) {
#pragma GCC unroll 4
        for (int j = 0; j < SECOND; ++j)
            second[j] += load(network->second[i] + j * TMG_LANES) * units->first[i];
    }
    for (int j = 0; j < SECOND; ++j) {
        store(units->second + j * TMG_LANES, positive(second[j]));
        sum += positive(second[j]) * last[j];
    }
    return sum[0] + sum[1] + sum[2] + sum[3];
}

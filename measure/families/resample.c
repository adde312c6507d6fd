// The reference of the resample family: out[b,t,d] = source[b,:,d] at target time t, linear,
// clamped. Between the last source time that is <= t and the next; so of equal times the last
// counts.
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/error.h"
#include "measure/numbers.h"
#include "measure/parallel.h"
#include "measure/random.h"
#include "measure/reference.h"

// The weight is three roundings from exact, the interpolation two: 2^-22 of both rows covers them.
static const double arithmetic = 0x1p-22;

// [weight] of the way from row [row] to row [next].
struct position {
    int64_t row, next;
    double weight;
};

static int accepts(const struct tmg_manifest *manifest) {
    static const struct {
        const char *name;
        int rank;
    } needed[] = {{"source", 3}, {"source_times", 2}, {"target_times", 2}, {"out", 3}};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; ++i) {
        const int found = tmg_manifest_tensor(manifest, needed[i].name);
        if (found < 0 || manifest->tensors[found].rank != needed[i].rank) {
            return tmg_fail(TMAGEN_ERROR_MANIFEST,
                            "%s: reference resample needs a tensor \"%s\" of rank %d",
                            manifest->name, needed[i].name, needed[i].rank);
        }
    }
    return TMAGEN_OK;
}

// Around the tile of targets, one source row and one more, features that no vector divides, more
// rows than shared memory holds, and batches enough for several waves.
static void shapes(const struct tmg_manifest *manifest, bool small, struct ref_shapes *list) {
    const int64_t t = ref_tile(manifest, "t", 128);
    const int64_t emulated[][4] = {{1, 1, 1, 1}, {2, 3, 9, 8}, {2, 40, t + 3, 24}, {3, 7, 5, 33}};
    const int64_t full[][4] = {
        {1, 1, 1, 1},           // the smallest
        {3, 1, 7, 40},          // one source row: nothing to interpolate
        {2, 2, t, 64},          // one interval, a whole tile
        {5, 33, t + 1, 136},    // just more than a tile
        {4, 100, t - 1, 31},    // just less; elements one by one
        {7, 77, 321, 250},      // rows of 4 bytes' alignment
        {2, 5000, 700, 512},    // rows and times that exceed shared memory
        {300, 20, 70, 16},      // many small batches
        {33, 500, 2 * t, 128},  // several waves
        {1, 40000, 3000, 8},    // one long batch
    };
    const size_t count = small ? sizeof emulated / sizeof *emulated : sizeof full / sizeof *full;
    for (size_t i = 0; i < count; ++i) {
        int64_t shape[4];
        memcpy(shape, small ? emulated[i] : full[i], sizeof shape);
        if (shape[2] < 1) shape[2] = 1;
        ref_shapes_add(list, manifest, "b s t d", shape);
    }
}

static const float *times_of(const struct ref_tensor *times, int64_t batch) {
    return (const float *)times->data + batch * times->strides[0];
}

// Ascending times from 0 to about 1; every sixteenth equals the one before.
static void fill_source_times(const struct ref_tensor *times, uint64_t seed) {
    const int64_t count = times->dims[1];
    for (int64_t batch = 0; batch < times->dims[0]; ++batch) {
        float *row = (float *)times->data + batch * times->strides[0];
        double time = 0;
        for (int64_t i = 0; i < count; ++i) {
            const uint64_t bits = random_bits(seed, (uint64_t)(batch * count + i));
            row[i] = (float)time;
            time += bits % 16 ? 2.0 * (double)(bits >> 32) * 0x1p-32 / (double)count : 0;
        }
    }
}

static int ascending(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

// Target times from before the first source time to behind the last, some infinite, some equal to a
// source time. They ascend, as those of trajectories do, but in every eighth batch.
static void fill_target_times(const struct ref_problem *problem, const struct ref_tensor *times,
                              uint64_t seed) {
    const struct ref_tensor *sources = ref_tensor_find(problem, "source_times");
    const int64_t count = times->dims[1];
    for (int64_t batch = 0; batch < times->dims[0]; ++batch) {
        float *row = (float *)times->data + batch * times->strides[0];
        const float *source = times_of(sources, batch);
        for (int64_t i = 0; i < count; ++i) {
            const uint64_t bits = random_bits(seed, (uint64_t)(batch * count + i));
            row[i] = (float)(1.04 * (double)(bits >> 32) * 0x1p-32 - 0.02);
            if (bits % 64 == 0) row[i] = source[(bits >> 8) % (uint64_t)sources->dims[1]];
            if (bits % 4096 == 1) row[i] = bits & 4096 ? INFINITY : -INFINITY;
        }
        if (batch % 8 != 7) qsort(row, (size_t)count, sizeof *row, ascending);
    }
}

static int fill(const struct ref_problem *problem, struct ref_tensor *tensor, uint64_t seed) {
    if (!strcmp(tensor->declared->name, "source_times")) {
        fill_source_times(tensor, seed);
        return 0;
    }
    if (!strcmp(tensor->declared->name, "target_times")) {
        fill_target_times(problem, tensor, seed);
        return 0;
    }
    const size_t count = tensor->bytes / num_types[tensor->dtype].bytes;
    return random_normal(tensor->dtype, tensor->data, count, 1, seed);
}

// Where [time] lies among the [count] ascending [times]; NaN has the weight NaN.
static struct position locate(const float *times, int64_t count, float time) {
    int64_t below = 0, end = count;  // times[below - 1] <= time < times[end]
    while (below < end) {
        const int64_t middle = below + (end - below) / 2;
        if (times[middle] <= time)
            below = middle + 1;
        else
            end = middle;
    }
    if (isnan(time)) return (struct position){0, 0, NAN};
    if (below == 0) return (struct position){0, 0, 0};
    if (below == count) return (struct position){count - 1, count - 1, 0};
    const double from = times[below - 1], to = times[below];
    return (struct position){below - 1, below, ((double)time - from) / (to - from)};
}

static struct ref_value interpolate(enum num_type dtype, double from, double to, double weight) {
    const double value = from * (1 - weight) + to * weight;
    const double computing = arithmetic * (fabs(from) + fabs(to)) + FLT_MIN;
    return (struct ref_value){value,
                              1.01 * num_rounding(dtype, fabs(value) + computing) + computing};
}

static struct position position_of(const struct ref_problem *problem, int64_t batch,
                                   int64_t target) {
    const struct ref_tensor *sources = ref_tensor_find(problem, "source_times");
    const struct ref_tensor *targets = ref_tensor_find(problem, "target_times");
    return locate(times_of(sources, batch), sources->dims[1], times_of(targets, batch)[target]);
}

static struct ref_value element(const struct ref_problem *problem, const struct ref_tensor *out,
                                const int64_t *index) {
    const struct ref_tensor *source = ref_tensor_find(problem, "source");
    const struct position at = position_of(problem, index[0], index[1]);
    const int64_t from[] = {index[0], at.row, index[2]}, to[] = {index[0], at.next, index[2]};
    return interpolate(out->dtype, ref_read(source, from), ref_read(source, to), at.weight);
}

static double element_cost(const struct ref_problem *problem) {
    return 60 + 8 * log2((double)ref_dim(problem, "s", 1));
}

// The check of the whole: a search for each row, then every element of it.
struct check {
    const struct ref_problem *problem;
    const struct ref_tensor *source, *out;
    struct ref_spans *spans;
    pthread_mutex_t lock;
};

static const void *element_at(const struct ref_tensor *tensor, int64_t batch, int64_t row,
                              int64_t feature) {
    const int64_t index[] = {batch, row, feature};
    return (const char *)tensor->data +
           (size_t)ref_offset(tensor, index) * num_types[tensor->dtype].bytes;
}

// Lists the row where any of its elements is wrong.
static void check_row(struct check *check, int64_t row) {
    enum { PIECE = 256 };
    float from[PIECE], to[PIECE], got[PIECE];
    const struct ref_tensor *source = check->source, *out = check->out;
    const int64_t batch = row / out->dims[1], target = row % out->dims[1], d = out->dims[2];
    const struct position at = position_of(check->problem, batch, target);
    bool wrong = false;
    for (int64_t first = 0; first < d && !wrong; first += PIECE) {
        const size_t count = (size_t)(d - first < PIECE ? d - first : PIECE);
        num_decode(source->dtype, element_at(source, batch, at.row, first), from, count);
        num_decode(source->dtype, element_at(source, batch, at.next, first), to, count);
        num_decode(out->dtype, element_at(out, batch, target, first), got, count);
        for (size_t i = 0; i < count; ++i) {
            const struct ref_value want = interpolate(out->dtype, from[i], to[i], at.weight);
            wrong |= !(fabs(got[i] - want.value) <= want.tolerance);
        }
    }
    if (!wrong) return;
    pthread_mutex_lock(&check->lock);
    ref_spans_add(check->spans, (struct ref_span){row * d, d});
    pthread_mutex_unlock(&check->lock);
}

static void check_rows(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    for (int64_t row = begin; row < end; ++row) check_row(context, row);
}

static int suspects(const struct ref_problem *problem, const struct ref_tensor *out, uint64_t seed,
                    struct ref_spans *spans) {
    (void)seed;
    struct check check = {.problem = problem,
                          .source = ref_tensor_find(problem, "source"),
                          .out = out,
                          .spans = spans};
    if (pthread_mutex_init(&check.lock, NULL)) return -1;
    parallel_for(out->dims[0] * out->dims[1], 64, check_rows, &check);
    pthread_mutex_destroy(&check.lock);
    return 0;
}

static double flops(const struct ref_problem *problem) {
    return 4.0 * (double)ref_dim(problem, "b", 1) * (double)ref_dim(problem, "t", 1) *
           (double)ref_dim(problem, "d", 1);
}

const struct reference reference_resample = {
    .name = "resample",
    .doc = "out[b,t,d] = source[b,:,d] at target_times[b,t], linear between source_times, clamped",
    .dims = "b s t d",
    .typical = "256x100x2048x256",
    .accepts = accepts,
    .shapes = shapes,
    .fill = fill,
    .element = element,
    .element_cost = element_cost,
    .suspects = suspects,
    .flops = flops,
};

// The reference of resample: out[b,t,d] = source[b,:,d] at target time t, linear between the last
// source time that is <= t and the next, so of equal times the last counts; clamped at both ends.
// As the kernels do it, from - weight from + weight to: an infinite row gives NaN, unless it is the
// next one and weighs something.
#define DRAWS
#include "reference.h"

static struct value element(const struct problem *p, const struct tensor *out,
                            const int64_t *index) {
    const struct tensor *source = tensor_of(p, "source"), *times = tensor_of(p, "source_times");
    const double time = at2(tensor_of(p, "target_times"), index[0], index[1]);
    int64_t below = 0, end = times->dims[1];  // times[below - 1] <= time < times[end]
    while (below < end) {
        const int64_t middle = below + (end - below) / 2;
        if (at2(times, index[0], middle) <= time)
            below = middle + 1;
        else
            end = middle;
    }
    const int64_t row = below > 0 ? below - 1 : 0, last = times->dims[1] - 1,
                  next = row < last ? row + 1 : last;
    const double before = at2(times, index[0], row), after = at2(times, index[0], next);
    double weight = below > 0 && after > before ? (time - before) / (after - before) : 0;
    if (isnan(time)) weight = NAN;
    const double from = at3(source, index[0], row, index[2]),
                 to = at3(source, index[0], next, index[2]);
    // the weight is three roundings from exact, the interpolation two: 2^-22 of both rows covers
    // them
    return within(out, from - weight * from + weight * to,
                  0x1p-22 * (fabs(from) + fabs(to)) + 0x1p-126);
}

// Ascending times from 0 to about 1; every sixteenth equals the one before.
static void draw_source_times(const struct tensor *t, const int64_t *row) {
    double time = 0;
    for (int64_t i = 0; i < t->dims[1]; ++i) {
        const uint64_t bits = bits_at(t, (uint64_t)(row[0] * t->dims[1] + i));
        put(t, row_of(t, row) + i, time);
        time += bits % 16 ? 2.0 * (double)(bits >> 32) * 0x1p-32 / (double)t->dims[1] : 0;
    }
}

// Lets the value at [root] of the heap [values] sink to its place among the first [count].
static void sink(float *values, int64_t root, int64_t count) {
    const float value = values[root];
    for (int64_t child = 2 * root + 1; child < count; child = 2 * root + 1) {
        if (child + 1 < count && values[child] < values[child + 1]) ++child;
        if (!(value < values[child])) break;
        values[root] = values[child];
        root = child;
    }
    values[root] = value;
}

static void sort(float *values, int64_t count) {
    for (int64_t root = count / 2 - 1; root >= 0; --root) sink(values, root, count);
    for (int64_t end = count - 1; end > 0; --end) {
        const float greatest = values[0];
        values[0] = values[end];
        values[end] = greatest;
        sink(values, 0, end);
    }
}

// Target times from before the first source time to behind the last, some infinite, some equal to a
// source time. They ascend, as those of trajectories do, but in every eighth batch. Special ones
// are in no order, and some are NaN.
static void draw_target_times(const struct problem *p, const struct tensor *t, const int64_t *row) {
    const struct tensor *sources = tensor_of(p, "source_times");
    const int64_t first = row_of(t, row), special = inputs_are(p, "special");
    for (int64_t i = 0; i < t->dims[1]; ++i) {
        const uint64_t bits = bits_at(t, (uint64_t)(row[0] * t->dims[1] + i));
        double time = 1.04 * (double)(bits >> 32) * 0x1p-32 - 0.02;
        if (bits % 64 == 0)
            time = at2(sources, row[0], (int64_t)((bits >> 8) % (uint64_t)sources->dims[1]));
        if (bits % 4096 == 1) time = bits & 4096 ? INFINITY : -INFINITY;
        if (special && bits % 8 == 2) time = bits & 8 ? NAN : bits & 16 ? INFINITY : -0.0;
        put(t, first + i, time);
    }
    if (row[0] % 8 != 7 && !special) sort((float *)(void *)t->data + first, t->dims[1]);
}

static void draw(const struct problem *p, const struct tensor *t, const int64_t *row) {
    if (same(t->name, "source_times"))
        draw_source_times(t, row);
    else
        draw_target_times(p, t, row);
}

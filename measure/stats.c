// Order statistics by sorting a copy; samples are hundreds, not millions.
#include "measure/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// The [p]-quantile of sorted values, interpolated.
static double quantile(const double *sorted, size_t count, double p) {
    const double at = p * (double)(count - 1);
    const size_t below = (size_t)at;
    const double rest = at - (double)below;
    return rest > 0 ? sorted[below] * (1 - rest) + sorted[below + 1] * rest : sorted[below];
}

struct stats stats_of(const double *values, size_t count) {
    struct stats stats = {NAN, NAN, NAN, NAN, NAN, 0};
    double *sorted = count ? malloc(count * sizeof *sorted) : NULL;
    if (!sorted) return stats;
    memcpy(sorted, values, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, ascending);
    stats = (struct stats){
        .median = quantile(sorted, count, 0.5),
        .lower = quantile(sorted, count, 0.25),
        .upper = quantile(sorted, count, 0.75),
        .least = sorted[0],
        .greatest = sorted[count - 1],
        .count = count,
    };
    free(sorted);
    return stats;
}

struct stats stats_of_ratios(const double *numerator, const double *denominator, size_t count) {
    double *ratios = count ? malloc(count * sizeof *ratios) : NULL;
    for (size_t i = 0; ratios && i < count; ++i) ratios[i] = numerator[i] / denominator[i];
    const struct stats stats = stats_of(ratios, ratios ? count : 0);
    free(ratios);
    return stats;
}

double stats_spread(struct stats stats) { return (stats.upper - stats.lower) / 2 / stats.median; }

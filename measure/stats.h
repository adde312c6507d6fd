// Medians and quartiles of timings, and of ratios taken pair by pair.
// Timings have a long upper tail, so nothing here is a mean.
#pragma once
#include <stddef.h>

struct stats {
    double median, lower, upper;  // quartiles
    double least, greatest;
    size_t count;
};

// Of [count] values, in any order; all fields NAN where count is 0.
struct stats stats_of(const double *values, size_t count);

// Of [numerator][i] / [denominator][i].
struct stats stats_of_ratios(const double *numerator, const double *denominator, size_t count);

// Half the distance of the quartiles as a share of the median.
double stats_spread(struct stats);

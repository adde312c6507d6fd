// Time for differences: by the clock that only goes forward, whoever sets the wall clock.
#pragma once

#include <time.h>

// Seconds since some moment of the past.
static inline double tmg_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

// How fast this machine is: a time that speeds are stated in, since it may be slower, or busy.
// A core's other thread takes up to half of what runs here, for as long as it likes: what is timed
// and its yardstick take turns, each for some milliseconds, and what counts is their median.
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#ifdef __OPTIMIZE__
#error "speeds are stated in digests as unit tests compile them: others take a quarter of the time"
#endif

// CPU time of this process.
static inline double used_ms(void) {
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec * 1e3 + (double)used.tv_nsec / 1e6;
}

static inline uint32_t rotated(uint32_t word, int by) { return word >> by | word << (32 - by); }

#define DIGEST_MS 17.5  // where the speeds were stated

// What a SHA-256 of a MiB takes in plain C, by its rounds: the library's own digest has
// instructions for it on some CPUs, and not on others.
static inline double digest_ms(void) {
    enum { ROUNDS_OF_A_MIB = 7 * (1 << 20) / 5 };  // and two fifths for the schedule
    static volatile uint32_t sink;
    const double before = used_ms();
    uint32_t a = sink, b = 1, c = 2, d = 3, e = 4, f = 5, g = 6, h = 7;
    for (uint32_t i = 0; i < ROUNDS_OF_A_MIB; ++i) {
        const uint32_t t = h + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) +
                           ((e & f) ^ (~e & g)) + i * 0x9e3779b9u;
        const uint32_t u =
            (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g, g = f, f = e, e = d + t, d = c, c = b, b = a, a = t + u;
    }
    sink = a + e;
    return used_ms() - before;
}

static inline int yardstick_by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// A speed in units of a yardstick: the median of [round]s, in each of which it takes turns with it.
// What is below [least] has a few more lots of rounds, of which the best counts.
static inline double typical(double (*round)(const void *of), const void *of, double least) {
    enum { ROUNDS = 11, LOTS = 6 };
    double best = 0;
    for (int lot = 0; lot < LOTS && best < least; ++lot) {
        double rounds[ROUNDS];
        for (int i = 0; i < ROUNDS; ++i) rounds[i] = round(of);
        qsort(rounds, ROUNDS, sizeof *rounds, yardstick_by_size);
        if (rounds[ROUNDS / 2] > best) best = rounds[ROUNDS / 2];
    }
    return best;
}

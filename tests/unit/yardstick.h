// How fast this machine is: a time that speeds are stated in, since it may be slower, or busy.
#pragma once

#include <stdint.h>
#include <time.h>

// CPU time of this process.
static inline double used_ms(void) {
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec * 1e3 + (double)used.tv_nsec / 1e6;
}

static inline uint32_t rotated(uint32_t word, int by) { return word >> by | word << (32 - by); }

// What a SHA-256 of a MiB takes in plain C, 5 ms where the speeds were stated, by its rounds: the
// library's own digest has instructions for it on some CPUs, and not on others.
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

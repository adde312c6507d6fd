// Random numbers that depend only on a seed and a position, so that threads and runs agree.
// Test data has to look random to a power-limited chip and to Freivalds' check; that is all.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "measure/numbers.h"

// 64 random bits for a position: splitmix64 (Steele, Lea, Flood 2014).
static inline uint64_t random_bits(uint64_t seed, uint64_t position) {
    uint64_t z = seed + (position + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

// A seed for the [part]-th of several independent sequences.
static inline uint64_t random_seed(uint64_t seed, uint64_t part) {
    return random_bits(~seed, part);
}

// Uniform in [0, 1), with 53 bits.
static inline double random_uniform(uint64_t seed, uint64_t position) {
    return (double)(random_bits(seed, position) >> 11) * 0x1p-53;
}

// Uniform in 0..bound-1.
static inline int64_t random_below(uint64_t seed, uint64_t position, int64_t bound) {
    return (int64_t)(random_bits(seed, position) % (uint64_t)bound);
}

// The 65536 quantiles of the normal distribution as elements of [dtype], of deviation 32 where
// those are integers of 8 bits, which come in all sizes then, else of 1; made once a process.
// Integer types get the rounded values. NULL without memory.
const void *random_quantiles(enum tmg_dtype_id dtype);

// Fills [count] elements of [dtype] with standard normal values: those quantiles, in random order.
// Uses all cores; a billion elements take about a second. Returns 0, or -1 without memory.
int random_normal(enum tmg_dtype_id dtype, void *to, size_t count, uint64_t seed);

// The same values times [scale], each rounded to [dtype].
int random_scaled(enum tmg_dtype_id dtype, double scale, void *to, size_t count, uint64_t seed);

// A seed that differs from run to run.
uint64_t random_fresh_seed(void);

// Numbers that are worked on at once: a launch of a new shape waits for them. They are four, or as
// many as LANES, which a file may define before it includes this. Of eight, a CPU that has vectors
// of no more than four works on two halves; all of this is inlined, so that no call passes them.
#pragma once

#include <stdint.h>
#include <string.h>

#ifndef LANES
#define LANES 4
#endif

typedef float lanes __attribute__((vector_size(4 * LANES)));
typedef int32_t bits __attribute__((vector_size(4 * LANES)));

#define ON_LANES static inline __attribute__((always_inline))

// Defines [name], which does what [body], one of ON_LANES, does, by AVX2 where the CPU has it: both
// take [parameters], of which [arguments] are the names.
#if defined(__x86_64__)
#define BY_CPU(type, name, parameters, body, arguments)                                           \
    __attribute__((target("avx2"))) static type name##_avx2 parameters { return body arguments; } \
    type name parameters {                                                                        \
        return __builtin_cpu_supports("avx2") ? name##_avx2 arguments : body arguments;           \
    }
#else
#define BY_CPU(type, name, parameters, body, arguments) \
    type name parameters { return body arguments; }
#endif

ON_LANES lanes load(const float *from) {
    lanes all;
    memcpy(&all, from, sizeof all);
    return all;
}

ON_LANES void store(float *to, lanes all) { memcpy(to, &all, sizeof all); }

// Of each lane [a] where [first] is true, else [b].
ON_LANES lanes choose(bits first, lanes a, lanes b) {
    return (lanes)(((bits)a & first) | ((bits)b & ~first));
}

// Of each lane [a] where [first] is true, else 0.
ON_LANES lanes where(bits first, lanes a) { return (lanes)((bits)a & first); }

ON_LANES lanes larger(lanes a, lanes b) { return choose(a > b, a, b); }
ON_LANES lanes smaller(lanes a, lanes b) { return choose(a < b, a, b); }
ON_LANES lanes positive(lanes value) { return where(value > 0, value); }

// Whether any lane of a comparison is true.
ON_LANES int any(bits true_ones) {
    typedef uint64_t part __attribute__((vector_size(16)));
    part parts[LANES / 4];
    memcpy(parts, &true_ones, sizeof parts);
    for (int i = 1; i < LANES / 4; ++i) parts[0] |= parts[i];
    return (parts[0][0] | parts[0][1]) != 0;
}

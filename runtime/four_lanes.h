// Four numbers that are worked on at once: a launch of a new shape waits for them.
#pragma once

#include <stdint.h>
#include <string.h>

#include "runtime/least.h"

typedef float lanes __attribute__((vector_size(4 * TMG_LANES)));
typedef int32_t bits __attribute__((vector_size(4 * TMG_LANES)));

static inline lanes load(const float *from) {
    lanes four;
    memcpy(&four, from, sizeof four);
    return four;
}

static inline void store(float *to, lanes four) { memcpy(to, &four, sizeof four); }

// Of each lane [a] where [first] is true, else [b].
static inline lanes choose(bits first, lanes a, lanes b) {
    return (lanes)(((bits)a & first) | ((bits)b & ~first));
}

// Of each lane [a] where [first] is true, else 0.
static inline lanes where(bits first, lanes a) { return (lanes)((bits)a & first); }

static inline lanes larger(lanes a, lanes b) { return choose(a > b, a, b); }
static inline lanes smaller(lanes a, lanes b) { return choose(a < b, a, b); }
static inline lanes positive(lanes value) { return where(value > 0, value); }

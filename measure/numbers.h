// What the bits of each element type mean: decoding, rounding, and how much rounding costs.
// The references compute in float64 from decoded inputs, so this is where formats are defined.
#pragma once
#include <stddef.h>
#include <stdint.h>

enum num_type {
    NUM_BF16,
    NUM_FP16,
    NUM_FP32,
    NUM_FP64,
    NUM_E4M3,
    NUM_E5M2,
    NUM_I8,
    NUM_U8,
    NUM_I16,
    NUM_U16,
    NUM_I32,
    NUM_U32,
    NUM_I64,
    NUM_U64,
    NUM_TYPES
};

struct num_row {
    const char *name;  // in manifests and shape files
    unsigned bytes;
};
extern const struct num_row num_types[NUM_TYPES];

// The type of that name, or -1.
int num_find(const char *name);

// The value of [count] elements of [dtype] from [from]. bf16, fp16, e4m3, e5m2 and fp32 become
// exactly what they stand for; wider types are rounded to float.
void num_decode(enum num_type dtype, const void *from, float *to, size_t count);

// One element, exactly.
double num_value(enum num_type dtype, const void *element);

// Writes [value] rounded to nearest even as one element. Too large becomes infinity, or NaN where
// the type has no infinity (e4m3); integers saturate.
void num_encode(enum num_type dtype, double value, void *element);

// The most that rounding to [dtype] moves [value]: half a unit in its last place. 0 for integers.
double num_rounding(enum num_type dtype, double value);

// How many representable values lie between two elements of [dtype]; NaN counts as far from all
// but NaN. Zeros are equal.
double num_distance(enum num_type dtype, uint64_t a, uint64_t b);

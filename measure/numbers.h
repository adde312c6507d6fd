// What the bits of each element type mean: decoding, rounding, and how much rounding costs.
// The references compute in float64 from decoded inputs, so this is where a row of the table of
// types becomes values: of those before TMG_DTYPES_OF_HOST.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "runtime/dtype.h"

// The value of [count] elements of [dtype] from [from]. bf16, fp16, e4m3, e5m2 and fp32 become
// exactly what they stand for; wider types are rounded to float.
void num_decode(enum tmg_dtype_id dtype, const void *from, float *to, size_t count);

// One element, exactly.
double num_value(enum tmg_dtype_id dtype, const void *element);

// Writes [value] rounded to nearest even as one element. Too large becomes infinity, or NaN where
// the type has no infinity (e4m3); integers saturate.
void num_encode(enum tmg_dtype_id dtype, double value, void *element);

// The most that rounding to [dtype] moves [value]: half a unit in its last place. 0 for integers.
double num_rounding(enum tmg_dtype_id dtype, double value);

// How many representable values lie between two elements of [dtype]; NaN counts as far from all
// but NaN. Zeros are equal.
double num_distance(enum tmg_dtype_id dtype, uint64_t a, uint64_t b);

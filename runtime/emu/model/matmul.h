// Dense D += A * B on floats, and the widening of every operand type to float.
// One kernel serves mma and wgmma: products of all their types are exact in f32, even s8's sums.
#ifndef TMG_EMU_MODEL_MATMUL_H
#define TMG_EMU_MODEL_MATMUL_H

#include <stddef.h>

#include "runtime/emu/model/convert.h"

// [count] elements of [type] (f16, bf16, tf32, e4m3, e5m2, s8, u8) packed at [from] become
// floats at [to], times [sign] (1 or -1). tf32 drops its low 13 bits (PTX ISA 9.7.15.5.2).
void tmg_widen(enum tmg_number type, const void *restrict from, size_t count, int sign,
               float *restrict to);

// d[m][n] += a[m][k] * b[k][n], dense row-major, k innermost in order; [m] and [n] are
// multiples of 8.
// Every product is exact for the types above, so that fused and separate adds agree.
void tmg_multiply(int m, int n, int k, const float *a, const float *b, float *d);

// to[c][r] = from[r][c]; [rows] and [columns] are multiples of 4.
void tmg_transpose(int rows, int columns, const float *from, float *to);

// The integer accumulator's update: c + [sum] wrapped to 32 bits or, with [satfinite], clamped.
int32_t tmg_accumulate_s32(int32_t c, int32_t sum, bool satfinite);

// Sums as words of D, with the NaN that the hardware gives.
void tmg_store_f32(int count, const float *from, uint32_t *to);

#endif

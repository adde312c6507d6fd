// How tcgen05.mma sums, which PTX leaves open. Nobody of this project has had such a GPU: what
// stands here is what others measured on a B200, and what is assumed beyond that.
//
// Xie et al., "MMA-Sim: Bit-Accurate Reference Model of Tensor Cores and Matrix Cores" (2025), with
// its simulator, and Khattak and Mikaitis, "Accurate Models of NVIDIA Tensor Cores" (2025), for
// dense operands of f16, bf16, tf32, E4M3, E5M2, E2M1 and the scaled ones with K of 32 and 64:
//   - an instruction's k products and the old D are one sum of fused.h, with 25 bits kept below the
//     largest exponent; an f32 result is cut to 23 bits of fraction, also of 8-bit floats (Hopper
//     keeps 13), an f16 one is rounded to nearest;
//   - UE8M0 scales of MXF8F6F4 add to the products' exponents;
//   - MXF4 and MXF4NVF4 sum 16 products exactly and multiply the sum with the significands of its
//     scales; these sums and the old D are the terms, of the exponents of the scales, unnormalised,
//     and 35 bits are kept.
// Assumed: exponents of 4- and 6-bit floats count from their smallest normal number's, as those of
// 8 bits do; sparse operands sum the products that there are, of one instruction in one step, K of
// 96 as K of 64; scale-input-d changes the old D's exponent and nothing else; cta_group::2 and .ws
// change nothing; an f16 D is as on Hopper.
#ifndef TMG_EMU_MODEL_TCGEN05_SUM_H
#define TMG_EMU_MODEL_TCGEN05_SUM_H

#include "runtime/emu/model/fused.h"

// [scaled] or not, operands of types [a] and [b] into [d].
struct tmg_fused tmg_tcgen05_fused(enum tmg_number a, enum tmg_number b, enum tmg_number d);

// A scale factor: significand * 2^exponent, the significand below 1 where it is subnormal.
struct tmg_scale {
    float significand;
    int exponent;
    bool nan;
};
struct tmg_scale tmg_scale_of(enum tmg_number type, uint8_t bits);

// d[m][n] = a[m][k] * b[k][n] + d[m][n] with a scale for each row of a and for each column of b,
// powers of two. m at most 64, k at most 32, n a multiple of 8 and at most 256; f32.
void tmg_multiply_scaled(const struct tmg_fused *how, int m, int n, int k, const float *a,
                         const struct tmg_scale *scale_a, const float *b,
                         const struct tmg_scale *scale_b, float *d);

// The same of elements of E2M1 with [scales] for each row and column: scale_a[m][scales],
// scale_b[scales][n]. k is a multiple of 16, at most 96, and of [scales]; n at most 256.
void tmg_multiply_blocks(int m, int n, int k, int scales, const float *a,
                         const struct tmg_scale *scale_a, const float *b,
                         const struct tmg_scale *scale_b, float *d);

#endif

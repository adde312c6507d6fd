// The tensor core's own sum of products: aligned to the largest exponent, truncated, added exactly.
// PTX leaves order and rounding open; this is what Hopper was observed to do (sources below), so
// that results can equal the hardware's bit for bit.
//
// Khattak and Mikaitis, "Accurate Models of NVIDIA Tensor Cores" (2025), and Xie et al., "MMA-Sim:
// Bit-Accurate Reference Model of Tensor Cores and Matrix Cores" (2025), agree on it for Hopper.
// All k products of an instruction and the old D are terms of one sum. A product's exponent is the
// sum of its factors' exponents, unnormalised. Each term is cut (toward zero) at a fixed number of
// bits below the largest exponent. An f32 result is cut to its precision, an f16 one rounded.
#ifndef TMG_EMU_MODEL_FUSED_H
#define TMG_EMU_MODEL_FUSED_H

#include "runtime/emu/model/convert.h"

struct tmg_fused {
    int fraction_bits;  // kept of a term, below the sum's largest exponent
    int result_bits;    // of D's fraction: 23, or 13 where fp8 sums are kept short; f16: not used
    int least;          // the largest exponent counts as at least this
    bool f16;           // D is f16
    int least_a, least_b;  // exponents of the operands' smallest normal numbers
};

// How operands [a] and [b] sum into [d]. [wgmma] or mma.sync: they differ for fp8, which mma.sync
// widens to f16 on Hopper.
struct tmg_fused tmg_fused_for(enum tmg_number a, enum tmg_number b, enum tmg_number d, bool wgmma);

// d[m][n] = a[m][k] * b[k][n] + d[m][n], row-major floats that hold values of the operand types, m
// at most TMG_FUSED_M, k at most 32 and even, n a multiple of 8 and at most 256; each row of D is
// where [d] says. For an f16 D, d holds f16 values. NaN, of TMG_F32_NAN's bits, and infinities
// propagate as in IEEE arithmetic.
enum { TMG_FUSED_M = 128 };
void tmg_multiply_rows(const struct tmg_fused *how, int m, int n, int k, const float *a,
                       const float *b, float *const *d);
// The same where D is dense.
void tmg_multiply_fused(const struct tmg_fused *how, int m, int n, int k, const float *a,
                        const float *b, float *d);

// Elements of E2M1 with scale factors, as tcgen05_sum.h sums them: a[m][groups of 16], b[groups of
// 16][n], scales [m][scales] and [scales][n], taken apart; a significand is NaN where a scale is.
enum { TMG_BLOCK_GROUP = 16, TMG_BLOCK_K = 96, TMG_BLOCK_FRACTION = 35, TMG_SCALES_MAX = 6 };
struct tmg_blocks {
    int m, n, groups, scales;
    const float *a, *b;
    struct tmg_block_scales {
        const float *significand;
        const int32_t *exponent;
    } a_scales, b_scales;
};

// Exponents up to this, and down to less it, are far from a float's limits.
enum { TMG_EASY_MOST = 100, TMG_SCALED_N = 256 };

// A way to do so; all give the same bits. [is_here]: this machine can.
struct tmg_fused_way {
    const char *name;
    void (*multiply)(const struct tmg_fused *how, int m, int n, int k, const float *a,
                     const float *b, float *const *d);
    bool (*is_here)(void);
    void (*blocks)(const struct tmg_blocks *all, float *d);
    // d = c / 2^(row_scale + scales[i]), zero where an exponent nears its limits; and its opposite,
    // of [n] sums at [d] that began so, or nothing and false where one does.
    void (*scale_down)(int n, int row_scale, const int32_t *scales, const float *c, float *d);
    bool (*scale_up)(int n, int row_scale, const int32_t *scales, const float *c, float *d);
};
const struct tmg_fused_way *tmg_fused_here(void);  // the widest that this machine can
// The widest vectors first; plain, which is everywhere, last; then NULL.
extern const struct tmg_fused_way *const tmg_fused_ways[];

// ---- fused_4.c, fused_8.c, fused_16.c ----

extern const struct tmg_fused_way tmg_fused_plain, tmg_fused_avx2, tmg_fused_avx512;

#endif

// The fused sum in vectors of 8 columns: significands as floats, exponents as integers beside them.
// A term scaled by a power of two and converted to an integer is cut exactly as the hardware cuts.
#include "runtime/emu/model_fused.h"

#include <math.h>

#include "runtime/emu/model_matmul.h"

// Functions on vectors are all inlined: none has an ABI that a wider machine could change.
#pragma GCC diagnostic ignored "-Wpsabi"

#define INLINE static inline __attribute__((always_inline))

enum { LANES = 8, K_MAX = 32, N_MAX = 256, NO_EXPONENT = -4000 };

typedef float floats __attribute__((vector_size(32), aligned(4), may_alias));
typedef int32_t ints __attribute__((vector_size(32), aligned(4), may_alias));
typedef uint32_t uints __attribute__((vector_size(32), aligned(4), may_alias));
typedef double doubles __attribute__((vector_size(64), aligned(8), may_alias));
typedef int64_t longs __attribute__((vector_size(64), aligned(8), may_alias));

static int least_exponent(enum tmg_number type) {
    switch (type) {
    case TMG_F16:
    case TMG_E5M2: return -14;
    case TMG_E4M3: return -6;
    default: return -126;
    }
}

struct tmg_fused tmg_fused_for(enum tmg_number a, enum tmg_number b, enum tmg_number d,
                               bool wgmma) {
    bool fp8 = a == TMG_E4M3 || a == TMG_E5M2, is_short = fp8 && wgmma;
    return (struct tmg_fused){
        .fraction_bits = is_short ? 13 : 25,
        .result_bits = is_short ? 13 : 23,
        .least = d == TMG_F16 && !fp8 ? -21 : -133,
        .f16 = d == TMG_F16,
        .least_a = wgmma || !fp8 ? least_exponent(a) : least_exponent(TMG_F16),
        .least_b = wgmma || !fp8 ? least_exponent(b) : least_exponent(TMG_F16),
    };
}

INLINE ints larger(ints x, ints y) {
    ints mask = x > y;
    return (x & mask) | (y & ~mask);
}

// Takes values apart: significand * 2^exponent with 1 <= |significand| < 2, or below 1 at exponent
// [least]. A zero's exponent is never the largest one.
INLINE floats split_vector(floats value, int least, ints *exponent) {
    ints bits = (ints)value, none = (bits & 0x7fffffff) == 0;
    ints power = larger((bits >> 23 & 0xff) - 127, (ints){0} + least);
    ints scale = (127 - power) << 23 | ((power == 127) & (1 << 22));
    *exponent = (power & ~none) | (none & NO_EXPONENT);
    return value * (floats)scale;
}

// An operand taken apart; B's columns in blocks of 8, so that one block's k steps are neighbours.
struct parts {
    float significand[N_MAX * K_MAX];
    int32_t exponent[N_MAX * K_MAX];
};

INLINE void split_at(const float *from, int least, struct parts *to, int at) {
    ints exponent;
    *(floats *)(to->significand + at) = split_vector(*(const floats *)from, least, &exponent);
    *(ints *)(to->exponent + at) = exponent;
}

INLINE void split_operands(const struct tmg_fused *how, int m, int n, int k, const float *a,
                           const float *b, struct parts *a_parts, struct parts *b_parts) {
    for (int i = 0; i < m * k; i += LANES) split_at(a + i, how->least_a, a_parts, i);
    for (int i = 0; i < k; ++i) {
        for (int column = 0; column < n; column += LANES) {
            split_at(b + i * n + column, how->least_b, b_parts, column * k + i * LANES);
        }
    }
}

// 2^power for power in -127 .. 127; 0 below that, which cuts a term to nothing.
INLINE floats power_of_two(ints power) {
    ints biased = larger(power + 127, (ints){0}) << 23;
    return (floats)biased;
}

// One term of 8 columns, cut to an integer in units of 2^-shift.
INLINE ints term(floats b_significand, ints b_exponent, float a_significand, ints shift) {
    floats scaled = b_significand * a_significand * power_of_two(b_exponent + shift);
    return __builtin_convertvector(scaled, ints);
}

// The sum of 8 columns of a row as exact integers, in units of 2^(largest - fraction_bits).
// In two halves: 16 terms below 2^27 each stay within 32 bits; those of a NaN wrap, and the caller
// replaces them. [k] is even.
INLINE doubles sum_terms(const struct tmg_fused *how, int k, const float *a_significand,
                         const int32_t *a_exponent, const floats *b_significand,
                         const ints *b_exponent, floats c, ints c_exponent, ints *largest) {
    ints most = larger(c_exponent, (ints){0} + how->least);
    for (int i = 0; i < k; ++i) most = larger(most, b_exponent[i] + a_exponent[i]);
    ints shift = how->fraction_bits - most;
    uints even = (uints)term(c, c_exponent, 1, shift), odd = {0};
    for (int i = 0; i < k; i += 2) {
        even +=
            (uints)term(b_significand[i], b_exponent[i], a_significand[i], shift + a_exponent[i]);
        odd += (uints)term(b_significand[i + 1], b_exponent[i + 1], a_significand[i + 1],
                           shift + a_exponent[i + 1]);
    }
    *largest = most;
    return __builtin_convertvector((ints)even, doubles) +
           __builtin_convertvector((ints)odd, doubles);
}

// To f16, to nearest. A sum has too many bits for f32, and rounding twice is wrong: cut to f32 with
// the last bit set where something was lost, then round.
static void finish_f16(const doubles *value, float *d) {
    const uint64_t lost = (UINT64_C(1) << (52 - 23)) - 1;
    for (int lane = 0; lane < LANES; ++lane) {
        double odd = (*value)[lane];
        uint64_t bits;
        memcpy(&bits, &odd, sizeof bits);
        bits = (bits & ~lost) | (bits & lost ? lost + 1 : 0);
        memcpy(&odd, &bits, sizeof odd);
        d[lane] = tmg_f16_to_f32(tmg_f32_to_f16_rn((float)odd));
    }
}

// Sums whose last bit can lie below f32's: cut at 2^-149, lane by lane.
static void finish_tiny(const doubles *value, float *d) {
    for (int lane = 0; lane < LANES; ++lane) {
        double exact = (*value)[lane];
        bool subnormal = fabs(exact) < 0x1p-126;
        d[lane] = (float)(subnormal ? trunc(exact * 0x1p149) * 0x1p-149 : exact);
    }
}

INLINE bool any_below(ints values, int limit) {
    int32_t least = values[0];
    for (int lane = 1; lane < LANES; ++lane) least = values[lane] < least ? values[lane] : least;
    return least < limit;
}

// Brings 8 sums to D: scaled back by 2^(largest - fraction_bits), which only two floats' product
// can hold, and cut or rounded.
INLINE void finish(const struct tmg_fused *how, doubles sum, ints largest, float *d) {
    ints power = largest - how->fraction_bits, half = power >> 1;
    doubles scale = __builtin_convertvector(power_of_two(half), doubles) *
                    __builtin_convertvector(power_of_two(power - half), doubles);
    if (how->f16) {
        doubles value = sum * scale;
        finish_f16(&value, d);
        return;
    }
    longs kept = (longs){0} - (INT64_C(1) << (52 - how->result_bits));
    doubles value = (doubles)((longs)sum & kept) * scale;
    if (any_below(largest, how->fraction_bits - 126)) {
        finish_tiny(&value, d);
    } else {
        *(floats *)d = __builtin_convertvector(value, floats);
    }
}

INLINE void multiply_finite(const struct tmg_fused *how, int m, int n, int k, const float *a,
                            const float *b, float *d) {
    struct parts a_parts, b_parts;
    split_operands(how, m, n, k, a, b, &a_parts, &b_parts);
    for (int column = 0; column < n; column += LANES) {
        const floats *b_significand = (const floats *)(b_parts.significand + column * k);
        const ints *b_exponent = (const ints *)(b_parts.exponent + column * k);
        for (int row = 0; row < m; ++row) {
            float *place = d + row * n + column;
            ints exponent, largest;
            floats c = split_vector(*(const floats *)place, how->f16 ? -14 : -126, &exponent);
            doubles sum =
                sum_terms(how, k, a_parts.significand + row * k, a_parts.exponent + row * k,
                          b_significand, b_exponent, c, exponent, &largest);
            finish(how, sum, largest, place);
        }
    }
}

static void multiply_plain(const struct tmg_fused *how, int m, int n, int k, const float *a,
                           const float *b, float *d) {
    multiply_finite(how, m, n, k, a, b, d);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void multiply_avx2(const struct tmg_fused *how, int m, int n,
                                                          int k, const float *a, const float *b,
                                                          float *d) {
    multiply_finite(how, m, n, k, a, b, d);
}
#endif

static bool all_finite(int count, const float *values) {
    uint32_t worst = 0;
    for (int i = 0; i < count; ++i) {
        uint32_t magnitude = tmg_f32_bits(values[i]) & 0x7fffffffu;
        worst = magnitude > worst ? magnitude : worst;
    }
    return worst < 0x7f800000u;
}

// Where an infinity or a NaN takes part, the sum is IEEE's: no rounding can change it.
static void multiply_special(int n, int k, const float *a, const float *b, const float *c, float *d,
                             int count) {
    for (int at = 0; at < count; ++at) {
        double sum = (double)c[at];
        for (int i = 0; i < k; ++i) sum += (double)a[at / n * k + i] * (double)b[i * n + at % n];
        if (!isfinite(sum)) d[at] = (float)sum;
    }
}

void tmg_multiply_fused(const struct tmg_fused *how, int m, int n, int k, const float *a,
                        const float *b, float *d) {
    float c[64 * N_MAX];
    int count = m * n;
    bool finite = all_finite(m * k, a) && all_finite(n * k, b) && all_finite(count, d);
    if (!finite) memcpy(c, d, (size_t)count * sizeof *c);
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        multiply_avx2(how, m, n, k, a, b, d);
    } else {
        multiply_plain(how, m, n, k, a, b, d);
    }
#else
    multiply_plain(how, m, n, k, a, b, d);
#endif
    if (!finite) multiply_special(n, k, a, b, c, d, count);
}

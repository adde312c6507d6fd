// The fused sum in vectors of 8 columns: values as floats, exponents as integers beside them.
// A term scaled by a power of two and converted to an integer is cut exactly as the hardware cuts.
#include "runtime/emu/model/fused.h"

#include <math.h>

#include "runtime/emu/model/matmul.h"

// Functions on vectors are all inlined: none has an ABI that a wider machine could change.
#pragma GCC diagnostic ignored "-Wpsabi"

#define INLINE static inline __attribute__((always_inline))

// LEAST_OF_ALL is below every number's exponent.
enum { LANES = 8, K_MAX = 32, M_MAX = 64, N_MAX = 256, NO_EXPONENT = -4000, LEAST_OF_ALL = -1000 };
// Where the largest exponent of a sum is in between, products and scales are normal floats, or so
// small that nothing of them is kept.
enum { PLAIN_LEAST = -90, PLAIN_MOST = 120 };

typedef float floats __attribute__((vector_size(32), aligned(4), may_alias));
typedef int32_t ints __attribute__((vector_size(32), aligned(4), may_alias));
typedef uint32_t uints __attribute__((vector_size(32), aligned(4), may_alias));
typedef double doubles __attribute__((vector_size(64), aligned(8), may_alias));
typedef int64_t longs __attribute__((vector_size(64), aligned(8), may_alias));
typedef int16_t shorts __attribute__((vector_size(32), aligned(2), may_alias));
typedef int16_t shorts_8 __attribute__((vector_size(16), aligned(2), may_alias));
typedef int64_t quads __attribute__((vector_size(32), aligned(4), may_alias));

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

INLINE bool none(ints mask) {
    quads bits = (quads)mask;
    return !(bits[0] | bits[1] | bits[2] | bits[3]);
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

// B in blocks of 8 columns, so that one block's k steps are neighbours; its exponents for two such
// blocks together.
struct b_parts {
    float value[N_MAX * K_MAX];
    int16_t exponent[N_MAX * K_MAX];
};

INLINE shorts larger_of_16(shorts x, shorts y) {
    shorts more = y - x;
    return x + (more & ~(more >> 15));
}

INLINE void split_a(const struct tmg_fused *how, int count, const float *a, int16_t *exponents) {
    for (int i = 0; i < count; i += LANES) {
        ints exponent;
        split_vector(*(const floats *)(a + i), how->least_a, &exponent);
        *(shorts_8 *)(exponents + i) = __builtin_convertvector(exponent, shorts_8);
    }
}

// Columns behind the last are zeros.
INLINE void split_b(const struct tmg_fused *how, int n, int k, const float *b, struct b_parts *to) {
    for (int column = 0; column < n; column += LANES) {
        float *value = to->value + column * k;
        int16_t *place = to->exponent + column / (2 * LANES) * 2 * LANES * k + column % (2 * LANES);
        for (int i = 0; i < k; ++i) {
            floats from = *(const floats *)(b + i * n + column);
            ints exponent;
            split_vector(from, how->least_b, &exponent);
            *(floats *)(value + i * LANES) = from;
            shorts_8 *to_exponent = (shorts_8 *)(place + i * 2 * LANES);
            to_exponent[0] = __builtin_convertvector(exponent, shorts_8);
            if (column + LANES == n && column % (2 * LANES) == 0)
                to_exponent[1] = (shorts_8){0} + NO_EXPONENT;
        }
    }
}

// 2^power for power in -127 .. 127; 0 below that, which cuts a term to nothing.
INLINE floats power_of_two(ints power) {
    ints biased = larger(power + 127, (ints){0}) << 23;
    return (floats)biased;
}

// The exact sum of 8 columns of a row, in units of 2^(largest - fraction_bits), in two halves: 16
// terms below 2^27 each stay within 32 bits; those of a NaN wrap, and the caller replaces them.
struct halves {
    uints even, odd;
};

// One term of 8 columns, cut to an integer in units of 2^-shift.
INLINE uints term(floats b, int least_b, float a, int least_a, ints shift) {
    ints a_exponent, b_exponent;
    floats a_significand = split_vector((floats){0} + a, least_a, &a_exponent);
    floats b_significand = split_vector(b, least_b, &b_exponent);
    floats scaled = b_significand * a_significand * power_of_two(b_exponent + a_exponent + shift);
    return (uints) __builtin_convertvector(scaled, ints);
}

// With any exponents. [k] is even.
static void sum_any(const struct tmg_fused *how, int k, const float *a, const floats *b,
                    const floats *c, int least_c, const ints *largest, struct halves *sum) {
    ints shift = how->fraction_bits - *largest;
    sum->even = term(*c, least_c, 1, 0, shift);
    sum->odd = (uints){0};
    for (int i = 0; i < k; i += 2) {
        sum->even += term(b[i], how->least_b, a[i], how->least_a, shift);
        sum->odd += term(b[i + 1], how->least_b, a[i + 1], how->least_a, shift);
    }
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

// ---- any exponents ----

static bool any_below(const ints *values, int limit) {
    for (int lane = 0; lane < LANES; ++lane)
        if ((*values)[lane] < limit) return true;
    return false;
}

// Brings 8 sums to D: scaled back by 2^(largest - fraction_bits), which only two floats' product
// can hold, and cut or rounded.
static void finish_any(const struct tmg_fused *how, const struct halves *sum, const ints *largest,
                       float *d) {
    ints power = *largest - how->fraction_bits, half = power >> 1;
    doubles scale = __builtin_convertvector(power_of_two(half), doubles) *
                    __builtin_convertvector(power_of_two(power - half), doubles);
    doubles exact = __builtin_convertvector((ints)sum->even, doubles) +
                    __builtin_convertvector((ints)sum->odd, doubles);
    if (how->f16) {
        doubles value = exact * scale;
        finish_f16(&value, d);
        return;
    }
    longs kept = (longs){0} - (INT64_C(1) << (52 - how->result_bits));
    doubles value = (doubles)((longs)exact & kept) * scale;
    if (any_below(largest, how->fraction_bits - 126))
        finish_tiny(&value, d);
    else
        *(floats *)d = __builtin_convertvector(value, floats);
}

static void multiply_any(const struct tmg_fused *how, int k, const float *a, const float *b,
                         const ints *largest, int least_c, float *d) {
    struct halves sum;
    sum_any(how, k, a, (const floats *)b, (const floats *)d, least_c, largest, &sum);
    finish_any(how, &sum, largest, d);
}

// ---- the plain case: the largest exponent lies in PLAIN_LEAST .. PLAIN_MOST ----

// No need to take numbers apart.
INLINE struct halves sum_plain(int k, const float *a, const floats *b, floats c, ints shift) {
    floats scale = (floats)((shift + 127) << 23);
    struct halves sum = {.even = (uints) __builtin_convertvector(c * scale, ints)};
    for (int i = 0; i < k; i += 2) {
        sum.even += (uints) __builtin_convertvector(b[i] * a[i] * scale, ints);
        sum.odd += (uints) __builtin_convertvector(b[i + 1] * a[i + 1] * scale, ints);
    }
    return sum;
}

// The sum as a float, cut to 24 bits; where something was lost, *inexact is -1. Its magnitude is
// below 2^32, its sign may be lost in 32 bits.
INLINE floats cut_sum(struct halves sum, ints *inexact) {
    uints wrapped = sum.even + sum.odd;
    uints overflow = ~(sum.even ^ sum.odd) & (sum.even ^ wrapped);
    ints sign = (ints)(wrapped ^ overflow) >> 31;
    uints magnitude = (wrapped ^ (uints)sign) - (uints)sign;
    floats high = __builtin_convertvector((ints)(magnitude >> 8), floats) * 256;
    floats low = __builtin_convertvector((ints)(magnitude & 255), floats);
    floats rounded = high + low, lost = low - (rounded - high);  // exact; below 0: rounded up
    *inexact = lost != 0;
    return (floats)(((ints)rounded + ((ints)lost >> 31)) | (sign & INT32_MIN));
}

// To the nearest f16, given cut to 24 bits with the last bit set where something was lost.
INLINE floats round_f16(floats value) {
    const ints bits = (ints)value, sign = bits & INT32_MIN, magnitude = bits & INT32_MAX;
    const ints subnormal = magnitude < (127 - 14) << 23;
    ints normal = (magnitude + 0xfff + (magnitude >> 13 & 1)) & ~0x1fff;
    ints huge = normal >= (127 + 16) << 23;
    ints tiny = (ints)((floats)magnitude + 0.75f - 0.75f);  // whose last bit is 2^-24
    normal = (normal & ~huge) | (huge & 0x7f800000);
    return (floats)((subnormal & tiny) | (~subnormal & normal) | sign);
}

// ---- the whole product ----

// What all blocks share.
struct constants {
    ints fraction_bits, least, kept;
    int least_c;
    bool f16;
};

INLINE struct constants constants_of(const struct tmg_fused *how) {
    return (struct constants){
        .fraction_bits = (ints){0} + how->fraction_bits,
        .least = (ints){0} + how->least,
        .kept = (ints){0} - (1 << (23 - how->result_bits)),
        .least_c = how->f16 ? -14 : -126,
        .f16 = how->f16,
    };
}

// 8 columns of a row; [products] are their products' largest exponents.
INLINE void multiply_block(const struct tmg_fused *how, struct constants all, int k, const float *a,
                           const float *b, const shorts_8 *products, float *d) {
    floats c = *(const floats *)d;
    ints largest, product = __builtin_convertvector(*products, ints);
    split_vector(c, all.least_c, &largest);
    largest = larger(largest, product);
    ints nothing = largest < 2 * LEAST_OF_ALL;
    largest = larger(largest, all.least) & ~nothing;
    if (!none((largest < PLAIN_LEAST) | (largest > PLAIN_MOST))) {
        multiply_any(how, k, a, b, &largest, all.least_c, d);
        return;
    }
    ints shift = all.fraction_bits - largest, inexact;
    floats unit = (floats)((127 - shift) << 23);
    ints cut = (ints)cut_sum(sum_plain(k, a, (const floats *)b, c, shift), &inexact);
    if (all.f16)
        *(floats *)d = round_f16((floats)(cut | (inexact & 1)) * unit);
    else
        *(floats *)d = (floats)(cut & all.kept) * unit;
}

INLINE void multiply_finite(const struct tmg_fused *how, int m, int n, int k, const float *a,
                            const float *b, float *d) {
    int16_t a_exponents[M_MAX * K_MAX];
    struct b_parts b_parts;
    struct constants all = constants_of(how);
    split_a(how, m * k, a, a_exponents);
    split_b(how, n, k, b, &b_parts);
    for (int column = 0; column < n; column += 2 * LANES) {
        const shorts *b_exponent = (const shorts *)(b_parts.exponent + column * k);
        for (int row = 0; row < m; ++row) {
            shorts most = (shorts){0} + 2 * NO_EXPONENT;
            for (int i = 0; i < k; ++i)
                most = larger_of_16(most, b_exponent[i] + a_exponents[row * k + i]);
            for (int half = 0; half < 2 && column + half * LANES < n; ++half)
                multiply_block(how, all, k, a + row * k,
                               b_parts.value + (column + half * LANES) * k,
                               (const shorts_8 *)&most + half, d + row * n + column + half * LANES);
        }
    }
}

// [count] is a multiple of 8.
INLINE bool all_finite(int count, const float *values) {
    ints special = {0};
    for (int i = 0; i < count; i += LANES) {
        special |= (*(const ints *)(values + i) & INT32_MAX) >= 0x7f800000;
    }
    return none(special);
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

INLINE void multiply(const struct tmg_fused *how, int m, int n, int k, const float *a,
                     const float *b, float *d) {
    float c[M_MAX * N_MAX];
    int count = m * n;
    bool finite = all_finite(m * k, a) && all_finite(n * k, b) && all_finite(count, d);
    if (!finite) memcpy(c, d, (size_t)count * sizeof *c);
    multiply_finite(how, m, n, k, a, b, d);
    if (!finite) multiply_special(n, k, a, b, c, d, count);
}

static void multiply_plain(const struct tmg_fused *how, int m, int n, int k, const float *a,
                           const float *b, float *d) {
    multiply(how, m, n, k, a, b, d);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void multiply_avx2(const struct tmg_fused *how, int m, int n,
                                                          int k, const float *a, const float *b,
                                                          float *d) {
    multiply(how, m, n, k, a, b, d);
}
#endif

void tmg_multiply_fused(const struct tmg_fused *how, int m, int n, int k, const float *a,
                        const float *b, float *d) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        multiply_avx2(how, m, n, k, a, b, d);
        return;
    }
#endif
    multiply_plain(how, m, n, k, a, b, d);
}

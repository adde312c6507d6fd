// The fused sum in vectors of LANES columns, 8 or 16, as the file that includes this says: values
// as floats, exponents as integers beside them. A term scaled by a power of two and converted to an
// integer is cut exactly as the hardware cuts.
#include "runtime/emu/model/fused.h"

#include <math.h>
#include <string.h>

// Functions on vectors are all inlined: none has an ABI that a wider machine could change.
#pragma GCC diagnostic ignored "-Wpsabi"

#define INLINE static inline __attribute__((always_inline))

// LEAST_OF_ALL is below every number's exponent.
enum { K_MAX = 32, M_MAX = 64, N_MAX = 256, NO_EXPONENT = -4000, LEAST_OF_ALL = -1000 };
// Where the largest exponent of a sum is in between, products and scales are normal floats, or so
// small that nothing of them is kept.
enum { PLAIN_LEAST = -60, PLAIN_MOST = 120 };
// Where no factor is of a larger exponent than this, nothing is kept of a tiny one's products.
enum { FACTOR_MOST = 10, TINY = (127 + PLAIN_LEAST - 25 - FACTOR_MOST - 1) << 23 };  // as bits

#define VECTOR(BYTES, ALIGN) __attribute__((vector_size((BYTES)*LANES), aligned(ALIGN), may_alias))
typedef float floats VECTOR(4, 4);
typedef int32_t ints VECTOR(4, 4);
typedef uint32_t uints VECTOR(4, 4);
typedef double doubles VECTOR(8, 8);
typedef int64_t longs VECTOR(8, 8);
typedef int16_t shorts VECTOR(2, 2);
typedef int64_t quads VECTOR(4, 4);

// Masks are made of signs, for numbers whose difference fits into 32 bits: compilers take
// comparisons of vectors apart where those are not the machine's own, one lane after the other.
INLINE ints less(ints x, ints y) { return (x - y) >> 31; }

INLINE ints larger(ints x, ints y) {
    ints more = y - x;
    return x + (more & ~(more >> 31));
}

// Of magnitudes.
INLINE ints is_zero(ints bits) { return (bits - 1) >> 31; }

INLINE bool none(ints mask) {
    quads bits = (quads)mask;
#if LANES == 16
    bits[0] |= bits[4] | bits[5] | bits[6] | bits[7];
#endif
    return !(bits[0] | bits[1] | bits[2] | bits[3]);
}

// LANES values, or 8, where [width], a multiple of 8, is less; zeros behind them.
INLINE floats load(const float *from, int width) {
    floats some = {0};
    if (width >= LANES) return *(const floats *)from;
    memcpy(&some, from, 8 * sizeof *from);
    return some;
}

INLINE void store(float *to, int width, floats values) {
    if (width >= LANES)
        *(floats *)to = values;
    else
        memcpy(to, &values, 8 * sizeof *to);
}

// Takes values apart: significand * 2^exponent with 1 <= |significand| < 2, or below 1 at exponent
// [least]. A zero's exponent is never the largest one.
INLINE floats split_vector(floats value, int least, ints *exponent) {
    ints bits = (ints)value, none = is_zero(bits & INT32_MAX);
    ints power = larger((bits >> 23 & 0xff) - 127, (ints){0} + least);
    ints scale = (127 - power) << 23 | (~less(power, (ints){0} + 127) & (1 << 22));
    *exponent = (power & ~none) | (none & NO_EXPONENT);
    return value * (floats)scale;
}

// Those of a magnitude below [least] or infinite or NaN, all as bits, become zeros: of the latter
// multiply_special has the sums, and arithmetic with subnormals is a hundred times as slow.
INLINE floats keep_from(floats values, int least) {
    ints magnitude = (ints)values & INT32_MAX;
    ints kept = ~less(magnitude, (ints){0} + least) & less(magnitude, (ints){0} + 0x7f800000);
    return (floats)((ints)values & kept);
}

// An operand as rows of values that the plain case multiplies, and exponents beside them. B's rows
// are k of LANES columns, block after block.
struct factors {
    float value[N_MAX * K_MAX];
    int16_t exponent[N_MAX * K_MAX];
    ints most;  // of the exponents
};

INLINE shorts larger_of_16(shorts x, shorts y) {
    shorts more = y - x;
    return x + (more & ~(more >> 15));
}

INLINE void split_piece(floats from, int least, struct factors *to, int place) {
    ints exponent;
    floats finite = keep_from(from, 0);
    split_vector(finite, least, &exponent);
    *(floats *)(to->value + place) = finite;
    *(shorts *)(to->exponent + place) = __builtin_convertvector(exponent, shorts);
    to->most = larger(to->most, exponent);
}

INLINE void split_a(const struct tmg_fused *how, int count, const float *a, struct factors *to) {
    to->most = (ints){0} + NO_EXPONENT;
    for (int i = 0; i < count; i += LANES) split_piece(load(a + i, count - i), how->least_a, to, i);
}

INLINE void split_b(const struct tmg_fused *how, int n, int k, const float *b, struct factors *to) {
    to->most = (ints){0} + NO_EXPONENT;
    for (int column = 0; column < n; column += LANES)
        for (int i = 0; i < k; ++i)
            split_piece(load(b + i * n + column, n - column), how->least_b, to,
                        column * k + i * LANES);
}

INLINE void drop_tiny(struct factors *parts, int count) {
    for (int i = 0; i < count; i += LANES) {
        floats *values = (floats *)(parts->value + i);
        *values = keep_from(*values, TINY);
    }
}

// 2^power for power in -127 .. 127; 0 below that, which cuts a term to nothing.
INLINE floats power_of_two(ints power) {
    ints biased = larger(power + 127, (ints){0}) << 23;
    return (floats)biased;
}

// The exact sum of LANES columns of a row, in units of 2^(largest - fraction_bits), in two halves:
// 16 terms below 2^27 each stay within 32 bits.
struct halves {
    uints even, odd;
};

// One term of LANES columns, cut to an integer in units of 2^-shift.
INLINE uints term(floats b, int least_b, float a, int least_a, ints shift) {
    ints a_exponent, b_exponent;
    floats a_significand = split_vector((floats){0} + a, least_a, &a_exponent);
    floats b_significand = split_vector(b, least_b, &b_exponent);
    floats scaled = b_significand * a_significand * power_of_two(b_exponent + a_exponent + shift);
    return (uints) __builtin_convertvector(scaled, ints);
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

// A block: LANES columns of a row, or [width] of them where they are the last. [b] are rows of [n].
struct term_row {
    int n, k, width;
    const float *a, *b;
};

// [k] is even.
static void sum_any(const struct tmg_fused *how, const struct term_row *block, const floats *c,
                    int least_c, const ints *largest, struct halves *sum) {
    ints shift = how->fraction_bits - *largest;
    sum->even = term(*c, least_c, 1, 0, shift);
    sum->odd = (uints){0};
    for (int i = 0; i < block->k; ++i) {
        floats b = keep_from(load(block->b + i * block->n, block->width), 0);
        uints one =
            term(b, how->least_b, keep_from((floats){block->a[i]}, 0)[0], how->least_a, shift);
        *(i % 2 ? &sum->odd : &sum->even) += one;
    }
}

static bool any_below(const ints *values, int limit) {
    for (int lane = 0; lane < LANES; ++lane)
        if ((*values)[lane] < limit) return true;
    return false;
}

// Brings LANES sums to D: scaled back by 2^(largest - fraction_bits), which only two floats'
// product can hold, and cut or rounded.
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

static void multiply_any(const struct tmg_fused *how, const struct term_row *block, const floats *c,
                         int least_c, const ints *largest, floats *d) {
    struct halves sum;
    float sums[LANES];
    sum_any(how, block, c, least_c, largest, &sum);
    finish_any(how, &sum, largest, sums);
    *d = *(const floats *)sums;
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
    *inexact = ~is_zero((ints)lost & INT32_MAX);
    return (floats)(((ints)rounded + ((ints)lost >> 31)) | (sign & INT32_MIN));
}

// To the nearest f16, given cut to 24 bits with the last bit set where something was lost.
INLINE floats round_f16(floats value) {
    const ints bits = (ints)value, sign = bits & INT32_MIN, magnitude = bits & INT32_MAX;
    const ints subnormal = less(magnitude, (ints){0} + ((127 - 14) << 23));
    ints normal = (magnitude + 0xfff + (magnitude >> 13 & 1)) & ~0x1fff;
    ints huge = ~less(normal, (ints){0} + ((127 + 16) << 23));
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

// [a], [b]: the block's as the plain case has them; [products]: their products' largest exponents.
INLINE floats multiply_block(const struct tmg_fused *how, struct constants all,
                             const struct term_row *block, const float *a, const float *b,
                             shorts products, floats c) {
    ints largest, product = __builtin_convertvector(products, ints);
    split_vector(c, all.least_c, &largest);
    largest = larger(largest, product);
    ints nothing = less(largest, (ints){0} + 2 * LEAST_OF_ALL);
    largest = larger(largest, all.least) & ~nothing;
    if (!none(less(largest, (ints){0} + PLAIN_LEAST) | less((ints){0} + PLAIN_MOST, largest))) {
        floats d;
        multiply_any(how, block, &c, all.least_c, &largest, &d);
        return d;
    }
    ints shift = all.fraction_bits - largest, inexact;
    floats unit = (floats)((127 - shift) << 23);
    ints cut = (ints)cut_sum(sum_plain(block->k, a, (const floats *)b, c, shift), &inexact);
    if (all.f16) return round_f16((floats)(cut | (inexact & 1)) * unit);
    return (floats)(cut & all.kept) * unit;
}

// The largest exponents of products: of even terms and of odd ones, that need not wait for each
// other.
INLINE shorts most_of(int k, const int16_t *a, const shorts *b) {
    shorts even = (shorts){0} + 2 * NO_EXPONENT, odd = even;
    for (int i = 0; i < k; i += 2) {
        even = larger_of_16(even, b[i] + a[i]);
        odd = larger_of_16(odd, b[i + 1] + a[i + 1]);
    }
    return larger_of_16(even, odd);
}

static bool any_above(const ints *values, int limit) {
    for (int lane = 0; lane < LANES; ++lane)
        if ((*values)[lane] > limit) return true;
    return false;
}

// Infinities and NaNs count as zeros.
INLINE void multiply_finite(const struct tmg_fused *how, int m, int n, int k, const float *a,
                            const float *b, float *d) {
    struct factors a_parts, b_parts;
    struct constants all = constants_of(how);
    split_a(how, m * k, a, &a_parts);
    split_b(how, n, k, b, &b_parts);
    if (!any_above(&a_parts.most, FACTOR_MOST) && !any_above(&b_parts.most, FACTOR_MOST)) {
        drop_tiny(&a_parts, m * k);
        drop_tiny(&b_parts, (n + LANES - 1) / LANES * LANES * k);
    }
    for (int column = 0; column < n; column += LANES) {
        const shorts *b_exponent = (const shorts *)(b_parts.exponent + column * k);
        struct term_row block = {n, k, n - column, a, b + column};
        for (int row = 0; row < m; ++row, block.a += k) {
            float *place = d + row * n + column;
            shorts most = most_of(k, a_parts.exponent + row * k, b_exponent);
            floats c = keep_from(load(place, block.width), 0);
            store(place, block.width,
                  multiply_block(how, all, &block, a_parts.value + row * k,
                                 b_parts.value + column * k, most, c));
        }
    }
}

// [count] is a multiple of 8.
INLINE bool all_finite(int count, const float *values) {
    ints special = {0};
    for (int i = 0; i < count; i += LANES)
        special |= ~less((ints)load(values + i, count - i) & INT32_MAX, (ints){0} + 0x7f800000);
    return none(special);
}

// Of one element, whose terms are [n] apart in [b].
static float special_sum(int n, int k, const float *a, const float *b, float c) {
    double sum = (double)c;
    for (int i = 0; i < k; ++i) sum += (double)a[i] * (double)b[i * n];
    return (float)sum;
}

// Where an infinity or a NaN takes part, the sum is IEEE's: no rounding can change it.
static void multiply_special(int m, int n, int k, const float *a, const float *b, const float *c,
                             float *d) {
    bool special_b[N_MAX] = {false};
    for (int i = 0; i < n * k; ++i) special_b[i % n] |= !isfinite(b[i]);
    for (int row = 0; row < m; ++row, a += k, c += n, d += n) {
        bool special_a = false;
        for (int i = 0; i < k; ++i) special_a |= !isfinite(a[i]);
        for (int column = 0; column < n; ++column)
            if (isnan(c[column]))
                d[column] = c[column];
            else if (special_a || special_b[column] || !isfinite(c[column]))
                d[column] = special_sum(n, k, a, b + column, c[column]);
    }
}

INLINE void multiply(const struct tmg_fused *how, int m, int n, int k, const float *a,
                     const float *b, float *d) {
    float c[M_MAX * N_MAX];
    int count = m * n;
    bool finite = all_finite(m * k, a) && all_finite(n * k, b) && all_finite(count, d);
    if (!finite) memcpy(c, d, (size_t)count * sizeof *c);
    multiply_finite(how, m, n, k, a, b, d);
    if (!finite) multiply_special(m, n, k, a, b, c, d);
}

// A way to multiply, named as its [TARGET] is.
#define WAY(NAME, TARGET, CONDITION)                                                     \
    TARGET static void multiply_##NAME(const struct tmg_fused *how, int m, int n, int k, \
                                       const float *a, const float *b, float *d) {       \
        multiply(how, m, n, k, a, b, d);                                                 \
    }                                                                                    \
    static bool NAME##_is_here(void) { return CONDITION; }                               \
    const struct tmg_fused_way tmg_fused_##NAME = {#NAME, multiply_##NAME, NAME##_is_here};

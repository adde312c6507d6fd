// The fused sum in vectors of LANES columns, 4, 8 or 16, as the file that includes this says:
// values as floats, exponents as integers beside them. A term scaled by a power of two and
// converted to an integer is cut exactly as the hardware cuts.
#include "runtime/emu/model/fused.h"

#include <math.h>
#include <string.h>

// Functions on vectors are all inlined: none has an ABI that a wider machine could change.
#pragma GCC diagnostic ignored "-Wpsabi"

// Functions of the vectors that [TARGET] has.
#define INLINE TARGET static inline __attribute__((always_inline))
#ifdef __clang__
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

// LEAST_OF_ALL is below every number's exponent.
enum { K_MAX = 32, M_MAX = TMG_FUSED_M, N_MAX = 256, NO_EXPONENT = -4000, LEAST_OF_ALL = -1000 };
// Where the largest exponent of a sum is in between, products and scales are normal floats, or so
// small that nothing of them is kept.
enum { PLAIN_LEAST = -60, PLAIN_MOST = 120 };
// Where no factor is of a larger exponent than this, nothing is kept of a tiny one's products.
enum { FACTOR_MOST = 10, TINY = (127 + PLAIN_LEAST - 25 - FACTOR_MOST - 1) << 23 };  // as bits
// A factor's exponent below its operand's largest, in 8 bits: a sum of two is exact above FAR, and
// tells a zero's product, of at most ZERO, from all others.
enum { FAR = -31, ZERO = -64 };

#define VECTOR(BYTES, ALIGN) __attribute__((vector_size((BYTES)*LANES), aligned(ALIGN), may_alias))
typedef float floats VECTOR(4, 4);
typedef int32_t ints VECTOR(4, 4);
typedef uint32_t uints VECTOR(4, 4);
typedef double doubles VECTOR(8, 8);
typedef int64_t longs VECTOR(8, 8);
typedef int64_t quads VECTOR(4, 4);
typedef int8_t bytes VECTOR(4, 4);

// Blocks of LANES columns whose exponents share words, the first block's lowest, and whose sums
// stay in registers together.
enum { BLOCKS = 4, GROUP = BLOCKS * LANES };

// Masks of signs, for numbers whose difference fits into 32 bits.
INLINE ints less(ints x, ints y) { return (x - y) >> 31; }

#if LANES == 16
INLINE ints larger(ints x, ints y) { return (ints)_mm512_max_epi32((__m512i)x, (__m512i)y); }
INLINE ints smaller(ints x, ints y) { return (ints)_mm512_min_epi32((__m512i)x, (__m512i)y); }
INLINE bytes larger_bytes(bytes x, bytes y) {
    return (bytes)_mm512_max_epi8((__m512i)x, (__m512i)y);
}
// To a float, cut.
INLINE floats cut_to_float(ints value) {
    return (floats)_mm512_cvt_roundepi32_ps((__m512i)value, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}
INLINE bool any_negative(ints value) { return _mm512_movepi32_mask((__m512i)value) != 0; }
INLINE bool none(ints mask) { return _mm512_test_epi32_mask((__m512i)mask, (__m512i)mask) == 0; }
#else
#if LANES == 8
INLINE ints larger(ints x, ints y) { return (ints)_mm256_max_epi32((__m256i)x, (__m256i)y); }
INLINE ints smaller(ints x, ints y) { return (ints)_mm256_min_epi32((__m256i)x, (__m256i)y); }
INLINE bytes larger_bytes(bytes x, bytes y) {
    return (bytes)_mm256_max_epi8((__m256i)x, (__m256i)y);
}
INLINE bool any_negative(ints value) { return _mm256_movemask_ps((__m256)value) != 0; }
INLINE bool none(ints mask) { return _mm256_testz_si256((__m256i)mask, (__m256i)mask); }
#else
INLINE ints larger(ints x, ints y) {
    ints more = x > y;
    return (x & more) | (y & ~more);
}
INLINE ints smaller(ints x, ints y) { return ~larger(~x, ~y); }
INLINE bytes larger_bytes(bytes x, bytes y) {
    bytes more = x > y;
    return (x & more) | (y & ~more);
}
INLINE bool none(ints mask) {
    quads bits = (quads)mask;
    return !(bits[0] | bits[1]);
}
INLINE bool any_negative(ints value) { return !none(value >> 31); }
#endif
INLINE floats cut_to_float(ints value) {
    ints sign = value >> 31;
    uints magnitude = (uints)(value ^ sign) - (uints)sign;
    floats cut = __builtin_convertvector((ints)(magnitude & ~(magnitude >> 24)), floats);
    return (floats)((ints)cut | (sign & INT32_MIN));
}
#endif

// Of magnitudes.
INLINE ints is_zero(ints bits) { return (bits - 1) >> 31; }

// LANES values, or 8, where [width], a multiple of 8, is less; zeros behind them.
INLINE floats load(const float *from, int width) {
    floats some = {0};
    if (LANES <= 8 || width >= LANES) return *(const floats *)from;
    memcpy(&some, from, sizeof some / 2);
    return some;
}

INLINE void store(float *to, int width, floats values) {
    if (LANES <= 8 || width >= LANES)
        *(floats *)to = values;
    else
        memcpy(to, &values, sizeof values / 2);
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

// ---- operands ----

// An operand as the plain case multiplies it: values, and how far exponents lie below the largest,
// four to a word. A's are rows of k, one exponent a word. B's are k rows of LANES columns, block
// after block, and k rows of words, group after group.
struct factors {
    _Alignas(64) float value[N_MAX * K_MAX];
    _Alignas(64) int32_t below[M_MAX * K_MAX];
    int largest;  // exponent
};
_Static_assert(M_MAX * 4 >= N_MAX, "an exponent of A is a word, one of B a byte");

INLINE int most_of_lanes(ints values) {
    int most = values[0];
    for (int lane = 1; lane < LANES; ++lane)
        if (values[lane] > most) most = values[lane];
    return most;
}

// The largest exponent of [count] values; [count] is a multiple of 8, or of LANES.
INLINE int largest_exponent(int count, const float *from, int least) {
    ints most = {0};
    for (int i = 0; i < count; i += LANES)
        most = larger(most, (ints)keep_from(load(from + i, count - i), 0) & INT32_MAX);
    int exponent = (most_of_lanes(most) >> 23) - 127;
    return exponent < least ? least : exponent;
}

INLINE ints below_largest(floats value, int least, int largest) {
    ints magnitude = (ints)value & INT32_MAX, zero = is_zero(magnitude);
    ints power = larger((magnitude >> 23) - 127, (ints){0} + least) - largest;
    return (larger(power, (ints){0} + FAR) & ~zero) | (zero & ZERO);
}

INLINE void split_a(const struct tmg_fused *how, int count, int tiny, const float *a,
                    struct factors *to) {
    for (int i = 0; i < count; i += LANES) {
        floats finite = keep_from(load(a + i, count - i), 0);
        ints byte = below_largest(finite, how->least_a, to->largest) & 0xff;
        ints two = byte | byte << 8;
        *(floats *)(to->value + i) = keep_from(finite, tiny);
        *(ints *)(to->below + i) = two | two << 16;
    }
}

// A row of a group: its exponents; values go to their blocks.
INLINE ints split_group(const struct tmg_fused *how, int k, int width, int tiny, int largest,
                        const float *b, float *value) {
    ints words = {0};
    for (int i = 0; i < BLOCKS; ++i) {
        int left = width - i * LANES;
        floats finite = {0};
        if (left > 0) {
            finite = keep_from(load(b + i * LANES, left), 0);
            *(floats *)(value + i * LANES * k) = keep_from(finite, tiny);
        }
        words |= (below_largest(finite, how->least_b, largest) & 0xff) << 8 * i;
    }
    return words;
}

INLINE void split_b(const struct tmg_fused *how, int n, int k, int tiny, const float *b,
                    struct factors *to) {
    for (int group = 0; group < n; group += GROUP)
        for (int i = 0; i < k; ++i)
            *(ints *)(to->below + group / BLOCKS * k + i * LANES) =
                split_group(how, k, n - group, tiny, to->largest, b + i * n + group,
                            to->value + group * k + i * LANES);
}

INLINE void split(const struct tmg_fused *how, int m, int n, int k, const float *a, const float *b,
                  struct factors *a_parts, struct factors *b_parts) {
    a_parts->largest = largest_exponent(m * k, a, how->least_a);
    b_parts->largest = largest_exponent(n * k, b, how->least_b);
    bool modest = a_parts->largest <= FACTOR_MOST && b_parts->largest <= FACTOR_MOST;
    split_a(how, m * k, modest ? TINY : 0, a, a_parts);
    split_b(how, n, k, modest ? TINY : 0, b, b_parts);
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
TARGET static void finish_f16(const doubles *value, float *d) {
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
TARGET static void finish_tiny(const doubles *value, float *d) {
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

INLINE floats b_of(const struct term_row *block, int i) {
    return keep_from(load(block->b + i * block->n, block->width), 0);
}

INLINE float a_of(const struct term_row *block, int i) {
    return keep_from((floats){block->a[i]}, 0)[0];
}

INLINE ints largest_any(const struct tmg_fused *how, const struct term_row *block, floats c,
                        int least_c) {
    ints largest, a_exponent, b_exponent;
    split_vector(c, least_c, &largest);
    for (int i = 0; i < block->k; ++i) {
        split_vector((floats){0} + a_of(block, i), how->least_a, &a_exponent);
        split_vector(b_of(block, i), how->least_b, &b_exponent);
        largest = larger(largest, a_exponent + b_exponent);
    }
    ints nothing = less(largest, (ints){0} + 2 * LEAST_OF_ALL);
    return larger(largest, (ints){0} + how->least) & ~nothing;
}

// [k] is even.
TARGET static void sum_any(const struct tmg_fused *how, const struct term_row *block,
                           const floats *c, int least_c, const ints *largest, struct halves *sum) {
    ints shift = how->fraction_bits - *largest;
    sum->even = term(*c, least_c, 1, 0, shift);
    sum->odd = (uints){0};
    for (int i = 0; i < block->k; ++i) {
        uints one = term(b_of(block, i), how->least_b, a_of(block, i), how->least_a, shift);
        *(i % 2 ? &sum->odd : &sum->even) += one;
    }
}

TARGET static bool any_below(const ints *values, int limit) {
    for (int lane = 0; lane < LANES; ++lane)
        if ((*values)[lane] < limit) return true;
    return false;
}

// Brings LANES sums to D: scaled back by 2^(largest - fraction_bits), which only two floats'
// product can hold, and cut or rounded.
TARGET static void finish_any(const struct tmg_fused *how, const struct halves *sum,
                              const ints *largest, float *d) {
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

TARGET static void multiply_any(const struct tmg_fused *how, const struct term_row *block,
                                const floats *c, int least_c, floats *d) {
    struct halves sum;
    float sums[LANES];
    ints largest = largest_any(how, block, *c, least_c);
    sum_any(how, block, c, least_c, &largest, &sum);
    finish_any(how, &sum, &largest, sums);
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

// The sum as a float, cut to 24 bits; in *inexact the last bit, where something was lost that an
// f16 lacks. Its magnitude is below 2^32, its sign may be lost in 32 bits.
INLINE floats cut_sum(struct halves sum, ints *inexact) {
    uints wrapped = sum.even + sum.odd;
    uints overflow = ~(sum.even ^ sum.odd) & (sum.even ^ wrapped);
    ints sign = (ints)(wrapped ^ overflow) >> 31;
    uints magnitude = (wrapped ^ (uints)sign) - (uints)sign, high = magnitude >> 24;
    floats cut = __builtin_convertvector(magnitude & ~high, floats);  // without half a last place
    *inexact = ~is_zero((ints)high) & ~is_zero((ints)magnitude & 255) & 1;
    return (floats)((ints)cut | (sign & INT32_MIN));
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

// What all blocks share. [sure]: of a larger exponent than this, and at least PLAIN_LEAST, the
// largest one of a sum is known; it is not where only terms far below the operands' take part.
struct constants {
    const struct tmg_fused *how;
    int n, k, least_c;
    ints product, sure, kept;
};

INLINE struct constants constants_of(const struct tmg_fused *how, int n, int k, int product) {
    int sure = product + FAR + 1;
    return (struct constants){
        .how = how,
        .n = n,
        .k = k,
        .least_c = how->f16 ? -14 : -126,
        .product = (ints){0} + product,
        .sure = (ints){0} + (sure < PLAIN_LEAST ? PLAIN_LEAST : sure),
        .kept = (ints){0} - (1 << (23 - how->result_bits)),
    };
}

// The largest exponent, given [products]' below the operands'; a zero's is less than PLAIN_LEAST.
INLINE ints largest_of(const struct constants *all, ints products, floats c) {
    ints magnitude = (ints)c & INT32_MAX, power = (magnitude >> 23) - 127;
    if (all->how->f16) {
        ints zero = is_zero(magnitude);
        power = (larger(power, (ints){0} + all->least_c) & ~zero) | (zero & -127);
    }
    return larger(larger(products + all->product, power), (ints){0} + all->how->least);
}

INLINE ints out_of_range(const struct constants *all, ints largest) {
    return less(largest, all->sure) | less((ints){0} + PLAIN_MOST, largest);
}

INLINE floats multiply_plain_block(const struct constants *all, const float *a, const float *b,
                                   floats c, ints largest) {
    ints shift = all->how->fraction_bits - largest, inexact;
    floats unit = (floats)((127 - shift) << 23), kept = keep_from(c, 1 << 23);
    ints cut = (ints)cut_sum(sum_plain(all->k, a, (const floats *)b, kept, shift), &inexact);
    if (all->how->f16) return round_f16((floats)(cut | inexact) * unit);
    return (floats)(cut & all->kept) * unit;
}

// Of a block some of whose largest exponents are out of range: often zeros, behind a tensor's end.
INLINE floats multiply_rare_block(const struct constants *all, const struct term_row *block,
                                  const float *a, const float *b, ints products, floats c,
                                  ints largest) {
    ints zero = less(products, (ints){0} + ZERO + 1) & is_zero((ints)c & INT32_MAX);
    floats d = {0};
    if (none(~zero)) return d;
    if (none(out_of_range(all, largest) & ~zero))
        return multiply_plain_block(all, a, b, c, larger(largest, (ints){0} + PLAIN_LEAST));
    multiply_any(all->how, block, &c, all->least_c, &d);
    return d;
}

// The largest exponents of products: of even terms and of odd ones, that need not wait for each
// other.
INLINE bytes most_of(int k, const int32_t *a, const bytes *b) {
    bytes even = (bytes){0} + 2 * ZERO, odd = even;
    for (int i = 0; i < k; i += 2) {
        even = larger_bytes(even, b[i] + (bytes)((ints){0} + a[i]));
        odd = larger_bytes(odd, b[i + 1] + (bytes)((ints){0} + a[i + 1]));
    }
    return larger_bytes(even, odd);
}

// The exponent, below the operands', of the largest product in a block.
INLINE ints products_of(bytes most, int block) {
    return (ints)most << 8 * (BLOCKS - 1 - block) >> 24;
}

// A group in f32, where all of it is plain; else nothing is done and it is false. Exponents are
// biased here, as in a float.
INLINE bool multiply_together(const struct constants *all, const float *a, const float *b,
                              bytes most, float *d) {
    enum { BIAS = 127 };
    struct halves sum[BLOCKS];
    floats scale[BLOCKS], cut[BLOCKS];
    ints least = (ints){0} + INT32_MAX, largest = {0}, over = {0};
    UNROLL for (int i = 0; i < BLOCKS; ++i) {
        const floats c = *(const floats *)(d + i * LANES);
        const ints magnitude = (ints)c & INT32_MAX,
                   subnormal = less(magnitude, (ints){0} + (1 << 23));
        const ints power = larger(products_of(most, i) + (all->product + BIAS), magnitude >> 23);
        least = smaller(least, power);
        largest = larger(largest, power);
        scale[i] = (floats)((all->how->fraction_bits + 2 * BIAS - power) << 23);
        sum[i].even =
            (uints) __builtin_convertvector((floats)((ints)c & ~subnormal) * scale[i], ints);
        sum[i].odd = (uints){0};
    }
    if (any_negative((least - (all->sure + BIAS)) | (PLAIN_MOST + BIAS - largest))) return false;
    for (int i = 0; i < all->k; i += 2) {
        UNROLL for (int j = 0; j < BLOCKS; ++j) {
            const floats *column = (const floats *)(b + j * LANES * all->k);
            sum[j].even += (uints) __builtin_convertvector(column[i] * a[i] * scale[j], ints);
            sum[j].odd +=
                (uints) __builtin_convertvector(column[i + 1] * a[i + 1] * scale[j], ints);
        }
    }
    UNROLL for (int i = 0; i < BLOCKS; ++i) {
        const uints both = sum[i].even + sum[i].odd;
        over |= (ints)((sum[i].even ^ both) & (sum[i].odd ^ both));
        const ints unit = (2 * BIAS << 23) - (ints)scale[i];
        cut[i] = (floats)((ints)cut_to_float((ints)both) & all->kept) * (floats)unit;
    }
    if (any_negative(over)) return false;
    UNROLL for (int i = 0; i < BLOCKS; ++i) * (floats *)(d + i * LANES) = cut[i];
    return true;
}

// Where operands have an infinity or a NaN: rows of A, columns of B, and groups of these.
struct specials {
    bool rows[M_MAX], columns[N_MAX], groups[N_MAX / GROUP + 1];
};

// [count] is a multiple of 8.
INLINE bool all_finite(int count, const float *values) {
    ints special = {0};
    for (int i = 0; i < count; i += LANES)
        special |= (ints)(((uints)load(values + i, count - i) & INT32_MAX) + 0x00800000);
    return none(special >> 31);
}

static void find_specials(int m, int n, int k, const float *a, const float *b,
                          struct specials *special) {
    for (int i = 0; i < m * k; ++i) special->rows[i / k] |= !isfinite(a[i]);
    for (int i = 0; i < n * k; ++i) special->columns[i % n] |= !isfinite(b[i]);
    for (int i = 0; i < n; ++i) special->groups[i / GROUP] |= special->columns[i];
}

// Of one element, whose terms are [n] apart in [b].
static float special_sum(int n, int k, const float *a, const float *b, float c) {
    double sum = (double)c;
    for (int i = 0; i < k; ++i) sum += (double)a[i] * (double)b[i * n];
    return (float)sum;
}

// Where an infinity or a NaN takes part, the sum is IEEE's: no rounding can change it.
static void multiply_special(const struct term_row *block, bool row, const bool *columns,
                             const float *c, float *d) {
    for (int i = 0; i < block->width; ++i) {
        if (!row && !columns[i] && isfinite(c[i])) continue;
        float sum = special_sum(block->n, block->k, block->a, block->b + i, c[i]);
        if (isnan(sum)) sum = tmg_f32_from_bits(TMG_F32_NAN);
        memcpy(d + i, &sum, sizeof sum);
    }
}

// A row's columns of a group, of which there are [block]'s width, one block after the other.
INLINE void multiply_blocks(const struct constants *all, struct term_row block, const float *a,
                            const float *b, bytes most, float *d) {
    const int count = block.width;
    for (int i = 0; i * LANES < count; ++i, b += LANES * all->k, block.b += LANES) {
        block.width = count - i * LANES;
        floats c = load(d + i * LANES, block.width);
        ints products = products_of(most, i), largest = largest_of(all, products, c);
        store(d + i * LANES, block.width,
              none(out_of_range(all, largest))
                  ? multiply_plain_block(all, a, b, c, largest)
                  : multiply_rare_block(all, &block, a, b, products, c, largest));
    }
}

// The same where D, or operands, may be special.
INLINE void multiply_any_group(const struct constants *all, struct term_row block, const float *a,
                               const float *b, bytes most, bool special_a, const bool *special_b,
                               bool is_special, float *d) {
    float c[GROUP];
    bool finite = !is_special && all_finite(block.width, d);
    if (!finite) memcpy(c, d, (size_t)block.width * sizeof *c);
    for (int i = 0; !finite && i < block.width; i += LANES)
        store(d + i, block.width - i, keep_from(load(d + i, block.width - i), 0));
    multiply_blocks(all, block, a, b, most, d);
    if (!finite) multiply_special(&block, special_a, special_b, c, d);
}

// What all rows and groups share.
struct fused_product {
    struct constants all;
    const float *a, *b;
    struct factors a_parts, b_parts;
    struct specials special;
};

// A row's GROUP columns from [column] on, or what there is of them.
INLINE void multiply_group(const struct fused_product *p, int row, int column, float *d) {
    const int k = p->all.k, left = p->all.n - column;
    const float *a = p->a_parts.value + row * k, *b = p->b_parts.value + column * k;
    const bytes most = most_of(k, p->a_parts.below + row * k,
                               (const bytes *)(p->b_parts.below + column / BLOCKS * k));
    const bool special = p->special.rows[row] || p->special.groups[column / GROUP];
    struct term_row block = {p->all.n, k, left < GROUP ? left : GROUP, p->a + row * k,
                             p->b + column};
    if (left < GROUP || p->all.how->f16 || special || !multiply_together(&p->all, a, b, most, d))
        multiply_any_group(&p->all, block, a, b, most, p->special.rows[row],
                           p->special.columns + column, special, d);
}

INLINE void multiply(const struct tmg_fused *how, int m, int n, int k, const float *a,
                     const float *b, float *const *d) {
    struct fused_product p;
    memset(&p.special, 0, sizeof p.special);
    if (!all_finite(m * k, a) || !all_finite(n * k, b)) find_specials(m, n, k, a, b, &p.special);
    split(how, m, n, k, a, b, &p.a_parts, &p.b_parts);
    p.all = constants_of(how, n, k, p.a_parts.largest + p.b_parts.largest);
    p.a = a, p.b = b;
    for (int column = 0; column < n; column += GROUP)
        for (int row = 0; row < m; ++row) multiply_group(&p, row, column, d[row] + column);
}

// A way to multiply.
#define WAY(NAME, CONDITION)                                                              \
    TARGET static void multiply_##NAME(const struct tmg_fused *how, int m, int n, int k,  \
                                       const float *a, const float *b, float *const *d) { \
        multiply(how, m, n, k, a, b, d);                                                  \
    }                                                                                     \
    static bool NAME##_is_here(void) { return CONDITION; }                                \
    SCALED_WAY(NAME)                                                                      \
    const struct tmg_fused_way tmg_fused_##NAME = {#NAME,                                 \
                                                   multiply_##NAME,                       \
                                                   NAME##_is_here,                        \
                                                   blocks_##NAME,                         \
                                                   scale_down_##NAME,                     \
                                                   scale_up_##NAME};

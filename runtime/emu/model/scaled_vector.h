// Sums with scale factors in vectors of LANES columns, as tcgen05_sum.h has them; what includes
// this has included fused_vector.h, whose vectors these are.

// a * b + c, which is exact here however it is computed.
INLINE floats multiply_add(float a, floats b, floats c) {
#if LANES == 16
    return (floats)_mm512_fmadd_ps(_mm512_set1_ps(a), (__m512)b, (__m512)c);
#else
    return a * b + c;
#endif
}

// An exact integer below 2^51, cut towards zero.
#if LANES == 16
INLINE doubles cut_to_integer(doubles value) {
    union {
        doubles all;
        __m512d halves[2];
    } cut = {value};
    UNROLL for (int i = 0; i < 2; ++i) cut.halves[i] =
        _mm512_roundscale_pd(cut.halves[i], _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
    return cut.all;
}
#else
INLINE doubles cut_to_integer(doubles value) {
    const longs sign = (longs)value & INT64_MIN;
    const doubles magnitude = (doubles)((longs)value ^ sign);
    const doubles near = magnitude + 0x1p52 - 0x1p52;
    const longs above = (longs)(magnitude - near) >> 63;  // signs, as comparisons come lane by lane
    return (doubles)((longs)(near - (doubles)(above & (longs)((doubles){0} + 1))) | sign);
}
#endif

INLINE doubles wide_power_of_two(ints power) {
    return (doubles)((__builtin_convertvector(power, longs) + 1023) << 52);
}

INLINE ints exponents_of(floats values) {
    return larger(((ints)values >> 23 & 0xff) - 127, (ints){0} - 126);
}

INLINE ints is_finite(floats values) {
    return less((ints)values & INT32_MAX, (ints){0} + 0x7f800000);
}

INLINE floats either(ints mask, floats yes, floats no) {
    return (floats)((mask & (ints)yes) | (~mask & (ints)no));
}

// ---- a scale for each block ----

// LANES columns of B and of its scales.
struct block_columns {
    _Alignas(64) floats b[TMG_BLOCK_K];
    floats significand[TMG_SCALES_MAX];
    ints exponent[TMG_SCALES_MAX], nan;
};

INLINE void take_columns(const struct tmg_blocks *all, int column, struct block_columns *to) {
    const int width = all->n - column;
    to->nan = (ints){0};
    for (int i = 0; i < all->groups * TMG_BLOCK_GROUP; ++i)
        to->b[i] = load(all->b + i * all->n + column, width);
    for (int i = 0; i < all->scales; ++i) {
        to->significand[i] = load(all->b_scales.significand + i * all->n + column, width);
        to->exponent[i] =
            (ints)load((const float *)all->b_scales.exponent + i * all->n + column, width);
        to->nan |= ~is_finite(to->significand[i]);
    }
}

// Exact, so that parts may be summed apart, and need not wait for each other.
INLINE floats sum_group(const float *a, const floats *b) {
    floats parts[4] = {a[0] * b[0], a[1] * b[1], a[2] * b[2], a[3] * b[3]};
    UNROLL for (int i = 4; i < TMG_BLOCK_GROUP; i += 4) UNROLL for (int part = 0; part < 4; ++part)
        parts[part] = multiply_add(a[i + part], b[i + part], parts[part]);
    return (parts[0] + parts[1]) + (parts[2] + parts[3]);
}

// The sum as f32, cut; it is a multiple of 2^([most] - TMG_BLOCK_FRACTION).
INLINE floats finish_blocks(doubles sum, ints most) {
    const longs kept = (longs){0} - (INT64_C(1) << (52 - 23));
    doubles value = sum * wide_power_of_two(most - TMG_BLOCK_FRACTION);
    float lanes[LANES];
    if (none(less(most, (ints){0} + TMG_BLOCK_FRACTION - 126)))
        return __builtin_convertvector((doubles)((longs)value & kept), floats);
    for (int lane = 0; lane < LANES; ++lane) {
        double one = value[lane];
        longs cut = (longs)((doubles){0} + one) & kept;
        lanes[lane] = fabs(one) < 0x1p-126 ? (float)(trunc(one * 0x1p149) * 0x1p-149)
                                           : (float)((doubles)cut)[0];
    }
    return *(const floats *)lanes;
}

INLINE floats sum_blocks(const struct tmg_blocks *all, int row, const struct block_columns *with,
                         floats c) {
    const float *a = all->a + row * all->groups * TMG_BLOCK_GROUP;
    const float *significand = all->a_scales.significand + row * all->scales;
    const int32_t *exponent = all->a_scales.exponent + row * all->scales;
    const int per_scale = all->groups / all->scales;
    ints most = exponents_of(c), nan = with->nan;
    for (int i = 0; i < all->scales; ++i) {
        most = larger(most, with->exponent[i] + exponent[i]);
        nan |= ~is_finite((floats){0} + significand[i]);
    }
    doubles sum = {0};
    for (int group = 0; group < all->groups; ++group) {
        const int scale = group / per_scale;
        floats exact = sum_group(a + group * TMG_BLOCK_GROUP, with->b + group * TMG_BLOCK_GROUP) *
                       (significand[scale] * with->significand[scale]);
        ints power = with->exponent[scale] + exponent[scale] - most + TMG_BLOCK_FRACTION;
        sum += cut_to_integer(__builtin_convertvector(exact, doubles) * wide_power_of_two(power));
    }
    sum += cut_to_integer(__builtin_convertvector(c, doubles) *
                          wide_power_of_two(TMG_BLOCK_FRACTION - most));
    floats finite = either(nan, (floats){0} + NAN, finish_blocks(sum, most));
    return either(is_finite(c), finite, c);
}

INLINE void blocks(const struct tmg_blocks *all, float *d) {
    struct block_columns columns;
    for (int column = 0; column < all->n; column += LANES) {
        take_columns(all, column, &columns);
        for (int row = 0; row < all->m; ++row) {
            float *at = d + row * all->n + column;
            store(at, all->n - column, sum_blocks(all, row, &columns, load(at, all->n - column)));
        }
    }
}

// ---- a scale for a row and a column ----

// Zero, or an exponent that stays far from its limits with [power] added.
INLINE ints is_easy(floats values, ints power) {
    ints exponent = exponents_of(values) + power;
    return is_zero((ints)values & INT32_MAX) | (less(exponent, (ints){0} + TMG_EASY_MOST + 1) &
                                                less((ints){0} - TMG_EASY_MOST - 1, exponent));
}

// In two steps, that floats can hold.
INLINE floats times_power(floats values, ints power) {
    ints half = power >> 1;
    return values * power_of_two(half) * power_of_two(power - half);
}

INLINE void scale_down(int n, int row_scale, const int32_t *scales, const float *c, float *d) {
    for (int i = 0; i < n; i += LANES) {
        floats old = load(c + i, n - i);
        ints power = -((ints)load((const float *)scales + i, n - i) + row_scale);
        ints easy = is_finite(old) & is_easy(old, power);
        store(d + i, n - i, (floats)(easy & (ints)times_power(old, power)));
    }
}

INLINE bool scale_up(int n, int row_scale, const int32_t *scales, const float *c, float *d) {
    floats scaled[TMG_SCALED_N / LANES + 1];
    ints hard = {0}, no_power = {0};
    for (int i = 0; i < n; i += LANES) {
        floats old = load(c + i, n - i), sum = load(d + i, n - i);
        ints power = (ints)load((const float *)scales + i, n - i) + row_scale;
        hard |= ~(is_finite(old) & is_finite(sum) & is_easy(old, -power) & is_easy(old, no_power) &
                  is_easy(sum, power));
        scaled[i / LANES] = times_power(sum, power);
    }
    for (int i = 0; i < n && none(hard); i += LANES) store(d + i, n - i, scaled[i / LANES]);
    return none(hard);
}

#define SCALED_WAY(NAME)                                                                         \
    TARGET static void blocks_##NAME(const struct tmg_blocks *all, float *d) { blocks(all, d); } \
    TARGET static void scale_down_##NAME(int n, int row_scale, const int32_t *scales,            \
                                         const float *c, float *d) {                             \
        scale_down(n, row_scale, scales, c, d);                                                  \
    }                                                                                            \
    TARGET static bool scale_up_##NAME(int n, int row_scale, const int32_t *scales,              \
                                       const float *c, float *d) {                               \
        return scale_up(n, row_scale, scales, c, d);                                             \
    }

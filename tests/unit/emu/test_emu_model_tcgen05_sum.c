// Sums of tcgen05.mma with scale factors, against their definition in integers, exponents at their
// limits included; and where they cut.
#include "runtime/emu/model/tcgen05_sum.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { ROWS = 8, COLUMNS = 16, DEPTH = 32 };

static uint64_t random_state = 7;

static uint32_t below(uint32_t limit) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) % limit;
}

static float draw(enum tmg_number type) {
    uint32_t bits = type == TMG_E2M1 ? below(16) : below(256);
    double value = tmg_number_to_double(type, bits);
    return isfinite(value) ? (float)value : 1;
}

static int exponent(double value, int least) {
    if (value == 0) return least;
    int power = ilogb(value);
    return power < least ? least : power;
}

static float to_f32(double value) {  // cut
    float near = (float)value;
    if (fabs(value) >= 0x1p128) return near;
    if (fabs((double)near) > fabs(value)) near = nextafterf(near, 0);
    return near;
}

// Significands cut at 25 bits below the largest exponent, each product's unnormalised.
static float definition(enum tmg_number type_a, enum tmg_number type_b, const float *a,
                        const float *b, int scale, float c) {
    int least_a = type_a == TMG_E4M3 ? -6 : type_a == TMG_E5M2 ? -14 : 0;
    int least_b = type_b == TMG_E4M3 ? -6 : type_b == TMG_E5M2 ? -14 : 0;
    int most = -133;
    double sum = 0;
    for (int k = 0; k < DEPTH; ++k) {
        int power = exponent(a[k], least_a) + exponent(b[k * COLUMNS], least_b) + scale;
        if (a[k] != 0 && b[k * COLUMNS] != 0 && power > most) most = power;
    }
    if (c != 0 && exponent(c, -126) > most) most = exponent(c, -126);
    for (int k = 0; k < DEPTH; ++k)
        sum += trunc(ldexp((double)a[k] * (double)b[k * COLUMNS], scale + 25 - most));
    sum += trunc(ldexp((double)c, 25 - most));
    return to_f32(ldexp(sum, most - 25));
}

static void scales_add_to_exponents(void **state) {
    (void)state;
    static const enum tmg_number types[] = {TMG_E4M3, TMG_E5M2, TMG_E2M1};
    float a[ROWS * DEPTH], b[DEPTH * COLUMNS], c[ROWS * COLUMNS], d[ROWS * COLUMNS];
    struct tmg_scale rows[ROWS], columns[COLUMNS];
    for (int round = 0; round < 600; ++round) {
        enum tmg_number type_a = types[below(3)], type_b = types[below(3)];
        struct tmg_fused how = tmg_tcgen05_fused(type_a, type_b, TMG_F32);
        bool wild = round % 2;
        for (int i = 0; i < ROWS * DEPTH; ++i) a[i] = draw(type_a);
        for (int i = 0; i < DEPTH * COLUMNS; ++i) b[i] = draw(type_b);
        for (int i = 0; i < ROWS; ++i)
            rows[i] = tmg_scale_of(TMG_UE8M0, (uint8_t)(wild ? below(255) : 117 + below(20)));
        for (int i = 0; i < COLUMNS; ++i)
            columns[i] = tmg_scale_of(TMG_UE8M0, (uint8_t)(wild ? below(255) : 117 + below(20)));
        for (int i = 0; i < ROWS * COLUMNS; ++i)
            c[i] = d[i] = ldexpf((float)below(1u << 24) - (1 << 23),
                                 wild ? (int)below(200) - 120 : (int)below(40) - 40);
        tmg_multiply_scaled(&how, ROWS, COLUMNS, DEPTH, a, rows, b, columns, d);
        for (int i = 0; i < ROWS * COLUMNS; ++i) {
            int row = i / COLUMNS, column = i % COLUMNS;
            float want = definition(type_a, type_b, a + row * DEPTH, b + column,
                                    rows[row].exponent + columns[column].exponent, c[i]);
            if (tmg_f32_bits(d[i]) != tmg_f32_bits(want) && d[i] != want)
                fail_msg("round %d, element %d: %a and not %a", round, i, (double)d[i],
                         (double)want);
        }
    }
}

static struct tmg_scale nvf4(double value) {
    return tmg_scale_of(TMG_E4M3,
                        (uint8_t)tmg_number_from_double(TMG_E4M3, value, TMG_ROUND_RN, true));
}

// One row and eight columns of 64 elements, all [element], with the old D [c].
static float four_blocks(float element, struct tmg_scale scale, float c) {
    float a[64], b[64 * 8], d[8];
    struct tmg_scale rows[4], columns[4 * 8];
    for (int i = 0; i < 64; ++i) a[i] = element;
    for (int i = 0; i < 64 * 8; ++i) b[i] = 1;
    for (int i = 0; i < 4; ++i) rows[i] = scale;
    for (int i = 0; i < 32; ++i) columns[i] = nvf4(1);
    for (int i = 0; i < 8; ++i) d[i] = c;
    tmg_multiply_blocks(1, 8, 64, 4, a, rows, b, columns, d);
    for (int i = 1; i < 8; ++i) assert_true(d[i] == d[0] || isnan(d[i]));
    return d[0];
}

static void blocks_keep_35_bits(void **state) {
    (void)state;
    assert_true(four_blocks(0.5, nvf4(1), 0) == 32);
    assert_true(four_blocks(0.5, nvf4(0.001953125), 1) == 1.0625f);  // 2^-9, subnormal
    assert_true(four_blocks(6, nvf4(448), 0) == 6 * 64 * 448);
    // 8 * 2^-9 a block, below 2^31: 35 bits below there end at 2^-4, so each is lost
    assert_true(four_blocks(0.5, nvf4(0.001953125), -0x1p31f) == -0x1p31f);
    // 2^-6 of each is kept behind 2^29, and not behind 2^30
    assert_true(four_blocks(0.5, nvf4(0.001953125), -0x1p29f) == -0x1.fffffep28f);
    assert_true(four_blocks(0.5, nvf4(0.001953125), -0x1p30f) == -0x1p30f);
    // cut and not rounded, towards zero: 2^24 less 32 blocks' eighth
    assert_true(four_blocks(-0.5, nvf4(0.001953125), 0x1p25f) == 0x1.fffffep24f);
    assert_true(four_blocks(0.5, nvf4(0.001953125), 0x1p25f) == 0x1p25f);
    assert_true(four_blocks(0.5, nvf4(0), 3) == 3);
    assert_true(isnan(four_blocks(0.5, tmg_scale_of(TMG_E4M3, 0x7f), 3)));
    assert_true(isnan(four_blocks(0.5, tmg_scale_of(TMG_UE8M0, 0xff), 3)));
    assert_true(four_blocks(0.5, tmg_scale_of(TMG_UE8M0, 0), 0) == 0x1p-122f);
    assert_true(four_blocks(0.5, nvf4(1), INFINITY) == INFINITY);
}

// 16 products exactly, times significands, cut 35 bits below the largest exponent.
static float block_definition(const struct tmg_blocks *all, int row, int column, float c) {
    const int per_scale = all->groups / all->scales;
    int most = exponent(c, -126), powers[TMG_SCALES_MAX];
    double sum = 0, tiny = 0x1p-149;
    bool nan = false;
    for (int i = 0; i < all->scales; ++i) {
        const int a = row * all->scales + i, b = i * all->n + column;
        powers[i] = all->a_scales.exponent[a] + all->b_scales.exponent[b];
        nan |= isnan(all->a_scales.significand[a]) || isnan(all->b_scales.significand[b]);
        if (powers[i] > most) most = powers[i];
    }
    if (!isfinite(c) || nan) return isfinite(c) ? NAN : c;
    for (int group = 0; group < all->groups; ++group) {
        const int i = group / per_scale, k = group * TMG_BLOCK_GROUP;
        double exact = 0;
        for (int at = k; at < k + TMG_BLOCK_GROUP; ++at)
            exact += (double)all->a[row * all->groups * TMG_BLOCK_GROUP + at] *
                     (double)all->b[at * all->n + column];
        exact *= (double)all->a_scales.significand[row * all->scales + i];
        exact *= (double)all->b_scales.significand[i * all->n + column];
        sum += trunc(ldexp(exact, powers[i] + TMG_BLOCK_FRACTION - most));
    }
    sum =
        ldexp(sum + trunc(ldexp((double)c, TMG_BLOCK_FRACTION - most)), most - TMG_BLOCK_FRACTION);
    return fabs(sum) < 0x1p-126 ? (float)(trunc(sum / tiny) * tiny) : to_f32(sum);
}

static void draw_scales(enum tmg_number type, bool wild, int count, float *significand,
                        int32_t *powers) {
    for (int i = 0; i < count; ++i) {
        const uint32_t bits = type == TMG_E4M3 ? below(128) : wild ? below(256) : 117 + below(20);
        const struct tmg_scale scale = tmg_scale_of(type, (uint8_t)bits);
        significand[i] = scale.nan ? NAN : scale.significand;
        powers[i] = scale.exponent;
    }
}

// In vectors of any width, n no multiple of them, exponents at their limits and special values.
static void every_way_sums_blocks(void **state) {
    (void)state;
    enum { ROWS_NOW = 3, N = 24 };
    static float a[ROWS_NOW * 96], b[96 * N], c[ROWS_NOW * N], d[ROWS_NOW * N];
    float a_significand[ROWS_NOW * 6], b_significand[6 * N];
    int32_t a_powers[ROWS_NOW * 6], b_powers[6 * N];
    for (int round = 0; round < 150; ++round) {
        const enum tmg_number type = round % 2 ? TMG_E4M3 : TMG_UE8M0;
        const bool wild = round % 4 == 0;
        const int groups = round % 3 ? 4 : 6;
        const struct tmg_blocks all = {ROWS_NOW,
                                       N - round % 2 * 8,
                                       groups,
                                       groups / (1 + round % 5 / 3),
                                       a,
                                       b,
                                       {a_significand, a_powers},
                                       {b_significand, b_powers}};
        for (int i = 0; i < ROWS_NOW * 96; ++i) a[i] = draw(TMG_E2M1);
        for (int i = 0; i < 96 * N; ++i) b[i] = draw(TMG_E2M1);
        draw_scales(type, wild, ROWS_NOW * 6, a_significand, a_powers);
        draw_scales(type, wild, 6 * N, b_significand, b_powers);
        for (int i = 0; i < ROWS_NOW * N; ++i)
            c[i] = ldexpf((float)below(1u << 24) - (1 << 23), (int)below(wild ? 230 : 40) - 130);
        if (wild) c[below(ROWS_NOW * N)] = INFINITY;
        for (const struct tmg_fused_way *const *way = tmg_fused_ways; *way; ++way) {
            if (!(*way)->is_here()) continue;
            memcpy(d, c, sizeof d);
            (*way)->blocks(&all, d);
            for (int i = 0; i < all.m * all.n; ++i) {
                float want = block_definition(&all, i / all.n, i % all.n, c[i]);
                if (d[i] != want && !(isnan(d[i]) && isnan(want)))
                    fail_msg("%s, round %d [%d]: %a, not %a", (*way)->name, round, i, (double)d[i],
                             (double)want);
            }
        }
    }
}

static void every_way_scales(void **state) {
    (void)state;
    enum { N = 24 };
    float c[N], d[N];
    int32_t scales[N];
    for (int round = 0; round < 400; ++round) {
        const int row_scale = (int)below(round % 2 ? 255 : 20) - (round % 2 ? 127 : 10);
        for (int i = 0; i < N; ++i) {
            c[i] = below(5) ? ldexpf((float)below(1u << 24) - (1 << 23), (int)below(60) - 50) : 0;
            scales[i] = (int)below(round % 2 ? 255 : 30) - (round % 2 ? 127 : 15);
        }
        for (const struct tmg_fused_way *const *way = tmg_fused_ways; *way; ++way) {
            bool easy = true;
            if (!(*way)->is_here()) continue;
            (*way)->scale_down(N, row_scale, scales, c, d);
            for (int i = 0; i < N; ++i) {
                int power = c[i] == 0 ? 0 : ilogbf(c[i]) - row_scale - scales[i];
                bool is_near = abs(power) > TMG_EASY_MOST;
                assert_true(d[i] == (is_near ? 0 : ldexpf(c[i], -row_scale - scales[i])));
                easy &= !is_near;
            }
            if (easy) assert_true((*way)->scale_up(N, row_scale, scales, c, d));
            for (int i = 0; i < N && easy; ++i) assert_true(d[i] == c[i]);
            d[5] = 0x1p-70f;  // leaves what is easy with one of the next scales alone
            scales[5] = -31 - row_scale;
            assert_false((*way)->scale_up(N, row_scale, scales, c, d));
            assert_true(d[5] == 0x1p-70f);
        }
    }
}

// What was measured on a B200 (the papers named in tcgen05_sum.h), restated.
static void how_each_pair_sums(void **state) {
    (void)state;
    static const struct {
        enum tmg_number type, d;
        int least, least_factor;
    } rows[] = {
        {TMG_F16, TMG_F32, -133, -14},   {TMG_F16, TMG_F16, -21, -14},
        {TMG_BF16, TMG_F32, -133, -126}, {TMG_TF32, TMG_F32, -133, -126},
        {TMG_E4M3, TMG_F32, -133, -6},   {TMG_E5M2, TMG_F16, -133, -14},
        {TMG_E2M1, TMG_F32, -133, 0},    {TMG_E2M3, TMG_F32, -133, 0},
        {TMG_E3M2, TMG_F32, -133, -2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        struct tmg_fused how = tmg_tcgen05_fused(rows[i].type, rows[i].type, rows[i].d);
        assert_int_equal(how.fraction_bits, 25);
        assert_int_equal(how.result_bits, 23);
        assert_int_equal(how.f16, rows[i].d == TMG_F16);
        assert_int_equal(how.least, rows[i].least);
        assert_int_equal(how.least_a, rows[i].least_factor);
        assert_int_equal(how.least_b, rows[i].least_factor);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scales_add_to_exponents), cmocka_unit_test(blocks_keep_35_bits),
        cmocka_unit_test(every_way_sums_blocks),   cmocka_unit_test(every_way_scales),
        cmocka_unit_test(how_each_pair_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// The fused sum against its definition evaluated term by term in doubles and 64-bit integers, over
// random operands of every type, and the effects by which it was discovered.
#include "runtime/emu/model/fused.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static uint64_t random_state = 0x9e3779b97f4a7c15u;

static uint32_t random_bits(void) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 32);
}

static int exponent_of(double value, int least) {
    int exponent;
    frexp(value, &exponent);
    return exponent - 1 < least ? least : exponent - 1;
}

// Cuts [value] to [bits] of fraction, or at 2^-149 where that is coarser; f32's range.
static float cut(double value, int bits) {
    if (value == 0) return 0;
    int unit = exponent_of(value, -126) - bits;
    double whole = ldexp(trunc(ldexp(value, -unit)), unit);
    return fabs(whole) >= 0x1p128 ? (float)copysign(INFINITY, whole) : (float)whole;
}

static float definition(const struct tmg_fused *how, int n, int k, const float *a, const float *b,
                        float c) {
    double terms[33] = {c};
    int exponents[33] = {exponent_of(c, how->f16 ? -14 : -126)}, largest = how->least;
    for (int i = 0; i < k; ++i) {
        terms[i + 1] = (double)a[i] * b[i * n];
        exponents[i + 1] = exponent_of(a[i], how->least_a) + exponent_of(b[i * n], how->least_b);
    }
    for (int i = 0; i <= k; ++i) {
        if (terms[i] != 0 && exponents[i] > largest) largest = exponents[i];
    }
    int64_t sum = 0;
    for (int i = 0; i <= k; ++i)
        sum += (int64_t)trunc(ldexp(terms[i], how->fraction_bits - largest));
    double exact = ldexp((double)sum, largest - how->fraction_bits);
    if (!how->f16) return cut(exact, how->result_bits);
    return tmg_f16_to_f32((uint16_t)tmg_number_from_double(TMG_F16, exact, TMG_ROUND_RN, false));
}

// A random value of [type]: all exponents, or near 1 so that sums collide and cancel.
static float random_value(enum tmg_number type, bool near) {
    for (;;) {
        uint32_t bits = random_bits();
        double value =
            type == TMG_F32 || type == TMG_TF32
                ? tmg_f32_from_bits(type == TMG_TF32 ? bits & 0xffffe000 : bits)
                : tmg_number_to_double(type, bits & ((1u << (8 * tmg_number_bytes(type))) - 1));
        if (random_bits() % 8 == 0) value = 0;
        if (!isfinite(value)) continue;
        if (!near) return (float)value;
        int exponent;
        double fraction = frexp(value, &exponent);
        return (float)ldexp(fraction, (int)(random_bits() % 6) - 3);
    }
}

static void multiply(const struct tmg_fused_way *way, const struct tmg_fused *how, int m, int n,
                     int k, const float *a, const float *b, float *d) {
    float *rows[TMG_FUSED_M];
    for (int i = 0; i < m; ++i) rows[i] = d + i * n;
    way->multiply(how, m, n, k, a, b, rows);
}

enum { M = 12, N = 72 };

static void equals_the_definition(void **state) {
    (void)state;
    static const struct {
        enum tmg_number a, b, d;
        int k;
        bool wgmma;
    } rows[] = {
        {TMG_F16, TMG_F16, TMG_F32, 16, true},    {TMG_F16, TMG_F16, TMG_F16, 16, true},
        {TMG_BF16, TMG_BF16, TMG_F32, 16, true},  {TMG_TF32, TMG_TF32, TMG_F32, 8, true},
        {TMG_E4M3, TMG_E5M2, TMG_F32, 32, true},  {TMG_E5M2, TMG_E5M2, TMG_F16, 32, true},
        {TMG_E4M3, TMG_E4M3, TMG_F32, 32, false}, {TMG_TF32, TMG_TF32, TMG_F32, 4, false},
    };
    static float a[M * 32], b[32 * N], c[M * N], d[M * N];
    for (int trial = 0; trial < 8 * 150; ++trial) {
        size_t row = (size_t)trial % 8;
        int k = rows[row].k;
        bool near = trial / 8 % 3 != 0, tiny = trial / 8 % 3 == 2;
        struct tmg_fused how =
            tmg_fused_for(rows[row].a, rows[row].b, rows[row].d, rows[row].wgmma);
        for (int i = 0; i < M * k; ++i) a[i] = random_value(rows[row].a, near);
        for (int i = 0; i < k * N; ++i) b[i] = random_value(rows[row].b, near);
        for (int i = 0; i < M * N; ++i)  // as the first D, of zeros, in every third row
            c[i] = i / N % 3 ? random_value(rows[row].d, near) : 0;
        if (tiny && rows[row].a == TMG_BF16) {  // products and sums around f32's smallest
            for (int i = 0; i < M * k; ++i) a[i] = (float)ldexp(a[i], -130);
            for (int i = 0; i < M * N; ++i) c[i] = (float)ldexp(c[i], -132);
        }
        for (const struct tmg_fused_way *const *way = tmg_fused_ways; *way; ++way) {
            if (!(*way)->is_here()) continue;
            memcpy(d, c, sizeof d);
            multiply(*way, &how, M, N, k, a, b, d);
            for (int i = 0; i < M * N; ++i) {
                float want = definition(&how, N, k, a + i / N * k, b + i % N, c[i]);
                if (d[i] != want)
                    fail_msg("%s, row %zu trial %d [%d]: %a, not %a", (*way)->name, row, trial, i,
                             d[i], want);
            }
        }
    }
}

// Every way that this machine has gives the same bits, with infinities, NaNs and subnormals among
// the values, and where columns are no multiple of a vector.
static void every_way_is_the_same(void **state) {
    (void)state;
    enum { ROWS = 9, COLUMNS = 136, DEPTH = 32 };
    static float a[ROWS * DEPTH], b[DEPTH * COLUMNS], c[ROWS * COLUMNS], want[ROWS * COLUMNS],
        got[ROWS * COLUMNS];
    static const enum tmg_number types[] = {TMG_BF16, TMG_F16, TMG_TF32, TMG_E5M2};
    static const float specials[] = {INFINITY, -INFINITY, NAN, 0x1p-126f, 0x1p-133f, -0x1p-130f};
    const struct tmg_fused_way *plain = &tmg_fused_plain;
    for (int trial = 0; trial < 400; ++trial) {
        enum tmg_number type = types[trial % 4],
                        d = type == TMG_F16 && trial / 4 % 2 ? TMG_F16 : TMG_F32;
        int n = 8 * (1 + trial % 17), k = type == TMG_TF32 ? 8 : type == TMG_E5M2 ? 32 : 16;
        struct tmg_fused how = tmg_fused_for(type, type, d, true);
        for (int i = 0; i < ROWS * k; ++i) a[i] = random_value(type, trial / 8 % 2);
        for (int i = 0; i < k * n; ++i) b[i] = random_value(type, trial / 8 % 2);
        for (int i = 0; i < ROWS * n; ++i) c[i] = random_value(d, trial / 8 % 2);
        for (int i = 0; i < trial / 16 % 6 && type == TMG_BF16; ++i) {
            a[random_bits() % (unsigned)(ROWS * k)] = specials[random_bits() % 6];
            b[random_bits() % (unsigned)(k * n)] = specials[random_bits() % 6];
            c[random_bits() % (unsigned)(ROWS * n)] = specials[random_bits() % 6];
        }
        memcpy(want, c, sizeof c);
        multiply(plain, &how, ROWS, n, k, a, b, want);
        for (int i = 0; tmg_fused_ways[i] != plain; ++i) {
            const struct tmg_fused_way *way = tmg_fused_ways[i];
            if (!way->is_here()) continue;
            memcpy(got, c, sizeof c);
            multiply(way, &how, ROWS, n, k, a, b, got);
            for (int at = 0; at < ROWS * n; ++at)
                if (tmg_f32_bits(got[at]) != tmg_f32_bits(want[at]) &&
                    !(isnan(got[at]) && isnan(want[at])))
                    fail_msg("trial %d [%d]: %s gives %a, %s %a", trial, at, way->name, got[at],
                             plain->name, want[at]);
        }
    }
}

// An infinity or NaN changes the sums it takes part in, and no other.
static void specials_stay_in_their_rows(void **state) {
    (void)state;
    enum { ROWS = 3, COLUMNS = 24, DEPTH = 16 };
    static float a[ROWS * DEPTH], b[DEPTH * COLUMNS], d[ROWS * COLUMNS], clean[ROWS * COLUMNS];
    struct tmg_fused how = tmg_fused_for(TMG_BF16, TMG_BF16, TMG_F32, true);
    for (int i = 0; i < ROWS * DEPTH; ++i) a[i] = random_value(TMG_BF16, true);
    for (int i = 0; i < DEPTH * COLUMNS; ++i) b[i] = random_value(TMG_BF16, true);
    tmg_multiply_fused(&how, ROWS, COLUMNS, DEPTH, a, b, clean);
    a[DEPTH + 3] = NAN;              // row 1
    b[5 * COLUMNS + 7] = -INFINITY;  // column 7
    d[2 * COLUMNS + 20] = INFINITY;
    b[5 * COLUMNS + 20] = 0;
    clean[20] = NAN;  // its b has changed
    tmg_multiply_fused(&how, ROWS, COLUMNS, DEPTH, a, b, d);
    for (int i = 0; i < ROWS * COLUMNS; ++i) {
        int row = i / COLUMNS, column = i % COLUMNS;
        if (row == 1)
            assert_true(isnan(d[i]));
        else if (column == 7)
            assert_false(isfinite(d[i]));
        else if (column == 20)
            assert_true(row == 2 ? d[i] == INFINITY : isfinite(d[i]));
        else
            assert_true(d[i] == clean[i]);
    }
}

static float one_sum(enum tmg_number type, enum tmg_number d, int k, bool wgmma, const float *a,
                     float c) {
    float rows[32], ones[32 * 8], out[8];
    for (int i = 0; i < k * 8; ++i) ones[i] = 1;
    for (int i = 0; i < k; ++i) rows[i] = a[i];
    for (int i = 0; i < 8; ++i) out[i] = c;
    struct tmg_fused how = tmg_fused_for(type, type, d, wgmma);
    tmg_multiply_fused(&how, 1, 8, k, rows, ones, out);
    return out[5];
}

static void effects_of_the_hardware(void **state) {
    (void)state;
    float a[32] = {0};
    // Fifteen terms of 2^-26 beside 1 are lost one by one; of 2^-25 they are kept, and add up.
    for (int i = 0; i < 15; ++i) a[i] = 0x1p-26f;
    assert_true(one_sum(TMG_BF16, TMG_F32, 16, true, a, 1) == 1);
    for (int i = 0; i < 15; ++i) a[i] = 0x1p-25f;
    assert_true(one_sum(TMG_BF16, TMG_F32, 16, true, a, 1) == 1 + 3 * 0x1p-23f);
    // The result is cut, not rounded: 7 * 2^-25 is 1.75 units of 1's last place, 3.5 of -1's.
    for (int i = 0; i < 15; ++i) a[i] = i < 7 ? 0x1p-25f : 0;
    assert_true(one_sum(TMG_BF16, TMG_F32, 16, true, a, 1) == 1 + 0x1p-23f);
    assert_true(one_sum(TMG_BF16, TMG_F32, 16, true, a, -1) == -1 + 4 * 0x1p-24f);
    // fp8 through wgmma keeps 13 bits, through mma.sync 25; f16 rounds to nearest even.
    for (int i = 0; i < 32; ++i) a[i] = i < 8 ? 0x1p-6f : 0;
    assert_true(one_sum(TMG_E4M3, TMG_F32, 32, true, a, 512) == 512);
    assert_true(one_sum(TMG_E4M3, TMG_F32, 32, false, a, 512) == 512.125f);
    // and a result that carries to the next binade is cut to 13 bits again.
    a[0] = 1;
    for (int i = 1; i < 32; ++i) a[i] = 0;
    assert_true(one_sum(TMG_E4M3, TMG_F32, 32, true, a, 1023.9375f) == 1024.875f);
    assert_true(one_sum(TMG_E4M3, TMG_F32, 32, false, a, 1023.9375f) == 1024.9375f);
    a[0] = 0x1p-11f;
    for (int i = 1; i < 32; ++i) a[i] = 0;
    assert_true(one_sum(TMG_F16, TMG_F16, 16, true, a, 1) == 1);
    assert_true(one_sum(TMG_F16, TMG_F16, 16, true, a, 1 + 0x1p-10f) == 1 + 0x1p-9f);
    // A zero sum is +0, whatever its terms' signs.
    a[0] = -1;
    assert_true(tmg_f32_bits(one_sum(TMG_F16, TMG_F32, 16, true, a, 1)) == 0);
}

static void infinities_and_nans_propagate(void **state) {
    (void)state;
    float a[32] = {INFINITY};
    assert_true(one_sum(TMG_BF16, TMG_F32, 16, true, a, 1) == INFINITY);
    assert_true(isnan(one_sum(TMG_BF16, TMG_F32, 16, true, a, -INFINITY)));
    a[0] = NAN;
    assert_true(isnan(one_sum(TMG_BF16, TMG_F32, 16, true, a, 1)));
    a[0] = a[1] = 0x1p127f;
    assert_true(one_sum(TMG_BF16, TMG_F32, 16, true, a, 0) == INFINITY);
    a[1] = -0x1p127f;
    assert_true(one_sum(TMG_BF16, TMG_F32, 16, true, a, 3) == 0);  // 3 is far below the largest
    struct tmg_fused how = tmg_fused_for(TMG_F16, TMG_F16, TMG_F32, true);
    float b[16 * 8] = {[3] = NAN}, d[8] = {0};
    a[0] = 1, a[1] = 0;
    tmg_multiply_fused(&how, 1, 8, 16, a, b, d);
    assert_true(isnan(d[3]) && d[2] == 0);
}

// What was measured (the papers named in model/fused.h), restated: a slip in the table shows here.
static void parameters(void **state) {
    (void)state;
    static const struct {
        enum tmg_number type, d;
        bool wgmma;
        struct tmg_fused want;
    } rows[] = {
        {TMG_F16, TMG_F32, true, {25, 23, -133, false, -14, -14}},
        {TMG_F16, TMG_F16, true, {25, 23, -21, true, -14, -14}},
        {TMG_BF16, TMG_F32, false, {25, 23, -133, false, -126, -126}},
        {TMG_TF32, TMG_F32, true, {25, 23, -133, false, -126, -126}},
        {TMG_E4M3, TMG_F32, true, {13, 13, -133, false, -6, -6}},
        {TMG_E5M2, TMG_F16, true, {13, 13, -133, true, -14, -14}},
        {TMG_E4M3, TMG_F32, false, {25, 23, -133, false, -14, -14}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        struct tmg_fused got = tmg_fused_for(rows[i].type, rows[i].type, rows[i].d, rows[i].wgmma);
        struct tmg_fused want = rows[i].want;
        assert_int_equal(got.fraction_bits, want.fraction_bits);
        assert_int_equal(got.result_bits, want.result_bits);
        assert_int_equal(got.least, want.least);
        assert_int_equal(got.f16, want.f16);
        assert_int_equal(got.least_a, want.least_a);
        assert_int_equal(got.least_b, want.least_b);
    }
}

// A product's exponent is its factors': 1.5 * 1.5 = 2.25 counts as 2^0, and an f16 below 2^-14 as
// 2^-14, though it is smaller; both show in what the largest term leaves of the smallest.
static void exponents_are_not_normalised(void **state) {
    (void)state;
    float a[16] = {1.5f, 0x1p-13f, 1.5f}, b[16 * 8] = {0}, d[8] = {0};
    b[0] = 1.5f, b[8] = 0x1p-12f, b[16] = -1.5f;
    struct tmg_fused how = tmg_fused_for(TMG_F16, TMG_F16, TMG_F32, true);
    tmg_multiply_fused(&how, 1, 8, 16, a, b, d);
    assert_true(d[0] == 0x1p-25f);
    a[2] = 0, d[0] = -2.25f;  // the same value as D counts as 2^1
    tmg_multiply_fused(&how, 1, 8, 16, a, b, d);
    assert_true(d[0] == 0);
    a[0] = 1, b[0] = 0x1p-24f, a[1] = 0, d[0] = 0x1p-39f;
    tmg_multiply_fused(&how, 1, 8, 16, a, b, d);
    assert_true(d[0] == 0x1p-24f + 0x1p-39f);
    d[0] = 0x1p-40f;
    tmg_multiply_fused(&how, 1, 8, 16, a, b, d);
    assert_true(d[0] == 0x1p-24f);  // 25 bits below 2^-14, not below 2^-24
}

// However small a factor is, what its product leaves in the sum is kept.
static void tiny_factors_count(void **state) {
    (void)state;
    struct tmg_fused how = tmg_fused_for(TMG_BF16, TMG_BF16, TMG_F32, true);
    float a[16] = {0}, b[16 * 8] = {0}, d[8] = {0};
    for (int i = 0; i < 5; ++i) a[i] = 0x1p10f;
    for (int i = 0; i < 5; ++i) b[i * 8] = i == 0 ? 0x1p-70f : 0x1p-95f;
    tmg_multiply_fused(&how, 1, 8, 16, a, b, d);
    assert_true(d[0] == 0x1p-60f + 0x1p-83f);
    for (int i = 1; i < 5; ++i) a[i] = 0x1p127f, b[i * 8] = 0x1p-133f;
    a[0] = 0x1p19f, b[0] = 1, d[0] = 0;
    tmg_multiply_fused(&how, 1, 8, 16, a, b, d);
    assert_true(d[0] == 0x1p19f + 0x1p-4f);
}

// Sixteen terms just below 4 and a D just below 2: one bit more than 32 have.
static void sums_of_33_bits(void **state) {
    (void)state;
    enum { COLUMNS = 64, DEPTH = 16 };
    static float a[DEPTH], b[DEPTH * COLUMNS], d[COLUMNS];
    struct tmg_fused how = tmg_fused_for(TMG_BF16, TMG_BF16, TMG_F32, true);
    for (int i = 0; i < DEPTH; ++i) a[i] = 255 * 0x1p-7f;
    for (int i = 0; i < DEPTH * COLUMNS; ++i) b[i] = i % 2 ? 255 * 0x1p-7f : -255 * 0x1p-7f;
    for (const struct tmg_fused_way *const *way = tmg_fused_ways; *way; ++way) {
        if (!(*way)->is_here()) continue;
        for (int i = 0; i < COLUMNS; ++i) d[i] = i % 2 ? 2 - 0x1p-23f : -2 + 0x1p-23f;
        multiply(*way, &how, 1, COLUMNS, DEPTH, a, b, d);
        for (int i = 0; i < COLUMNS; ++i) {
            float want =
                definition(&how, COLUMNS, DEPTH, a, b + i, i % 2 ? 2 - 0x1p-23f : -2 + 0x1p-23f);
            if (d[i] != want) fail_msg("%s [%d]: %a, not %a", (*way)->name, i, d[i], want);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_the_definition),
        cmocka_unit_test(effects_of_the_hardware),
        cmocka_unit_test(infinities_and_nans_propagate),
        cmocka_unit_test(parameters),
        cmocka_unit_test(exponents_are_not_normalised),
        cmocka_unit_test(every_way_is_the_same),
        cmocka_unit_test(specials_stay_in_their_rows),
        cmocka_unit_test(tiny_factors_count),
        cmocka_unit_test(sums_of_33_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

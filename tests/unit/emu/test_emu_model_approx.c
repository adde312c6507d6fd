// Approximations against the tables of special values and the error bounds of PTX ISA 9.7.3 and
// 9.7.4, with the C library's extended precision as the truth, over random and extreme arguments.
#include "runtime/emu/model/approx.h"

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

static long double truth(enum tmg_function function, long double x) {
    switch (function) {
    case TMG_EX2: return exp2l(x);
    case TMG_LG2: return log2l(x);
    case TMG_RCP: return 1 / x;
    case TMG_RSQRT: return 1 / sqrtl(x);
    case TMG_SQRT: return sqrtl(x);
    case TMG_SIN: return sinl(x);
    case TMG_COS: return cosl(x);
    default: return tanhl(x);
    }
}

// The distance between f32 values around [x].
static long double ulp(long double x) {
    int exponent;
    frexpl(x, &exponent);
    return ldexpl(1, exponent < -125 ? -149 : exponent - 24);
}

static long double bound(enum tmg_function function, long double x, long double y) {
    switch (function) {
    case TMG_EX2: return 2 * ulp(y);
    case TMG_LG2: return x > 0.5L && x < 2 ? 0x1p-22L : fabsl(y) * 0x1p-22L;
    case TMG_RCP: return ulp(y);
    case TMG_RSQRT: return fabsl(y) * exp2l(-22.9L);
    case TMG_SQRT: return fabsl(y) * 0x1p-23L;
    case TMG_TANH: return fabsl(y) * 0x1p-11L;
    default: return fabsl(x) <= 6.28318L ? exp2l(-20.5L) : exp2l(-14.7L);
    }
}

static bool in_domain(enum tmg_function function, float x) {
    if (function == TMG_SIN || function == TMG_COS) return fabsf(x) <= 314.0f;
    if (function == TMG_LG2 || function == TMG_SQRT || function == TMG_RSQRT) return x > 0;
    return x == x && fabsf(x) < INFINITY && x != 0;
}

static void f32_within_the_bounds(void **state) {
    (void)state;
    for (int function = 0; function < TMG_FUNCTION_COUNT; ++function) {
        for (int i = 0; i < 40000; ++i) {
            uint32_t bits = random_bits();
            if (i % 2) bits = (bits & 0x87ffffff) | 0x38000000;  // moderate magnitudes
            float x = tmg_f32_from_bits(bits);
            if (!in_domain(function, x)) continue;
            long double y = truth(function, x);
            float got = tmg_f32_from_bits(tmg_approx_f32(function, false, bits));
            if (fabsl(y) >= 0x1p128L)
                assert_true(isinf(got));
            else if (fabsl(got - y) > bound(function, x, y)) {
                fail_msg("function %d of %a: %a, not %La", function, x, got, y);
            }
        }
    }
}

enum { PLUS_INF = 0x7f800000, QNAN = 0x7fffffff };
static const uint32_t MINUS = 0x80000000u, MINUS_INF = 0xff800000u;

// The tables "Input | Result", and what .ftz adds: subnormals become zeros of their sign.
static void special_values_f32(void **state) {
    (void)state;
    const struct {
        enum tmg_function function;
        bool ftz;
        uint32_t in, out;
    } rows[] = {
        {TMG_RCP, 0, MINUS_INF, MINUS},
        {TMG_RCP, 0, MINUS, MINUS_INF},
        {TMG_RCP, 0, 0, PLUS_INF},
        {TMG_RCP, 0, PLUS_INF, 0},
        {TMG_RCP, 0, 0x7fc00001, QNAN},
        {TMG_RCP, 1, 0x80000001, MINUS_INF},
        {TMG_RCP, 1, 0x7f000000, 0},
        {TMG_RCP, 0, 0x7f000000, 0x00400000},
        {TMG_SQRT, 0, MINUS_INF, QNAN},
        {TMG_SQRT, 0, 0xbf800000, QNAN},
        {TMG_SQRT, 0, MINUS, MINUS},
        {TMG_SQRT, 0, 0, 0},
        {TMG_SQRT, 0, PLUS_INF, PLUS_INF},
        {TMG_SQRT, 0, 0xffc00000, QNAN},
        {TMG_SQRT, 1, 0x80000001, MINUS},
        {TMG_SQRT, 1, 0x00000001, 0},
        {TMG_SQRT, 0, 0x40800000, 0x40000000},
        {TMG_RSQRT, 0, MINUS_INF, QNAN},
        {TMG_RSQRT, 0, 0xbf800000, QNAN},
        {TMG_RSQRT, 0, MINUS, MINUS_INF},
        {TMG_RSQRT, 0, 0, PLUS_INF},
        {TMG_RSQRT, 0, PLUS_INF, 0},
        {TMG_RSQRT, 0, QNAN, QNAN},
        {TMG_RSQRT, 1, 0x80000001, MINUS_INF},
        {TMG_RSQRT, 1, 1, PLUS_INF},
        {TMG_SIN, 0, MINUS_INF, QNAN},
        {TMG_SIN, 0, MINUS, MINUS},
        {TMG_SIN, 0, 0, 0},
        {TMG_SIN, 0, PLUS_INF, QNAN},
        {TMG_SIN, 0, QNAN, QNAN},
        {TMG_SIN, 1, 0x80000001, MINUS},
        {TMG_COS, 0, MINUS_INF, QNAN},
        {TMG_COS, 0, MINUS, 0x3f800000},
        {TMG_COS, 0, 0, 0x3f800000},
        {TMG_COS, 0, PLUS_INF, QNAN},
        {TMG_COS, 0, QNAN, QNAN},
        {TMG_LG2, 0, MINUS_INF, QNAN},
        {TMG_LG2, 0, 0xbf800000, QNAN},
        {TMG_LG2, 0, MINUS, MINUS_INF},
        {TMG_LG2, 0, 0, MINUS_INF},
        {TMG_LG2, 0, PLUS_INF, PLUS_INF},
        {TMG_LG2, 0, QNAN, QNAN},
        {TMG_LG2, 1, 1, MINUS_INF},
        {TMG_LG2, 1, 0x80000001, MINUS_INF},
        {TMG_LG2, 0, 1, 0xc3150000},
        {TMG_EX2, 0, MINUS_INF, 0},
        {TMG_EX2, 0, MINUS, 0x3f800000},
        {TMG_EX2, 0, 0, 0x3f800000},
        {TMG_EX2, 0, PLUS_INF, PLUS_INF},
        {TMG_EX2, 0, QNAN, QNAN},
        {TMG_EX2, 1, 0xc2fe0000, 0},
        {TMG_EX2, 0, 0xc2fe0000, 0x00400000},
        {TMG_EX2, 0, 0x43000000, PLUS_INF},
        {TMG_TANH, 0, MINUS_INF, 0xbf800000},
        {TMG_TANH, 0, MINUS, MINUS},
        {TMG_TANH, 0, 0, 0},
        {TMG_TANH, 0, PLUS_INF, 0x3f800000},
        {TMG_TANH, 0, QNAN, QNAN},
        {TMG_TANH, 0, 0x80000005, 0x80000005},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        uint32_t got = tmg_approx_f32(rows[i].function, rows[i].ftz, rows[i].in);
        if (got != rows[i].out)
            fail_msg("row %zu: %#x gives %#x, not %#x", i, rows[i].in, got, rows[i].out);
    }
}

// Every input of both 16-bit types.
static void halves(void **state) {
    (void)state;
    for (uint32_t bits = 0; bits < 65536; ++bits) {
        double x = tmg_number_to_double(TMG_F16, bits), e = exp2(x), t = tanh(x);
        double got_e = tmg_number_to_double(TMG_F16, tmg_approx_f16(TMG_EX2, (uint16_t)bits));
        double got_t = tmg_number_to_double(TMG_F16, tmg_approx_f16(TMG_TANH, (uint16_t)bits));
        if (x != x) {
            assert_true(got_e != got_e && got_t != got_t);
            continue;
        }
        assert_true(fabs(got_t - t) <= exp2(-10.987));
        if (e >= 0x1p-14 && e < 65504) assert_true(fabs(got_e - e) <= e * exp2(-9.9));
        x = tmg_number_to_double(TMG_BF16, bits);
        if (x != x) continue;
        got_e = tmg_number_to_double(TMG_BF16, tmg_approx_bf16(TMG_EX2, (uint16_t)bits));
        got_t = tmg_number_to_double(TMG_BF16, tmg_approx_bf16(TMG_TANH, (uint16_t)bits));
        assert_true(fabs(got_t - tanh(x)) <= 0x1p-8);
        e = exp2(x);
        if (e < 0x1p-126)
            assert_true(got_e == 0 || got_e == 0x1p-126);
        else if (e < 0x1p127)
            assert_true(fabs(got_e - e) <= e * 0x1p-7);
    }
    assert_int_equal(tmg_approx_bf16(TMG_EX2, 0x8001), 0x3f80);  // -subnormal: +1
    assert_int_equal(tmg_approx_bf16(TMG_EX2, 0xff80), 0);
    assert_int_equal(tmg_approx_f16(TMG_EX2, 0xfc00), 0);
    assert_int_equal(tmg_approx_f16(TMG_EX2, 0x7c00), 0x7c00);
    assert_int_equal(tmg_approx_f16(TMG_TANH, 0xfc00), 0xbc00);
    assert_int_equal(tmg_approx_f16(TMG_TANH, 0x8001), 0x8001);
    assert_int_equal(tmg_approx_bf16(TMG_TANH, 0x8001), 0x8001);
    assert_int_equal(tmg_approx_bf16(TMG_TANH, 0x7f80), 0x3f80);
}

static void f64_upper_words(void **state) {
    (void)state;
    const struct {
        enum tmg_function function;
        uint64_t in, out;
    } rows[] = {
        {TMG_RCP, 0xfff0000000000000, 0x8000000000000000},
        {TMG_RCP, 0x8000000100000000, 0xfff0000000000000},
        {TMG_RCP, 0x0000000100000000, 0x7ff0000000000000},
        {TMG_RCP, 0x7ff0000000000000, 0},
        {TMG_RCP, 0xfff8000000000000, 0x7fffffff00000000},
        {TMG_RCP, 0x4000000000000000, 0x3fe0000000000000},
        {TMG_RCP, 0x40000000ffffffff, 0x3fe0000000000000},  // the lower word is ignored
        {TMG_RSQRT, 0xfff0000000000000, 0x7fffffff00000000},
        {TMG_RSQRT, 0x8000000000000000, 0xfff0000000000000},
        {TMG_RSQRT, 0x8000000100000000, 0xfff0000000000000},
        {TMG_RSQRT, 0x4010000000000000, 0x3fe0000000000000},
        {TMG_RSQRT, 0x7ff0000000000000, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        uint64_t got = tmg_approx_ftz_f64(rows[i].function, rows[i].in);
        if (got != rows[i].out) fail_msg("row %zu: %#jx", i, (uintmax_t)got);
    }
    assert_int_equal(tmg_approx_ftz_f64(TMG_RCP, 0x4008000000000000) & 0xffffffff, 0);  // 1/3
    assert_int_equal(tmg_rsqrt_f64(0x4010000000000000), 0x3fe0000000000000);
}

static void divides(void **state) {
    (void)state;
    for (int i = 0; i < 200000; ++i) {
        uint32_t a = random_bits(), b = random_bits();
        float x = tmg_f32_from_bits(a), y = tmg_f32_from_bits(b);
        if (x != x || y != y || isinf(x) || isinf(y) || y == 0) continue;
        long double want = (long double)x / y;
        if (fabsl(want) >= 0x1.fffffep127L) continue;
        float full = tmg_f32_from_bits(tmg_divide_f32(true, false, a, b));
        float fast = tmg_f32_from_bits(tmg_divide_f32(false, false, a, b));
        assert_true(fabsl(full - want) <= 2 * ulp(want));
        bool normal = fabsf(y) >= 0x1p-126f && fabsf(y) <= 0x1p126f;
        if (normal)
            assert_true(fabsl(fast - want) <= 2 * ulp(want));
        else if (fabsf(y) > 0x1p126f)
            assert_true(tmg_f32_bits(fast) == ((a ^ b) & MINUS));
    }
    assert_int_equal(tmg_divide_f32(false, false, PLUS_INF, 0x7f000000), QNAN);
    assert_int_equal(tmg_divide_f32(true, false, PLUS_INF, 0x7f000000), PLUS_INF);
    assert_int_equal(tmg_divide_f32(true, false, 0, 0), QNAN);
    assert_int_equal(tmg_divide_f32(true, true, 0x00000001, 0x3f800000), 0);
    assert_int_equal(tmg_divide_f32(true, true, 0x80800000, 0x40000000), MINUS);
    assert_int_equal(tmg_divide_f32(true, false, 0x80800000, 0x40000000), 0x80400000);
    assert_int_equal(tmg_divide_f32(false, false, 0x3f800000, PLUS_INF), 0);
    assert_int_equal(tmg_divide_f32(true, false, 0x00000003, 0x00000001), 0x40400000);
    assert_int_equal(tmg_divide_f32(true, true, 0x00000003, 0x00000001), QNAN);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(f32_within_the_bounds),
        cmocka_unit_test(special_values_f32),
        cmocka_unit_test(halves),
        cmocka_unit_test(f64_upper_words),
        cmocka_unit_test(divides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

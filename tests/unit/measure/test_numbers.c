// Element types: every value of the small ones survives a round trip, and rounding is to nearest
// even. Random data has the distribution that it says, whatever the number of threads.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/numbers.h"
#include "measure/parallel.h"
#include "measure/random.h"

static const enum tmg_dtype_id small[] = {TMG_DTYPE_BF16, TMG_DTYPE_FP16, TMG_DTYPE_E4M3,
                                          TMG_DTYPE_E5M2};

static void test_round_trip_of_every_value(void **state) {
    (void)state;
    for (size_t t = 0; t < sizeof small / sizeof *small; ++t) {
        const unsigned count = 1u << (8 * tmg_dtype_bytes(small[t]));
        for (uint32_t bits = 0; bits < count; ++bits) {
            uint32_t back = 0;
            const double value = num_value(small[t], &bits);
            float decoded;
            num_decode(small[t], &bits, &decoded, 1);
            if (isnan(value)) {
                assert_true(isnan(decoded));
                continue;
            }
            assert_true(decoded == value);
            num_encode(small[t], value, &back);
            assert_int_equal(back, bits);
        }
    }
}

static void test_known_values(void **state) {
    (void)state;
    static const struct {
        enum tmg_dtype_id type;
        uint32_t bits;
        double value;
    } rows[] = {
        {TMG_DTYPE_BF16, 0x3f80, 1},       {TMG_DTYPE_BF16, 0xc049, -3.140625},
        {TMG_DTYPE_FP16, 0x3c00, 1},       {TMG_DTYPE_FP16, 0x7bff, 65504},
        {TMG_DTYPE_FP16, 0x0001, 0x1p-24}, {TMG_DTYPE_E4M3, 0x7e, 448},
        {TMG_DTYPE_E4M3, 0x38, 1},         {TMG_DTYPE_E4M3, 0x01, 0x1p-9},
        {TMG_DTYPE_E5M2, 0x7b, 57344},     {TMG_DTYPE_E5M2, 0x01, 0x1p-16},
        {TMG_DTYPE_FP32, 0x3fc00000, 1.5}, {TMG_DTYPE_I8, 0x80, -128},
        {TMG_DTYPE_U16, 0xffff, 65535},    {TMG_DTYPE_I32, 0xffffffff, -1},
        {TMG_DTYPE_I16, 0x8000, -32768},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        assert_true(num_value(rows[i].type, &rows[i].bits) == rows[i].value);
    }
}

// Between two neighbours the nearer one wins; in the middle, the one with an even last bit.
static void test_rounds_to_nearest_even(void **state) {
    (void)state;
    for (size_t t = 0; t < sizeof small / sizeof *small; ++t) {
        const uint32_t top = small[t] == TMG_DTYPE_BF16   ? 0x7f7f
                             : small[t] == TMG_DTYPE_FP16 ? 0x7bff
                                                          : 0x7b;
        for (uint32_t bits = 0; bits < top; ++bits) {
            const uint32_t next = bits + 1;
            const double low = num_value(small[t], &bits), high = num_value(small[t], &next);
            const double middle = (low + high) / 2;
            uint32_t below = 0, at = 0, above = 0;
            num_encode(small[t], nextafter(middle, low), &below);
            num_encode(small[t], middle, &at);
            num_encode(small[t], nextafter(middle, high), &above);
            assert_int_equal(below, bits);
            assert_int_equal(above, next);
            assert_int_equal(at, bits & 1 ? next : bits);
            // the bound on what rounding costs is sharp at the middle
            assert_true(num_rounding(small[t], nextafter(middle, low)) == (high - low) / 2);
        }
    }
}

static void test_out_of_range(void **state) {
    (void)state;
    uint32_t bits = 0;
    num_encode(TMG_DTYPE_FP16, 65520, &bits);
    assert_int_equal(bits, 0x7c00);
    num_encode(TMG_DTYPE_E4M3, 1000, &bits);
    assert_int_equal(bits & 0xff, 0x7f);  // NaN: the type has no infinity
    bits = 0;
    num_encode(TMG_DTYPE_U8, 300, &bits);
    assert_int_equal(bits, 255);
    int64_t wide;
    num_encode(TMG_DTYPE_I64, -1e30, &wide);
    assert_true(wide < -(INT64_C(1) << 62));
    num_encode(TMG_DTYPE_BF16, NAN, &bits);
    assert_true(isnan(num_value(TMG_DTYPE_BF16, &bits)));
}

static void test_normal_distribution(void **state) {
    (void)state;
    enum { COUNT = 1000003 };
    float *values = malloc(COUNT * sizeof *values);
    uint16_t *halves = malloc(COUNT * sizeof *halves), *again = malloc(COUNT * sizeof *again);
    assert_int_equal(random_normal(TMG_DTYPE_FP32, values, COUNT, 42), 0);
    double sum = 0, squares = 0, fourth = 0;
    for (size_t i = 0; i < COUNT; ++i) {
        sum += values[i], squares += values[i] * values[i];
        fourth += pow(values[i], 4);
    }
    assert_true(fabs(sum / COUNT) < 0.01);
    assert_true(fabs(squares / COUNT - 1) < 0.01);
    assert_true(fabs(fourth / COUNT - 3) < 0.06);
    assert_int_equal(random_normal(TMG_DTYPE_BF16, halves, COUNT, 42), 0);
    assert_int_equal(random_normal(TMG_DTYPE_BF16, again, COUNT, 42), 0);
    assert_memory_equal(halves, again, COUNT * sizeof *halves);
    assert_int_equal(random_normal(TMG_DTYPE_BF16, again, COUNT, 43), 0);
    assert_memory_not_equal(halves, again, COUNT * sizeof *halves);
    float decoded;
    num_decode(TMG_DTYPE_BF16, &halves[COUNT - 1], &decoded, 1);
    assert_true(fabs(decoded - values[COUNT - 1]) < 0.02);  // same bits, same place
    free(values);
    free(halves);
    free(again);
}

static void test_scaled(void **state) {
    (void)state;
    enum { COUNT = 4099 };
    static uint16_t plain[COUNT], scaled[COUNT];
    uint16_t product;
    assert_int_equal(random_normal(TMG_DTYPE_FP16, plain, COUNT, 42), 0);
    assert_int_equal(random_scaled(TMG_DTYPE_FP16, 0.3, scaled, COUNT, 42), 0);
    for (size_t i = 0; i < COUNT; ++i) {
        num_encode(TMG_DTYPE_FP16, num_value(TMG_DTYPE_FP16, &plain[i]) * 0.3, &product);
        assert_int_equal(scaled[i], product);
    }
}

static void mark(void *context, int64_t begin, int64_t end, int thread) {
    unsigned char *seen = context;
    assert_in_range(thread, 0, PARALLEL_MAX - 1);
    for (int64_t i = begin; i < end; ++i) ++seen[i];
}

static void test_parallel_covers_the_range_once(void **state) {
    (void)state;
    static const int64_t counts[] = {0, 1, 7, 1000, 1001};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
        unsigned char seen[1001] = {0};
        parallel_for(counts[i], 10, mark, seen);
        for (int64_t j = 0; j < 1001; ++j) assert_int_equal(seen[j], j < counts[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip_of_every_value),
        cmocka_unit_test(test_known_values),
        cmocka_unit_test(test_rounds_to_nearest_even),
        cmocka_unit_test(test_out_of_range),
        cmocka_unit_test(test_normal_distribution),
        cmocka_unit_test(test_scaled),
        cmocka_unit_test(test_parallel_covers_the_range_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

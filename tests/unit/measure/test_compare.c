// The comparison finds what it is there to find: one wrong element of 4 million, an unwritten one,
// a NaN, two tiles swapped; and it lets a result pass that is right up to rounding.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/compare.h"
#include "measure/freivalds.h"
#include "measure/random.h"
#include "tests/unit/measure/gemm_manifest.h"
#include "tests/unit/measure/reference_fixture.h"

struct compare_problem {
    struct tmg_manifest *manifest;
    struct reference reference;
    struct ref_problem problem;
    struct ref_tensor *d;
};

static void encode_range(struct compare_problem *f, int64_t first, int64_t count,
                         const struct ref_value *values) {
    for (int64_t i = 0; i < count; ++i) {
        int64_t index[TMAGEN_MAX_RANK];
        ref_index(f->d, first + i, index);
        num_encode(f->d->dtype, values[i].value,
                   (char *)f->d->data +
                       (size_t)ref_offset(f->d, index) * tmg_dtype_bytes(f->d->dtype));
    }
}

static void compute_all(struct compare_problem *f) {
    enum { AT_ONCE = 1 << 18 };
    struct ref_value *values = malloc(AT_ONCE * sizeof *values);
    assert_non_null(values);
    for (int64_t first = 0; first < f->d->count; first += AT_ONCE) {
        const int64_t rest = f->d->count - first, count = rest < AT_ONCE ? rest : AT_ONCE;
        assert_int_equal(reference_values(&f->problem, f->d, NULL, first, count, values), 0);
        encode_range(f, first, count, values);
    }
    free(values);
}

static const char *inputs = "";  // of make()

// A problem with random inputs and, where [right], the right result.
static void make(struct compare_problem *f, const char *manifest, int64_t m, int64_t n, int64_t k,
                 int64_t padding, bool right) {
    const int64_t dims[] = {m, n, k};
    assert_int_equal(tmg_manifest_parse(manifest, strlen(manifest), "test", &f->manifest),
                     TMAGEN_OK);
    const struct reference *reference = open_built(f->manifest, &f->reference);
    assert_int_equal(ref_problem_make(f->manifest, reference, dims, padding, &f->problem),
                     TMAGEN_OK);
    f->problem.inputs = inputs;
    assert_int_equal(ref_problem_fill(&f->problem, 7), TMAGEN_OK);
    f->d = (struct ref_tensor *)ref_tensor_find(&f->problem, "d");
    memset(f->d->data, 0xff, f->d->bytes);
    if (right) compute_all(f);
}

static void drop(struct compare_problem *f) {
    ref_problem_free(&f->problem);
    tmg_manifest_free(f->manifest);
}

static void *at(struct compare_problem *f, int64_t row, int64_t column) {
    const int64_t index[] = {row, column};
    return (char *)f->d->data + (size_t)ref_offset(f->d, index) * tmg_dtype_bytes(f->d->dtype);
}

static const char bf16[] = GEMM_MANIFEST("bf16", "bf16");
static const char fp16[] = GEMM_MANIFEST("fp16", "fp16");
static const char fp32[] = GEMM_MANIFEST("bf16", "fp32");

static void test_right_results_pass(void **state) {
    (void)state;
    const char *const manifests[] = {bf16, fp16, fp32};
    for (size_t i = 0; i < 6; ++i) {
        struct compare_problem f;
        struct comparison comparison;
        make(&f, manifests[i / 2], 139, 104, 72, i % 2 * 64, true);
        assert_int_equal(compare(&f.problem, f.d, 0xff, i, &comparison), 0);
        assert_true(compare_passed(&comparison));
        assert_true(comparison.whole);
        assert_int_equal(comparison.checked, 139 * 104);
        // rounded once, some of so many elements are as far off as may be
        assert_true(comparison.worst > (i < 4 ? 0.9 : 0) && comparison.worst <= 1);
        compare_free(&comparison);
        drop(&f);
    }
}

// fp32 sums in the order of a naive kernel are inside the tolerance, with room.
static void test_float_accumulation_passes(void **state) {
    (void)state;
    struct compare_problem f;
    struct comparison comparison;
    make(&f, fp32, 64, 64, 4096, 0, false);
    const struct ref_tensor *a = ref_tensor_find(&f.problem, "a"),
                            *b = ref_tensor_find(&f.problem, "b"),
                            *bias = ref_tensor_find(&f.problem, "bias");
    for (int64_t i = 0; i < 64; ++i) {
        for (int64_t j = 0; j < 64; ++j) {
            float sum = 0;
            for (int64_t k = 0; k < 4096; ++k) {
                const int64_t in_a[] = {i, k}, in_b[] = {j, k};
                sum += (float)ref_read(a, in_a) * (float)ref_read(b, in_b);
            }
            sum += (float)ref_read(bias, &j);
            memcpy(at(&f, i, j), &sum, sizeof sum);
        }
    }
    assert_int_equal(compare(&f.problem, f.d, 0xff, 1, &comparison), 0);
    assert_true(compare_passed(&comparison));
    assert_true(comparison.worst < 0.3);
    compare_free(&comparison);
    drop(&f);
}

// What a kernel may do wrong to a result that is right otherwise.
static void leave_one_unwritten(struct compare_problem *f) { memset(at(f, 138, 103), 0xff, 2); }
static void write_nan(struct compare_problem *f) { num_encode(TMG_DTYPE_BF16, NAN, at(f, 3, 70)); }
static void write_infinity(struct compare_problem *f) {
    num_encode(TMG_DTYPE_BF16, INFINITY, at(f, 3, 70));
}
static void zero_a_row(struct compare_problem *f) { memset(at(f, 128, 0), 0, 64); }
static void miss_one_ulp_twice(struct compare_problem *f) {
    uint16_t bits;
    memcpy(&bits, at(f, 77, 1), 2);
    bits = (uint16_t)(bits + 2);
    memcpy(at(f, 77, 1), &bits, 2);
}
static void swap_two_columns(struct compare_problem *f) {
    for (int64_t row = 0; row < 128; ++row) {
        uint16_t x, y;
        memcpy(&x, at(f, row, 8), 2);
        memcpy(&y, at(f, row, 16), 2);
        memcpy(at(f, row, 8), &y, 2);
        memcpy(at(f, row, 16), &x, 2);
    }
}

static void test_each_fault_is_found_and_placed(void **state) {
    (void)state;
    static const struct {
        void (*plant)(struct compare_problem *);
        enum finding_kind kind;
        int64_t found_least, found_most;
        const char *first, *pattern;
    } rows[] = {
        {leave_one_unwritten, FINDING_UNWRITTEN, 1, 1, "d[138,103] (tile 1,1 at 10,39)",
         "in 1 of 4 tiles of 128x64: (1,1)\ninside the tile: m 10; n 39\n"},
        {write_nan, FINDING_NOT_FINITE, 1, 1, "d[3,70] (tile 0,1 at 3,6)",
         "in 1 of 4 tiles of 128x64: (0,1)\ninside the tile: m 3; n 6\n"},
        {write_infinity, FINDING_NOT_FINITE, 1, 1, "d[3,70] (tile 0,1 at 3,6)", NULL},
        {zero_a_row, FINDING_WRONG, 30, 32, "d[128,0] (tile 1,0 at 0,0)", NULL},
        {miss_one_ulp_twice, FINDING_WRONG, 1, 1, "d[77,1] (tile 0,0 at 77,1)", NULL},
        {swap_two_columns, FINDING_WRONG, 240, 256, "d[0,8] (tile 0,0 at 0,8)",
         "in 1 of 4 tiles of 128x64: (0,0)\ninside the tile: m all 128; n 8, 16\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        struct compare_problem f;
        struct comparison comparison;
        char text[400];
        make(&f, bf16, 139, 104, 72, 0, true);
        rows[i].plant(&f);
        assert_int_equal(compare(&f.problem, f.d, 0xff, 3, &comparison), 0);
        assert_false(compare_passed(&comparison));
        for (int kind = 0; kind < FINDING_KINDS; ++kind) {
            const int64_t found = comparison.found[kind];
            if (kind != (int)rows[i].kind) assert_int_equal(found, 0);
            if (kind == (int)rows[i].kind) {
                assert_in_range(found, rows[i].found_least, rows[i].found_most);
            }
        }
        pattern_locate(comparison.pattern, comparison.first[0].linear, text, sizeof text);
        assert_string_equal(text, rows[i].first);
        pattern_describe(comparison.pattern, text, sizeof text);
        if (rows[i].pattern) assert_string_equal(text, rows[i].pattern);
        compare_free(&comparison);
        drop(&f);
    }
}

// A poison that is an ordinary number is still recognised.
static void test_unwritten_with_finite_poison(void **state) {
    (void)state;
    struct compare_problem f;
    struct comparison comparison;
    make(&f, bf16, 40, 64, 16, 0, true);
    memset(at(&f, 39, 0), 0xa5, 128);
    assert_int_equal(compare(&f.problem, f.d, 0xa5, 3, &comparison), 0);
    assert_int_equal(comparison.found[FINDING_UNWRITTEN], 64);
    compare_free(&comparison);
    drop(&f);
}

// ---- Freivalds alone, at sizes where the reference is too slow: K is 8, M x N is what counts.

struct large {
    struct compare_problem f;
    struct freivalds product;
};

static void make_large(struct large *large, const char *manifest, int64_t m, int64_t n) {
    make(&large->f, manifest, m, n, 8, 0, true);
    large->product = (struct freivalds){
        .a = ref_tensor_find(&large->f.problem, "a"),
        .b = ref_tensor_find(&large->f.problem, "b"),
        .bias = ref_tensor_find(&large->f.problem, "bias"),
        .d = large->f.d,
        .accumulation = 0x1p-21 * 8.5,
    };
}

static void test_whole_check_finds_one_element(void **state) {
    (void)state;
    enum { ROWS = 1024, COLUMNS = 4096, TRIES = 6 };
    struct large large;
    make_large(&large, bf16, ROWS, COLUMNS);
    struct ref_spans spans = {0};
    assert_int_equal(freivalds_check(&large.product, 1, &spans), 0);
    const int64_t for_nothing = spans.total;
    assert_in_range(for_nothing, 0, 10);  // of 16384 pieces
    ref_spans_free(&spans);
    for (int64_t i = 0; i < TRIES; ++i) {
        const int64_t row = random_below(5, (uint64_t)i, ROWS);
        const int64_t column = random_below(6, (uint64_t)i, COLUMNS);
        const int64_t index[] = {row, column};
        const double right = ref_read(large.f.d, index);
        num_encode(TMG_DTYPE_BF16, right + 2,
                   at(&large.f, row, column));  // less than one deviation of D
        assert_int_equal(freivalds_check(&large.product, (uint64_t)i, &spans), 0);
        bool found = false;
        for (size_t j = 0; j < spans.count; ++j) {
            const int64_t linear = row * COLUMNS + column - spans.spans[j].first;
            found |= linear >= 0 && linear < spans.spans[j].count;
        }
        assert_true(found);
        ref_spans_free(&spans);
        num_encode(TMG_DTYPE_BF16, right, at(&large.f, row, column));
    }
    drop(&large.f);
}

// Through compare(): one wrong element that no sample hits, reported as itself.
static void test_one_wrong_element_of_millions(void **state) {
    (void)state;
    enum { M = 2048, N = 2048, K = 1024 };  // too much for the reference to compute all of it
    struct compare_problem f;
    struct comparison comparison;
    make(&f, fp32, M, N, K, 0, false);
    // D is right where B is zero: then it is the bias
    struct ref_tensor *b = (struct ref_tensor *)ref_tensor_find(&f.problem, "b");
    const struct ref_tensor *bias = ref_tensor_find(&f.problem, "bias");
    memset(b->data, 0, b->bytes);
    for (int64_t i = 0; i < M; ++i) memcpy(at(&f, i, 0), bias->data, N * sizeof(float));
    assert_int_equal(compare(&f.problem, f.d, 0xff, 9, &comparison), 0);
    assert_true(compare_passed(&comparison));
    assert_true(comparison.whole);
    assert_true(comparison.checked < M * N / 100);
    compare_free(&comparison);
    float spoilt;
    memcpy(&spoilt, at(&f, 1234, 777), sizeof spoilt);
    spoilt += 0.125f;
    memcpy(at(&f, 1234, 777), &spoilt, sizeof spoilt);
    assert_int_equal(compare(&f.problem, f.d, 0xff, 9, &comparison), 0);
    assert_int_equal(comparison.found[FINDING_WRONG], 1);
    assert_int_equal(comparison.first[0].linear, 1234 * N + 777);
    compare_free(&comparison);
    drop(&f);
}

static void test_whole_check_finds_swapped_tiles(void **state) {
    (void)state;
    enum { SIZE = 1024, TILE = 128 };
    struct large large;
    make_large(&large, fp16, SIZE, SIZE);
    for (int64_t row = 0; row < TILE; ++row) {
        char x[TILE * 2];
        memcpy(x, at(&large.f, row, 0), sizeof x);
        memcpy(at(&large.f, row, 0), at(&large.f, row, TILE), sizeof x);
        memcpy(at(&large.f, row, TILE), x, sizeof x);
    }
    struct ref_spans spans = {0};
    assert_int_equal(freivalds_check(&large.product, 1, &spans), 0);
    assert_in_range(spans.total, TILE - 4, TILE + 4);
    ref_spans_free(&spans);
    drop(&large.f);
}

static void test_manifests_without_a_reference(void **state) {
    (void)state;
    static const char *const cut[] = {"\"dims\": \"m", "\"small\""};
    for (size_t i = 0; i < sizeof cut / sizeof *cut; ++i) {
        char text[sizeof bf16];
        struct tmg_manifest *manifest;
        struct reference reference;
        memcpy(text, bf16, sizeof text);
        char *place = strstr(text, cut[i]);
        assert_non_null(place);
        place[1] = '_';
        assert_int_equal(tmg_manifest_parse(text, strlen(text), "test", &manifest), TMAGEN_OK);
        assert_int_equal(reference_read(manifest, &reference), TMAGEN_ERROR_MANIFEST);
        assert_non_null(strstr(tmagen_error_last(), "gemm: its manifest has no reference"));
        tmg_manifest_free(manifest);
    }
}

// A database has manifests of earlier versions, whose shapes were lists of lists.
static void test_an_older_reference(void **state) {
    (void)state;
    char text[sizeof bf16];
    struct tmg_manifest *manifest;
    struct reference reference;
    struct ref_shapes shapes = {0};
    memcpy(text, bf16, sizeof text);
    memcpy(strstr(text, "\"1x1x1 136x72x72 127x127x130\""), "[[1, 1, 1], [136, 72, 72]]   ", 29);
    assert_int_equal(tmg_manifest_parse(text, strlen(text), "test", &manifest), TMAGEN_OK);
    assert_int_equal(reference_read(manifest, &reference), TMAGEN_OK);
    assert_string_equal(reference.dims, "m n k");
    reference_shapes(&reference, manifest, "small", &shapes);
    assert_int_equal(shapes.count, 0);
    tmg_manifest_free(manifest);
}

// A NaN in the reference makes nothing right but NaN; an infinity nothing but itself; and what is
// too large for the type is infinite.
static void test_special_values(void **state) {
    (void)state;
    static const struct {
        double want, tolerance, got;
        enum tmg_dtype_id dtype;
        bool right;
    } rows[] = {
        {NAN, NAN, NAN, TMG_DTYPE_FP32, true},
        {NAN, NAN, 0, TMG_DTYPE_FP32, false},
        {NAN, 0, INFINITY, TMG_DTYPE_FP32, false},
        {1, 0.1, NAN, TMG_DTYPE_FP32, false},
        {INFINITY, INFINITY, INFINITY, TMG_DTYPE_FP16, true},
        {INFINITY, INFINITY, -INFINITY, TMG_DTYPE_FP16, false},
        {INFINITY, INFINITY, 65504, TMG_DTYPE_FP16, false},
        {INFINITY, INFINITY, NAN, TMG_DTYPE_FP16, false},
        {1, 0.1, INFINITY, TMG_DTYPE_FP16, false},
        {70000, 20, INFINITY, TMG_DTYPE_FP16, true},
        {70000, 20, -INFINITY, TMG_DTYPE_FP16, false},
        {65000, 20, INFINITY, TMG_DTYPE_FP16, false},
        {448, 1, NAN, TMG_DTYPE_E4M3, false},
        {1, 0, 1, TMG_DTYPE_BF16, true},
        {1, 0, 1.0078125, TMG_DTYPE_BF16, false},
        {0, 0, -0.0, TMG_DTYPE_BF16, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        const struct ref_value want = {rows[i].want, rows[i].tolerance};
        const double error = reference_error(rows[i].dtype, want, rows[i].got);
        assert_true(rows[i].right ? error <= 1 : !(error <= 1));
    }
}

// Inputs that hold all of them: a right result passes, NaN included, and a number or an infinity in
// the place of a NaN is found.
static void test_special_inputs(void **state) {
    (void)state;
    struct compare_problem f;
    struct comparison comparison;
    int64_t nans = 0, first = -1;
    inputs = "special";
    make(&f, bf16, 139, 104, 72, 0, true);
    inputs = "";
    for (int64_t i = 0; i < f.d->count; ++i) {
        if (!isnan(element_at(&f.problem, f.d, i).value)) continue;
        if (!nans++) first = i;
    }
    assert_in_range(nans, 100, f.d->count / 2);
    assert_int_equal(compare(&f.problem, f.d, 0xa5, 1, &comparison), 0);
    assert_true(compare_passed(&comparison));
    compare_free(&comparison);
    num_encode(TMG_DTYPE_BF16, 1, at(&f, first / 104, first % 104));
    assert_int_equal(compare(&f.problem, f.d, 0xa5, 1, &comparison), 0);
    assert_int_equal(comparison.found[FINDING_WRONG], 1);
    compare_free(&comparison);
    num_encode(TMG_DTYPE_BF16, INFINITY, at(&f, first / 104, first % 104));
    assert_int_equal(compare(&f.problem, f.d, 0xa5, 1, &comparison), 0);
    assert_int_equal(comparison.found[FINDING_NOT_FINITE], 1);
    compare_free(&comparison);
    drop(&f);
}

// More NaN than are computed: what is computed comes from everywhere, and tells of the others.
static void test_nothing_but_nan(void **state) {
    (void)state;
    enum { M = 1024, N = 1024, K = 2048, FIRST_RIGHT = 1000 };
    struct compare_problem f;
    struct comparison comparison;
    make(&f, bf16, M, N, K, 0, false);
    json_t *rows = json_deep_copy(f.reference.rows);
    json_object_del(rows, "product");  // by which all of it would be computed, and take long
    f.reference.rows = rows;
    const struct ref_tensor *a = ref_tensor_find(&f.problem, "a");
    const int64_t nan_elements = (int64_t)FIRST_RIGHT * K;
    for (int64_t i = 0; i < f.d->count; ++i) num_encode(TMG_DTYPE_BF16, NAN, at(&f, 0, i));
    assert_int_equal(compare(&f.problem, f.d, 0xa5, 1, &comparison), 0);
    assert_int_equal(comparison.found[FINDING_NOT_FINITE], f.d->count);  // all of it is wrong
    compare_free(&comparison);
    for (int64_t i = 0; i < nan_elements; ++i)
        num_encode(TMG_DTYPE_BF16, NAN, (char *)a->data + 2 * i);
    assert_int_equal(compare(&f.problem, f.d, 0xa5, 1, &comparison), 0);
    const int64_t found = comparison.found[FINDING_NOT_FINITE];
    assert_in_range(found, (M - FIRST_RIGHT) * N / 40, (M - FIRST_RIGHT) * N / 10);
    assert_true(comparison.first[0].linear >= FIRST_RIGHT * N);
    compare_free(&comparison);
    for (int64_t i = FIRST_RIGHT * N; i < f.d->count; ++i) memset(at(&f, 0, i), 0, 2);
    memset((char *)a->data + 2 * nan_elements, 0, a->bytes - (size_t)(2 * nan_elements));
    memset(ref_tensor_find(&f.problem, "bias")->data, 0,
           ref_tensor_find(&f.problem, "bias")->bytes);
    assert_int_equal(compare(&f.problem, f.d, 0xa5, 1, &comparison), 0);
    assert_true(compare_passed(&comparison));
    compare_free(&comparison);
    drop(&f);
    json_decref(rows);
}

// Inputs whose sums are exact: ties come up, and only the even neighbour is right.
static void test_ties(void **state) {
    (void)state;
    struct compare_problem f;
    int64_t ties = 0;
    inputs = "exact";
    make(&f, bf16, 64, 64, 72, 0, true);
    inputs = "";
    const struct ref_tensor *a = ref_tensor_find(&f.problem, "a"),
                            *b = ref_tensor_find(&f.problem, "b"),
                            *bias = ref_tensor_find(&f.problem, "bias");
    for (int64_t i = 0; i < f.d->count; ++i) {
        const int64_t row = i / 64, column = i % 64;
        double sum = ref_read(bias, &column);
        for (int64_t k = 0; k < 72; ++k) {
            sum += ref_read(a, (int64_t[]){row, k}) * ref_read(b, (int64_t[]){column, k});
        }
        const struct ref_value value = element_at(&f.problem, f.d, i);
        const double half = num_rounding(TMG_DTYPE_BF16, sum), away = sum - value.value;
        assert_true(value.tolerance == 0 && fabs(away) <= half);
        if (fabs(away) < half) continue;
        ++ties;
        assert_true(reference_error(TMG_DTYPE_BF16, value, sum + away) > 1);
    }
    assert_true(ties > 20);
    drop(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_right_results_pass),
        cmocka_unit_test(test_float_accumulation_passes),
        cmocka_unit_test(test_each_fault_is_found_and_placed),
        cmocka_unit_test(test_unwritten_with_finite_poison),
        cmocka_unit_test(test_whole_check_finds_one_element),
        cmocka_unit_test(test_one_wrong_element_of_millions),
        cmocka_unit_test(test_whole_check_finds_swapped_tiles),
        cmocka_unit_test(test_manifests_without_a_reference),
        cmocka_unit_test(test_an_older_reference),
        cmocka_unit_test(test_special_values),
        cmocka_unit_test(test_special_inputs),
        cmocka_unit_test(test_nothing_but_nan),
        cmocka_unit_test(test_ties),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// The reference of quantise against values worked out by hand, and a dim that follows from another.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "tests/unit/measure/reference_fixture.h"

static const char manifest_text[] =
    "{\"tmagen_manifest\": 2, \"name\": \"q\", \"family\": \"quantise\", \"entry\": \"q\","
    " \"arch\": \"sm_90a\", \"source\": \"q.cu\", \"block\": [256, 1, 1], \"cluster\": [1, 1, 1],"
    " \"shared_memory\": 0, \"dims\": [{\"name\": \"m\"}, {\"name\": \"k\"},"
    "  {\"name\": \"blocks\", \"ceil\": {\"dim\": \"k\", \"by\": 128}}],"
    " \"tensors\": [{\"name\": \"x\", \"dtype\": \"fp16\", \"dims\": [\"m\", \"k\"],"
    "   \"access\": \"read\"},"
    "  {\"name\": \"y\", \"dtype\": \"e4m3\", \"dims\": [\"m\", \"k\"], \"access\": \"write\"},"
    "  {\"name\": \"scales\", \"dtype\": \"fp32\", \"dims\": [\"m\", \"blocks\"],"
    "   \"access\": \"write\"}],"
    " \"grid\": {\"rule\": \"tiles\", \"tiles\": [{\"dim\": \"m\", \"by\": 1}]},"
    " \"params\": [{\"kind\": \"pointer\", \"tensor\": \"x\"}],"
    " \"reference\": {\"dims\": \"m k\", \"small\": \"\"}}";

enum { K = 130, HALF = 0x3800, ONE = 0x3c00, MINUS_7 = 0xc700, INFINITE = 0x7c00, NOT = 0x7e00 };

struct quantise_problem {
    struct tmg_manifest *manifest;
    struct reference reference;
    struct ref_problem problem;
    uint16_t *x;
};

static void make(struct quantise_problem *f) {
    const int64_t dims[] = {1, K, 1};
    assert_int_equal(tmg_manifest_parse(manifest_text, strlen(manifest_text), "test", &f->manifest),
                     TMAGEN_OK);
    const struct reference *reference = open_built(f->manifest, &f->reference);
    assert_int_equal(ref_problem_make(f->manifest, reference, dims, 0, &f->problem), TMAGEN_OK);
    assert_int_equal(ref_problem_fill(&f->problem, 3), TMAGEN_OK);
    f->x = ref_tensor_find(&f->problem, "x")->data;
    memset(f->x, 0, K * sizeof *f->x);
}

static void drop(struct quantise_problem *f) {
    ref_problem_free(&f->problem);
    tmg_manifest_free(f->manifest);
}

static double value_of(const struct quantise_problem *f, const char *tensor, int64_t i) {
    const struct ref_value value = element_at(&f->problem, ref_tensor_find(&f->problem, tensor), i);
    assert_true(value.tolerance == 0);
    return value.value;
}

static void test_shape_of_scales(void **state) {
    (void)state;
    struct quantise_problem f;
    make(&f);
    assert_int_equal(ref_tensor_find(&f.problem, "scales")->count, 2);
    assert_int_equal(ref_dim(&f.problem, "blocks", 0), 2);
    drop(&f);
}

static void test_definition(void **state) {
    (void)state;
    struct quantise_problem f;
    make(&f);
    f.x[0] = ONE, f.x[5] = MINUS_7, f.x[6] = NOT, f.x[129] = HALF;
    assert_true(value_of(&f, "scales", 0) == 7.0 / 448);
    assert_true(value_of(&f, "y", 0) == 64 && value_of(&f, "y", 5) == -448);
    assert_true(isnan(value_of(&f, "y", 6)) && value_of(&f, "y", 7) == 0);
    assert_true(value_of(&f, "scales", 1) == (double)(float)(0.5 / 448));
    assert_true(value_of(&f, "y", 129) == 448 && value_of(&f, "y", 128) == 0);
    drop(&f);
}

// Blocks without a maximum to divide by, and with one that is infinite.
static void test_ends_of_the_range(void **state) {
    (void)state;
    struct quantise_problem f;
    make(&f);
    f.x[3] = NOT, f.x[128] = INFINITE, f.x[129] = ONE;
    assert_true(value_of(&f, "scales", 0) == (double)(float)(0x1p-100 / 448));
    assert_true(isnan(value_of(&f, "y", 3)) && value_of(&f, "y", 4) == 0);
    assert_true(isinf(value_of(&f, "scales", 1)));
    assert_true(isnan(value_of(&f, "y", 128)) && value_of(&f, "y", 129) == 0);
    drop(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shape_of_scales),
        cmocka_unit_test(test_definition),
        cmocka_unit_test(test_ends_of_the_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

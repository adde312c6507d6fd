// The reference of resample against results worked out by hand, and its check of the whole against
// outputs with one wrong element.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "measure/compare.h"
#include "tests/unit/measure/reference_fixture.h"

static const char manifest_text[] =
    "{\"tmagen_manifest\": 2, \"name\": \"r\", \"family\": \"resample\", \"entry\": \"r\","
    " \"arch\": \"sm_90a\", \"source\": \"r.cu\", \"block\": [256, 1, 1], \"cluster\": [1, 1, 1],"
    " \"shared_memory\": 0,"
    " \"dims\": [{\"name\": \"b\"}, {\"name\": \"s\"}, {\"name\": \"t\"}, {\"name\": \"d\"}],"
    " \"tensors\": ["
    "  {\"name\": \"source\", \"dtype\": \"fp32\", \"dims\": [\"b\", \"s\", \"d\"],"
    "   \"access\": \"read\"},"
    "  {\"name\": \"source_times\", \"dtype\": \"fp32\", \"dims\": [\"b\", \"s\"],"
    "   \"access\": \"read\"},"
    "  {\"name\": \"target_times\", \"dtype\": \"fp32\", \"dims\": [\"b\", \"t\"],"
    "   \"access\": \"read\"},"
    "  {\"name\": \"out\", \"dtype\": \"fp32\", \"dims\": [\"b\", \"t\", \"d\"],"
    "   \"access\": \"write\"}],"
    " \"grid\": {\"rule\": \"tiles\", \"tiles\": [{\"dim\": \"b\", \"by\": 1}]},"
    " \"params\": [{\"kind\": \"pointer\", \"tensor\": \"source\"}],"
    " \"reference\": {\"dims\": \"b s t d\", \"small\": \"\","
    " \"draws\": \"source_times target_times\"}}";

struct resample_problem {
    struct tmg_manifest *manifest;
    struct reference reference;
    struct ref_problem problem;
    const struct ref_tensor *out;
};

static const char *inputs = "";  // of make()

static void make(struct resample_problem *f, int64_t b, int64_t s, int64_t t, int64_t d) {
    const int64_t dims[] = {b, s, t, d};
    assert_int_equal(tmg_manifest_parse(manifest_text, strlen(manifest_text), "test", &f->manifest),
                     TMAGEN_OK);
    const struct reference *reference = open_built(f->manifest, &f->reference);
    assert_int_equal(ref_problem_make(f->manifest, reference, dims, 0, &f->problem), TMAGEN_OK);
    f->problem.inputs = inputs;
    assert_int_equal(ref_problem_fill(&f->problem, 3), TMAGEN_OK);
    f->out = ref_tensor_find(&f->problem, "out");
}

static void drop(struct resample_problem *f) {
    ref_problem_free(&f->problem);
    tmg_manifest_free(f->manifest);
}

static float *data(struct resample_problem *f, const char *name) {
    return ref_tensor_find(&f->problem, name)->data;
}

// Rows 10, 20, 30, 40 at times 1, 2, 2, 4.
static void test_definition(void **state) {
    (void)state;
    static const struct {
        float time;
        double value;
    } rows[] = {{1, 10},  {1.25f, 12.5},  {2, 30},  // of equal times the last
                {3, 35},  {4, 40},        {9, 40},  // clamped
                {-9, 10}, {INFINITY, 40}, {-INFINITY, 10}, {3.5f, 37.5}, {1.5f, 15}};
    enum { ROWS = sizeof rows / sizeof *rows };
    struct resample_problem f;
    make(&f, 1, 4, ROWS + 1, 1);
    memcpy(data(&f, "source"), (const float[]){10, 20, 30, 40}, 4 * sizeof(float));
    memcpy(data(&f, "source_times"), (const float[]){1, 2, 2, 4}, 4 * sizeof(float));
    for (int i = 0; i < ROWS; ++i) data(&f, "target_times")[i] = rows[i].time;
    data(&f, "target_times")[ROWS] = NAN;
    for (int64_t i = 0; i < ROWS; ++i) {
        const struct ref_value value = element_at(&f.problem, f.out, i);
        assert_true(fabs(value.value - rows[i].value) < 1e-12);
        assert_true(value.tolerance > 0 && value.tolerance < 1e-4);
    }
    assert_true(isnan(element_at(&f.problem, f.out, ROWS).value));
    drop(&f);
}

static void test_one_row(void **state) {
    (void)state;
    struct resample_problem f;
    make(&f, 2, 1, 3, 2);
    for (int64_t t = 0; t < 3; ++t) {
        const double value = element_at(&f.problem, f.out, (3 + t) * 2 + 1).value;
        assert_true(value == (double)data(&f, "source")[3]);
    }
    drop(&f);
}

static void write_right(struct resample_problem *f) {
    float *out = data(f, "out");
    for (int64_t i = 0; i < f->out->count; ++i) {
        out[i] = (float)element_at(&f->problem, f->out, i).value;
    }
}

// The inputs that verify draws hold what is hard: equal source times, targets outside and in
// disorder.
static void test_inputs(void **state) {
    (void)state;
    struct resample_problem f;
    make(&f, 8, 400, 5000, 1);
    int equal = 0, falling = 0, outside = 0;
    const float *sources = data(&f, "source_times"), *targets = data(&f, "target_times");
    for (int i = 0; i < 8 * 400; ++i) {
        if (i % 400 == 0) continue;
        assert_true(sources[i] >= sources[i - 1]);
        equal += sources[i] == sources[i - 1];
    }
    for (int i = 0; i < 8 * 5000; ++i) {
        outside += targets[i] < 0;
        falling += i % 5000 > 0 && targets[i] < targets[i - 1];
    }
    assert_true(equal > 50 && outside > 100 && falling > 1000);
    drop(&f);
}

static void test_whole(void **state) {
    (void)state;
    struct resample_problem f;
    make(&f, 9, 33, 71, 300);
    write_right(&f);
    struct comparison comparison;
    assert_int_equal(compare(&f.problem, f.out, 0xff, 1, &comparison), 0);
    assert_true(compare_passed(&comparison) && comparison.whole);
    compare_free(&comparison);
    const int64_t wrong = (5 * 71 + 70) * 300 + 299;
    data(&f, "out")[wrong] += 1e-3f;
    data(&f, "out")[0] = NAN;
    assert_int_equal(compare(&f.problem, f.out, 0xff, 1, &comparison), 0);
    assert_int_equal(comparison.found[FINDING_NOT_FINITE], 1);
    assert_int_equal(comparison.found[FINDING_WRONG], 1);
    assert_int_equal(comparison.first[1].linear, wrong);
    compare_free(&comparison);
    drop(&f);
}

// Some targets are NaN; a row of the source in the place of their rows of NaN is found.
static void test_special_targets(void **state) {
    (void)state;
    struct resample_problem f;
    struct comparison comparison;
    int64_t nan_target = -1;
    inputs = "special";
    make(&f, 2, 40, 64, 8);
    inputs = "";
    write_right(&f);
    assert_int_equal(compare(&f.problem, f.out, 0xa5, 1, &comparison), 0);
    assert_true(compare_passed(&comparison));
    compare_free(&comparison);
    for (int64_t i = 0; i < 2 * 64; ++i) {
        if (isnan(data(&f, "target_times")[i])) nan_target = i;
    }
    assert_true(nan_target >= 0);
    memcpy(data(&f, "out") + nan_target * 8, data(&f, "source") + nan_target / 64 * 40 * 8, 32);
    assert_int_equal(compare(&f.problem, f.out, 0xa5, 1, &comparison), 0);
    assert_true(comparison.found[FINDING_WRONG] >= 6);
    compare_free(&comparison);
    drop(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_definition),      cmocka_unit_test(test_one_row),
        cmocka_unit_test(test_inputs),          cmocka_unit_test(test_whole),
        cmocka_unit_test(test_special_targets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

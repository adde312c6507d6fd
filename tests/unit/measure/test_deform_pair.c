// The reference of deform_pair against pairs written out by hand, and its check of the whole
// against outputs with one wrong element.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "measure/compare.h"
#include "tests/unit/measure/reference_fixture.h"

// Two heads of one channel on the levels 1 x 3 and 2 x 1.
static const char manifest_text[] =
    "{\"tmagen_manifest\": 2, \"name\": \"p\", \"family\": \"deform_pair\", \"entry\": \"p\","
    " \"arch\": \"sm_90a\", \"source\": \"p.cu\", \"block\": [256, 1, 1], \"cluster\": [1, 1, 1],"
    " \"shared_memory\": 0,"
    " \"dims\": [{\"name\": \"b\"}, {\"name\": \"s\", \"value\": %d}],"
    " \"tensors\": ["
    "  {\"name\": \"value\", \"dtype\": \"fp32\", \"dims\": [\"b\", \"s\", 2],"
    "   \"access\": \"read\"},"
    "  {\"name\": \"pairs\", \"dtype\": \"fp32\", \"dims\": [\"b\", \"s\", %d],"
    "   \"access\": \"write\"}],"
    " \"grid\": {\"rule\": \"tiles\", \"tiles\": [{\"dim\": \"b\", \"by\": 1}]},"
    " \"params\": [{\"kind\": \"pointer\", \"tensor\": \"value\"}],"
    " \"reference\": {\"dims\": \"b s\","
    " \"small\": \"\", \"values\": {\"channels\": 1, \"padded\": false,"
    " \"levels\": [[1, 3], [2, 1]]}}}";

enum { BATCHES = 2, PIXELS = 5, ROW = 4 };

struct deform_pair_problem {
    struct tmg_manifest *manifest;
    struct reference reference;
    struct ref_problem problem;
    const struct ref_tensor *pairs;
};

static struct tmg_manifest *parse(int pixels, int row) {
    char text[sizeof manifest_text + 32];
    struct tmg_manifest *manifest = NULL;
    snprintf(text, sizeof text, manifest_text, pixels, row);
    assert_int_equal(tmg_manifest_parse(text, strlen(text), "test", &manifest), TMAGEN_OK);
    return manifest;
}

static void make(struct deform_pair_problem *f) {
    const int64_t dims[] = {BATCHES, PIXELS};
    f->manifest = parse(PIXELS, ROW);
    const struct reference *reference = open_built(f->manifest, &f->reference);
    assert_int_equal(ref_problem_make(f->manifest, reference, dims, 0, &f->problem), TMAGEN_OK);
    assert_int_equal(ref_problem_fill(&f->problem, 3), TMAGEN_OK);
    f->pairs = ref_tensor_find(&f->problem, "pairs");
}

static void drop(struct deform_pair_problem *f) {
    ref_problem_free(&f->problem);
    tmg_manifest_free(f->manifest);
}

// The value counts from 1: a pixel's heads are 1 2, those of its neighbour 3 4.
static void test_definition(void **state) {
    (void)state;
    static const float want[PIXELS][ROW] = {
        {1, 3, 2, 4}, {3, 5, 4, 6}, {5, 0, 6, 0}, {7, 0, 8, 0}, {9, 0, 10, 0}};
    struct deform_pair_problem f;
    make(&f);
    float *value = ref_tensor_find(&f.problem, "value")->data;
    for (int i = 0; i < BATCHES * PIXELS * 2; ++i) value[i] = (float)(1 + i % 10 + 100 * (i / 10));
    for (int64_t i = 0; i < f.pairs->count; ++i) {
        int64_t index[TMAGEN_MAX_RANK];
        ref_index(f.pairs, i, index);
        const float pixel = want[index[1]][index[2]];
        const struct ref_value got = element_at(&f.problem, f.pairs, i);
        assert_true(got.value == (double)(pixel > 0 ? pixel + 100 * (float)index[0] : 0));
        assert_true(got.tolerance == 0);
    }
    drop(&f);
}

static void test_check_of_the_whole(void **state) {
    (void)state;
    struct deform_pair_problem f;
    struct comparison comparison;
    make(&f);
    float *pairs = f.pairs->data;
    for (int64_t i = 0; i < f.pairs->count; ++i) {
        pairs[i] = (float)element_at(&f.problem, f.pairs, i).value;
    }
    static const int wrong[] = {9, 39, 24};  // zeros, the last one, and another batch's first row
    for (int i = 0; i < 3; ++i) {
        const float right = pairs[wrong[i]];
        pairs[wrong[i]] += 0x1p-20f;
        assert_int_equal(compare(&f.problem, f.pairs, 0xff, 5, &comparison), 0);
        assert_int_equal(comparison.found[FINDING_WRONG], 1);
        assert_int_equal(comparison.first[0].linear, wrong[i]);
        compare_free(&comparison);
        pairs[wrong[i]] = right;
    }
    assert_int_equal(compare(&f.problem, f.pairs, 0xff, 5, &comparison), 0);
    assert_true(compare_passed(&comparison));
    compare_free(&comparison);
    drop(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_definition),
        cmocka_unit_test(test_check_of_the_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

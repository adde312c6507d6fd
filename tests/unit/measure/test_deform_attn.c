// The reference of deform_attn against samples worked out by hand, and its check of the whole
// against outputs with one wrong element.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "measure/compare.h"
#include "tests/unit/measure/reference_fixture.h"

// Two heads of two channels, one point on each of the levels 2 x 3 and 1 x 1.
static const char manifest_text[] =
    "{\"tmagen_manifest\": 2, \"name\": \"d\", \"family\": \"deform_attn\", \"entry\": \"d\","
    " \"arch\": \"sm_90a\", \"source\": \"d.cu\", \"block\": [256, 1, 1], \"cluster\": [1, 1, 1],"
    " \"shared_memory\": 0,"
    " \"dims\": [{\"name\": \"b\"}, {\"name\": \"s\", \"value\": %d}, {\"name\": \"q\"}],"
    " \"tensors\": ["
    "  {\"name\": \"value\", \"dtype\": \"fp32\", \"dims\": [\"b\", \"s\", %d], \"access\": "
    "\"read\"},"
    "  {\"name\": \"locations\", \"dtype\": \"fp32\", \"dims\": [\"b\", \"q\", 8],"
    "   \"access\": \"read\"},"
    "  {\"name\": \"weights\", \"dtype\": \"fp32\", \"dims\": [\"b\", \"q\", 4],"
    "   \"access\": \"read\"},"
    "  {\"name\": \"out\", \"dtype\": \"fp32\", \"dims\": [\"b\", \"q\", 4],"
    "   \"access\": \"write\"}],"
    " \"grid\": {\"rule\": \"tiles\", \"tiles\": [{\"dim\": \"b\", \"by\": 1}]},"
    " \"params\": [{\"kind\": \"pointer\", \"tensor\": \"value\"}],"
    " \"reference\": {\"dims\": \"b s q\","
    " \"small\": \"\", \"draws\": \"value locations weights\", \"inputs\": \"local uniform\","
    " \"values\": {"
    " \"heads\": 2, \"channels\": 2, \"points\": 1, \"padded\": %s, \"packed\": false,"
    " \"paired\": %s,"
    " \"levels\": [[2, 3], [1, 1]]}}}";

enum { UNPADDED = 7, PADDED = 4 * 5 + 3 * 3 };

struct deform_attn_problem {
    struct tmg_manifest *manifest;
    struct reference reference;
    struct ref_problem problem;
    const struct ref_tensor *out;
};

static struct tmg_manifest *parse(int pixels, bool padded, bool paired) {
    char text[sizeof manifest_text + 16];
    struct tmg_manifest *manifest = NULL;
    snprintf(text, sizeof text, manifest_text, pixels, paired ? 8 : 4, padded ? "true" : "false",
             paired ? "true" : "false");
    assert_int_equal(tmg_manifest_parse(text, strlen(text), "test", &manifest), TMAGEN_OK);
    return manifest;
}

static const char *inputs = "";  // of make()

static void make(struct deform_attn_problem *f, bool padded, bool paired, int64_t b, int64_t q) {
    const int pixels = padded ? PADDED : UNPADDED;
    const int64_t dims[] = {b, pixels, q};
    f->manifest = parse(pixels, padded, paired);
    const struct reference *reference = open_built(f->manifest, &f->reference);
    assert_int_equal(ref_problem_make(f->manifest, reference, dims, 0, &f->problem), TMAGEN_OK);
    f->problem.inputs = inputs;
    assert_int_equal(ref_problem_fill(&f->problem, 3), TMAGEN_OK);
    f->out = ref_tensor_find(&f->problem, "out");
}

static void drop(struct deform_attn_problem *f) {
    ref_problem_free(&f->problem);
    tmg_manifest_free(f->manifest);
}

static float *data(struct deform_attn_problem *f, const char *name) {
    return ref_tensor_find(&f->problem, name)->data;
}

// Channel 1 of head 1 at one point of the first level; the second level's weighs nothing. The
// pixels of the level are 1 2 3 above 10 20 30.
static double sampled(bool padded, bool paired, float x, float y) {
    static const float pixels[] = {1, 2, 3, 10, 20, 30};
    struct deform_attn_problem f;
    make(&f, padded, paired, 1, 1);
    const int pitch = padded ? 5 : 3, border = padded;
    for (int i = 0; i < 6; ++i) {
        const int pixel = (i / 3 + border) * pitch + i % 3 + border;
        data(&f, "value")[paired ? pixel * 8 + 5 : pixel * 4 + 3] = pixels[i];
    }
    memcpy(data(&f, "locations") + 4, (const float[]){x, y, 0.5f, 0.5f}, 4 * sizeof(float));
    memcpy(data(&f, "weights") + 2, (const float[]){2, 0}, 2 * sizeof(float));
    const double value = element_at(&f.problem, f.out, 3).value;
    drop(&f);
    return value;
}

static void test_definition(void **state) {
    (void)state;
    static const struct {
        float x, y;
        double value;  // without the weight of 2
    } rows[] = {{1.0f / 6, 0.25f, 1}, {0.5f, 0.25f, 2},       {5.0f / 6, 0.75f, 30},  // on pixels
                {0.5f, 0.5f, 11},     {1.0f / 3, 0.25f, 1.5},                         // between
                {0, 0.25f, 0.5},      {0.5f, 1, 10},          {0, 0, 0.25},    // half outside
                {-0.2f, 0.5f, 0},     {0.5f, 1.3f, 0},        {NAN, 0.5f, 0},  // outside
                {0.5f, NAN, 0},       {INFINITY, 0.5f, 0},    {0.5f, -INFINITY, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        for (int layout = 0; layout < 4; ++layout) {
            const double got = sampled(layout & 1, layout & 2, rows[i].x, rows[i].y);
            assert_true(fabs(got - 2 * rows[i].value) < 1e-5);
        }
    }
}

// Borders are zeros, and locations hold what is hard.
static void test_inputs(void **state) {
    (void)state;
    struct deform_attn_problem f;
    make(&f, true, false, 3, 500);
    for (int i = 0; i < 4 * 6; ++i) assert_true(data(&f, "value")[i] == 0);
    int64_t odd = 0, outside = 0;
    const struct ref_tensor *locations = ref_tensor_find(&f.problem, "locations");
    for (int64_t i = 0; i < locations->count; ++i) {
        const float location = data(&f, "locations")[i];
        odd += !isfinite(location);
        outside += location < 0 || location > 1;
    }
    assert_true(odd > 0 && outside > locations->count / 20);
    drop(&f);
}

// What bench draws: all over the level, or within four pixels of the query's own.
static void test_inputs_of_bench(void **state) {
    (void)state;
    for (int local = 0; local < 2; ++local) {
        struct deform_attn_problem f;
        inputs = local ? "local" : "uniform";
        make(&f, false, false, 1, UNPADDED);
        inputs = "";
        const struct ref_tensor *locations = ref_tensor_find(&f.problem, "locations");
        for (int64_t i = 0; i < locations->count; ++i) {
            if (local && i / 2 % 2 == 1)
                continue;  // the second level is a pixel: far more than 0..1
            const float least = local ? -4.0f / 2 : 0, most = local ? 1 + 4.0f / 2 : 1;
            assert_true(data(&f, "locations")[i] >= least && data(&f, "locations")[i] <= most);
        }
        // the first query's own pixel is the first level's first, of 3 x 2: x is within 1/6 +- 4/3
        const float x = data(&f, "locations")[0], y = data(&f, "locations")[1];
        assert_true(!local || (fabsf(x - 1.0f / 6) <= 4.0f / 3 && fabsf(y - 1.0f / 4) <= 2));
        drop(&f);
    }
}

// Each head's right half is the left one of the next pixel, or zeros behind the end of a row.
static void test_pairs(void **state) {
    (void)state;
    for (int padded = 0; padded < 2; ++padded) {
        static const int unpadded_ends[UNPADDED] = {0, 0, 1, 0, 0, 1, 1};
        struct deform_attn_problem f;
        make(&f, padded, true, 2, 1);
        const int pixels = padded ? PADDED : UNPADDED;
        for (int i = 0; i < 2 * pixels * 8; ++i) {
            if (i % 4 < 2) continue;
            const int pixel = i / 8 % pixels;
            const bool end = !padded      ? unpadded_ends[pixel]
                             : pixel < 20 ? pixel % 5 == 4
                                          : (pixel - 20) % 3 == 2;
            const float *value = data(&f, "value");
            assert_true(value[i] == (end ? 0 : value[i + 6]));
        }
        drop(&f);
    }
}

static void check_the_whole(bool paired) {
    struct deform_attn_problem f;
    make(&f, true, paired, 3, 77);
    float *out = data(&f, "out");
    for (int64_t i = 0; i < f.out->count; ++i) {
        out[i] = (float)element_at(&f.problem, f.out, i).value;
    }
    struct comparison comparison;
    static const float wrong[] = {0.01f, NAN};
    for (int i = 0; i < 2; ++i) {
        const float right = out[401];
        out[401] += wrong[i];
        assert_int_equal(compare(&f.problem, f.out, 0xff, 5, &comparison), 0);
        assert_int_equal(comparison.found[i ? FINDING_NOT_FINITE : FINDING_WRONG], 1);
        assert_int_equal(comparison.first[0].linear, 401);
        compare_free(&comparison);
        out[401] = right;
    }
    assert_int_equal(compare(&f.problem, f.out, 0xff, 5, &comparison), 0);
    assert_true(compare_passed(&comparison));
    compare_free(&comparison);
    drop(&f);
}

static void test_check_of_the_whole(void **state) {
    (void)state;
    check_the_whole(false);
    check_the_whole(true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_definition),         cmocka_unit_test(test_inputs),
        cmocka_unit_test(test_inputs_of_bench),    cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_check_of_the_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// What was measured near a shape: which shapes weigh, how much, and what a table may say of them.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/near.h"
#include "tests/unit/runtime/set_fixture.h"
#include "tests/unit/runtime/shipped.h"

static struct tmg_table *table;

// Parses a table of three launches (big, split/2, split/4) with those rows of measured shapes.
static int parse(const char *rows) {
    static char text[1 << 16];
    snprintf(text, sizeof text,
             "%s%s%s \"dims\": [\"m\", \"k\"], \"kernels\": [{\"name\": \"big\"}, "
             "{\"name\": \"split\", \"splits\": [2, 4]}], \"measured\": [%s]}",
             TABLE_HEAD, TABLE_GPU, TABLE_RATES, rows);
    tmg_table_free(table);
    table = NULL;
    return tmg_table_parse(text, strlen(text), "t", &table);
}

static int close_table(void **state) {
    (void)state;
    tmg_table_free(table);
    table = NULL;
    return 0;
}

static double times(int64_t m, int64_t k, int alignment, int kernel, int splits) {
    const int64_t shape[TMG_MAX_TABLE_DIMS] = {m, k};
    float all[TMG_MAX_LAUNCHES], weights[TMG_MAX_LAUNCHES];
    struct tmg_near near;
    tmg_near_find(table, shape, alignment, &near);
    tmg_near_misses(&near, all, weights);
    return (double)expf(all[tmg_table_launch(table, kernel, splits)]);
}

static void assert_near(double value, double wanted, double apart) {
    if (!(fabs(value - wanted) <= apart)) fail_msg("%g is not %g", value, wanted);
}

#define ROW(m, k, alignment, misses) "\"" m "x" k " " alignment " " misses "\""

static void test_a_shape_itself_decides(void **state) {
    (void)state;
    assert_int_equal(
        parse(ROW("64", "64", "128", "2000 500a") ", " ROW("65", "64", "128", "9000 9000 72000")),
        TMAGEN_OK);
    assert_near(times(64, 64, 128, 0, 0), 2, .05);
    assert_near(times(64, 64, 128, 1, 2), .5, .05);
    // known of the other alone, where it took 4 times as long as all in the mean, which is 1 here
    assert_near(times(64, 64, 128, 1, 4), 4, .3);
    // what a row says of a launch is that, whatever the others took
    assert_near(exp((double)tmg_table_miss(table, &table->measured[0], 0)), 2, .01);
    assert_near(exp((double)tmg_table_miss(table, &table->measured[1], 2)), 72, .1);
}

static void test_nearer_weighs_more(void **state) {
    (void)state;
    assert_int_equal(parse(ROW("64", "64", "128", "4000 1000 1000") ", " ROW("512", "64", "128",
                                                                             "1000 1000 1000")),
                     TMAGEN_OK);
    const double near = times(90, 64, 128, 0, 0), middle = times(181, 64, 128, 0, 0);
    assert_true(near > 3.5 && near < 4);
    assert_near(middle, 2, .2);  // the mean is of logs
    assert_true(times(360, 64, 128, 0, 0) < 1.2);
    assert_near(times(64 << 8, 64 << 8, 128, 0, 0), 1, 1e-9);  // too far from both
}

static void test_rows_that_lie_otherwise_are_farther(void **state) {
    (void)state;
    const char *rows =
        ROW("64", "64", "128", "4000 1000 1000") ", " ROW("64", "64", "16", "1000 1000 1000");
    assert_int_equal(parse(rows), TMAGEN_OK);
    assert_true(times(80, 80, 128, 0, 0) > times(80, 80, 32, 0, 0));
    assert_near(times(64, 64, 16, 0, 0), 1, .05);
}

// Beyond the square of a distance of 4, in powers of two, nothing is said; each of two classes of
// alignment adds .5 to that, and more than two add no more.
static void test_far_is_far(void **state) {
    (void)state;
    assert_int_equal(parse(ROW("64", "64", "128", "4000 1000 1000")), TMAGEN_OK);
    assert_true(times(250, 64, 128, 0, 0) > 1.5);   // 3.9
    assert_near(times(265, 64, 128, 0, 0), 1, 0);   // 4.2
    assert_near(times(160, 256, 128, 0, 0), 1, 0);  // 1.7 and 4
    assert_true(times(230, 64, 64, 0, 0) > 1.5);    // 3.4 and a class
    assert_near(times(230, 64, 32, 0, 0), 1, 0);    // and another
    assert_near(times(64, 64, 1, 0, 0), times(64, 64, 32, 0, 0), 0);
    assert_true(times(64, 64, 1, 0, 0) > 3.5);
}

// Forty shapes, of which the nearest stand last: as many are kept as there is room for, those.
static void test_the_nearest_are_kept(void **state) {
    (void)state;
    char rows[1 << 13] = "";
    size_t used = 0;
    for (int i = 0; i < 40; ++i)
        used += (size_t)snprintf(rows + used, sizeof rows - used, "%s\"%dx64 128 %d==\"",
                                 i ? ", " : "", i < 32 ? 200 + i : 100 + i, i < 32 ? 1000 : 5000);
    assert_int_equal(parse(rows), TMAGEN_OK);
    const int64_t shape[TMG_MAX_TABLE_DIMS] = {100, 64};
    struct tmg_near near;
    tmg_near_find(table, shape, 128, &near);
    assert_int_equal(near.count, TMG_NEAR_MOST);
    unsigned nearest = 0;
    for (unsigned i = 0; i < near.count; ++i)
        nearest += tmg_table_miss(table, near.shapes[i], 0) > 1;
    assert_int_equal(nearest, 8);
}

static double squared(const struct tmg_measured *measured, const int64_t *shape) {
    const double m = (double)measured->at[0] - log2((double)shape[0]),
                 k = (double)measured->at[1] - log2((double)shape[1]);
    return m * m + k * k;
}

static double near_by(const struct tmg_table *of, const int64_t *shape, int alignment,
                      struct tmg_near *near) {
    double farthest = 0;
    tmg_near_find(of, shape, alignment, near);
    for (unsigned i = 0; i < near->count; ++i)
        farthest = fmax(farthest, squared(near->shapes[i], shape));
    return farthest;
}

// Of shapes strewn about, none that is left out is nearer than what was found.
static void test_none_nearer_is_left_out(void **state) {
    enum { SHAPES = 300, ASKED = 200 };
    (void)state;
    static char rows[SHAPES * 40];
    size_t used = 0;
    srand(1);
    for (int i = 0; i < SHAPES; ++i)
        used += (size_t)snprintf(rows + used, sizeof rows - used, "%s\"%dx%d 128 ===\"",
                                 i ? ", " : "", (int)exp2(3 + rand() % 1000 * .01),
                                 (int)exp2(3 + rand() % 1000 * .01));
    assert_int_equal(parse(rows), TMAGEN_OK);
    unsigned full = 0;
    for (int i = 0; i < ASKED; ++i) {
        const int64_t shape[TMG_MAX_TABLE_DIMS] = {(int64_t)exp2(3 + rand() % 1000 * .01),
                                                   (int64_t)exp2(3 + rand() % 1000 * .01)};
        struct tmg_near near;
        double farthest = near_by(table, shape, 128, &near);
        unsigned nearer = 0;
        const int filled = near.count == TMG_NEAR_MOST;
        if (!filled) farthest = 4;
        for (unsigned j = 0; j < table->measured_count; ++j)
            nearer += squared(&table->measured[j], shape) < farthest - 1e-4;
        assert_true(nearer + (unsigned)filled <= near.count);
        full += (unsigned)filled;
    }
    assert_in_range(full, ASKED / 10, ASKED - 1);
}

static void test_no_shapes_no_correction(void **state) {
    (void)state;
    assert_int_equal(parse(""), TMAGEN_OK);
    assert_near(times(64, 64, 128, 0, 0), 1, 0);
}

static void refused(const char *rows, const char *message) {
    assert_int_equal(parse(rows), TMAGEN_ERROR_MANIFEST);
    if (!strstr(tmagen_error_last(), message)) fail_msg("%s", tmagen_error_last());
}

// Launches are worked on several at once: each has the sums of its own, one launch after the other.
static void test_each_launch_has_its_own(void **state) {
    (void)state;
    static const int64_t shapes[][3] = {{1000, 2000, 3000}, {37, 8192, 1024}, {8, 4096, 4096}};
    float misses[TMG_MAX_LAUNCHES], weights[TMG_MAX_LAUNCHES];
    unsigned known = 0;
    table = open_shipped();
    for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
        double missed[TMG_MAX_LAUNCHES] = {0}, weighed[TMG_MAX_LAUNCHES] = {0};
        double means = 0, all = .02;  // the model itself weighs so much
        struct tmg_near near;
        tmg_near_find(table, shapes[i], 128, &near);
        tmg_near_misses(&near, misses, weights);
        for (unsigned j = 0; j < near.count; ++j) {
            double sum = 0;
            for (unsigned at = near.shapes[j]->first; at < near.shapes[j]->end; ++at) {
                const struct tmg_miss *miss = &table->misses[at];
                missed[miss->launch] += (double)(near.weights[j] * miss->log);
                weighed[miss->launch] += (double)near.weights[j];
                sum += (double)miss->log;
            }
            assert_near(sum, 0, 1e-3);  // each beside the mean of its shape
            means += (double)(near.weights[j] * near.shapes[j]->mean);
            all += (double)near.weights[j];
        }
        for (unsigned j = 0; j < table->launch_count; ++j) {
            known += weighed[j] > 0;
            assert_near((double)weights[j], weighed[j], 1e-4);
            assert_near(((double)misses[j] - means / all) * (weighed[j] + .02), missed[j], 1e-4);
        }
    }
    assert_in_range(known, 100, TMG_MAX_LAUNCHES);
}

static void test_tables_that_are_wrong(void **state) {
    (void)state;
    refused(ROW("64", "64", "128", "1000 1000"), "measured[0] must be");
    refused(ROW("64", "64", "128", "1000 1000 1000 1000"), "measured[0] must be");
    refused(ROW("64", "64", "128", "1000 -1 1000"), "2 sizes, an alignment");
    refused(ROW("64", "64", "128", "1000 0 1000"), "and 3 times");
    refused(ROW("64", "64", "128", "1000 1000001 1000"), "measured[0]");
    refused(ROW("64", "64", "128", "=== "), "measured[0]");
    refused(ROW("64", "64", "128", "=c"), "measured[0]");
    refused(ROW("64", "64", "128", "=ba"), "measured[0]");
    refused(ROW("64", "64", "128", "==."), "measured[0]");
    refused(ROW("64", "64", "128", ""), "measured[0]");
    refused(ROW("64", "0", "128", "==="), "measured[0]");
    refused(ROW("64", "2147483648", "128", "==="), "measured[0]");
    refused(ROW("64", "64", "3", "==="), "power of two");
    refused(ROW("64", "64", "256", "==="), "measured[0]");
    refused(ROW("64", "64x64", "128", "==="), "measured[0]");
    refused("\"64 128 ===\"", "measured[0]");
    refused("\"64x64\"", "measured[0]");
    refused("\"64x64 128\"", "measured[0]");
    refused("7", "measured[0]");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_a_shape_itself_decides, close_table),
        cmocka_unit_test_teardown(test_nearer_weighs_more, close_table),
        cmocka_unit_test_teardown(test_rows_that_lie_otherwise_are_farther, close_table),
        cmocka_unit_test_teardown(test_far_is_far, close_table),
        cmocka_unit_test_teardown(test_the_nearest_are_kept, close_table),
        cmocka_unit_test_teardown(test_none_nearer_is_left_out, close_table),
        cmocka_unit_test_teardown(test_no_shapes_no_correction, close_table),
        cmocka_unit_test_teardown(test_each_launch_has_its_own, close_table),
        cmocka_unit_test_teardown(test_tables_that_are_wrong, close_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

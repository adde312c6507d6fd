// Order statistics, the reading and writing of shapes, and tables.
// Whatever a shapes file holds, it is read or refused with its line.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure/shapes.h"
#include "measure/stats.h"
#include "measure/columns.h"
#include "measure/cublaslt.h"
#include "measure/watchdog.h"
#include "tests/unit/fakes.h"
#include "tests/unit/measure/gemm_manifest.h"
#include "tests/unit/measure/reference_fixture.h"

static void test_quartiles(void **state) {
    (void)state;
    const double values[] = {5, 1, 4, 2, 3};
    const struct stats stats = stats_of(values, 5);
    assert_true(stats.median == 3 && stats.lower == 2 && stats.upper == 4);
    assert_true(stats.least == 1 && stats.greatest == 5);
    const double skewed[] = {1, 2, 3, 4, 100};  // the mean is 22
    assert_true(stats_of(skewed, 5).median == 3);
    const double pair[] = {1, 2};
    assert_true(stats_of(pair, 2).median == 1.5);
    assert_true(stats_of(pair, 1).upper == 1);
    assert_true(isnan(stats_of(pair, 0).median));
}

// The ratio is that of pairs: a slow round slows both, and the ratio does not see it.
static void test_ratios_are_taken_pair_by_pair(void **state) {
    (void)state;
    const double ours[] = {1, 10, 2, 20, 4}, theirs[] = {2, 20, 4, 40, 8};
    const struct stats stats = stats_of_ratios(theirs, ours, 5);
    assert_true(stats.median == 2 && stats.lower == 2 && stats.upper == 2);
    assert_true(stats_spread(stats) == 0);
}

static void test_shapes_of_a_command_line(void **state) {
    (void)state;
    static const char *const bad[] = {"",
                                      "x",
                                      "12x",
                                      "12xx3",
                                      "0x1",
                                      "-1x2",
                                      "1x2 ",
                                      "axbxc",
                                      "1,2x3",
                                      "1x2/",
                                      "1x2/3",
                                      "1x2/x/y",
                                      "1x2/awordthatistoolong",
                                      "99999999999999999999x1",
                                      "1x1099511627777"};
    struct shape_list list = {0};
    char error[200];
    assert_int_equal(shapes_parse(&list, "16x4096x14336", error, sizeof error), 0);
    assert_int_equal(list.shapes[0].count, 3);
    assert_int_equal(list.shapes[0].numbers[2], 14336);
    assert_int_equal(shapes_parse(&list, "16,4096,512", error, sizeof error), 0);
    assert_int_equal(list.shapes[1].numbers[2], 512);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        assert_int_equal(shapes_parse(&list, bad[i], error, sizeof error), -1);
        assert_non_null(strstr(error, "is no shape"));
    }
    assert_int_equal(list.count, 2);
    shapes_free(&list);
}

// Writes [text] to a file and reads it as shapes.
static int read_text(const char *text, struct shape_list *list, char *error, size_t size) {
    char path[5000];
    snprintf(path, sizeof path, "%s/shapes.txt", fresh_folder());
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    const int status = shapes_read(list, path, error, size);
    unlink(path);
    return status;
}

static void test_shapes_of_a_file(void **state) {
    (void)state;
    struct shape_list list = {0};
    char error[5200];
    assert_int_equal(
        read_text("# a comment\n\nbf16 8192 8192 1280  # last\r\n\tfp16\t1 2 3 local\n4 5 6", &list,
                  error, sizeof error),
        0);
    assert_int_equal(list.count, 3);
    assert_string_equal(list.shapes[0].dtype, "bf16");
    assert_int_equal(list.shapes[0].numbers[2], 1280);
    assert_int_equal(list.shapes[1].line, 4);
    assert_string_equal(list.shapes[1].inputs, "local");
    assert_string_equal(list.shapes[2].dtype, "");
    shapes_free(&list);
    static const char *const bad[] = {"bf16\n",
                                      "bf16 1 2 x y\n",
                                      "bf16 1 2 -x\n",
                                      "bf16 1 -2 3\n",
                                      "bf16 1x2x3\n",
                                      "averylongnameofatype 1 2 3\n",
                                      "bf16 1 2 3 4 5 6 7 8 9 10 11 12 13\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        assert_int_equal(read_text(bad[i], &list, error, sizeof error), -1);
        assert_non_null(strstr(error, "shapes.txt:1: not a shape"));
        shapes_free(&list);
    }
    assert_int_equal(shapes_read(&list, "/nowhere/at/all", error, sizeof error), -1);
    assert_non_null(strstr(error, "No such file"));
}

// What is no file of shapes: a comment of any length is one line, and what never ends is not read.
static void test_files_that_are_no_shapes(void **state) {
    (void)state;
    struct shape_list list = {0};
    char error[5200], comment[1000];
    memset(comment, '#', sizeof comment);
    snprintf(comment + 600, sizeof comment - 600, " 4096 4096 512\n1 2 3\n");
    assert_int_equal(read_text(comment, &list, error, sizeof error), 0);
    assert_int_equal(list.count, 1);
    shapes_free(&list);
    static const char *const paths[][2] = {{"/dev/zero", "/dev/zero: is no plain file"},
                                           {"/dev/null", "/dev/null: is no plain file"},
                                           {"/tmp", "/tmp: is no plain file"}};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; ++i) {
        assert_int_equal(shapes_read(&list, paths[i][0], error, sizeof error), -1);
        assert_string_equal(error, paths[i][1]);
    }
    assert_int_equal(read_text("# none\n\n", &list, error, sizeof error), -1);
    assert_non_null(strstr(error, "shapes.txt: has no shapes"));
    shapes_free(&list);
}

// The share of [count] sizes, the [at]-th of each shape, that are below [limit]; or, with limit 0,
// that are no multiples of 64.
static double share_of(const struct shape_list *list, int at, int64_t limit) {
    size_t found = 0;
    for (size_t i = 0; i < list->count; ++i) {
        const int64_t size = list->shapes[i].numbers[at];
        found += limit ? size < limit : size % 64 != 0;
    }
    return (double)found / (double)list->count;
}

static void test_shapes_that_are_drawn(void **state) {
    (void)state;
    enum { COUNT = 20000 };
    struct shape_list list = {0}, again = {0}, other = {0};
    assert_int_equal(shapes_draw(&list, COUNT, 1), 0);
    assert_int_equal(shapes_draw(&again, COUNT, 1), 0);
    assert_int_equal(shapes_draw(&other, COUNT, 2), 0);
    assert_int_equal(list.count, COUNT);
    assert_memory_equal(list.shapes, again.shapes, COUNT * sizeof *list.shapes);
    assert_memory_not_equal(list.shapes, other.shapes, COUNT * sizeof *list.shapes);
    for (size_t i = 0; i < COUNT; ++i) {
        const int64_t *mnk = list.shapes[i].numbers;
        assert_int_equal(list.shapes[i].count, 3);
        assert_in_range(mnk[0], 1, 16384);
        for (int at = 1; at < 3; ++at) {
            assert_in_range(mnk[at], 64, 16384);
            assert_int_equal(mnk[at] % 8, 0);
        }
        assert_true(2.0 * (double)mnk[0] * (double)mnk[1] * (double)mnk[2] < 2e12);
    }
    for (int at = 1; at < 3; ++at) assert_true(fabs(share_of(&list, at, 0) - 1.0 / 3) < 0.02);
    // the middle of the logarithms, a little less by what 2 TFLOP leave out
    assert_true(fabs(share_of(&list, 0, 128) - 0.5) < 0.03);
    assert_true(fabs(share_of(&list, 1, 1024) - 0.5) < 0.04);
    assert_true(share_of(&list, 0, 2) > 0.05 && share_of(&list, 0, 8192) < 0.97);
    shapes_free(&list);
    shapes_free(&again);
    shapes_free(&other);
}

static void test_dims_of_a_manifest(void **state) {
    (void)state;
    static const char text[] = GEMM_MANIFEST("bf16", "fp32");
    struct tmg_manifest *manifest;
    assert_int_equal(tmg_manifest_parse(text, strlen(text), "test", &manifest), TMAGEN_OK);
    struct reference opened;
    const struct reference *reference = open_built(manifest, &opened);
    struct shape_list list = {0};
    char error[200];
    int64_t dims[TMG_MAX_DIMS];
    assert_int_equal(shapes_parse(&list, "100x64x24", error, sizeof error), 0);
    assert_int_equal(shapes_parse(&list, "100x64", error, sizeof error), 0);
    assert_int_equal(shape_dims(&list.shapes[0], reference, manifest, dims, error, sizeof error),
                     0);
    assert_int_equal(dims[0], 100);
    assert_int_equal(dims[2], 24);
    assert_int_equal(shape_dims(&list.shapes[1], reference, manifest, dims, error, sizeof error),
                     -1);
    assert_string_equal(error, "gemm is written with 3 numbers: m n k");
    char formatted[60];
    dims[1] = 64;
    shape_format(reference, manifest, dims, "", formatted, sizeof formatted);
    assert_string_equal(formatted, "100x64x24");
    shape_format(reference, manifest, dims, "local", formatted, sizeof formatted);
    assert_string_equal(formatted, "100x64x24/local");
    assert_int_equal(shapes_parse(&list, "100x64x24/local", error, sizeof error), 0);
    assert_string_equal(list.shapes[2].inputs, "local");
    assert_int_equal(shape_dims(&list.shapes[2], reference, manifest, dims, error, sizeof error),
                     -1);
    assert_string_equal(error, "gemm has no inputs local; it has: special exact");
    assert_string_equal(shape_dtype(manifest), "bf16");
    shapes_free(&list);
    tmg_manifest_free(manifest);
}

// Every default shape obeys the manifest, and ragged ones are among them.
static void test_default_shapes_obey_the_manifest(void **state) {
    (void)state;
    static const char text[] = GEMM_MANIFEST("fp16", "fp16");
    struct tmg_manifest *manifest;
    assert_int_equal(tmg_manifest_parse(text, strlen(text), "test", &manifest), TMAGEN_OK);
    struct reference opened;
    const struct reference *reference = open_built(manifest, &opened);
    for (int small = 0; small < 2; ++small) {
        struct ref_shapes shapes = {0};
        int ragged = 0;
        reference_shapes(reference, manifest, small ? "small" : "full", &shapes);
        assert_true(shapes.count >= 3);
        for (size_t i = 0; i < shapes.count; ++i) {
            struct ref_problem problem;
            assert_int_equal(ref_problem_make(manifest, reference, shapes.shapes[i], 0, &problem),
                             TMAGEN_OK);
            ragged += shapes.shapes[i][0] % 128 != 0 && shapes.shapes[i][1] % 64 != 0;
        }
        assert_true(ragged >= 2);
        ref_shapes_free(&shapes);
    }
    tmg_manifest_free(manifest);
}

// A row's shapes, dim by dim; what is written wrong in it is 1.
static void test_shapes_of_a_row(void **state) {
    (void)state;
    static const int64_t right[][3] = {{1, 8, 8}, {136, 72, 72}, {127, 128, 136}},
                         wrong[][3] = {{1, 8, 8}, {8, 16, 8}, {7, 8, 8}, {127, 128, 136}};
    for (int hostile = 0; hostile < 2; ++hostile) {
        char text[] = GEMM_MANIFEST("fp16", "fp16");
        struct tmg_manifest *manifest;
        struct reference opened;
        struct ref_shapes shapes = {0};
        if (hostile) memcpy(strstr(text, "1x1x1 136x72x72"), "xx-3 8x9q64x7 7", 15);
        assert_int_equal(tmg_manifest_parse(text, strlen(text), "test", &manifest), TMAGEN_OK);
        reference_shapes(open_built(manifest, &opened), manifest, "small", &shapes);
        assert_int_equal(shapes.count, hostile ? 4 : 3);
        for (size_t i = 0; i < shapes.count; ++i)
            assert_memory_equal(shapes.shapes[i], hostile ? wrong[i] : right[i], sizeof *right);
        ref_shapes_free(&shapes);
        tmg_manifest_free(manifest);
    }
}

static void test_table(void **state) {
    (void)state;
    static const char *const titles[] = {"name", ">ms", NULL};
    char text[200] = "";
    FILE *out = fmemopen(text, sizeof text, "w");
    struct table *table = table_new(titles);
    table_cell(table, "%s", "gemm");
    table_cell(table, "%.2f", 10.5);
    table_cell(table, "%s", "±");
    table_end_row(table);
    table_print(table, out);
    fclose(out);
    assert_string_equal(text, "name     ms\ngemm  10.50\n±          \n");
    table_free(table);
}

// The watchdog ends a child that runs [hang], and says [expected]. What [hang] calls stands in such
// an order that no delay of a busy machine changes what is said.
static void expect_end(void (*hang)(void), const char *expected) {
    char text[200] = "";
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        hang();
        sleep(120);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 3);
    assert_true(read(ends[0], text, sizeof text - 1) > 0);
    assert_string_equal(text, expected);
    close(ends[0]);
    close(ends[1]);
}

static void hang_in_step(void) {
    watchdog_step("gemm %d", 1);
    watchdog_start(1);
}

// A step that does not end ends the process, which says what it waited for.
static void test_watchdog(void **state) {
    (void)state;
    expect_end(hang_in_step, "tmagen: error: gemm 1: no end after 1 s\n");
    watchdog_start(600);
    watchdog_stop();
}

static void hang_after_rest(void) {
    watchdog_step("gemm %d", 1);
    watchdog_rest();
    watchdog_start(1);
    usleep(1500 * 1000);
    watchdog_step("the next");
}

static void test_host_work_has_no_deadline(void **state) {
    (void)state;
    expect_end(hang_after_rest, "tmagen: error: the next: no end after 1 s\n");
}

static void hang_after_compile(void) {
    watchdog_step("gemm %d", 1);
    watchdog_start(1);
    watchdog_compile("reference.cu");
    usleep(1500 * 1000);
    watchdog_compile(NULL);
}

static void hang_after_host(void) {
    watchdog_host("gemm %d: inputs", 1);
    watchdog_start(1);
    usleep(1500 * 1000);
    watchdog_step("gemm %d: launch", 1);
}

static void hang_in_compile(void) {
    watchdog_host_seconds = 2;
    watchdog_step("gemm %d", 1);
    watchdog_start(1);
    watchdog_compile("reference.cu");
}

static void hang_in_host(void) {
    watchdog_host_seconds = 2;
    watchdog_host("gemm %d: inputs", 1);
    watchdog_start(1);
}

// The time of a compile and of the host's steps is none of a kernel's, and has a limit of its own.
static void test_host_steps_have_longer(void **state) {
    (void)state;
    expect_end(hang_after_compile, "tmagen: error: gemm 1: no end after 1 s\n");
    expect_end(hang_after_host, "tmagen: error: gemm 1: launch: no end after 1 s\n");
    expect_end(hang_in_compile,
               "tmagen: error: gemm 1: compiling reference.cu: no end after 2 s\n");
    expect_end(hang_in_host, "tmagen: error: gemm 1: inputs: no end after 2 s\n");
}

// What the library can do of a chain of ops, in the order in which it does them.
static void test_epilogues_of_cublaslt(void **state) {
    (void)state;
    static const struct {
        const char *ops;
        int epilogue;
        bool residual;
    } rows[] = {
        {"", 1, false},           {"bias", 4, false},         {"relu", 2, false},
        {"bias gelu", 36, false}, {"bias residual", 4, true}, {"residual bias relu", 6, true},
        {"gelu bias", 0, false},  {"bias silu", 0, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        char names[64];
        bool residual;
        json_t *ops = json_array();
        snprintf(names, sizeof names, "%s", rows[i].ops);
        for (char *rest = names, *name; (name = strtok_r(rest, " ", &rest));)
            json_array_append_new(ops, json_pack("{s:s}", "name", name));
        assert_int_equal(cublaslt_epilogue(ops, &residual), rows[i].epilogue);
        assert_int_equal(residual, rows[i].residual);
        json_decref(ops);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quartiles),
        cmocka_unit_test(test_ratios_are_taken_pair_by_pair),
        cmocka_unit_test(test_shapes_of_a_command_line),
        cmocka_unit_test(test_shapes_of_a_file),
        cmocka_unit_test(test_files_that_are_no_shapes),
        cmocka_unit_test(test_shapes_that_are_drawn),
        cmocka_unit_test(test_dims_of_a_manifest),
        cmocka_unit_test(test_default_shapes_obey_the_manifest),
        cmocka_unit_test(test_shapes_of_a_row),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_epilogues_of_cublaslt),
        cmocka_unit_test(test_watchdog),
        cmocka_unit_test(test_host_work_has_no_deadline),
        cmocka_unit_test(test_host_steps_have_longer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// Records: equal results are equal whatever lies between their rows, one bit anywhere is found and
// placed, other inputs are told from other results, and a file of any content is read or refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure/record.h"
#include "measure/random.h"
#include "tests/unit/measure/gemm_manifest.h"
#include "tests/unit/measure/reference_fixture.h"

static const char bf16[] = GEMM_MANIFEST("bf16", "bf16");
static const char fp32[] = GEMM_MANIFEST("bf16", "fp32");

struct record_problem {
    struct tmg_manifest *manifest;
    struct reference reference;
    struct ref_problem problem;
    struct ref_tensor *d;
};

// Random inputs and outputs; what lies in the gaps of the output depends on [gaps].
static void make(struct record_problem *f, const char *manifest, int64_t m, int64_t n,
                 int64_t padding, int gaps) {
    const int64_t dims[] = {m, n, 16};
    assert_int_equal(tmg_manifest_parse(manifest, strlen(manifest), "test", &f->manifest), 0);
    assert_int_equal(ref_problem_make(f->manifest, open_built(f->manifest, &f->reference), dims,
                                      padding, &f->problem),
                     0);
    assert_int_equal(ref_problem_fill(&f->problem, 7), 0);
    f->d = (struct ref_tensor *)ref_tensor_find(&f->problem, "d");
    memset(f->d->data, gaps, f->d->bytes);
    const size_t bytes = tmg_dtype_bytes(f->d->dtype);
    for (int64_t i = 0; i < f->d->count; ++i) {
        int64_t index[TMAGEN_MAX_RANK];
        ref_index(f->d, i, index);
        char *element = (char *)f->d->data + (size_t)ref_offset(f->d, index) * bytes;
        num_encode(f->d->dtype, random_uniform(1, (uint64_t)i), element);
    }
}

static void drop(struct record_problem *f) {
    ref_problem_free(&f->problem);
    tmg_manifest_free(f->manifest);
}

static json_t *line_of(const struct record_problem *f) {
    return record_case(&f->problem, "k", "9x8x16", 0, (struct variation){132, 0});
}

// Writes [text] to a file and reads it. What record_read() returned.
static int read_text(const char *text, size_t length, struct record *record, char *error) {
    char path[] = "/tmp/tmagen-record-XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, length), (ssize_t)length);
    close(file);
    const int status = record_read(record, path, error, 300);
    unlink(path);
    return status;
}

// A record of [lines] cases of [f], as text.
static char *text_of(const struct record_problem *f, int lines, size_t *length) {
    char *text;
    FILE *file = open_memstream(&text, length);
    json_t *line = line_of(f);
    assert_int_equal(record_begin(file, "a device", 42), 0);
    for (int i = 0; i < lines; ++i) assert_int_equal(record_add(file, line), 0);
    json_decref(line);
    fclose(file);
    return text;
}

static void test_a_record_comes_back(void **state) {
    (void)state;
    struct record_problem f;
    struct record record;
    size_t length;
    char error[300], report[2048];
    make(&f, bf16, 9, 8, 0, 0);
    char *text = text_of(&f, 2, &length);
    assert_int_equal(read_text(text, length, &record, error), 0);
    assert_string_equal(record.device, "a device");
    assert_int_equal(record.seed, 42);
    assert_int_equal(record.count, 2);
    assert_string_equal(record_kernel(record.cases[1]), "k");
    assert_string_equal(record_shape(record.cases[1]), "9x8x16");
    assert_int_equal(record_variation(record.cases[1]).sms, 132);
    assert_int_equal(record_variation(record.cases[1]).splits, 0);
    json_t *now = line_of(&f);
    assert_true(record_equal(&record, record.cases[0], now, &f.problem, report, sizeof report));
    assert_string_equal(report, "");
    json_decref(now);
    record_free(&record);
    free(text);
    drop(&f);
}

static void test_gaps_do_not_count(void **state) {
    (void)state;
    const struct record record = {.device = (char *)"x"};
    struct record_problem a, b;
    char report[2048];
    make(&a, bf16, 9, 8, 64, 0);
    make(&b, bf16, 9, 8, 64, 0xaa);
    json_t *then = line_of(&a), *now = line_of(&b);
    assert_true(record_equal(&record, then, now, &b.problem, report, sizeof report));
    json_decref(then);
    json_decref(now);
    drop(&a);
    drop(&b);
}

// Flips a bit of element [linear]; the report must then say [words].
static void expect_found(const char *manifest, int64_t m, int64_t n, int64_t linear,
                         const char *const *words) {
    const struct record record = {.device = (char *)"a device"};
    struct record_problem f;
    char report[2048];
    make(&f, manifest, m, n, 16, 0);
    json_t *then = line_of(&f);
    int64_t index[TMAGEN_MAX_RANK];
    ref_index(f.d, linear, index);
    ((char *)f.d->data)[(size_t)ref_offset(f.d, index) * tmg_dtype_bytes(f.d->dtype)] ^= 1;
    json_t *now = line_of(&f);
    assert_false(record_equal(&record, then, now, &f.problem, report, sizeof report));
    for (; *words; ++words) {
        if (!strstr(report, *words)) fail_msg("no \"%s\" in:\n%s", *words, report);
    }
    json_decref(then);
    json_decref(now);
    drop(&f);
}

static void test_one_bit_is_found(void **state) {
    (void)state;
    // 72 elements: parts of two or three, the last 69..71
    const char *const last[] = {"d: not what a device gave: 1 of 32 parts differ",
                                "elements 69..71", NULL};
    expect_found(bf16, 9, 8, 71, last);
    expect_found(fp32, 9, 8, 71, last);
    // eight elements: most parts are empty, and each element is recorded
    const char *const tiny[] = {"of 8 elements that were recorded 1 differ, by at most 1 units",
                                "d[0,5] (tile 0,0 at 0,5) is ", "was ", NULL};
    expect_found(bf16, 1, 8, 5, tiny);
    const char *const large[] = {"1 of 32 parts", NULL};
    for (int64_t i = 0; i < 40; ++i) expect_found(bf16, 139, 104, i * 361, large);
}

static void test_other_inputs_are_told(void **state) {
    (void)state;
    const struct record record = {.device = (char *)"x"};
    struct record_problem f;
    char report[2048];
    make(&f, bf16, 9, 8, 0, 0);
    json_t *then = line_of(&f);
    ((char *)ref_tensor_find(&f.problem, "bias")->data)[3] ^= 1;
    json_t *now = line_of(&f);
    assert_false(record_equal(&record, then, now, &f.problem, report, sizeof report));
    assert_non_null(strstr(report, "the inputs are not those of the record"));
    json_decref(then);
    json_decref(now);
    drop(&f);
}

static void test_another_shape_or_type_is_told(void **state) {
    (void)state;
    const struct record record = {.device = (char *)"x"};
    struct record_problem f, wide, exact;
    char report[2048];
    make(&f, bf16, 9, 8, 0, 0);
    make(&wide, bf16, 9, 16, 0, 0);
    make(&exact, fp32, 9, 8, 0, 0);
    json_t *now = line_of(&f), *others[] = {line_of(&wide), line_of(&exact)};
    for (size_t i = 0; i < 2; ++i) {
        json_object_set(others[i], "inputs", json_object_get(now, "inputs"));
        assert_false(record_equal(&record, others[i], now, &f.problem, report, sizeof report));
        assert_non_null(strstr(report, "d: the record has no tensor of this name, type and size"));
        json_decref(others[i]);
    }
    json_decref(now);
    drop(&f);
    drop(&wide);
    drop(&exact);
}

static void test_distances(void **state) {
    (void)state;
    assert_true(num_distance(TMG_DTYPE_BF16, 0x3f80, 0x3f81) == 1);
    assert_true(num_distance(TMG_DTYPE_BF16, 0x0001, 0x8001) == 2);
    assert_true(num_distance(TMG_DTYPE_BF16, 0x8000, 0) == 0);
    assert_true(num_distance(TMG_DTYPE_FP32, 0x3f800000, 0x3f7ffffe) == 2);
    assert_true(num_distance(TMG_DTYPE_FP16, 0x7e00, 0xfe01) == 0);
    assert_true(isinf(num_distance(TMG_DTYPE_FP16, 0x7e00, 0)));
    assert_true(num_distance(TMG_DTYPE_I8, 0xff, 1) == 2);
    assert_true(num_distance(TMG_DTYPE_U8, 0xff, 1) == 254);
    assert_true(num_distance(TMG_DTYPE_I16, 0xffff, 1) == 2);
}

static void test_wrong_files_are_refused(void **state) {
    (void)state;
#define HEAD "{\"tmagen_record\":1,\"device\":\"x\",\"seed\":1}\n"
#define CASE "{\"kernel\":\"k\",\"shape\":\"1\",\"padding\":0,\"inputs\":\"\",\"outputs\":"
    static const char *const texts[] = {
        "",
        "\n",
        "{}\n",
        "[]\n",
        "nonsense\n",
        "{\"tmagen_record\":2,\"device\":\"x\",\"seed\":1}\n",
        "{\"tmagen_record\":1,\"device\":\"x\\u001b\",\"seed\":1}\n",
        "{\"tmagen_record\":1,\"device\":\"x\",\"seed\":-1}\n",
        (HEAD "{\"kernel\":\"k\"}\n"),
        (HEAD CASE "[]}\n"),
        (HEAD CASE "[{\"name\":1}]}\n"),
    };
    struct record record;
    char error[300];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        assert_int_equal(read_text(texts[i], strlen(texts[i]), &record, error), -1);
        assert_non_null(strstr(error, "/tmp/tmagen-record-"));
    }
    assert_int_equal(record_read(&record, "/nowhere/record", error, sizeof error), -1);
    assert_int_equal(record_read(&record, "/dev/zero", error, sizeof error), -1);
    assert_string_equal(error, "/dev/zero: is no plain file");
    static const char zero[] = HEAD "\0";  // nothing stands behind a zero byte
    assert_int_equal(read_text(zero, sizeof zero, &record, error), -1);
}

// A shape is shown where it is none, so nothing that a terminal obeys may be in it.
static void test_a_shape_is_printable(void **state) {
    (void)state;
    struct record_problem f;
    struct record record;
    size_t length;
    char error[300];
    make(&f, bf16, 9, 8, 0, 0);
    char *text = text_of(&f, 1, &length);
    memcpy(strstr(text, "9x8x16"), "\\u001b", 6);
    assert_int_equal(read_text(text, length, &record, error), -1);
    assert_non_null(strstr(error, ":2: not a case of a record"));
    free(text);
    drop(&f);
}

// Whatever happens to a file's bytes, it is refused, or what it says can be compared with.
static void test_damaged_files(void **state) {
    (void)state;
    struct record_problem f;
    struct record record;
    size_t length;
    char error[300], report[2048];
    make(&f, bf16, 9, 8, 0, 0);
    char *text = text_of(&f, 1, &length);
    json_t *now = line_of(&f);
    for (uint64_t i = 0; i < 3000; ++i) {
        char *copy = malloc(length);
        assert_non_null(copy);
        memcpy(copy, text, length);
        const size_t at = (size_t)random_below(1, i, (int64_t)length);
        size_t kept = length;
        if (i % 3 == 0) kept = at;
        if (i % 3 == 1) copy[at] = (char)random_bits(2, i);
        if (i % 3 == 2) memmove(copy + at, copy + at + 1, --kept - at);
        if (!read_text(copy, kept, &record, error)) {
            for (size_t j = 0; j < record.count; ++j) {
                record_equal(&record, record.cases[j], now, &f.problem, report, sizeof report);
            }
            record_free(&record);
        }
        free(copy);
    }
    json_decref(now);
    free(text);
    drop(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_record_comes_back),
        cmocka_unit_test(test_gaps_do_not_count),
        cmocka_unit_test(test_one_bit_is_found),
        cmocka_unit_test(test_other_inputs_are_told),
        cmocka_unit_test(test_another_shape_or_type_is_told),
        cmocka_unit_test(test_distances),
        cmocka_unit_test(test_wrong_files_are_refused),
        cmocka_unit_test(test_a_shape_is_printable),
        cmocka_unit_test(test_damaged_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

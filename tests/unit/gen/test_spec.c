// The spec reader: what a text means, where its parts are, and that hostile texts end in an error.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gen/spec.h"

struct parsed {
    struct arena arena;
    struct diag *diag;
    struct spec_node *top;
};

static struct parsed parse_bytes(const char *text, size_t len) {
    struct parsed p = {.diag = diag_new()};
    struct diag_place start = {.file = "t", .line = 1, .column = 1};
    p.top = spec_parse(&p.arena, p.diag, start, SPEC_FROM_FILE, text, len);
    return p;
}

static struct parsed parse(const char *text) { return parse_bytes(text, strlen(text)); }

static void done(struct parsed *p) {
    diag_free(p->diag);
    arena_free(&p->arena);
}

static void test_places(void **state) {
    (void)state;
    struct parsed p = parse("kernel: gemm\ntile: {m: 64,\n  'größe': 1}\nops:\n  - bias\n");
    struct spec_node *tile = spec_get(p.top, "tile");
    assert_int_equal(tile->kind, SPEC_MAP);
    assert_int_equal(tile->place.line, 2);
    assert_int_equal(tile->place.column, 7);
    assert_int_equal(tile->values[0]->place.column, 11);
    assert_int_equal(tile->values[1]->place.line, 3);
    assert_int_equal(tile->values[1]->place.column, 12);  // in characters, not bytes
    assert_int_equal(spec_get(p.top, "ops")->values[0]->place.line, 5);
    assert_null(spec_get(p.top, "nothing"));
    done(&p);
}

static void test_scalars(void **state) {
    (void)state;
    static const struct {
        const char *text;
        enum spec_type type;
        long long integer;
        double real;
    } rows[] = {
        {"12", SPEC_INT, 12, 12},
        {"-12", SPEC_INT, -12, -12},
        {"+3", SPEC_INT, 3, 3},
        {"010", SPEC_INT, 10, 10},
        {"0x1F", SPEC_INT, 31, 31},
        {"0o17", SPEC_INT, 15, 0},
        {"9223372036854775807", SPEC_INT, 9223372036854775807, 9223372036854775807.0},
        {"9223372036854775808", SPEC_FLOAT, 0, 9223372036854775808.0},
        {"0xffffffffffffffffff", SPEC_FLOAT, 0, 4722366482869645213695.0},
        {"1.5", SPEC_FLOAT, 0, 1.5},
        {".5", SPEC_FLOAT, 0, 0.5},
        {"5.", SPEC_FLOAT, 0, 5},
        {"-1e-3", SPEC_FLOAT, 0, -0.001},
        {"1e", SPEC_STRING, 0, 0},
        {".", SPEC_STRING, 0, 0},
        {"1_000", SPEC_STRING, 0, 0},
        {"0x", SPEC_STRING, 0, 0},
        {".inf", SPEC_STRING, 0, 0},
        {"nan", SPEC_STRING, 0, 0},
        {"true", SPEC_BOOL, 1, 0},
        {"False", SPEC_BOOL, 0, 0},
        {"yes", SPEC_STRING, 0, 0},
        {"null", SPEC_NULL, 0, 0},
        {"~", SPEC_NULL, 0, 0},
        {"'12'", SPEC_STRING, 0, 0},
        {"\"true\"", SPEC_STRING, 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct parsed p = parse(rows[i].text);
        long long integer = 0;
        double real = 0;
        assert_non_null(p.top);
        if (spec_scalar(p.top, &integer, &real) != rows[i].type) fail_msg("%s", rows[i].text);
        if (rows[i].type == SPEC_INT || rows[i].type == SPEC_BOOL)
            assert_true(integer == rows[i].integer);
        if (rows[i].type == SPEC_FLOAT) assert_true(real == rows[i].real);
        done(&p);
    }
}

static void test_aliases_share(void **state) {
    (void)state;
    struct parsed p = parse("a: &a {x: 1}\nb: *a\nc: {<<: *a, y: 2}\n");
    assert_ptr_equal(spec_get(p.top, "a"), spec_get(p.top, "b"));
    struct spec_node *c = spec_get(p.top, "c");
    assert_int_equal(c->count, 2);
    assert_ptr_equal(spec_get(c, "x"), spec_get(spec_get(p.top, "a"), "x"));
    done(&p);
}

static void test_own_keys_win_over_merged(void **state) {
    (void)state;
    struct parsed p = parse("a: &a {x: 1, y: 1}\nb: &b {x: 2, z: 2}\nc: {x: 3, <<: [*b, *a]}\n");
    struct spec_node *c = spec_get(p.top, "c");
    assert_int_equal(c->count, 3);
    assert_string_equal(spec_get(c, "x")->text, "3");
    assert_string_equal(spec_get(c, "y")->text, "1");
    assert_string_equal(spec_get(c, "z")->text, "2");
    done(&p);
}

static void test_every_error_of_one_run(void **state) {
    (void)state;
    struct parsed p = parse("a: 1\na: 2\nb: {c: 1, c: 2}\n");
    assert_int_equal(diag_errors(p.diag), 2);
    assert_string_equal(spec_get(p.top, "a")->text, "1");  // the rest can still be judged
    done(&p);
}

static void test_column_of_bad_bytes(void **state) {
    (void)state;
    struct parsed p = parse("a: 1\n\xc3\xa4: \xff\n");
    char *printed = NULL;
    size_t len;
    FILE *out = open_memstream(&printed, &len);
    assert_null(p.top);
    diag_print(p.diag, out);
    fclose(out);
    assert_memory_equal(printed, "t:2:4: error:", 13);
    free(printed);
    done(&p);
}

static void test_start_shifts_places(void **state) {
    (void)state;
    struct arena arena = {0};
    struct diag *diag = diag_new();
    struct diag_place start = {.file = "--set", .line = 3, .column = 8};
    struct spec_node *list = spec_parse(&arena, diag, start, SPEC_FROM_SET, "[1, 2]", 6);
    assert_int_equal(list->values[1]->place.line, 3);
    assert_int_equal(list->values[1]->place.column, 12);
    assert_int_equal(list->values[1]->origin, SPEC_FROM_SET);
    diag_free(diag);
    arena_free(&arena);
}

// Every cut and every changed byte of a text must parse or give an error, and never crash.
static void test_damaged_texts(void **state) {
    (void)state;
    static const char whole[] =
        "kernel: &k gemm\ntile: {m: [1, 2], n: *k, <<: {o: ~}}\n# c\nx: |\n  t\n\ny: \"\\u00e4\"\n";
    size_t len = sizeof whole - 1;
    for (size_t cut = 0; cut <= len; cut++) {
        struct parsed p = parse_bytes(whole, cut);
        assert_true(p.top || diag_errors(p.diag));
        done(&p);
    }
    static const char bytes[] = {0, '\n', '{', '[', '*', '&', '"', ':', '-', '\t', (char)0xff};
    for (size_t at = 0; at < len; at++) {
        for (size_t i = 0; i < sizeof bytes; i++) {
            char changed[sizeof whole];
            memcpy(changed, whole, sizeof whole);
            changed[at] = bytes[i];
            struct parsed p = parse_bytes(changed, len);
            assert_true(p.top || diag_errors(p.diag));
            done(&p);
        }
    }
}

static void test_chain_of_aliases(void **state) {
    (void)state;
    char *text = mem_copy("a0: &a0 [1]\n");
    for (int i = 1; i < 300; i++) {
        char *more = mem_format("%sa%d: &a%d [*a%d]\n", text, i, i, i - 1);
        free(text);
        text = more;
    }
    struct parsed p = parse(text);
    assert_non_null(p.top);
    done(&p);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_scalars),
        cmocka_unit_test(test_aliases_share),
        cmocka_unit_test(test_own_keys_win_over_merged),
        cmocka_unit_test(test_every_error_of_one_run),
        cmocka_unit_test(test_column_of_bad_bytes),
        cmocka_unit_test(test_start_shifts_places),
        cmocka_unit_test(test_damaged_texts),
        cmocka_unit_test(test_chain_of_aliases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// The rule for keeping an optimisation, a ladder as text, and the ledger around it.
// What people wrote into the ledger must outlive every run, and no text may forge a marker.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/ladder.h"
#include "measure/ledger.h"

static struct stats around(double median, double spread) {
    return (struct stats){.median = median,
                          .lower = median - spread,
                          .upper = median + spread,
                          .least = median - spread,
                          .greatest = median + spread,
                          .count = 9};
}

static void test_rule(void **state) {
    (void)state;
    static const struct {
        double median, spread;
        enum ladder_decision decision;
    } cases[] = {
        {2, 0.001, LADDER_KEEP},        {1.051, 0.5, LADDER_KEEP},  {1.05, 0.01, LADDER_KEEP},
        {1.05, 0.06, LADDER_UNCLEAR},   {1.02, 0.019, LADDER_KEEP}, {1.02, 0.021, LADDER_UNCLEAR},
        {1.0001, 0.01, LADDER_UNCLEAR}, {1, 0, LADDER_UNCLEAR},     {0.9999, 0.0001, LADDER_REVERT},
        {0.5, 0.3, LADDER_REVERT},      {NAN, NAN, LADDER_NONE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
        assert_int_equal(ladder_decide(around(cases[i].median, cases[i].spread)),
                         cases[i].decision);
    assert_int_equal(ladder_decide((struct stats){.median = 2}), LADDER_NONE);
}

// The quartiles count, and not the extremes or the distance to one of them.
static void test_spread_is_half_the_quartile_distance(void **state) {
    (void)state;
    struct stats ratio = around(1.02, 0.5);
    ratio.lower = 1.019;
    ratio.upper = 1.045;
    assert_int_equal(ladder_decide(ratio), LADDER_KEEP);
    ratio.upper = 1.061;
    assert_int_equal(ladder_decide(ratio), LADDER_UNCLEAR);
}

// A ladder of two rungs, the second measured at shapes with these ratios; 0: not measured there.
static struct ladder ladder_of(struct ladder_rung *rungs, struct ladder_row *rows,
                               const double *ratios, size_t count) {
    rungs[0] = (struct ladder_rung){.number = 0, .title = "plain", .doc = "", .predict = ""};
    rungs[1] = (struct ladder_rung){.number = 1, .title = "trick", .doc = "done", .predict = "+5%"};
    for (size_t i = 0; i < count; ++i) {
        rows[i] = (struct ladder_row){.rung = 1, .against = 0, .since_first = ratios[i]};
        snprintf(rows[i].shape, sizeof rows[i].shape, "bf16 %zux1x1", i + 1);
        if (ratios[i] > 0) {
            rows[i].ratio = around(ratios[i], 0.001);
            rows[i].before = around(2, 0);
            rows[i].ms = around(2 / ratios[i], 0);
        } else {
            snprintf(rows[i].reason, sizeof rows[i].reason, "n = 1 is no multiple of 8");
        }
    }
    return (struct ladder){.family = "gemm",
                           .command = "tmagen ladder gemm",
                           .rungs = rungs,
                           .rung_count = 2,
                           .rows = rows,
                           .row_count = count,
                           .gpu = "GPU, 132 SMs"};
}

static void test_several_shapes(void **state) {
    (void)state;
    static const struct {
        double ratios[3];
        int shapes;
        enum ladder_decision overall;
    } cases[] = {
        {{1.2, 1.1, 1.01}, 3, LADDER_KEEP}, {{1.2, 1.1, 0.9}, 3, LADDER_MIXED},
        {{1.2, 1, 1}, 3, LADDER_MIXED},     {{1, 1, 0.9}, 3, LADDER_REVERT},
        {{1, 1, 1}, 3, LADDER_UNCLEAR},     {{0.9, 0.8, 0.7}, 3, LADDER_REVERT},
        {{1.2, 0, 1.3}, 2, LADDER_KEEP},    {{0, 0, 0}, 0, LADDER_NONE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        struct ladder_rung rungs[2];
        struct ladder_row rows[3];
        int shapes;
        const struct ladder ladder = ladder_of(rungs, rows, cases[i].ratios, 3);
        assert_int_equal(ladder_overall(&ladder, 1, &shapes), cases[i].overall);
        assert_int_equal(shapes, cases[i].shapes);
        assert_int_equal(ladder_overall(&ladder, 0, &shapes), LADDER_NONE);
    }
}

static void has(const char *text, const char *part) {
    if (!strstr(text, part)) fail_msg("no \"%s\" in:\n%s", part, text);
}

static void test_markdown(void **state) {
    (void)state;
    struct ladder_rung rungs[2];
    struct ladder_row rows[3];
    const double ratios[] = {1.25, 0.5, 0};
    const struct ladder ladder = ladder_of(rungs, rows, ratios, 3);
    char *text = ladder_markdown(&ladder);
    has(text, "`tmagen ladder gemm` on GPU, 132 SMs.\n");
    has(text, "| 0 | plain |  |  |  |  |  |  |  | not measured |\n");
    has(text, "| 1 | trick: done | +5% | bf16 1x1x1 | 2 | 1.6 | 1.250 [1.249, 1.251] | +-0.001 | "
              "1.25 | keep |\n");
    has(text, "| 1 |  |  | bf16 2x1x1 | 2 | 4 | 0.500 [0.499, 0.501] | +-0.001 | 0.5 | revert |\n");
    has(text, "| bf16 3x1x1 |  |  |  |  |  | n = 1 is no multiple of 8 |\n");
    has(text, "| all 2 |  |  |  |  |  | mixed: keep at bf16 1x1x1 only |\n");
    char *again = ladder_markdown(&ladder);
    assert_string_equal(text, again);
    free(again);
    free(text);
    rungs[1].wrong = true;
    const struct ladder wrong = {.family = "gemm", .command = "", .rungs = rungs, .rung_count = 2};
    text = ladder_markdown(&wrong);
    has(text, "WRONG: not measured");
    free(text);
}

// What a family or a command line says can neither break the table nor end the section.
static void test_markdown_of_hostile_texts(void **state) {
    (void)state;
    struct ladder_rung rungs[2];
    struct ladder ladder = ladder_of(rungs, NULL, NULL, 0);
    ladder.command = "tmagen `\n<!-- ladder gemm: end -->";
    rungs[1].title = "a | b\\";
    rungs[1].doc = "\n<!-- ladder gemm: end -->\n";
    char *text = ladder_markdown(&ladder);
    assert_null(strstr(text, "\n<!--"));
    has(text, "| 1 | a \\| b\\\\:  &lt;!-- ladder gemm: end -->  |");
    size_t len;
    char error[200] = "";
    char *ledger = ledger_replace("", 0, "gemm", text, &len, error, sizeof error);
    assert_non_null(ledger);
    free(text);
    text = ledger_replace(ledger, len, "gemm", "new\n", &len, error, sizeof error);
    assert_string_equal(text, "<!-- ladder gemm: begin -->\nnew\n<!-- ladder gemm: end -->\n");
    free(text);
    free(ledger);
}

// ---- The ledger

static char *replace(const char *old, const char *family, const char *section) {
    size_t len;
    char error[300] = "";
    char *text = ledger_replace(old, strlen(old), family, section, &len, error, sizeof error);
    if (!text) fail_msg("refused: %s", error);
    assert_int_equal(len, strlen(text));
    return text;
}

#define BEGIN(family) "<!-- ladder " family ": begin -->\n"
#define END(family)   "<!-- ladder " family ": end -->\n"

static void test_replacing(void **state) {
    (void)state;
    static const struct {
        const char *old, *family, *new;
    } cases[] = {
        {"", "gemm", BEGIN("gemm") "new\n" END("gemm")},
        {"by hand", "gemm", "by hand\n\n" BEGIN("gemm") "new\n" END("gemm")},
        {"by hand\n", "gemm", "by hand\n\n" BEGIN("gemm") "new\n" END("gemm")},
        {"a\r\n" BEGIN("gemm") "old\nold\n" END("gemm") "b \xff", "gemm",
         "a\r\n" BEGIN("gemm") "new\n" END("gemm") "b \xff"},
        {BEGIN("gemm") END("gemm") BEGIN("x-2") "x\n" END("x-2"), "x-2",
         BEGIN("gemm") END("gemm") BEGIN("x-2") "new\n" END("x-2")},
        {BEGIN("gemm2") "x\n" END("gemm2"), "gemm",
         BEGIN("gemm2") "x\n" END("gemm2") "\n" BEGIN("gemm") "new\n" END("gemm")},
        // the last marker without its newline, and with one of another system
        {"<!-- ladder gemm: begin -->\r\nold\n<!-- ladder gemm: end -->", "gemm",
         BEGIN("gemm") "new\n" END("gemm")},
        // speaking of a marker is no marker
        {"see <!-- ladder gemm: begin -->\n", "gemm",
         "see <!-- ladder gemm: begin -->\n\n" BEGIN("gemm") "new\n" END("gemm")},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char *text = replace(cases[i].old, cases[i].family, "new\n");
        assert_string_equal(text, cases[i].new);
        char *again = replace(text, cases[i].family, "new\n");
        assert_string_equal(text, again);
        free(again);
        free(text);
    }
}

static void test_damaged_ledgers(void **state) {
    (void)state;
    static const struct {
        const char *old, *error;
    } cases[] = {
        {"x\n" BEGIN("gemm"), "line 2: ladder gemm begins and never ends"},
        {END("gemm"), "line 1: ladder gemm ends here and has not begun"},
        {END("gemm") BEGIN("gemm"), "line 1: ladder gemm ends here"},
        {BEGIN("gemm") BEGIN("gemm") END("gemm"), "line 2: ladder gemm begins inside ladder gemm"},
        {BEGIN("gemm") END("x"), "line 2: ladder x ends here and has not begun"},
        {BEGIN("x") BEGIN("gemm") END("gemm") END("x"), "begins inside ladder x"},
        {BEGIN("x"), "ladder x begins and never ends"},
        {BEGIN("gemm") END("gemm") BEGIN("gemm") END("gemm"),
         "line 3: ladder gemm begins a second"},
        {"<!-- ladder gemm begin -->\n", "line 1: a marker is <!-- ladder NAME: begin -->"},
        {"<!-- ladder : begin -->\n", "line 1: a marker is"},
        {"<!-- ladder gemm: begin --> x\n", "line 1: a marker is"},
        {"<!-- ladder aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa: begin "
         "-->",
         "line 1: a marker is"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        size_t len;
        char error[300] = "";
        assert_null(ledger_replace(cases[i].old, strlen(cases[i].old), "gemm", "", &len, error,
                                   sizeof error));
        has(error, cases[i].error);
    }
    size_t len;
    char error[300];
    assert_null(ledger_replace("a\0b", 3, "gemm", "", &len, error, sizeof error));
    has(error, "NUL");
}

static void test_names(void **state) {
    (void)state;
    assert_true(ledger_takes("deform_attn") && ledger_takes("a-1"));
    assert_false(ledger_takes("") || ledger_takes("a b") || ledger_takes("a/b") ||
                 ledger_takes("x: end -->"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rule),
        cmocka_unit_test(test_spread_is_half_the_quartile_distance),
        cmocka_unit_test(test_several_shapes),
        cmocka_unit_test(test_markdown),
        cmocka_unit_test(test_markdown_of_hostile_texts),
        cmocka_unit_test(test_replacing),
        cmocka_unit_test(test_damaged_ledgers),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

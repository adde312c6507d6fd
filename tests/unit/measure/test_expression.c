// Expressions of a table's rows: what C says they come to, and NaN for all that is none.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#define REFERENCE_FUNCTIONS_ONLY
#include "templates/lib/reference.h"

static int alike(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

// Both alone and among other points.
static void is(const char *text, double x, double y, double wanted) {
    const double xs[EXPRESSION_POINTS] = {x, x - 1, x + 1, x, -x}, ys[] = {y, y, y + 1, y, -y};
    double all[EXPRESSION_POINTS];
    evaluate_all(text, EXPRESSION_POINTS, xs, ys, all);
    for (int i = 0; i < EXPRESSION_POINTS; ++i) {
        const double got = evaluate(text, xs[i], ys[i]), want = i % 3 ? got : wanted;
        if (!alike(got, want) || !alike(got, all[i]))
            fail_msg("%s at %g, %g: %.17g, among others %.17g, not %.17g", text, xs[i], ys[i], got,
                     all[i], want);
    }
}

static void operators_bind_as_in_c(void **state) {
    (void)state;
    is("1 + 2 * 3", 0, 0, 7);
    is("(1 + 2) * 3", 0, 0, 9);
    is("8 - 4 - 2", 0, 0, 2);
    is("8 / 4 / 2", 0, 0, 1);
    is("2 * 3 / 4 * 5", 0, 0, 7.5);
    is("-x * -y", 3, 4, 12);
    is("8 - -2", 0, 0, 10);
    is("--x", 3, 0, 3);
    is("-(x - y) / 2", 3, 7, 2);
    is("x / 2 * (1 + (3 - y))", 4, 1, 6);
    is("0x1p-11 * 2048", 0, 0, 1);
    is("0x1.8p1", 0, 0, 3);
    is("0.125 + 12.5", 0, 0, 12.625);
}

static void functions_are_those_of_c(void **state) {
    (void)state;
    is("fabs(-x)", 3, 0, 3);
    is("fabs(fabs(x) - y)", -3, 5, 2);
    is("sqrt(x * x + y * y)", 3, 4, 5);
    is("x / (1 + exp(-x))", 0.5, 0, 0.5 / (1 + exp(-0.5)));
    is("x / 2 * (1 + erf(x * 0.5)) * y", 0.5, 3, 0.5 / 2 * (1 + erf(0.5 * 0.5)) * 3);
    is("30 * tanh(x / 30)", 45, 0, 30 * tanh(45.0 / 30));
    is("-exp(x)", 1, 0, -exp(1));
    is("exp(-fabs(x)) * 2", -1, 0, exp(-1) * 2);
}

static void choices_nest(void **state) {
    (void)state;
    for (int x = -2; x <= 2; ++x) {
        is("x < 0 ? 0 : x", x, 0, x < 0 ? 0 : x);
        is("x <= 0 ? -1 : x > 1 ? 2 : 1", x, 0, x <= 0 ? -1 : x > 1 ? 2 : 1);
        is("x < 0 ? x < -1 ? 5 : 6 : x >= 1 ? 7 : 8", x, 0,
           x < 0 ? (x < -1 ? 5 : 6) : (x >= 1 ? 7 : 8));
        is("1 + (x > 0 ? x : -x) * 2", x, 0, 1 + (x > 0 ? x : -x) * 2);
        is("x + 1 > 1 ? x * 2 + 1 : x - 1", x, 0, x + 1 > 1 ? x * 2 + 1 : x - 1);
    }
    is("x < y ? 1 : 2", NAN, 1, 2);
    is("x >= y ? 1 : 2", NAN, 1, 2);
}

static void what_is_none_is_nan(void **state) {
    (void)state;
    const char *const wrong[] = {
        "",      " x",    "x +",         "+ x",         "x y",     "(x",        "x)", "()",
        "x ? 1", "x : 1", "x ? (1 : 2)", "(x ? 1) : 2", "sin(x)",  "fabs x",    "z",  "x ? : 1",
        "x ,y",  "x n y", "x l y",       "1 < 2 ? 3 :", "x > = y", "x ? 1 : 2)"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) is(wrong[i], 1, 2, NAN);
}

static void repeated(char *text, const char *part, int times) {
    for (int i = 0; i < times; ++i) strcat(text, part);
}

static void depth_is_bounded(void **state) {
    (void)state;
    char text[4000] = "";
    repeated(text, "(", 200);
    strcat(text, "x");
    repeated(text, ")", 200);
    is(text, 1, 0, NAN);
    text[0] = 0;
    repeated(text, "-", 200);
    strcat(text, "x");
    is(text, 1, 0, NAN);
    text[0] = 0;
    repeated(text, "x ? 1 : ", 100);
    strcat(text, "2");
    is(text, 0, 0, NAN);
    strcpy(text, "x");
    repeated(text, " + x * 2", 100);
    is(text, 1, 0, 201);
}

// Vectors give the bits of lanes one by one, of any count and from any place on.
static void vectors_add_up_alike(void **state) {
    float x[40], y[40];
    (void)state;
    if (!__builtin_cpu_supports("avx2")) skip();
    for (int i = 0; i < 40; ++i) {
        x[i] = (float)sin(i * 7.3) * ldexpf(1, i % 5);
        y[i] = (float)cos(i * 3.1) / 3;
    }
    for (int count = 0; count < 39; ++count) {
        double sums[2][2] = {{1.5, 2.25}, {1.5, 2.25}};
        add_products(x, y + 1, count, &sums[0][0], &sums[0][1]);
        sum_products(x, y + 1, count, &sums[1][0], &sums[1][1]);
        assert_memory_equal(sums[0], sums[1], sizeof sums[0]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_bind_as_in_c), cmocka_unit_test(functions_are_those_of_c),
        cmocka_unit_test(choices_nest),           cmocka_unit_test(what_is_none_is_nan),
        cmocka_unit_test(depth_is_bounded),       cmocka_unit_test(vectors_add_up_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

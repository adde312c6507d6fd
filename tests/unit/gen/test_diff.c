// The unified diff, held against its meaning: applied to the old text it must give the new one.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gen/diff.h"

static char *diff(const char *old, const char *new) {
    char *printed = NULL;
    size_t len;
    FILE *out = open_memstream(&printed, &len);
    diff_print(out, "a", old, "b", new);
    fclose(out);
    return printed;
}

static const char *next_line(const char *at) {
    const char *newline = strchr(at, '\n');
    return newline ? newline + 1 : at + strlen(at);
}

// Copies [count] lines of *from to [out].
static void copy_lines(const char **from, int count, FILE *out) {
    for (; count > 0; count--) {
        const char *next = next_line(*from);
        assert_true(next > *from);
        fwrite(*from, 1, (size_t)(next - *from), out);
        *from = next;
    }
}

// What [patch] makes of [old]; asserts that the patch fits.
static char *apply(const char *old, const char *patch) {
    char *result = NULL;
    size_t len;
    int line = 1, start, count;
    FILE *out = open_memstream(&result, &len);
    for (const char *at = patch; *at; at = next_line(at)) {
        if (!strncmp(at, "--- ", 4) || !strncmp(at, "+++ ", 4)) continue;
        if (sscanf(at, "@@ -%d,%d", &start, &count) == 2) {
            int skipped = start + (count == 0) - line;
            copy_lines(&old, skipped, out);
            line += skipped;
            continue;
        }
        const char *next = next_line(at);
        if (*at != '-') fwrite(at + 1, 1, (size_t)(next - at - 1), out);
        if (*at == '+') continue;
        assert_memory_equal(old, at + 1, (size_t)(next - at - 1));
        old = next_line(old);
        line++;
    }
    fputs(old, out);
    fclose(out);
    return result;
}

static void random_text(char *text, int lines, int words) {
    for (int i = 0; i < lines; i++) text += sprintf(text, "line %d\n", rand() % words);
    *text = 0;
}

static void test_patches_apply(void **state) {
    (void)state;
    srand(1);
    for (int round = 0; round < 3000; round++) {
        char old[1024], new[1024];
        random_text(old, rand() % 40, 1 + rand() % 12);
        random_text(new, rand() % 40, 1 + rand() % 12);
        char *patch = diff(old, new), *applied = apply(old, patch);
        assert_string_equal(applied, new);
        free(applied);
        free(patch);
    }
}

static void test_small(void **state) {
    (void)state;
    char *patch = diff("a\nb\nc\nd\ne\nf\ng\nh\n", "a\nb\nc\nd\nX\nf\ng\nh\n");
    assert_string_equal(patch, "--- a\n+++ b\n@@ -2,7 +2,7 @@\n b\n c\n d\n-e\n+X\n f\n g\n h\n");
    free(patch);
    patch = diff("a\n", "a\n");
    assert_string_equal(patch, "");
    free(patch);
    patch = diff("", "a\n");
    assert_string_equal(patch, "--- a\n+++ b\n@@ -0,0 +1,1 @@\n+a\n");
    free(patch);
}

static void test_too_different(void **state) {
    (void)state;
    char *old = calloc(1, 100000), *new = calloc(1, 100000);
    for (int i = 0, a = 0, b = 0; i < 4000; i++) {
        a += sprintf(old + a, "old %d\n", i);
        b += sprintf(new + b, "new %d\n", i);
    }
    char *patch = diff(old, new), *applied = apply(old, patch);
    assert_string_equal(applied, new);
    free(applied);
    free(patch);
    free(old);
    free(new);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_patches_apply),
        cmocka_unit_test(test_small),
        cmocka_unit_test(test_too_different),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

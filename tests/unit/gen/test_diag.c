// The form of errors, to the character: editors and scripts read it.
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "gen/diag.h"

static void prints(struct diag *d, const char *expected) {
    char *printed = NULL;
    size_t len;
    FILE *out = open_memstream(&printed, &len);
    diag_print(d, out);
    fclose(out);
    assert_string_equal(printed, expected);
    free(printed);
    diag_free(d);
}

static void test_form(void **state) {
    (void)state;
    static const char text[] = "kernel: gemm\nstages: 9\n";
    struct diag *d = diag_new();
    diag_source(d, "x.yaml", text, strlen(text));
    diag_error(d, (struct diag_place){"x.yaml", 2, 9}, "2..8", "stages: %d is not in 2..8", 9);
    prints(d, "x.yaml:2:9: error: stages: 9 is not in 2..8\n"
              "  stages: 9\n"
              "          ^\n"
              "  legal: 2..8\n");
}

static void test_same_error_once(void **state) {
    (void)state;
    struct diag *d = diag_new();
    for (int i = 0; i < 3; i++) diag_error(d, (struct diag_place){"x", 1, 1}, NULL, "again");
    assert_int_equal(diag_errors(d), 1);
    prints(d, "x:1:1: error: again\n");
}

static void test_order(void **state) {
    (void)state;
    struct diag *d = diag_new();
    diag_error(d, (struct diag_place){"b", 9, 1}, NULL, "late");
    diag_note(d, (struct diag_place){"a", 1, 0}, "called from here");
    diag_error(d, (struct diag_place){"a", 5, 1}, NULL, "other file");
    diag_error(d, (struct diag_place){"b", 2, 1}, NULL, "early");
    assert_int_equal(diag_errors(d), 3);
    prints(d, "b:2:1: error: early\nb:9:1: error: late\na:1: note: called from here\n"
              "a:5:1: error: other file\n");
}

static void test_nothing_reaches_the_terminal_raw(void **state) {
    (void)state;
    static const char text[] = "\x1b[2J\xff\xc2\x9b\tx\xc3\xa9y";
    struct diag *d = diag_new();
    diag_source(d, "t", text, strlen(text));
    diag_error(d, (struct diag_place){"t", 1, 1}, NULL, "bad '\x1b[2J\r\xed\xa0\x80'");
    prints(d, "t:1:1: error: bad '?[2J?\?\?\?'\n  ?[2J?\?\? x\xc3\xa9y\n  ^\n");
}

static void test_without_place_or_line(void **state) {
    (void)state;
    struct diag *d = diag_new();
    diag_source(d, "t", "\n\nlast", 6);
    diag_error(d, (struct diag_place){0}, NULL, "nowhere");
    diag_error(d, (struct diag_place){"t", 0, 0}, NULL, "whole file");
    diag_error(d, (struct diag_place){"t", 2, 1}, NULL, "empty line");
    diag_error(d, (struct diag_place){"t", 3, 5}, NULL, "last line");
    diag_error(d, (struct diag_place){"t", 99, 5}, NULL, "beyond");
    prints(d, "error: nowhere\nt: error: whole file\nt:2:1: error: empty line\n"
              "t:3:5: error: last line\n  last\n      ^\nt:99:5: error: beyond\n");
}

static void test_at_most_a_hundred(void **state) {
    (void)state;
    struct diag *d = diag_new();
    char *printed = NULL;
    size_t len;
    for (int i = 1; i <= 250; i++) diag_error(d, (struct diag_place){"t", i, 1}, NULL, "no");
    FILE *out = open_memstream(&printed, &len);
    diag_print(d, out);
    fclose(out);
    assert_non_null(strstr(printed, "t:100:1: error: no\n... and 150 more\n"));
    free(printed);
    diag_free(d);
}

// A remark goes with its error, also where that was reported before.
static void test_notes_of_the_same_error(void **state) {
    (void)state;
    struct diag *d = diag_new();
    diag_error(d, (struct diag_place){"x", 1, 1}, NULL, "again");
    diag_note(d, (struct diag_place){"x", 3, 0}, "called from here");
    diag_error(d, (struct diag_place){"x", 2, 1}, NULL, "another");
    diag_error(d, (struct diag_place){"x", 1, 1}, NULL, "again");
    diag_note(d, (struct diag_place){"x", 4, 0}, "called from there");
    prints(d, "x:1:1: error: again\nx:3: note: called from here\nx:2:1: error: another\n");
}

// Where many processes write to one terminal, each error comes in one piece: a pipe of packets
// shows the pieces.
static void test_one_piece(void **state) {
    (void)state;
    int ends[2], standard = dup(STDERR_FILENO);
    char packet[4096];
    assert_int_equal(pipe2(ends, O_DIRECT), 0);
    dup2(ends[1], STDERR_FILENO);
    struct diag *d = diag_new();
    diag_error(d, (struct diag_place){"x", 1, 1}, "another", "first");
    diag_error(d, (struct diag_place){"x", 2, 1}, NULL, "second");
    diag_print(d, stderr);
    diag_say("%s", "third");
    dup2(standard, STDERR_FILENO);
    ssize_t len = read(ends[0], packet, sizeof packet - 1);
    packet[len > 0 ? len : 0] = 0;
    assert_string_equal(packet, "x:1:1: error: first\n  legal: another\nx:2:1: error: second\n");
    len = read(ends[0], packet, sizeof packet - 1);
    packet[len > 0 ? len : 0] = 0;
    assert_string_equal(packet, "tmagen: error: third\n");
    diag_free(d);
    close(ends[0]);
    close(ends[1]);
    close(standard);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_form),
        cmocka_unit_test(test_same_error_once),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_nothing_reaches_the_terminal_raw),
        cmocka_unit_test(test_without_place_or_line),
        cmocka_unit_test(test_at_most_a_hundred),
        cmocka_unit_test(test_notes_of_the_same_error),
        cmocka_unit_test(test_one_piece),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

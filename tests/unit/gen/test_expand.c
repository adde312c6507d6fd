// The translation of templates to Lua, and the little lexer that it stands on.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gen/expand.h"
#include "gen/lualex.h"

#define CHUNK "local __text, __indent, include = ...; "

static void translates(const char *text, const char *expected) {
    struct diag *diag = diag_new();
    size_t len;
    char *chunk = expand_translate(diag, "t", text, strlen(text), &len);
    if (!chunk) diag_print(diag, stdout);
    assert_non_null(chunk);
    assert_string_equal(chunk, expected);
    assert_int_equal(len, strlen(chunk));
    free(chunk);
    diag_free(diag);
}

static void test_text_and_values(void **state) {
    (void)state;
    translates("a ${x} b\n", CHUNK "__text(1,\"a \",(x),\" b\")\n");
    translates("\n${a}${b}", CHUNK "__text(1,\"\")\n__text(2,\"\",(a),\"\",(b),\"\")\n");
    translates("\"q\\\"\t", CHUNK "__text(1,\"\\034q\\092\\034\\009\")\n");
    translates("cr\r\n", CHUNK "__text(1,\"cr\")\n");
    translates("  $${x} $1 $", CHUNK "__text(1,\"  ${x} $1 $\")\n");
    translates("  $$ x", CHUNK "__text(1,\"  $ x\")\n");
    translates("  $${x}", CHUNK "__text(1,\"  ${x}\")\n");
}

static void test_values_hold_lua(void **state) {
    (void)state;
    translates("${\"}\"}", CHUNK "__text(1,\"\",(\"}\"),\"\")\n");
    translates("${{1}}", CHUNK "__text(1,\"\",({1}),\"\")\n");
    translates("${[=[}]]}]=]}", CHUNK "__text(1,\"\",([=[}]]}]=]),\"\")\n");
    translates("${f('\\'}')}", CHUNK "__text(1,\"\",(f('\\'}')),\"\")\n");
    translates("${a[b[1]]}", CHUNK "__text(1,\"\",(a[b[1]]),\"\")\n");
}

static void test_blocks_shift_text(void **state) {
    (void)state;
    translates("$ if a then\n    x\n$ else\n      y\n$ end\nz\n", CHUNK
               " if a then\n__text(2,\"x\")\n else\n__text(4,\"  y\")\n end\n__text(6,\"z\")\n");
    translates("$ f(function() return 1 end)\nx\n",
               CHUNK " f(function() return 1 end)\n__text(2,\"x\")\n");
    translates("$ local s = \"then do\" -- function\nx\n",
               CHUNK " local s = \"then do\" -- function\n__text(2,\"x\")\n");
    translates("$ repeat\n    x\n$ until true\ny",
               CHUNK " repeat\n__text(2,\"x\")\n until true\n__text(4,\"y\")\n");
    translates("$ local vendor, end_of, x = 1\nx",
               CHUNK " local vendor, end_of, x = 1\n__text(2,\"x\")\n");
}

static void test_include_knows_its_place(void **state) {
    (void)state;
    translates("    $ include(\"a\")", CHUNK "__indent(4)  include(\"a\")\n");
    translates("    $ if a then include(\"b\")\n    $ else include(\"c\")\n    $ end",
               CHUNK "__indent(4)  if a then include(\"b\")\n"
                     "__indent(4)  else include(\"c\")\n end\n");
    translates("$ if a then\n        $ include(\"b\")\n$ end",
               CHUNK " if a then\n__indent(4)  include(\"b\")\n end\n");
}

static void refuses(const char *text, int line, int column) {
    struct diag *diag = diag_new();
    size_t len;
    char *printed = NULL, *expected = NULL;
    assert_null(expand_translate(diag, "t", text, strlen(text), &len));
    FILE *out = open_memstream(&printed, &len);
    diag_print(diag, out);
    fclose(out);
    assert_true(asprintf(&expected, "t:%d:%d: error: ", line, column) > 0);
    if (strncmp(printed, expected, strlen(expected)) != 0) fail_msg("%s: %s", text, printed);
    free(expected);
    free(printed);
    diag_free(diag);
}

static void test_mistakes(void **state) {
    (void)state;
    refuses("a ${b", 1, 3);
    refuses("\na ${\"b}", 2, 3);
    refuses("${}", 1, 1);
    refuses("${a)}", 1, 1);
    refuses("${a -- b}", 1, 1);
    refuses("$ x = \"", 1, 7);
    refuses("$ x = [==[ ]=]", 1, 7);
    refuses("$ do\n  a\n$ end", 2, 3);
    refuses("$ do\n\ta\n$ end", 2, 1);
}

static void test_values_by_number(void **state) {
    (void)state;
    static const char line[] = "$${no} ${a} x ${b[\"}\"]} ${c";
    const char *end = line + sizeof line - 1, *stop;
    const char *value = expand_value(line, end, 1, &stop);
    assert_int_equal(stop - value, 6);
    assert_memory_equal(value, "b[\"}\"]", 6);
    assert_non_null(expand_value(line, end, 0, &stop));
    assert_null(expand_value(line, end, 2, &stop));
}

static void test_tokens(void **state) {
    (void)state;
    static const char text[] = "x1 = 0x1F..'a\\'b'--[==[ c ]==] end --";
    static const struct {
        enum lua_token_kind kind;
        const char *text;
    } expected[] = {
        {LUA_TOKEN_WORD, "x1"},
        {LUA_TOKEN_OTHER, "="},
        {LUA_TOKEN_TEXT, "0x1F.."},
        {LUA_TOKEN_TEXT, "'a\\'b'"},
        {LUA_TOKEN_TEXT, "--[==[ c ]==]"},
        {LUA_TOKEN_WORD, "end"},
        {LUA_TOKEN_TEXT, "--"},
        {LUA_TOKEN_END, ""},
    };
    const char *end = text + sizeof text - 1;
    struct lua_token token = lua_token_next(text, end);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_int_equal(token.kind, expected[i].kind);
        assert_int_equal(token.end - token.begin, strlen(expected[i].text));
        assert_memory_equal(token.begin, expected[i].text, strlen(expected[i].text));
        token = lua_token_next(token.end, end);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_and_values),
        cmocka_unit_test(test_values_hold_lua),
        cmocka_unit_test(test_blocks_shift_text),
        cmocka_unit_test(test_include_knows_its_place),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_values_by_number),
        cmocka_unit_test(test_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

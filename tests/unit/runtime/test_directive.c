// Sources that take in files, in every disguise that a preprocessor sees through, and others that
// only speak of it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "runtime/directive.h"
#include "runtime/tmagen.h"

static const struct {
    int line;
    const char *word, *source;
} asking[] = {
    {1, "include", "#include <x>\n"},
    {1, "include", "#include <x>"},
    {2, "include", "int a;\n#include \"x\"\n"},
    {1, "include", "  #  include <x>\n"},
    {1, "include", "\t#\tinclude <x>\n"},
    {1, "include", "#include/**/<x>\n"},
    {1, "include", "/* a */ # /* b */ include <x>\n"},
    {2, "include", "/* a\n */ #include <x>\n"},
    {1, "include", "%:include <x>\n"},
    {1, "include", "%:  include <x>\n"},
    {1, "include", "?\?=include <x>\n"},
    {1, "include", "?\?= include <x>\n"},
    {2, "include", "#\\\ninclude <x>\n"},
    {1, "include", "#inc\\\nlude <x>\n"},
    {1, "include", "#inc\\\r\nlude <x>\r\n"},
    {1, "include", "#inc\\ \nlude <x>\n"},
    {1, "include", "#inc?\?/\nlude <x>\n"},
    {2, "include", "%\\\n:include <x>\n"},
    {1, "include", "#include M\n"},
    {1, "include_next", "#include_next <x>\n"},
    {1, "import", "#import <x>\n"},
    {1, "embed", "#embed \"x\"\n"},
    {1, "__has_include", "#if __has_include(<x>)\n#endif\n"},
    {3, "__has_include", "#if 1\n#define A 1\n#elif __has_include (<x>)\n#endif\n"},
    {1, "__has_include", "#if defined(A) && __has_inc\\\nlude(<x>)\n#endif\n"},
    {1, "__has_include", "#define HAS __has_include\n"},
    {3, "include", "#if 0\n#else\n#include <x>\n#endif\n"},
    {2, "include", "// a \\ b\n#include <x>\n"},
    {2, "include", "// a ?\?/\n#include <x>\n"},  // a comment in C++14, a directive in C++17
    {2, "include", "char a = '\"';\n#include <x>\n"},
    {2, "include", "int a = 1'000;\n#include <x>\n"},
    {2, "include", "int a = 0x1'0'\n#include <x>\n"},
    {2, "include", "#error don't\n#include <x>\n"},
    {2, "include", "char a[] = \"\\\"\";\n#include <x>\n"},
    {2, "include", "char a[] = \"\\\\\";\n#include <x>\n"},
    {2, "include", "char a[] = R\"x()y\")x\";\n#include <x>\n"},
    {4, "include", "char a[] = R\"(\n\\\n)\";\n#include <x>\n"},
    {2, "include", "char a[] = FOOR\"(\";\n#include <x>\n"},
    {1, "include", "/* a */#include <x>\n"},
    {1, "include", "/**/%:/**/include <x>\n"},
    {2, "include", "int a;\r#include <x>\n"},
    {2, "include", "\f\n\v#include <x>\n"},
    {3, "include", "float a = 1.5e-3'0;\n#pragma unroll\n#include <x>\n"},
};

static const char *const innocent[] = {
    "",
    "int include;\n",
    "#define include 1\n",
    "#pragma include <x>\n",
    "#includes <x>\n",
    "// #include <x>\n",
    "//\\\n#include <x>\n",
    "/*\n#include <x>\n*/\n",
    "/* \" */ int a; // '\n",
    "char a[] = \"\\\n#include <x>\\n\";\n",
    "char a[] = \"#include <x>\";\n",
    "char a[] = \"__has_include\"; // __has_include(<x>)\n",
    "char a[] = R\"(\n#include <x>\n)\";\n",
    "char a[] = u8R\"d(\n)\" #include\n#include <x>\n)d\";\n",
    "int a; #include <x>\n",
    "asm(\"import\");\n",
    "int has_include = 1, __has_includes;\n",
    "#",
    "%",
    "%:",
    "#\\",
    "?\?=",
    "R\"",
    "'include",
    "/*include",
};

static void test_asking(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof asking / sizeof *asking; ++i) {
        const char *word = NULL;
        const int line = tmg_source_asks(asking[i].source, strlen(asking[i].source), &word);
        if (!line || strcmp(word, asking[i].word))
            fail_msg("taken for innocent: %s", asking[i].source);
        if (line != asking[i].line) fail_msg("line %d of: %s", line, asking[i].source);
    }
}

static void test_innocent(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof innocent / sizeof *innocent; ++i) {
        const char *word = NULL;
        if (tmg_source_asks(innocent[i], strlen(innocent[i]), &word))
            fail_msg("taken for %s: %s", word, innocent[i]);
    }
}

// Cut anywhere, without a zero behind it: nothing is read beyond.
static void test_cut(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof asking / sizeof *asking; ++i)
        for (size_t bytes = strlen(asking[i].source) + 1; bytes-- > 0;) {
            const char *word = NULL;
            char *cut = test_malloc(bytes + 1);
            memcpy(cut, asking[i].source, bytes);
            tmg_source_asks(cut, bytes, &word);
            test_free(cut);
        }
}

static void test_compile_refuses(void **state) {
    (void)state;
    static const char source[] = "// a kernel\n#include <cuda_fp16.h>\n";
    const tmagen_compile_options options = {
        .arch = "sm_90a", .name = "k.cu", .mode = TMAGEN_NO_CACHE};
    tmagen_code code;
    assert_int_equal(tmagen_compile(source, strlen(source), &options, &code),
                     TMAGEN_ERROR_ARGUMENT);
    assert_non_null(strstr(tmagen_error_last(), "k.cu:2: #include asks for another file"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_asking),
        cmocka_unit_test(test_innocent),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_compile_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

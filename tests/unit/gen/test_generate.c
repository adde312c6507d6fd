// Generation as a whole: the map from source lines to templates, the wrappers that a kernel gets,
// and that the same input gives the same bytes whatever was generated before.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "gen/file.h"
#include "gen/generate.h"
#include "gen/alloc.h"

static char folder[] = "/tmp/tmagen-generate-XXXXXX";

static void write_file(const char *name, const char *text) {
    char *path = mem_format("%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    free(path);
}

static void make_folder(const char *name) {
    char *path = mem_format("%s/%s", folder, name);
    assert_null(file_make_folder(path));
    free(path);
}

static const char FAMILY[] =
    "return { name = 'pair', doc = 'd', arch = { 'sm_90a' }, template = 'kernel.cu.in',\n"
    "  knobs = { { 'n', type = 'int', default = 2, doc = 'n' } },\n"
    "  plan = function(s) return { smem_bytes = 64, launch = { block = { 32, 2, 1 } } } end,\n"
    "  manifest = function(s, p) return require('rows').manifest('pair', s, p, {\n"
    "    reference = json.object { { 'name', 'pair' },\n"
    "    { 'quote', 'a\"\\\\\\n\\t\\1' }, { 'numbers', { 1, 0.1, -3, 1e300, 2.0 } },\n"
    "    { 'nested', { { 1 }, { { 2 }, 3 } } },\n"
    "    { 'fits', { ('x'):rep(104) } }, { 'more', { ('x'):rep(105) } },\n"
    "    { 'empty', json.array {} }, { 'object', json.object {} }, { 'yes', true },\n"
    "    { 'long', { ('x'):rep(90), ('y'):rep(90) } } } }) end }\n";

static const char KERNEL[] = "$ local count = n\n"
                             "first(one);\n"
                             "\n"
                             "\n"
                             "$ for i = 1, count do\n"
                             "    body(two, ${i});\n"
                             "$ end\n"
                             "$ include('part.cu.in')\n"
                             "// four is only spoken of, \"five\" is in a text: f(\"five\");\n"
                             "${\"x;\\ny;\"}\n";

static const char WRAPPERS[] =
    "// a file's heading names one, two, three, four and five\n"
    "\n"
    "using one = int;\n"
    "\n"
    "using zero = one;\n"
    "\n"
    "struct two {\n"
    "    zero member;\n"
    "\n"
    "    three_t other;\n"
    "};\n"
    "\n"
    "// a comment of three_t\n"
    "enum class three_t { a };\n"
    "\n"
    "struct alignas(64) four {};\n"
    "\n"
    "template <int N, typename T>\n"
    "__device__ __forceinline__ T body(four x, int y) {\n"
    "    return six(\"seven\");\n"
    "}\n"
    "\n"
    "constexpr int five = 5;\n"
    "\n"
    "__device__ inline __attribute__((noinline)) int six() { return 6; }\n"
    "\n"
    "__device__ int seven() { return 7; }\n";

static int set_up(void **state) {
    (void)state;
    if (!mkdtemp(folder)) return -1;
    make_folder("templates/pair");
    make_folder("templates/ptx");
    write_file("templates/pair/family.lua", FAMILY);
    write_file("templates/pair/kernel.cu.in", KERNEL);
    write_file("templates/pair/part.cu.in", "partial;\n");
    write_file("templates/ptx/zzz.cuh", WRAPPERS);
    write_file("templates/ptx/generated.cuh.in",
               "$ for i = 1, 3 do\n    __device__ int partial${i}() { return partial; }\n\n$ end\n"
               "using partial = two;\n");
    write_file("plain.yaml", "kernel: pair\n");
    write_file("other.yaml", "kernel: pair\nn: 3\n");
    write_file("sweep.yaml", "kernel: pair\nn: [1, 2, 3]\n");
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    char *command = mem_format("rm -rf %s", folder);
    int status = system(command);
    free(command);
    return status;
}

static struct gen_result generate(const char *name) {
    char *spec = mem_format("%s/%s", folder, name);
    char *templates = mem_format("%s/templates", folder);
    struct gen_options options;
    struct gen_result result;
    gen_options_init(&options);
    free(options.templates);
    options.templates = templates;
    assert_int_equal(gen_spec(spec, &options, &result), 0);
    gen_options_free(&options);
    free(spec);
    return result;
}

// Asserts that the source line [text] comes from [line] of the file that ends in [file].
static void comes_from(const struct gen_output *out, const char *text, const char *file, int line) {
    const char *at = out->source;
    for (size_t i = 0; i < out->line_count; i++, at = strchr(at, '\n') + 1) {
        if (strncmp(at, text, strlen(text)) != 0) continue;
        assert_int_equal(out->lines[i].line, line);
        if (!file) {
            assert_null(out->lines[i].file);
            return;
        }
        size_t len = strlen(out->lines[i].file);
        assert_true(len >= strlen(file));
        assert_string_equal(out->lines[i].file + len - strlen(file), file);
        return;
    }
    fail_msg("no line %s", text);
}

static void test_every_line_has_its_origin(void **state) {
    (void)state;
    struct gen_result result = generate("plain.yaml");
    const struct gen_output *out = result.outputs;
    size_t newlines = 0;
    for (size_t i = 0; i < out->source_len; i++) newlines += out->source[i] == '\n';
    assert_int_equal(out->line_count, newlines);
    assert_int_equal(out->source_len, strlen(out->source));
    comes_from(out, "// plain:", NULL, 0);
    comes_from(out, "struct two", "ptx/zzz.cuh", 7);
    comes_from(out, "    three_t other", "ptx/zzz.cuh", 10);
    comes_from(out, "using partial", "ptx/generated.cuh.in", 5);
    comes_from(out, "first(", "pair/kernel.cu.in", 2);
    comes_from(out, "body(two, 2)", "pair/kernel.cu.in", 6);
    comes_from(out, "partial;", "pair/part.cu.in", 1);
    comes_from(out, "y;", "pair/kernel.cu.in", 10);
    gen_result_free(&result);
}

static void test_wrappers_that_are_named(void **state) {
    (void)state;
    struct gen_result result = generate("plain.yaml");
    const char *source = result.outputs[0].source;
    static const char *const there[] = {
        "using one =", "struct two {", "enum class three_t", "struct alignas(64) four",
        "T body(four", "int six()",    "using partial ="};
    static const char *const absent[] = {"constexpr int five", "int seven()", "int partial1",
                                         "heading"};
    for (size_t i = 0; i < sizeof there / sizeof *there; i++)
        if (!strstr(source, there[i])) fail_msg("%s is not there", there[i]);
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        if (strstr(source, absent[i])) fail_msg("%s is there", absent[i]);
    assert_non_null(strstr(source, "\n\nusing one = int;\nusing zero = one;\n\nstruct two {\n"));
    gen_result_free(&result);
}

static void test_same_bytes_in_any_order(void **state) {
    (void)state;
    struct gen_result first = generate("plain.yaml"), other = generate("other.yaml");
    struct gen_result again = generate("plain.yaml");
    assert_string_equal(first.outputs[0].source, again.outputs[0].source);
    assert_string_equal(first.outputs[0].manifest, again.outputs[0].manifest);
    assert_string_not_equal(first.outputs[0].source, other.outputs[0].source);
    gen_result_free(&first);
    gen_result_free(&other);
    gen_result_free(&again);
}

static void test_sweep_gives_each_point(void **state) {
    (void)state;
    struct gen_result sweep = generate("sweep.yaml");
    assert_int_equal(sweep.output_count, 3);
    assert_string_equal(sweep.outputs[1].name, "sweep_n2");
    assert_string_equal(sweep.outputs[1].point, "n: 2");
    gen_result_free(&sweep);
}

static void test_facts_of_an_output(void **state) {
    (void)state;
    struct gen_result result = generate("plain.yaml");
    const struct gen_output *out = result.outputs;
    assert_string_equal(out->family, "pair");
    assert_string_equal(out->arch, "sm_90a");
    assert_int_equal(out->block_threads, 64);
    assert_int_equal(out->shared_memory, 64);
    assert_int_equal(out->budget_registers, 0);
    assert_int_equal(out->budget_spill_bytes, -1);
    gen_result_free(&result);
}

// The manifest's own writer is held against jansson's reader.
static void test_manifest_is_json(void **state) {
    (void)state;
    struct gen_result result = generate("plain.yaml");
    json_error_t error;
    json_t *json = json_loads(result.outputs[0].manifest, 0, &error);
    if (!json) fail_msg("%s", error.text);
    json_t *document = json;
    json = json_object_get(document, "reference");
    assert_string_equal(json_string_value(json_object_get(json, "quote")), "a\"\\\n\t\1");
    json_t *numbers = json_object_get(json, "numbers");
    assert_true(json_is_integer(json_array_get(numbers, 0)));
    assert_true(json_real_value(json_array_get(numbers, 1)) == 0.1);
    assert_true(json_real_value(json_array_get(numbers, 3)) == 1e300);
    assert_true(json_is_real(json_array_get(numbers, 4)));
    const json_t *nested = json_array_get(json_object_get(json, "nested"), 1);
    assert_int_equal(json_integer_value(json_array_get(nested, 1)), 3);
    // lines of 120 bytes
    assert_non_null(strstr(result.outputs[0].manifest, "\n    \"fits\": [\"x"));
    assert_non_null(strstr(result.outputs[0].manifest, "\n    \"more\": [\n      \"x"));
    assert_true(json_is_array(json_object_get(json, "empty")));
    assert_true(json_is_object(json_object_get(json, "object")));
    assert_true(json_is_true(json_object_get(json, "yes")));
    json_decref(document);
    gen_result_free(&result);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_line_has_its_origin),
        cmocka_unit_test(test_wrappers_that_are_named),
        cmocka_unit_test(test_same_bytes_in_any_order),
        cmocka_unit_test(test_sweep_gives_each_point),
        cmocka_unit_test(test_facts_of_an_output),
        cmocka_unit_test(test_manifest_is_json),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

// What belongs to an entry: of a module's variables, registers and functions a launch gets those
// that its entry reaches, and only what these hold can make it refuse. CTAs share no state.
#include "runtime/emu/emu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { WORDS = 64 };

#define HEAD ".version 8.0\n.target sm_90a\n.address_size 64\n"
// An entry that stores what [body] leaves in %r1 and %r2.
#define ENTRY(name, body)                                                                          \
    ".visible .entry " name "(.param .u64 out)\n{\n.reg .pred %p<4>;\n.reg .b32 %r<8>;\n"          \
    ".reg .b64 %rd<4>;\nld.param.u64 %rd1, [out];\n" body "\nst.global.v2.u32 [%rd1], {%r1, %r2};" \
    "\nret;\n}\n"

static uint32_t words[WORDS];
static struct emu_result result;
static struct emu_error error;

static struct emu_module *parse(const char *text) {
    struct emu_module *module = NULL;
    if (emu_module_parse("test.ptx", text, strlen(text), NULL, &module, &error))
        fail_msg("%s", error.text);
    return module;
}

// Launches [entry] like [like]; what it stored is in words. 0, or -1 and error.
static int launch(const struct emu_module *module, const char *entry, struct emu_launch like) {
    struct emu_memory *memory = emu_memory_new();
    uint64_t out = emu_memory_alloc(memory, sizeof words, "out");
    const void *params[] = {&out};
    like.module = module;
    like.entry = entry;
    like.params = params;
    like.param_count = 1;
    emu_result_free(&result);
    emu_memory_fill(memory, out, 0, sizeof words);
    int status = emu_launch_run(memory, &like, &result, &error);
    emu_memory_read(memory, words, out, sizeof words);
    emu_memory_delete(memory);
    return status;
}

static void runs(const struct emu_module *module, const char *entry) {
    if (launch(module, entry, (struct emu_launch){.seed = 1})) fail_msg("%s", error.text);
    if (result.report_count) fail_msg("%s", result.reports[0].text);
}

// ---- Shared memory

static void entries_have_shared_memory_of_their_own(void **state) {
    struct emu_module *module =
        parse(HEAD ".shared .align 16 .b8 one[150000];\n.shared .align 16 .b8 two[150000];\n" ENTRY(
            "a", "mov.u32 %r1, one;\nmov.u32 %r2, 0;\nst.shared.u32 [%r1+149996], %r2;")
                  ENTRY("b", "mov.u32 %r1, two;\nmov.u32 %r2, 0;\nst.shared.u32 [%r1+149996], %r2;")
                      ENTRY("both", "mov.u32 %r1, one;\nmov.u32 %r2, two;"));
    (void)state;
    runs(module, "a");
    assert_int_equal(words[0], 1024);
    runs(module, "b");
    assert_int_equal(words[0], 1024);
    assert_int_equal(launch(module, "both", (struct emu_launch){.seed = 1}), -1);
    assert_non_null(strstr(error.text, "more than 227 KB of static shared memory"));
    assert_int_equal(
        launch(module, "a", (struct emu_launch){.seed = 1, .dynamic_smem = 232448 - 149999}), -1);
    assert_non_null(strstr(error.text, "the limit is 232448"));
    runs(module, "a");  // still
    emu_module_free(module);
}

// A variable keeps its place in the file's order and its alignment, whoever names it.
static void callees_bring_their_shared_memory(void **state) {
    struct emu_module *module = parse(
        HEAD ".shared .align 4 .b8 other[100];\n.shared .align 4 .b8 small[4];\n"
             ".shared .align 256 .b8 deep[16];\n.shared .align 4 .b8 last[4];\n"
             ".func (.param .b32 back) inner()\n{\n.reg .b32 %r<4>;\nmov.u32 %r1, deep;\n"
             "mov.u32 %r2, 7;\nst.shared.u32 [%r1], %r2;\nst.param.b32 [back], %r1;\nret;\n}\n"
             ".func (.param .b32 back) outer()\n{\n.reg .b32 %r<4>;\n.param .b32 got;\n"
             "call (got), inner, ();\nld.param.b32 %r1, [got];\nst.param.b32 [back], "
             "%r1;\nret;\n}\n" ENTRY(
                 "calls", ".param .b32 got;\ncall (got), outer, ();\nld.param.b32 %r1, [got];\n"
                          "mov.u32 %r2, last;")
                 ENTRY("names", "mov.u32 %r1, small;\nmov.u32 %r2, last;")
                     ENTRY("other_one", "mov.u32 %r1, other;\nmov.u32 %r2, last;"));
    (void)state;
    runs(module, "calls");
    assert_int_equal(words[0], 1024);
    assert_int_equal(words[1], 1024 + 16);
    runs(module, "names");
    assert_int_equal(words[0], 1024);
    assert_int_equal(words[1], 1024 + 4);
    runs(module, "other_one");
    assert_int_equal(words[1], 1024 + 100);
    emu_module_free(module);
}

// Dynamic memory lies behind the static variables, as the arrays that the entry names want it.
static void dynamic_memory_is_aligned_for_the_entry(void **state) {
    struct emu_module *module = parse(
        HEAD ".extern .shared .align 128 .b8 wide[];\n.extern .shared .align 1024 .b8 wider[];\n"
             ".extern .shared .align 4 .b8 narrow[];\n.shared .align 8 .b8 full[40];\n" ENTRY(
                 "a", "mov.u32 %r1, wide;\nmov.u32 %r2, full;")
                 ENTRY("b", "mov.u32 %r1, wider;\nmov.u32 %r2, full;")
                     ENTRY("c", "mov.u32 %r1, narrow;\nmov.u32 %r2, full;")
                         ENTRY("d", "mov.u32 %r1, narrow;\nmov.u32 %r2, narrow;"));
    static const struct {
        const char *entry;
        uint32_t start;
    } cases[] = {{"a", 1024 + 128}, {"b", 2048}, {"c", 1024 + 48}, {"d", 1024}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        runs(module, cases[i].entry);
        assert_int_equal(words[0], cases[i].start);
    }
    emu_module_free(module);
}

// ---- Functions

#define DOUBLE                                                                                 \
    ".func (.param .b32 back) twice(.param .b32 given)\n{\n.reg .b32 %r<4>;\n.local .align 8 " \
    ".b8 stack[16];\nld.param.u32 %r1, [given];\nst.local.u32 [stack+8], %r1;\n"               \
    "ld.local.u32 %r2, [stack+8];\nadd.u32 %r1, %r1, %r2;\nst.param.u32 [back], %r1;\nret;\n}\n"
#define CALL_TWICE(value)                                                                    \
    ".param .b32 in;\n.param .b32 got;\nmov.u32 %r1, " #value ";\nst.param.b32 [in], %r1;\n" \
    "call (got), twice, (in);\nld.param.b32 %r1, [got];\nmov.u32 %r2, 0;"

// A function lies elsewhere in each entry's program; both stay right when launched in turn.
static void a_function_serves_several_entries(void **state) {
    struct emu_module *module =
        parse(HEAD DOUBLE ".func pad()\n{\n.local .align 64 .b8 big[192];\n.reg .b64 %rd<99>;\n"
                          "st.local.u32 [big+64], 1;\nret;\n}\n" ENTRY("a", CALL_TWICE(21))
                              ENTRY("b", "call pad;\n" CALL_TWICE(4)));
    (void)state;
    for (int i = 0; i < 3; i++) {
        runs(module, "a");
        assert_int_equal(words[0], 42);
        runs(module, "b");
        assert_int_equal(words[0], 8);
    }
    emu_module_free(module);
}

// A pointer of a function may come from memory, so every function whose address is taken counts.
static void functions_are_called_by_address(void **state) {
    struct emu_module *module = parse(
        HEAD ".shared .align 4 .b8 pad[8];\n.shared .align 4 .b8 mine[4];\n"
             ".func (.param .b32 back) one()\n{\n.reg .b32 %r<2>;\nmov.u32 %r1, mine;\n"
             "st.param.b32 [back], %r1;\nret;\n}\n"
             ".func (.param .b32 back) two()\n{\nst.param.b32 [back], 2;\nret;\n}\n"
             ".global .align 8 .u64 table[2] = {one, two};\n" ENTRY(
                 "k", ".param .b32 got;\nmov.u64 %rd2, table;\nld.global.u64 %rd3, [%rd2];\n"
                      "call (got), %rd3, (), proto;\nld.param.b32 %r1, [got];\n"
                      "ld.global.u64 %rd3, [%rd2+8];\ncall (got), %rd3, (), proto;\n"
                      "ld.param.b32 %r2, [got];\nproto: .callprototype (.param .b32 _) _ ();"));
    (void)state;
    runs(module, "k");
    assert_int_equal(words[0], 1024);
    assert_int_equal(words[1], 2);
    emu_module_free(module);
}

// A memory keeps a module's variables from launch to launch, and knows neither those of another
// module nor what another memory had, whatever was there before at the same address of the host.
static void variables_stay_with_their_memory(void **state) {
#define COUNTER(begin)                                                                  \
    HEAD ".global .align 4 .u32 count = " begin ";\n" ENTRY(                            \
        "k", "mov.u64 %rd2, count;\nld.global.u32 %r1, [%rd2];\nadd.u32 %r1, %r1, 1;\n" \
             "mov.u32 %r2, 0;\nst.global.u32 [%rd2], %r1;")
    struct emu_module *modules[] = {parse(COUNTER("0")), parse(COUNTER("10"))};
    (void)state;
    for (int turn = 0; turn < 3; turn++) {
        struct emu_memory *memories[2] = {emu_memory_new(), emu_memory_new()};
        for (int i = 0; i < 8; i++) {  // each module twice in each memory
            struct emu_memory *memory = memories[i / 2 % 2];
            uint64_t out = emu_memory_alloc(memory, 8, "out");
            const void *params[] = {&out};
            const struct emu_launch like = {
                .module = modules[i % 2], .entry = "k", .params = params, .param_count = 1};
            emu_result_free(&result);
            assert_int_equal(emu_launch_run(memory, &like, &result, &error), 0);
            if (result.report_count) fail_msg("%s", result.reports[0].text);
            emu_memory_read(memory, words, out, 4);
            assert_int_equal(words[0], 10 * (i % 2) + i / 4 + 1);
        }
        for (int i = 0; i < 2; i++) emu_memory_delete(memories[i]);
    }
    for (int i = 0; i < 2; i++) emu_module_free(modules[i]);
}

static void calls_must_suit_their_functions(void **state) {
    static const char *const texts[] = {
        HEAD DOUBLE ENTRY("k", ".param .b32 in;\ncall twice, (in, in);"),
        HEAD DOUBLE ENTRY("k", ".param .b32 in;\n.param .b32 x;\ncall (x, x), twice, (in);"),
        HEAD DOUBLE ENTRY("k", ".param .b32 in;\ncall (), twice, (in);"),
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct emu_module *module = parse(texts[i]);
        assert_int_equal(launch(module, "k", (struct emu_launch){.seed = 1}), 0);
        assert_int_equal(result.report_count, 1);
        assert_int_equal(result.reports[0].class_, EMU_BAD_OPERAND);
        emu_module_free(module);
    }
}

// ---- What is not implemented

static void only_what_an_entry_reaches_is_refused(void **state) {
    struct emu_module *module = parse(
        HEAD ".func bad()\n{\nfrob.u32 ;\nret;\n}\n.func via()\n{\ncall bad;\nret;\n}\n" ENTRY(
            "good", "mov.u32 %r1, 5;\nmov.u32 %r2, 6;") ENTRY("direct", "frob.x.u32 %r1;")
            ENTRY("deep", "call via;"));
    (void)state;
    runs(module, "good");
    assert_int_equal(words[1], 6);
    assert_int_equal(emu_entry_check(module, "good", NULL, &error), 0);
    assert_int_equal(launch(module, "direct", (struct emu_launch){.seed = 1}), -1);
    assert_string_equal(error.text,
                        "test.ptx:31:1: error: instruction frob.x.u32 is not implemented");
    for (int i = 0; i < 2; i++) {  // again: a refused program leaves nothing behind
        assert_int_equal(emu_entry_check(module, "deep", NULL, &error), -1);
        assert_string_equal(error.text,
                            "test.ptx:6:1: error: instruction frob.u32 is not implemented");
    }
    runs(module, "good");
    assert_int_equal(emu_entry_check(module, "none", NULL, &error), -1);
    emu_module_free(module);
}

static void too_much_of_a_thread_is_refused(void **state) {
    struct emu_module *module =
        parse(HEAD ".func f()\n{\n.reg .b64 %rd<90000>;\nret;\n}\n" ENTRY(
            "local", ".local .align 8 .b8 a[300000];\n.local .align 8 .b8 b[300000];\n"
                     "mov.u32 %r1, 0;\nmov.u32 %r2, 0;")
                  ENTRY("most", ".reg .b32 %x<262000>;\nmov.u32 %r1, 0;\nmov.u32 %r2, 0;")
                      ENTRY("more", ".reg .b32 %x<90000>;\ncall f;"));
    const struct emu_launch large = {.grid = {8}, .block = {544}, .cluster = {8}, .seed = 1};
    (void)state;
    assert_int_equal(emu_entry_check(module, "local", NULL, &error), -1);
    assert_non_null(strstr(error.text, "more than 512 KB of local memory a thread"));
    assert_int_equal(emu_entry_check(module, "more", NULL, &error), -1);
    assert_non_null(strstr(error.text, "more than 2^18 registers"));
    assert_int_equal(launch(module, "most", large), -1);
    assert_non_null(strstr(error.text, "the limit of all is 4096 MB (max_memory)"));
    runs(module, "most");
    emu_module_free(module);
}

static void initial_values_lie_in_global_memory(void **state) {
    static const char text[] = HEAD ".shared .b32 s;\n.global .u64 g = s;\n";
    struct emu_module *module = NULL;
    (void)state;
    assert_int_equal(emu_module_parse("test.ptx", text, strlen(text), NULL, &module, &error), -1);
    assert_non_null(strstr(error.text, "test.ptx:5:18: error: expected the name of a function"));
}

// ---- One CTA after another

// What a CTA leaves in registers, local and shared memory, barriers and flags is not there for the
// next: each must see what the first one sees.
static void a_cta_finds_nothing_of_the_last(void **state) {
    struct emu_module *module =
        parse(HEAD ".shared .align 8 .b8 bar[8];\n.shared .align 4 .b8 s[512];\n" ENTRY(
            "k", ".local .align 4 .b8 stack[64];\n.reg .b32 %never<4>;\n.reg .pred %n;\n"
                 "mov.u32 %r3, %ctaid.x;\nmov.u32 %r4, %tid.x;\nmul.wide.u32 %rd2, %r3, 8;\n"
                 "add.u64 %rd1, %rd1, %rd2;\nshl.b32 %r5, %r4, 2;\nmov.u32 %r6, s;\n"
                 "add.u32 %r6, %r6, %r5;\nld.local.u32 %r1, [stack+32];\n"
                 "add.u32 %r1, %r1, %never1;\n@%n add.u32 %r1, %r1, 1;\nmov.u32 %r2, bar;\n"
                 "setp.eq.u32 %p1, %r4, 0;\n@%p1 mbarrier.init.shared.b64 [%r2], 64;\n"
                 "st.shared.u32 [%r6], %r4;\nbar.sync 0;\n"
                 "mbarrier.arrive.shared.b64 %rd3, [%r2];\n"
                 "W: mbarrier.try_wait.parity.shared.b64 %p2, [%r2], 0;\n@!%p2 bra W;\n"
                 "ld.shared.u32 %r2, [%r6+0];\nadd.u32 %r1, %r1, %r2;\nsub.u32 %r1, %r1, %r4;\n"
                 "mov.u32 %never1, 77;\nsetp.eq.u32 %n, 0, 0;\nst.local.u32 [stack+32], 99;\n"
                 "mov.u32 %r2, %r3;"));
    (void)state;
    for (unsigned threads = 1; threads <= 2; threads++) {
        const struct emu_launch like = {.grid = {32}, .block = {64}, .seed = 3, .threads = threads};
        if (launch(module, "k", like)) fail_msg("%s", error.text);
        if (result.report_count) fail_msg("%s", result.reports[0].text);
        for (uint32_t i = 0; i < 32; i++) {
            assert_int_equal(words[2 * i], 0);
            assert_int_equal(words[2 * i + 1], i);
        }
    }
    emu_module_free(module);
}

// Only CTAs after the first read before they write; each such read is found, by any granularity.
static void shared_memory_is_unwritten_again(void **state) {
    struct emu_module *module = parse(HEAD ".shared .align 16 .b8 s[512];\n" ENTRY(
        "k", "mov.u32 %r3, %ctaid.x;\nmov.u32 %r1, 0;\nmov.u32 %r2, 0;\n"
             "setp.eq.u32 %p1, %r3, 0;\n@!%p1 ld.shared.u32 %r1, [s+64];\n"
             "st.shared.u8 [s+65], %r3;\nst.shared.v4.u32 [s+64], {%r3, %r3, %r3, %r3};\n"
             "mul.wide.u32 %rd2, %r3, 8;\nadd.u64 %rd1, %rd1, %rd2;"));
    (void)state;
    for (unsigned threads = 1; threads <= 2; threads++) {
        if (launch(module, "k", (struct emu_launch){.grid = {8}, .seed = 3, .threads = threads}))
            fail_msg("%s", error.text);
        assert_int_equal(result.report_count, 1);
        assert_int_equal(result.reports[0].class_, EMU_UNINITIALISED);
        assert_int_equal(result.reports[0].count, 7);
        for (uint32_t i = 1; i < 8; i++) assert_int_equal(words[2 * i], UINT32_MAX);
    }
    emu_module_free(module);
}

static int end(void **state) {
    (void)state;
    emu_result_free(&result);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_have_shared_memory_of_their_own),
        cmocka_unit_test(callees_bring_their_shared_memory),
        cmocka_unit_test(dynamic_memory_is_aligned_for_the_entry),
        cmocka_unit_test(a_function_serves_several_entries),
        cmocka_unit_test(functions_are_called_by_address),
        cmocka_unit_test(variables_stay_with_their_memory),
        cmocka_unit_test(calls_must_suit_their_functions),
        cmocka_unit_test(only_what_an_entry_reaches_is_refused),
        cmocka_unit_test(too_much_of_a_thread_is_refused),
        cmocka_unit_test(initial_values_lie_in_global_memory),
        cmocka_unit_test(a_cta_finds_nothing_of_the_last),
        cmocka_unit_test(shared_memory_is_unwritten_again),
    };
    return cmocka_run_group_tests(tests, NULL, end);
}

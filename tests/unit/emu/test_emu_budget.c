// What a launch may take, and that reading a file takes a time in proportion to its length.
#include "tests/unit/emu/emu_kernel.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define HEAD  ".version 8.0\n.target sm_90\n.address_size 64\n"
#define ENTRY ".visible .entry k(.param .u64 out) { .reg .b32 %r<4>; .reg .pred %p<2>;\n"

enum { TURNS = 4 };

static struct emu_result result;

// ---- Reading

// Files of [count] lines that are alike: the text before, of each line by its number, and behind;
// between them, where there is that, the same of each from the last to the first.
static const struct alike_lines {
    const char *name, *before, *each, *behind, *back;
} shapes[] = {
    {"calls", HEAD ".func f0() { ret; }\n", ".func f%2$u() { call f%1$u; ret; }\n",
     ".visible .entry k(.param .u64 out) { call f%u; ret; }\n", NULL},
    {"labels", HEAD ENTRY, "L%1$u: @%%p1 bra L%2$u;\nadd.u32 %%r1, %%r1, 1;\n", "L%u: ret; }\n",
     NULL},
    {"loops", HEAD ENTRY, "L%1$u: mov.u32 %%r1, 0;\n", "ret; }\n", "@%%p1 bra L%1$u;\n"},
    {"constants", HEAD ENTRY, "add.u32 %%r1, %%r1, %1$u;\n", "ret; }\n", NULL},
    {"registers", HEAD ENTRY, ".reg .b32 r%1$u; mov.u32 r%1$u, 1;\n", "ret; }\n", NULL},
    {"lines", HEAD ENTRY,
     ".loc 1 %1$u 3, function_name L, inlined_at 1 %2$u 7\nadd.u32 %%r1, %%r1, 1;\n",
     "ret; }\n.file 1 \"a.cu\"\n", NULL},
    {"scopes", HEAD ENTRY, "{ .reg .b32 t%1$u; L: mov.u32 t%1$u, 1; @%%p1 bra L; }\n", "ret; }\n",
     NULL},
};

static double cpu_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

#pragma GCC diagnostic ignored "-Wformat-nonliteral"
// A file with [count] such lines; the caller frees it.
static char *make_text(const struct alike_lines *shape, unsigned count) {
    char *text;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    fputs(shape->before, out);
    for (unsigned i = 0; i < count; i++) fprintf(out, shape->each, i, i + 1);
    for (unsigned i = count; shape->back && i-- > 0;) fprintf(out, shape->back, i);
    fprintf(out, shape->behind, count);
    fclose(out);
    return text;
}

// Seconds that it takes to read and decode it.
static double read_seconds(const struct alike_lines *shape, unsigned count) {
    struct emu_error error;
    struct emu_module *module;
    char *text = make_text(shape, count);
    const double start = cpu_seconds();
    if (emu_module_parse("long.ptx", text, strlen(text), NULL, &module, &error) ||
        emu_entry_check(module, "k", NULL, &error))
        fail_msg("%s: %s", shape->name, error.text);
    const double seconds = cpu_seconds() - start;
    emu_module_free(module);
    free(text);
    return seconds;
}

// Eight times as long takes about eight times as long, not 64 times: the least of a few turns, as
// what else a machine does, and how it finds pages, only adds.
static void reading_takes_time_in_proportion(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const double once = read_seconds(&shapes[i], 2000);
        double more = INFINITY;
        for (int turn = 0; turn < TURNS && more > 24 * once + 0.1; turn++)
            more = fmin(more, read_seconds(&shapes[i], 16000));
        if (more > 24 * once + 0.1) fail_msg("%s: %f s, then %f s", shapes[i].name, once, more);
    }
}

// Reading ends with an error that says what is spent, and where.
static void must_not_read(const char *text, struct emu_budget budget, const char *why) {
    struct emu_error error;
    struct emu_module *module;
    assert_int_equal(emu_module_parse("long.ptx", text, strlen(text), &budget, &module, &error),
                     -1);
    if (!strstr(error.text, why)) fail_msg("no '%s' in %s", why, error.text);
    assert_int_equal(emu_module_parse("long.ptx", text, strlen(text), NULL, &module, &error), 0);
    assert_int_equal(emu_entry_check(module, "k", &budget, &error), -1);
    if (!strstr(error.text, why)) fail_msg("no '%s' in %s", why, error.text);
    const struct emu_launch launch = {.module = module, .entry = "k", .budget = budget};
    struct emu_memory *memory = emu_memory_new();
    assert_int_equal(emu_launch_run(memory, &launch, &result, &error), -1);
    if (!strstr(error.text, why)) fail_msg("no '%s' in %s", why, error.text);
    assert_int_equal(emu_entry_check(module, "k", NULL, &error), 0);
    emu_memory_delete(memory);
    emu_module_free(module);
}

static void reading_has_a_budget_too(void **state) {
    static volatile int cancelled = 1;
    char *text = make_text(&shapes[2], 4000);
    (void)state;
    assert_string_equal(shapes[2].name, "loops");
    must_not_read(text, (struct emu_budget){.seconds = 1e-9},
                  ": error: the reading of it stops "
                  "here: 1e-09 seconds are spent");
    must_not_read(text, (struct emu_budget){.cancel = &cancelled}, "it was told to end");
    must_not_read(text, (struct emu_budget){.memory = 1 << 20},
                  "long.ptx: to read it takes more "
                  "than the 1 MB");
    free(text);
}

// ---- Running

static void run(const char *text, struct emu_launch launch);

// Seconds for [turns] of a ring whose copies are announced by cp.async.mbarrier.arrive of each
// thread, and by nothing else.
static double copy_seconds(unsigned turns) {
    static const char text[] = HEAD
        ".visible .entry k(.param .u64 out) { .reg .b32 %%r<8>; .reg .pred %%p<4>; .reg .b64 "
        "%%d<4>;\n.shared .align 16 .b8 buf[4096]; .shared .b64 bar;\nld.param.u64 %%d1, [out]; "
        "mov.u32 %%r1, %%tid.x; shl.b32 %%r4, %%r1, 4; mov.u32 %%r5, buf; add.u32 %%r5, %%r5, "
        "%%r4; setp.eq.u32 %%p1, %%r1, 0;\n@%%p1 mbarrier.init.shared.b64 [bar], 256; bar.sync "
        "0; mov.u32 %%r6, 0; mov.u32 %%r7, 0;\n"
        "L: cp.async.cg.shared.global [%%r5], [%%d1], 16;\n"
        "cp.async.mbarrier.arrive.noinc.shared.b64 [bar];\n"
        "W: mbarrier.try_wait.parity.shared.b64 %%p2, [bar], %%r7; @!%%p2 bra W; bar.sync 0;\n"
        "xor.b32 %%r7, %%r7, 1; add.u32 %%r6, %%r6, 1; setp.lt.u32 %%p3, %%r6, %u; @%%p3 bra L;\n"
        "ret; }\n";
    char program[2000];
    snprintf(program, sizeof program, text, turns);
    const double start = cpu_seconds();
    run(program, (struct emu_launch){.block = {256}, .threads = 1});
    const double seconds = cpu_seconds() - start;
    emu_kernel_is_clean(&result);
    // of 9 in a turn; whoever waits for what has not come costs none
    assert_in_range(result.thread_instructions, 9 * 256 * turns, 12 * 256 * turns);
    return seconds;
}

static void copies_do_not_pile_up(void **state) {
    (void)state;
    const double once = copy_seconds(100), more = copy_seconds(1600);
    if (more > 64 * once + 0.1) fail_msg("%f s, then %f s", once, more);
}

#define LOOP                                                                               \
    HEAD ENTRY "mov.u32 %r1, 0;\nL: add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 200000;\n" \
               "@%p1 bra L;\nret; }\n"
#define SPIN HEAD ENTRY "L: bra L; }\n"

static void run(const char *text, struct emu_launch launch) {
    static uint32_t words[64];
    launch.block[0] = launch.block[0] ? launch.block[0] : 32;
    emu_result_free(&result);
    emu_kernel_words(text, launch, words, sizeof words, &result);
}

static void must_say(const char *part) {
    emu_kernel_is_reported(&result, EMU_BUDGET);
    assert_int_equal(result.report_count, 1);
    if (!strstr(result.reports[0].text, part))
        fail_msg("no '%s' in %s", part, result.reports[0].text);
}

// Nobody stores anything for 800,000 instructions of each warp, and that is no error.
static void a_long_loop_is_no_error(void **state) {
    (void)state;
    run(LOOP, (struct emu_launch){.block = {128}});
    emu_kernel_is_clean(&result);
    assert_true(result.warp_instructions > 4 * 600000);
}

static void each_part_of_the_budget_ends_a_launch(void **state) {
    static volatile int cancelled = 1;
    (void)state;
    run(SPIN, (struct emu_launch){.block = {96}, .budget = {.steps = 100000}});
    must_say("budget spent in k, CTA (0,0,0): 100000 warp instructions are spent (max_steps)");
    must_say("warps 0..2              runs   PTX line 5");
    must_say("0 of 1 clusters had run to their end");
    run(SPIN, (struct emu_launch){.budget = {.seconds = 0.05}});
    must_say("0.05 seconds are spent (max_seconds)");
    run(SPIN, (struct emu_launch){.budget = {.cancel = &cancelled, .seconds = 10}});
    must_say("it was told to end");
    // CTAs that cannot hear of each other: whichever of them ran first, the same one is the last
    for (unsigned threads = 1; threads <= 4; threads++) {
        run(LOOP,
            (struct emu_launch){.grid = {100}, .threads = threads, .budget = {.steps = 3000000}});
        must_say("5 of 100 clusters had run to their end");
    }
    run(HEAD ENTRY "ret; }\n",
        (struct emu_launch){.grid = {2147483647, 65535, 65535}, .budget = {.seconds = 0.2}});
    must_say("of 9223090559730712575 clusters");
}

static void what_a_kernel_prints_is_limited(void **state) {
    static const char text[] =
        HEAD ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
             ".global .b8 format[8] = {%s, 0};\n.visible .entry k(.param .u64 out)\n"
             "{ .reg .b32 %%r<4>; .reg .pred %%p<2>; .reg .b64 %%d<4>; .local .b32 v; st.local.u32 "
             "[v], 7; mov.u64 %%d1, format; "
             "cvta.global.u64 %%d1, %%d1; mov.u64 %%d2, v; cvta.local.u64 %%d2, %%d2;\n"
             "mov.u32 %%r1, 0;\nL: { .param .b64 f; .param .b64 a; .param .b32 r; "
             "st.param.b64 [f], %%d1; st.param.b64 [a], %%d2; call (r), vprintf, (f, a); }\n"
             "add.u32 %%r1, %%r1, 1; setp.lt.u32 %%p1, %%r1, %u; @%%p1 bra L;\nret; }\n";
    static const char wide[] = "37,57,57,57,57,57,100", narrow[] = "37,57,48,48,100";
    char program[2000], *printed;
    size_t bytes;
    (void)state;
    for (int i = 0; i < 3; i++) {
        FILE *out = open_memstream(&printed, &bytes);
        snprintf(program, sizeof program, text, i ? narrow : wide, i < 2 ? 2 : 100);
        run(program, (struct emu_launch){.block = {1}, .print = out, .budget = {.output = 5000}});
        fclose(out);
        if (i == 2) must_say("the kernel prints more than 5000 bytes (max_output)");
        if (i < 2) emu_kernel_is_clean(&result);
        assert_int_equal(bytes, i == 0 ? 2 * strlen("%99999d") : i == 1 ? 1800 : 4500);
        free(printed);
    }
}

// 512 KB of local memory for each of 1024 threads in 16 CTAs: 8 GB, were they all there.
static void memory_is_refused_before_it_is_taken(void **state) {
    static const char text[] = HEAD ENTRY ".local .b8 a[500000];\nst.local.u8 [a], 1; ret; }\n";
    const struct emu_launch large = {
        .grid = {16}, .block = {1024}, .cluster = {16}, .non_portable = true};
    struct emu_error error;
    struct emu_module *module;
    struct emu_memory *memory = emu_memory_new();
    uint64_t out = 0;
    const void *params[] = {&out};
    (void)state;
    assert_int_equal(emu_module_parse("test.ptx", text, strlen(text), NULL, &module, &error), 0);
    struct emu_launch launch = large;
    launch.module = module;
    launch.entry = "k";
    launch.params = params;
    launch.param_count = 1;
    emu_result_free(&result);
    assert_int_equal(emu_launch_run(memory, &launch, &result, &error), -1);
    assert_non_null(strstr(error.text, "500000 bytes of local memory a thread; the limit of all is "
                                       "4096 MB (max_memory)"));
    launch.cluster[0] = launch.grid[0] = 2;
    assert_int_equal(emu_launch_run(memory, &launch, &result, &error), 0);
    emu_kernel_is_clean(&result);
    emu_module_free(module);
    emu_memory_delete(memory);
}

static int end(void **state) {
    (void)state;
    emu_result_free(&result);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reading_takes_time_in_proportion),
        cmocka_unit_test(reading_has_a_budget_too),
        cmocka_unit_test(copies_do_not_pile_up),
        cmocka_unit_test(a_long_loop_is_no_error),
        cmocka_unit_test(each_part_of_the_budget_ends_a_launch),
        cmocka_unit_test(what_a_kernel_prints_is_limited),
        cmocka_unit_test(memory_is_refused_before_it_is_taken),
    };
    return cmocka_run_group_tests_name("emu budget", tests, NULL, end);
}

// Small PTX programs on the emulator: results of instructions, divergence, and what is reported.
// Each program stores 32-bit words to its one parameter; the body is all that a test writes.
#include "tests/unit/emu/emu_kernel.h"

#include <stdlib.h>

enum { WORDS = 256 };

static struct emu_result result;
static uint32_t words[WORDS];

static struct emu_module *parse(const char *text, struct emu_error *error) {
    struct emu_module *module = NULL;
    emu_module_parse("test.ptx", text, strlen(text), NULL, &module, error);
    return module;
}

// Runs [body] with [threads] and fills words and result. %rd1 is the output, %r1 the thread.
static void run(const char *body, unsigned threads, const struct emu_launch *like) {
    static const char frame[] =
        ".version 8.0\n.target sm_90a\n.address_size 64\n"
        ".visible .entry k(.param .u64 out)\n{\n"
        ".reg .pred %%p<8>;\n.reg .b32 %%r<32>;\n.reg .b64 %%rd<16>;\n.reg .f32 %%f<16>;\n"
        ".reg .b16 %%h<8>;\n.shared .align 1024 .b8 smem[4096];\n"
        "ld.param.u64 %%rd1, [out];\nmov.u32 %%r1, %%tid.x;\nmad.wide.u32 %%rd1, %%r1, 4, %%rd1;\n"
        "%s\nret;\n}\n";
    static char text[40000];
    struct emu_launch launch = like ? *like : (struct emu_launch){.seed = 1};
    snprintf(text, sizeof text, frame, body);
    launch.block[0] = threads;
    emu_result_free(&result);
    emu_kernel_words(text, launch, words, sizeof words, &result);
}

static void is_clean(void) { emu_kernel_is_clean(&result); }

static void is_reported(enum emu_class class_) { emu_kernel_is_reported(&result, class_); }

// ---- Results

static void integers(void **state) {
    static const struct {
        const char *code;
        uint32_t value;
    } cases[] = {
        {"mov.u32 %r2, 0x80000000; abs.s32 %r3, %r2;", 0x80000000},
        {"mov.u32 %r2, 0x80000000; div.s32 %r3, %r2, -1;", 0x80000000},
        {"mul.hi.s32 %r3, -2, 0x40000000;", 0xffffffff},
        {"shl.b32 %r3, 1, 32;", 0},
        {"shr.s32 %r3, -8, 99;", 0xffffffff},
        {"bfe.s32 %r3, 0xf0, 4, 4;", 0xffffffff},
        {"bfi.b32 %r3, 0xff, 0, 28, 8;", 0xf0000000},
        {"prmt.b32 %r3, 0x33221100, 0x77665544, 0x7510;", 0x77551100},
        {"prmt.b32 %r3, 0x00008000, 0, 0x9999;", 0xffffffff},
        {"lop3.b32 %r3, 0xf0f0f0f0, 0xcccccccc, 0xaaaaaaaa, 0x96;", 0x96969696},
        {"bfind.u32 %r3, 0x00010000;", 16},
        {"shf.l.wrap.b32 %r3, 0x80000000, 1, 33;", 3},
        {"add.cc.u32 %r2, -1, 1; addc.u32 %r3, 0, 0;", 1},
        {"dp4a.s32.s32 %r3, 0xff01ff01, 0x01010101, 5;", 5},
        {"vote.sync.ballot.b32 %r3, %p1, 0xffffffff;", 0},
        {"vabsdiff4.u32.u32.u32 %r3, 0x01fe8000, 0x03ff00ff, 0;", 0x020180ff},
        {"vabsdiff4.u32.u32.u32.add %r3, 0x01fe8000, 0x03ff00ff, 1;", 2 + 1 + 128 + 255 + 1},
        {"vabsdiff2.s32.s32.s32 %r3, 0x80000005, 0x7fff000a, 0;", 0xffff0005},
        {"vadd4.s32.s32.s32.sat %r3, 0x7f80017f, 0x01ff017f, 0;", 0x7f80027f},
        {"vadd4.u32.u32.u32 %r3, 0xff010203, 0x02010101, 0;", 0x01020304},
        {"vsub2.u32.u32.u32.sat %r3, 0x00050001, 0x00010002, 0;", 0x00040000},
        {"vavrg4.s32.s32.s32 %r3, 0xfd03fe05, 0xfe04fd06, 0;", 0xfd04fd06},
        {"vmin2.s32.s32.s32 %r3, 0xffff0001, 0x00000002, 0;", 0xffff0001},
        {"vmax4.u32.u32.u32.add %r3, 0xff000105, 0x00020004, 10;", 255 + 2 + 1 + 5 + 10},
        {"vset4.u32.u32.ge %r3, 0x01020304, 0x01010504, 0;", 0x01010001},
        {"cvt.pack.sat.u4.s32.b32 %r3, 20, -3, 0x123;", 0x123f0},
        {"cvt.pack.sat.s4.s32.b32 %r3, -9, 9, 5;", 0x587},
        {"cvt.pack.sat.s2.s32.b32 %r3, 1, -7, 1;", 0x16},
        {"cvt.pack.sat.u2.s32.b32 %r3, 2, 3, 0;", 0xb},
        {"max.s32.relu %r3, -4, -5;", 0},
        {"vset2.s32.s32.lt.add %r3, 0xffff0001, 0x00000000, 7;", 8},
        {"and.b32 %r4, %r1, 28; shl.b32 %r5, 15, %r4; shfl.sync.up.b32 %r3, %r1, 1, 0x1c00, %r5;",
         6},
        {"and.b32 %r4, %r1, 28; shl.b32 %r5, 15, %r4; redux.sync.add.u32 %r3, %r1, %r5;", 22},
        {"setp.eq.u32 %p1, 0, 0; and.b32 %r4, %r1, 28; shl.b32 %r5, 15, %r4; "
         "vote.sync.ballot.b32 %r3, %p1, %r5;",
         0xf0},
        {"add.sat.s32 %r3, 0x7fffffff, 1;", 0x7fffffff},
        {"cvt.rni.s32.f32 %r3, 0f40200000;", 2},
        {"mov.b32 %f1, 0x7f800001; mov.b32 %f2, 0; add.f32 %f3, %f1, %f2; mov.b32 %r3, %f3;",
         0x7fffffff},
        {"mov.f32 %f1, 0f3F800000; mov.f32 %f2, 0f33800000; add.rp.f32 %f3, %f1, %f2; mov.b32 %r3, "
         "%f3;",
         0x3f800001},
        {"mov.f32 %f1, 0f3F800000; mov.f32 %f2, 0f33800000; add.rn.f32 %f3, %f1, %f2; mov.b32 %r3, "
         "%f3;",
         0x3f800000},
        {"mov.b32 %f1, 1; mov.f32 %f2, 0f3F800000; mul.ftz.f32 %f3, %f1, %f2; mov.b32 %r3, %f3;",
         0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char body[400];
        snprintf(body, sizeof body, "%s st.global.u32 [%%rd1], %%r3;", cases[i].code);
        run(body, 32, NULL);
        is_clean();
        if (words[7] != cases[i].value)
            fail_msg("%s gives 0x%x, not 0x%x", cases[i].code, words[7], cases[i].value);
    }
}

// Lanes go different ways through a loop and meet again behind it, whole.
static void lanes_meet_behind_a_loop(void **state) {
    (void)state;
    run("and.b32 %r2, %r1, 3; mov.u32 %r3, 0;\n"
        "$again: add.u32 %r3, %r3, %r2; sub.u32 %r2, %r2, 1; setp.gt.s32 %p1, %r2, 0;\n"
        "@%p1 bra $again;\n"
        "activemask.b32 %r4; shfl.sync.bfly.b32 %r5, %r3, 1, 31, -1; add.u32 %r6, %r4, %r5;\n"
        "st.global.u32 [%rd1], %r6;",
        32, NULL);
    is_clean();
    assert_int_equal(words[2], 0xffffffffu + 6);  // lane 3 summed 3 + 2 + 1
    assert_int_equal(words[3], 0xffffffffu + 3);
}

static void early_exit_does_not_part_the_others(void **state) {
    (void)state;
    run("setp.eq.u32 %p1, %r1, 0; @!%p1 bra $join;\n"
        "setp.eq.u32 %p2, %r1, 99; @%p2 bra $end;\n"
        "$join: bar.warp.sync -1; activemask.b32 %r2; st.global.u32 [%rd1], %r2;\n$end:",
        32, NULL);
    is_clean();
    assert_int_equal(words[0], 0xffffffff);
}

static void a_lock_within_a_warp_makes_progress(void **state) {
    (void)state;
    run("mov.u32 %r2, smem; setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.u32 [%r2], 0; bar.warp.sync "
        "-1;\n"
        "mov.u32 %r5, 0;\n"
        "$try: atom.acquire.cta.shared.cas.b32 %r3, [%r2], 0, 1; setp.ne.u32 %p2, %r3, 0;\n"
        "@%p2 bra $next; mov.u32 %r5, 1; fence.acq_rel.cta; atom.release.cta.shared.exch.b32 %r4, "
        "[%r2], 0;\n"
        "$next: setp.eq.u32 %p3, %r5, 0; @%p3 bra $try;\n"
        "st.global.u32 [%rd1], %r5;",
        32, NULL);
    is_clean();
    assert_int_equal(words[31], 1);
}

static void functions_return_to_their_callers(void **state) {
    static const char text[] =
        ".version 8.0\n.target sm_90\n.address_size 64\n"
        ".func (.param .b32 r) twice(.param .b32 x) { .reg .b32 %r<3>; ld.param.b32 %r1, [x];\n"
        "add.u32 %r2, %r1, %r1; st.param.b32 [r], %r2; ret; }\n"
        ".visible .entry k(.param .u64 out) { .reg .b32 %r<4>; .reg .b64 %rd<3>;\n"
        "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mad.wide.u32 %rd2, %r1, 4, %rd1;\n"
        "{ .param .b32 a; .param .b32 v; st.param.b32 [a], %r1; call.uni (v), twice, (a);\n"
        "ld.param.b32 %r2, [v]; } st.global.u32 [%rd2], %r2; ret; }\n";
    struct emu_error error;
    struct emu_module *module = parse(text, &error);
    struct emu_memory *memory = emu_memory_new();
    uint64_t out = emu_memory_alloc(memory, sizeof words, "out");
    const void *params[] = {&out};
    struct emu_launch launch = {
        .module = module, .entry = "k", .block = {32, 1, 1}, .params = params, .param_count = 1};
    (void)state;
    assert_non_null(module);
    emu_result_free(&result);
    assert_int_equal(emu_launch_run(memory, &launch, &result, &error), 0);
    is_clean();
    emu_memory_read(memory, words, out, 128);
    assert_int_equal(words[21], 42);
    emu_module_free(module);
    emu_memory_delete(memory);
}

// A call's variables must be as large as the function's: else one of them would take the bytes of
// its neighbour along.
static void call_variables_have_the_function_s_sizes(void **state) {
    static const struct {
        const char *argument, *result, *what;
    } cases[] = {
        {".b32 a", ".b32 v", "argument 0 of the call has 4 bytes, x 8"},
        {".b8 a", ".b64 v", "argument 0 of the call has 1 bytes, x 8"},
        {".align 8 .b8 a[16]", ".b64 v", "argument 0 of the call has 16 bytes, x 8"},
        {".align 8 .b8 a[7]", ".b64 v", "argument 0 of the call has 7 bytes, x 8"},
        {".b64 a", ".b8 v", "result 0 of the call has 1 bytes, r 8"},
        {".b64 a", ".b32 v", "result 0 of the call has 4 bytes, r 8"},
        {".b64 a", ".align 8 .b8 v[16]", "result 0 of the call has 16 bytes, r 8"},
        {".b64 a", ".b64 v", ""},
    };
    static const char frame[] =
        ".version 8.0\n.target sm_90\n.address_size 64\n"
        ".func (.param .b64 r) f(.param .b64 x) { .reg .b64 %%d<2>; ld.param.b64 %%d1, [x];\n"
        "st.param.b64 [r], %%d1; ret; }\n"
        ".visible .entry k(.param .u64 out) { .reg .b64 %%d<3>; mov.u64 %%d1, f;\n"
        ".param %s; .param %s; %s; ret; }\n";
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
        for (int indirect = 0; indirect < 2; ++indirect) {
            char text[1000];
            snprintf(text, sizeof text, frame, cases[i].argument, cases[i].result,
                     indirect ? "P: .callprototype (.param .b64 _) _ (.param .b64 _);\n"
                                "call (v), %d1, (a), P"
                              : "call (v), f, (a)");
            emu_result_free(&result);
            emu_kernel_words(text, (struct emu_launch){.block = {32}}, words, sizeof words,
                             &result);
            if (!*cases[i].what) is_clean();
            if (!*cases[i].what) continue;
            is_reported(EMU_BAD_OPERAND);
            assert_non_null(strstr(result.reports[0].text, cases[i].what));
        }
}

// ---- Reports

#define ADDRESS "mov.u32 %r2, smem; shl.b32 %r3, %r1, 2; add.u32 %r4, %r2, %r3;\n"

static void a_race_is_one_without_a_barrier_only(void **state) {
    static const char with[] = ADDRESS
        "st.shared.u32 [%r4], %r1; bar.sync 0; xor.b32 %r5, %r3, 128; add.u32 %r5, %r5, %r2;\n"
        "ld.shared.u32 %r6, [%r5]; st.global.u32 [%rd1], %r6;";
    static const char without[] =
        ADDRESS "st.shared.u32 [%r4], %r1; xor.b32 %r5, %r3, 128; add.u32 %r5, %r5, %r2;\n"
                "ld.shared.u32 %r6, [%r5]; st.global.u32 [%rd1], %r6;";
    (void)state;
    run(with, 64, NULL);
    is_clean();
    assert_int_equal(words[0], 32);
    run(without, 64, NULL);
    assert_true(result.report_count > 0);
    assert_true(result.reports[0].class_ == EMU_RACE ||
                result.reports[0].class_ == EMU_UNINITIALISED);
}

static const char mbarrier_ring[] =
    "mov.u32 %%r2, smem; setp.eq.u32 %%p1, %%r1, 0;\n"
    "@%%p1 mbarrier.init.shared::cta.b64 [%%r2], %d; bar.sync 0;\n"
    "setp.lt.u32 %%p2, %%r1, 32; @!%%p2 bra $wait;\n"
    "st.shared.u32 [%%r2+64], 31; mbarrier.arrive.shared::cta.b64 %%rd2, [%%r2]; bra $end;\n"
    "$wait: mbarrier.try_wait.parity.shared::cta.b64 %%p3, [%%r2], 0; @!%%p3 bra $wait;\n"
    "ld.shared.u32 %%r5, [%%r2+64]; st.global.u32 [%%rd1], %%r5;\n$end:";

static void an_mbarrier_orders_and_deadlocks(void **state) {
    char body[1000];
    (void)state;
    snprintf(body, sizeof body, mbarrier_ring, 32);
    run(body, 64, NULL);
    is_clean();
    snprintf(body, sizeof body, mbarrier_ring, 33);
    run(body, 64, NULL);
    is_reported(EMU_DEADLOCK);
    assert_non_null(strstr(result.reports[0].text, "32 of 33 arrivals"));
    snprintf(body, sizeof body, mbarrier_ring, 31);
    run(body, 64, NULL);
    assert_true(result.report_count > 0 || words[40] == 31);
}

static void wrong_accesses(void **state) {
    static const struct {
        const char *code;
        enum emu_class class_;
    } cases[] = {
        {"ld.shared.u32 %r3, [smem];", EMU_UNINITIALISED},
        {"mov.u32 %r2, smem; add.u32 %r2, %r2, 4096; st.shared.u32 [%r2], %r1;", EMU_OUT_OF_BOUNDS},
        {"mov.u64 %rd2, 16; st.global.u32 [%rd2], %r1;", EMU_OUT_OF_BOUNDS},
        {"st.global.u32 [%rd1+2048], %r1;", EMU_OUT_OF_BOUNDS},
        {"st.global.u32 [%rd1+2], %r1;", EMU_MISALIGNED},
        {"trap;", EMU_TRAP},
        {"setp.lt.u32 %p1, %r1, 16; @%p1 bar.sync 0;", EMU_DIVERGENT},
        {"bar.sync 1, 64;", EMU_BARRIER_MISUSE},
        {"mov.u32 %r2, smem; mbarrier.arrive.shared.b64 %rd2, [%r2];", EMU_BARRIER_MISUSE},
        {"setp.lt.u32 %p1, %r1, 16; @%p1 bra $low; bra $end;\n"
         "$low: shfl.sync.idx.b32 %r2, %r1, 0, 31, -1;\n$end:",
         EMU_DIVERGENT},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        run(cases[i].code, 32, NULL);
        is_reported(cases[i].class_);
    }
}

// A faulty read whose value goes nowhere is called that, lane by lane and through copies; not where
// it has been used, nor where the launch ended before it could be.
static void a_read_for_nothing_is_called_that(void **state) {
#define LOW "setp.lt.u32 %p1, %r1, 16;\n"
    static const struct {
        const char *code;
        bool unused;
    } cases[] = {
        {"ld.shared.u32 %r3, [smem];", true},
        {"ld.shared.u32 %r3, [smem]; st.global.u32 [%rd1], %r3;", false},
        {"ld.shared.u32 %r3, [smem]; setp.eq.u32 %p1, %r3, 7;", false},
        {"ld.shared.u32 %r3, [smem]; mov.u32 %r3, 5; st.global.u32 [%rd1], %r3;", true},
        {"ld.shared.u32 %r3, [smem]; mov.u32 %r4, %r3; mov.u32 %r3, 5;", true},
        {"ld.shared.u32 %r3, [smem]; mov.u32 %r4, %r3; st.global.u32 [%rd1], %r4;", false},
        {"ld.shared.v2.u32 {%r3, %r4}, [smem]; st.global.u32 [%rd1], %r4;", false},
        {LOW "st.shared.u32 [smem], 1; @!%p1 ld.shared.u32 %r3, [smem+4];\n"
             "@%p1 st.global.u32 [%rd1], %r3;",
         true},
        {LOW "mov.u32 %r3, 0; @%p1 ld.shared.u32 %r3, [smem]; @!%p1 mov.u32 %r3, 5;\n"
             "@%p1 st.global.u32 [%rd1], %r3;",
         false},
        {"ld.shared.u32 %r3, [smem]; trap; st.global.u32 [%rd1], %r3;", false},
        {"atom.shared.add.u32 %r3, [smem], 1;", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        run(cases[i].code, 32, NULL);
        is_reported(EMU_UNINITIALISED);
        const size_t count = result.report_count + result.note_count;
        const struct emu_report *report = &result.reports[count - 1];
        assert_int_equal(result.note_count, cases[i].unused);
        if (!strstr(report->text, "\n  its value is never used\n") == cases[i].unused)
            fail_msg("%s\n%s", cases[i].code, report->text);
    }
}

// Four warps race at 300 places of 150 source lines, then three wait for one that has exited: the
// hang has room, comes first, and says how the launch ended. Places of one pair of lines are one
// report, and an inlined line of another file has its name.
static void a_hang_is_named_before_what_else_there_is(void **state) {
    enum { RACES = 300 };
    static char body[64 * RACES + 2000];
    size_t used = 0;
    (void)state;
    for (int i = 0; i < RACES; ++i)
        used += (size_t)snprintf(body + used, sizeof body - used,
                                 ".loc 1 %d 1\nst.shared.u32 [smem+%d], %%r1;\n", i / 2 + 1, 4 * i);
    snprintf(
        body + used, sizeof body - used,
        "setp.ge.u32 %%p1, %%r1, 96; @%%p1 bra $end;\n.loc 2 7 1, function_name $f, inlined_at "
        "1 500 3\nbar.sync 1, 128;\n$end:\n");
    for (uint64_t seed = 0; seed < 20; ++seed) {
        struct emu_launch launch = {.seed = seed};
        run(body, 128, &launch);
        assert_int_equal(result.reports[0].class_, EMU_DEADLOCK);
        assert_non_null(
            strstr(result.reports[0].text, "warps 0..2              waits at barrier 1"));
        assert_non_null(strstr(result.reports[0].text, "source:500, in source:7 (PTX line"));
        assert_non_null(strstr(result.reports[0].text, "missing: warp 3 (exited)"));
        assert_int_equal(result.reports[1].class_, EMU_RACE);
        assert_true(result.reports[1].count >= 2);
        assert_int_equal(result.report_count, 101);
        assert_true(result.left_out > 0);
        assert_non_null(strstr(result.end, "the launch stopped here: deadlock; 0 of 1 clusters"));
    }
}

// 300 loads for nothing, each of a line of its own, of what nobody wrote; then one that is used,
// and last an access out of bounds: the notes take no room from the two.
static void notes_take_no_room_from_reports(void **state) {
    enum { LOADS = 300 };
    static char body[64 * LOADS + 2000];
    size_t used = 0;
    (void)state;
    for (int i = 0; i < LOADS; ++i)
        used += (size_t)snprintf(body + used, sizeof body - used,
                                 ".loc 1 %d 1\nld.shared.u32 %%r3, [smem+%d];\n", i + 1, 4 * i);
    used += (size_t)snprintf(body + used, sizeof body - used,
                             ".loc 1 400 1\nld.shared.u32 %%r3, [smem+2000];\n"
                             "add.u32 %%r4, %%r3, 1;\n");
    run(body, 32, NULL);
    assert_int_equal(result.report_count, 1);
    assert_int_equal(result.reports[0].source_line, 400);
    assert_int_equal(result.note_count, 100);
    assert_int_equal(result.left_out, 0);
    snprintf(body + used, sizeof body - used, ".loc 1 500 1\nst.shared.u32 [smem+400000], %%r4;\n");
    run(body, 32, NULL);
    is_reported(EMU_OUT_OF_BOUNDS);
}

static void an_endless_kernel_stops_at_the_limit(void **state) {
    struct emu_launch launch = {.seed = 1, .budget = {.steps = 50000}};
    (void)state;
    run("$spin: add.u32 %r2, %r2, 1; st.global.u32 [%rd1], %r2; bra $spin;", 32, &launch);
    is_reported(EMU_BUDGET);
}

// ---- What is refused

static void errors_in_the_text_have_a_place(void **state) {
    static const struct {
        const char *text, *error;
    } cases[] = {
        {".version 8.0\n.target sm_90\n.entry k() { .reg .u33 %r<2>; }",
         "test.ptx:3:19: error: expected a register type"},
        {".version 8.0\n.entry k() { frob.u32 ; ret; }",
         "test.ptx:2:14: error: instruction frob.u32 is not implemented"},
        {".version 8.0\n.entry k() { .reg .b32 %r<2>; add.u32 %r1, %r9, 1; }",
         "test.ptx:2:44: error: add: special register %r9"},
        {".version 8.0\n.entry k() { bra $x; }", "error: bra: there is no label $x"},
        {".version 8.0\n.entry k() { .reg .b32 %r<2>; .reg .b64 %d<2>; add.u32 %r1, %d1, 1; }",
         "has type .b64"},
        {".version 8.0\n.entry k() { mov.u32 \"", "string without end"},
        {".version 8.0\n.entry k() {", "found ''"},
        {"/* ", "comment without end"},
        {"\x01", "is not PTX"},
    };
    struct emu_error error;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        struct emu_module *module = parse(cases[i].text, &error);
        if (module) assert_int_equal(emu_entry_check(module, "k", NULL, &error), -1);
        emu_module_free(module);
        if (!strstr(error.text, cases[i].error))
            fail_msg("'%s' where '%s' is due", error.text, cases[i].error);
    }
}

// What is left out is as a launch of 64 threads with the one parameter has it.
static const struct refused {
    const char *error, *entry;
    unsigned grid[3], block[3], cluster[3], dynamic_smem;
    bool cooperative, no_parameter;
} refused[] = {
    {"1024 threads", .block = {2048}},
    {"allows 64", .block = {128}},
    {"the limit is 232448", .dynamic_smem = 300000},
    {"takes 1 parameters", .no_parameter = true},
    {"no entry", .entry = "nobody"},
    {"not a multiple of the cluster", .cluster = {2}},
    {"more than 16 CTAs", .grid = {32}, .cluster = {32}},
    {"grid.y is 65536", .grid = {1, 65536}},
    {"block.z 65", .block = {1, 1, 65}},
    {"the limit is 4224, 32 on each of 132 SMs", .grid = {4225}, .cooperative = true},
    {"limit is 264, 2 on each", .grid = {265}, .cooperative = true, .dynamic_smem = 100000},
};

static void launches_are_refused_with_the_limit(void **state) {
    struct emu_error error;
    struct emu_module *module =
        parse(".version 8.0\n.entry k(.param .u32 a) .maxntid 64, 1, 1 { ret; }", &error);
    struct emu_memory *memory = emu_memory_new();
    uint32_t value = 0;
    const void *params[] = {&value};
    struct emu_launch good = {
        .module = module, .entry = "k", .block = {64, 1, 1}, .params = params, .param_count = 1};
    (void)state;
    assert_non_null(module);
    emu_result_free(&result);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; ++i) {
        const struct refused *row = &refused[i];
        struct emu_launch bad = good;
        if (row->entry) bad.entry = row->entry;
        if (row->block[0]) memcpy(bad.block, row->block, sizeof bad.block);
        memcpy(bad.grid, row->grid, sizeof bad.grid);
        memcpy(bad.cluster, row->cluster, sizeof bad.cluster);
        bad.dynamic_smem = row->dynamic_smem;
        bad.cooperative = row->cooperative;
        bad.param_count = !row->no_parameter;
        assert_int_equal(emu_launch_run(memory, &bad, &result, &error), -1);
        if (!strstr(error.text, row->error))
            fail_msg("'%s' where '%s' is due", error.text, row->error);
    }
    assert_int_equal(emu_launch_run(memory, &good, &result, &error), 0);
    is_clean();
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
        cmocka_unit_test(integers),
        cmocka_unit_test(lanes_meet_behind_a_loop),
        cmocka_unit_test(early_exit_does_not_part_the_others),
        cmocka_unit_test(a_lock_within_a_warp_makes_progress),
        cmocka_unit_test(functions_return_to_their_callers),
        cmocka_unit_test(call_variables_have_the_function_s_sizes),
        cmocka_unit_test(a_race_is_one_without_a_barrier_only),
        cmocka_unit_test(an_mbarrier_orders_and_deadlocks),
        cmocka_unit_test(wrong_accesses),
        cmocka_unit_test(a_read_for_nothing_is_called_that),
        cmocka_unit_test(a_hang_is_named_before_what_else_there_is),
        cmocka_unit_test(notes_take_no_room_from_reports),
        cmocka_unit_test(an_endless_kernel_stops_at_the_limit),
        cmocka_unit_test(errors_in_the_text_have_a_place),
        cmocka_unit_test(launches_are_refused_with_the_limit),
    };
    return cmocka_run_group_tests(tests, NULL, end);
}

// The clusters of a grid: on any number of threads the same results and reports, and kernels whose
// CTAs wait for each other still end.
#include "tests/unit/emu/emu_kernel.h"

#include <stdlib.h>

enum { CTAS = 24, WORDS = 1024 };

static uint32_t words[WORDS];

#define FRAME(body)                                                                             \
    ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n"   \
    ".reg .pred %p<8>;\n.reg .b32 %r<32>;\n.reg .b64 %rd<16>;\n.shared .align 16 .b8 s[256];\n" \
    "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %tid.x;\n"                 \
    "mad.wide.u32 %rd2, %r1, 4, %rd1;\n" body "\nret;\n}\n"

// Runs [text] on CTAS CTAs of 64 threads; the reports' texts, one after the other, are the
// caller's.
static char *run(const char *text, unsigned threads, uint64_t seed, struct emu_result *result) {
    const struct emu_launch launch = {
        .grid = {CTAS}, .block = {64}, .seed = seed, .threads = threads};
    char *all = NULL;
    size_t bytes;

    emu_kernel_words(text, launch, words, sizeof words, result);
    FILE *file = open_memstream(&all, &bytes);
    for (size_t i = 0; i < result->report_count; i++)
        fprintf(file, "%s%u times\n", result->reports[i].text, result->reports[i].count);
    fclose(file);
    emu_result_free(result);
    return all;
}

static void same_on_any_number_of_threads(const char *text) {
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct emu_result one, many;
        uint32_t before[WORDS];
        char *expected = run(text, 1, seed, &one);
        memcpy(before, words, sizeof words);
        for (unsigned threads = 2; threads <= 8; threads *= 2) {
            char *got = run(text, threads, seed, &many);
            assert_string_equal(got, expected);
            free(got);
            assert_memory_equal(words, before, sizeof words);
        }
        free(expected);
    }
}

// A race in every CTA, and a read of what nobody wrote in every third.
static void reports(void **state) {
    static const char text[] =
        FRAME("st.shared.u32 [s], %r1;\nld.shared.u32 %r3, [s];\nrem.u32 %r4, %r1, 3;\n"
              "setp.eq.u32 %p1, %r4, 0;\n@%p1 ld.shared.u32 %r5, [s+64];\n"
              "@%p1 add.u32 %r3, %r3, %r5;\nst.global.u32 [%rd2], %r3;");
    struct emu_result result;

    (void)state;
    same_on_any_number_of_threads(text);
    char *all = run(text, 0, 1, &result);
    assert_non_null(strstr(all, "race in k, CTA (0,0,0)"));
    assert_non_null(strstr(all, "uninitialised read in k, CTA (0,0,0)"));
    free(all);
}

// Each CTA hands its word to the next one by a flag and no fence: in the order of seed 0 a load
// sees what was stored last, under other seeds it may miss it. Reported it is under all.
static void stores_are_late_but_for_seed_0(void **state) {
    static const char text[] =
        FRAME("setp.ne.u32 %p1, %r2, 0;\n@%p1 ret;\nadd.u32 %r3, %r1, 1;\n"
              "st.global.u32 [%rd2+1024], %r3;\nst.volatile.global.u32 [%rd2+2048], 1;\n"
              "setp.eq.u32 %p2, %r1, 0;\n@%p2 ret;\n"
              "W: ld.volatile.global.u32 %r4, [%rd2+2044];\nsetp.eq.u32 %p3, %r4, 0;\n"
              "@%p3 bra W;\n"
              "ld.global.u32 %r5, [%rd2+1020];\nst.global.u32 [%rd2], %r5;");
    struct emu_result result;
    unsigned missed = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 8; seed++) {
        char *all = run(text, 1, seed, &result);
        assert_non_null(strstr(all, "race in k"));
        free(all);
        for (uint32_t i = 1; i < CTAS; i++) missed += words[i] != i;
        if (seed == 0) assert_int_equal(missed, 0);
    }
    assert_true(missed > 0);
}

// The launch ends with the first CTA that traps, in their order and not in time.
static void first_fatal_report(void **state) {
    static const char text[] = FRAME(
        "mov.u32 %r3, 0;\nsub.u32 %r5, 40, %r1;\nL: add.u32 %r3, %r3, 1;\nmul.lo.u32 %r4, %r5, 50;"
        "\nsetp.lt.u32 %p1, %r3, %r4;\n@%p1 bra L;\nsetp.gt.u32 %p2, %r1, 6;\n@%p2 trap;");
    struct emu_result result;

    (void)state;
    for (unsigned threads = 1; threads <= 8; threads++) {
        char *all = run(text, threads, 3, &result);
        assert_non_null(strstr(all, "trap in k, CTA (7,0,0)"));
        assert_null(strstr(all + 1, "trap in"));
        free(all);
    }
}

// All CTAs count up and wait for the last: none may run to its end before the others.
static void waiting_for_each_other(void **state) {
    static const char text[] =
        FRAME("setp.ne.u32 %p1, %r2, 0;\n@%p1 bra E;\nadd.u64 %rd3, %rd1, 2048;\n"
              "atom.add.release.gpu.global.u32 %r3, [%rd3], 1;\nW: ld.acquire.gpu.global.u32 %r4, "
              "[%rd3];\nsetp.lt.u32 %p2, %r4, 24;\n@%p2 bra W;\nst.global.u32 [%rd2], %r4;\nE:");
    (void)state;
    same_on_any_number_of_threads(text);
    for (int i = 0; i < CTAS; i++) assert_int_equal(words[i], CTAS);
}

// Each CTA writes by [store], then [fence], then takes a ticket; the last one reads.
static char *run_ticket(const char *fence, const char *store) {
    static const char before[] = FRAME("setp.ne.u32 %p1, %r2, 0;\n@%p1 bra E;\nHERE"
                                       "atom.add.relaxed.gpu.global.u32 %r3, [%rd1+2048], 1;\n"
                                       "setp.ne.u32 %p2, %r3, 23;\n@%p2 bra E;\n"
                                       "fence.acq_rel.gpu;\nld.global.u32 %r4, [%rd1+20];\n"
                                       "st.global.u32 [%rd1+1024], %r4;\nE:");
    const char *here = strstr(before, "HERE");
    char text[2000];
    struct emu_result result;

    snprintf(text, sizeof text, "%.*s%s [%%rd2], %%r1;\n%s\n%s", (int)(here - before), before,
             store, fence, here + 4);
    char *all = run(text, 0, 1, &result);
    assert_int_equal(words[256], 5);
    return all;
}

static void order_between_clusters(void **state) {
    static const struct {
        const char *fence, *store;
        bool race;
    } cases[] = {
        {"fence.acq_rel.gpu;", "st.global.u32", false},
        {"membar.gl;", "st.global.u32", false},
        {"", "st.global.u32", true},
        {"membar.cta;", "st.global.u32", true},
        {"", "st.release.gpu.global.u32", true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *all = run_ticket(cases[i].fence, cases[i].store);
        assert_int_equal(strstr(all, "race in k") != NULL, cases[i].race);
        free(all);
    }
}

// All CTAs store to one word what is theirs, or the same; and to a byte of their own in a word that
// four share.
static void global_race(void **state) {
    static const char both[] = FRAME("st.global.u32 [%rd1+2048], %r1;");
    static const char same[] = FRAME("st.global.u32 [%rd1+2048], 7;");
    static const char own[] = FRAME("cvt.u64.u32 %rd3, %r1;\nadd.u64 %rd3, %rd1, %rd3;\n"
                                    "st.global.u8 [%rd3], %r1;");
    struct emu_result result;

    (void)state;
    same_on_any_number_of_threads(both);
    char *all = run(both, 0, 1, &result), *one = run(same, 0, 1, &result);
    char *none = run(own, 0, 1, &result);
    assert_non_null(strstr(all, "race in k"));
    assert_string_equal(one, "");
    assert_string_equal(none, "");
    free(all);
    free(one);
    free(none);
}

// What a row says of an instruction: a reduction in global memory is heard of by other clusters, so
// that no two of them run at once and none is lost.
static void reductions_are_not_lost(void **state) {
    static const char text[] =
        FRAME("mov.u32 %r3, 0;\nL: red.global.add.u32 [%rd1], 1;\nadd.u32 %r3, %r3, 1;\n"
              "setp.lt.u32 %p1, %r3, 300;\n@%p1 bra L;");
    struct emu_result result;

    (void)state;
    free(run(text, 8, 1, &result));
    assert_int_equal(words[0], CTAS * 64 * 300);
}

// The cost of a matrix instruction is its shape's; of a wgmma each of the four warps has a part.
static void matrix_costs(void **state) {
    static const char mma[] =
        FRAME("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r3, %r4, %r5, %r6}, "
              "{%r7, %r8, %r9, %r10}, {%r11, %r12}, {%r3, %r4, %r5, %r6};");
    static const char other[] = FRAME("movmatrix.sync.aligned.m8n8.trans.b16 %r3, %r4;");
    const struct emu_launch launch = {.grid = {CTAS}, .block = {64}};
    struct emu_result result;

    (void)state;
    emu_kernel_words(mma, launch, words, sizeof words, &result);
    assert_int_equal(result.multiply_adds, CTAS * 2 * 16 * 8 * 16);
    emu_result_free(&result);
    emu_kernel_words(other, launch, words, sizeof words, &result);
    assert_int_equal(result.multiply_adds, 0);
    emu_result_free(&result);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reports),
        cmocka_unit_test(first_fatal_report),
        cmocka_unit_test(stores_are_late_but_for_seed_0),
        cmocka_unit_test(waiting_for_each_other),
        cmocka_unit_test(order_between_clusters),
        cmocka_unit_test(global_race),
        cmocka_unit_test(reductions_are_not_lost),
        cmocka_unit_test(matrix_costs),
    };
    return cmocka_run_group_tests_name("emu grid", tests, NULL, NULL);
}

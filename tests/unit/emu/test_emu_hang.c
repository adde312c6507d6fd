// Why all stand still, in the report's words: not those who happen to wait, but what they wait for
// in the end, who asked for it and what else it holds up. The same in every order.
#include "tests/unit/emu/emu_kernel.h"

#include <stdio.h>
#include <stdlib.h>

#include "runtime/whole_file.h"

enum { SEEDS = 20, BYTES = 4096, TEXT = 1 << 14 };

static const char path[] = "tests/emu/rules/handover.ptx";

// With [new] for [old] in the program, the report says each of [says].
static const struct wrong {
    const char *old, *new, *says[3];
} wrong[] = {
    {"_, [%r6], 128;",
     "_, [%r6], 144;",
     {"cause: mbarrier 0x500 can't end phase 0: 16 of 144 expected bytes are missing\n",
      "    expected by warp 2 at PTX line ", "  which also stops barrier 1, barrier 3\n"}},
    {"_, [%r6], 128;",
     "_, [%r6], 256;",
     {"cause: mbarrier 0x500 can't end phase 0: 128 of 256 expected bytes are missing\n",
      "    warp 1 waits for it at PTX line ",
      "    in a circle with barrier 3: warp 2 waits for it at PTX line "}},
    {"_, [%r6], 128;",
     "_, [%r6], 112;",
     {"cause: mbarrier 0x500 can't end phase 0: 16 bytes came beyond the 112 expected\n"}},
    {"[%r6], 1;",
     "[%r6], 2;",
     {"cause: mbarrier 0x500 can't end phase 0: 1 of 2 arrivals is missing\n    initialised at "}},
    {"setp.lt.u32 %p3, %r8, 2;",
     "setp.lt.u32 %p3, %r8, 1;",
     {"cause: barrier 1 has 32 of 64 threads, and too few are left to come\n    warp 1 waits"}},
    {"bar.sync 2, 64;",
     "bar.sync 4, 64;",
     {"cause: barrier 4 has 32 of 64 threads\n",
      "    in a circle with barrier 2: warp 1 waits for it at "}},
};

static void run_wrong(const struct wrong *row, const char *text, uint64_t seed) {
    static char changed[TEXT + 200];
    const char *found = strstr(text, row->old);
    struct emu_memory *memory = emu_memory_new();
    struct emu_result result;
    uint64_t buffers[2];
    const void *params[] = {&buffers[0], &buffers[1]};
    assert_non_null(found);
    snprintf(changed, sizeof changed, "%.*s%s%s", (int)(found - text), text, row->new,
             found + strlen(row->old));
    for (int i = 0; i < 2; ++i) {
        buffers[i] = emu_memory_alloc(memory, BYTES, i ? "in" : "out");
        emu_memory_fill(memory, buffers[i], 0, BYTES);
    }
    emu_kernel_launch(memory, changed, (struct emu_launch){.block = {96}, .seed = seed}, params, 2,
                      &result);
    for (int i = 0; i < 3 && row->says[i]; ++i)
        if (!result.report_count || !strstr(result.reports[0].text, row->says[i]))
            fail_msg("no '%s' in\n%s", row->says[i],
                     result.report_count ? result.reports[0].text : "nothing");
    emu_result_free(&result);
    emu_memory_delete(memory);
}

static void the_cause_is_named_in_every_order(void **state) {
    size_t bytes;
    char *text;
    (void)state;
    assert_int_equal(tmg_file_read(path, TEXT, &text, &bytes), 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i)
        for (uint64_t seed = 0; seed < SEEDS; ++seed) run_wrong(&wrong[i], text, seed);
    free(text);
}

// A role ends where the next begins.
static void warps_bear_the_names_of_their_roles(void **state) {
    static const char text[] = ".version 8.0\n.target sm_90a\n.address_size 64\n"
                               ".entry k(.param .u64 out) { .reg .b32 %r; mov.u32 %r, %tid.x;\n"
                               "shr.u32 %r, %r, 5; bar.sync %r, 64; ret; }\n";
    static const struct emu_role roles[] = {{"producer", 0, 1}, {"consumer", 1, 1}};
    const struct emu_launch launch = {.block = {96}, .roles = roles, .role_count = 2};
    struct emu_result result;
    uint32_t word;
    (void)state;
    emu_kernel_words(text, launch, &word, sizeof word, &result);
    emu_kernel_is_reported(&result, EMU_DEADLOCK);
    const char *said = result.reports[0].text;
    if (!strstr(said, " producer warp 0 ") || !strstr(said, " consumer warp 1 ") ||
        !strstr(said, " warp 2 ") || strstr(said, "consumer warp 2"))
        fail_msg("%s", said);
    emu_result_free(&result);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_cause_is_named_in_every_order),
                                       cmocka_unit_test(warps_bear_the_names_of_their_roles)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// What a profile counts, on programs whose figures follow from their addresses by hand.
#include "tests/unit/emu/emu_kernel.h"

#include <stdio.h>
#include <stdlib.h>

enum { WORDS = 4096 };

#define FRAME(body)                                                                           \
    ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n" \
    ".reg .b32 %r<32>;\n.reg .b64 %rd<16>;\n.shared .align 16 .b8 s[16384];\n"                \
    "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %tid.x;\nmov.u32 %r3, "  \
    "s;\n" body "\nret;\n}\n"

// The profile of [text] on [ctas] CTAs of one warp; the caller's.
static char *profile_of(const char *text, unsigned ctas) {
    static uint32_t words[WORDS];
    char *printed = NULL;
    size_t bytes;
    struct emu_error error;
    struct emu_module *module;
    struct emu_result result;
    struct emu_memory *memory = emu_memory_new();
    struct emu_profile *profile = emu_profile_new();
    uint64_t out = emu_memory_alloc(memory, sizeof words, "out");
    const void *params[] = {&out};

    emu_memory_fill(memory, out, 0, sizeof words);
    if (emu_module_parse("test.ptx", text, strlen(text), NULL, &module, &error))
        fail_msg("%s", error.text);
    const struct emu_launch launch = {.module = module,
                                      .entry = "k",
                                      .grid = {ctas},
                                      .block = {32},
                                      .params = params,
                                      .param_count = 1,
                                      .profile = profile};
    assert_int_equal(emu_launch_run(memory, &launch, &result, &error), 0);
    emu_kernel_is_clean(&result);
    FILE *file = open_memstream(&printed, &bytes);
    emu_profile_print(profile, file);
    fclose(file);
    emu_result_free(&result);
    emu_profile_delete(profile);
    emu_module_free(module);
    emu_memory_delete(memory);
    return printed;
}

static void says(const char *text, unsigned ctas, const char *line) {
    char *printed = profile_of(text, ctas);

    if (strstr(printed, line) == NULL) fail_msg("no \"%s\" in\n%s", line, printed);
    free(printed);
}

// Lane i at word i * STRIDE of shared memory.
#define SHARED(stride, width)                                                    \
    FRAME("mad.lo.u32 %r4, %r2, " #stride ", %r3;\n"                             \
          "mov.u32 %r5, 1;\nmov.u32 %r6, 2;\nmov.u32 %r7, 3;\nmov.u32 %r8, 4;\n" \
          "st.shared." width ";")

static void wavefronts_are_those_of_the_banks(void **state) {
    (void)state;
    says(SHARED(4, "u32 [%r4], %r5"), 1, "1  st.shared.u32: 1 wavefronts, 1 at least");
    says(SHARED(8, "u32 [%r4], %r5"), 1, "1  st.shared.u32: 2 wavefronts, 1 at least");
    says(SHARED(128, "u32 [%r4], %r5"), 1, "1  st.shared.u32: 32 wavefronts, 1 at least");
    says(SHARED(132, "u32 [%r4], %r5"), 1, "1  st.shared.u32: 1 wavefronts, 1 at least");
    says(SHARED(16, "v4.u32 [%r4], {%r5, %r6, %r7, %r8}"), 1,
         "1  st.shared.v4.u32: 4 wavefronts, 4 at least");
    says(SHARED(128, "v4.u32 [%r4], {%r5, %r6, %r7, %r8}"), 1,
         "1  st.shared.v4.u32: 32 wavefronts, 4 at least");
    // a word that all lanes read is read once
    says(FRAME("mad.lo.u32 %r4, %r2, 4, %r3;\nst.shared.u32 [%r4], %r2;\nbar.warp.sync -1;\n"
               "ld.shared.u32 %r5, [%r3];"),
         1, "1  ld.shared.u32: 1 wavefronts, 1 at least");
}

// Lane i at byte i * STRIDE + SHIFT of global memory.
#define GLOBAL(stride, shift) \
    FRAME("mad.wide.u32 %rd2, %r2, " #stride ", %rd1;\nld.global.u32 %r4, [%rd2+" #shift "];")

static void sectors_are_those_of_the_addresses(void **state) {
    (void)state;
    says(GLOBAL(4, 0), 1, "1  ld.global.u32: 4 sectors");
    says(GLOBAL(4, 16), 1, "1  ld.global.u32: 5 sectors");
    says(GLOBAL(64, 0), 3, "3  ld.global.u32: 96 sectors");
    says(GLOBAL(0, 0), 1, "1  ld.global.u32: 1 sectors");
}

static void waits_carry_their_depth(void **state) {
    (void)state;
    says(FRAME("cp.async.commit_group;\ncp.async.wait_group 3;\ncp.async.wait_group 0;"), 1,
         "1  cp.async.wait_group 3");
}

// The same stores by other CTAs are another order of the work.
static void the_order_tells_who_did_what(void **state) {
    (void)state;
    char *up = profile_of(FRAME("mad.wide.u32 %rd2, %r1, 4, %rd1;\nst.global.u32 [%rd2], 1;"), 4);
    char *down = profile_of(FRAME("sub.u32 %r1, 3, %r1;\nmad.wide.u32 %rd2, %r1, 4, %rd1;\n"
                                  "st.global.u32 [%rd2], 1;"),
                            4);
    char *again =
        profile_of(FRAME("mad.wide.u32 %rd2, %r1, 4, %rd1;\nst.global.u32 [%rd2], 1;"), 4);
    assert_string_equal(up, again);
    assert_int_not_equal(strncmp(strstr(up, "order "), strstr(down, "order "), 22), 0);
    free(up);
    free(down);
    free(again);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wavefronts_are_those_of_the_banks),
        cmocka_unit_test(sectors_are_those_of_the_addresses),
        cmocka_unit_test(waits_carry_their_depth),
        cmocka_unit_test(the_order_tells_who_did_what),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

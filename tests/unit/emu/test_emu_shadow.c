// A shadow is of any memory, not of shared memory alone: here of one with lanes and columns, as a
// tensor memory has, which takes a row that says what its places are called.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/emu/check/check.h"

enum { LANE = 2048, LANES = 128, AGENTS = 8 };

static const char *place(uint32_t offset, char *text, size_t size) {
    snprintf(text, size, "tensor memory, lane %u, column %u", offset / LANE, offset % LANE / 4);
    return text;
}

static const struct emu_shadowed tensor_memory = {0, place};

static void lanes_and_columns_are_checked_alike(void **state) {
    struct ptx_function entry = {.title = "k"};
    const struct emu_insn code[] = {{.line = 1}, {.line = 2}, {.line = 3}};
    const struct emu_program program = {.code = (struct emu_insn *)(uintptr_t)code};
    const struct emu_launch launch = {0};
    struct emu_machine machine = {.launch = &launch, .entry = &entry, .program = &program};
    struct emu_cluster cluster = {.machine = &machine, .cta_count = 1, .warp_count = 2};
    struct emu_warp warps[2] = {{.index = 0}, {.index = 1, .agent = 1}};
    struct emu_cta cta = {.cluster = &cluster, .warps = warps, .warp_count = 2};
    uint32_t seen[2][AGENTS] = {{1, 0}, {0, 1}};
    struct emu_toucher by[2];
    (void)state;
    cluster.ctas = &cta;
    for (int w = 0; w < 2; w++) {
        warps[w].cta = &cta;
        warps[w].clock.seen = seen[w];
        by[w] = (struct emu_toucher){.agent = (uint32_t)w,
                                     .time = 1,
                                     .clock = &warps[w].clock,
                                     .warp = &warps[w],
                                     .insn = &code[w]};
    }
    struct emu_shadow *shadow = emu_shadow_new(&tensor_memory, &cta, LANES * LANE);
    assert_non_null(shadow);
    emu_shadow_touch(shadow, 3 * LANE, 64, EMU_WRITE, &by[0]);
    emu_shadow_touch(shadow, 3 * LANE + 32, 4, EMU_READ, &by[0]);
    assert_int_equal(machine.report_count, 0);

    emu_shadow_touch(shadow, 3 * LANE + 20, 4, EMU_READ, &by[1]);
    assert_int_equal(machine.report_count, 1);
    assert_int_equal(machine.reports[0].class_, EMU_RACE);
    assert_non_null(strstr(machine.reports[0].text,
                           "warp 1 reads tensor memory, lane 3, column 5, which warp 0 writes"));
    emu_shadow_touch(shadow, 127 * LANE, 16, EMU_READ, &by[1]);
    assert_int_equal(machine.reports[1].class_, EMU_UNINITIALISED);
    assert_non_null(
        strstr(machine.reports[1].text, "tensor memory, lane 127, column 0 was never written"));

    seen[1][0] = 1;  // warp 1 has heard of warp 0
    by[1].insn = &code[2];
    emu_shadow_touch(shadow, 3 * LANE, 64, EMU_READ, &by[1]);
    assert_int_equal(machine.report_count, 2);
    for (size_t i = 0; i < machine.report_count; i++) free(machine.reports[i].text);
    free(machine.reports);
    emu_shadow_delete(shadow);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(lanes_and_columns_are_checked_alike)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

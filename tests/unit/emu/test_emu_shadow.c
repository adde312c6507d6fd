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

enum { LANE = 2048, LANES = 128, AGENTS = 16 };

static const char *place(uint32_t offset, char *text, size_t size) {
    snprintf(text, size, "tensor memory, lane %u, column %u", offset / LANE, offset % LANE / 4);
    return text;
}

static const struct emu_shadowed tensor_memory = {0, place};

static const struct emu_insn code[] = {{.line = 1}, {.line = 2}, {.line = 3}};
static const struct emu_program program = {.code = (struct emu_insn *)(uintptr_t)code};
static const struct emu_launch launch = {0};
static struct ptx_function entry = {.title = "k"};

// Two warps of a CTA, of which each knows its own time alone.
struct scene {
    struct emu_machine machine;
    struct emu_cluster cluster;
    struct emu_cta cta;
    struct emu_warp warps[2];
    uint32_t seen[2][AGENTS];
    struct emu_toucher by[2];
    struct emu_shadow *shadow;
};

static void begin(struct scene *scene) {
    *scene = (struct scene){.machine = {.launch = &launch, .entry = &entry, .program = &program},
                            .cluster = {.cta_count = 1, .warp_count = 2},
                            .cta = {.warp_count = 2}};
    scene->cluster.machine = &scene->machine;
    scene->cluster.ctas = &scene->cta;
    scene->cta.cluster = &scene->cluster;
    scene->cta.warps = scene->warps;
    for (uint32_t w = 0; w < 2; w++) {
        scene->seen[w][w] = 1;
        scene->warps[w] = (struct emu_warp){
            .index = w, .agent = w, .cta = &scene->cta, .clock.seen = scene->seen[w]};
        scene->by[w] = (struct emu_toucher){.agent = w,
                                            .time = 1,
                                            .clock = &scene->warps[w].clock,
                                            .warp = &scene->warps[w],
                                            .insn = &code[w]};
    }
    scene->shadow = emu_shadow_new(&tensor_memory, &scene->cta, LANES * LANE);
    assert_non_null(scene->shadow);
}

static void end(struct scene *scene) {
    for (size_t i = 0; i < scene->machine.report_count; i++) free(scene->machine.reports[i].text);
    free(scene->machine.reports);
    emu_shadow_delete(scene->shadow);
}

static void lanes_and_columns_are_checked_alike(void **state) {
    struct scene scene;
    (void)state;
    begin(&scene);
    struct emu_machine *machine = &scene.machine;
    struct emu_toucher *by = scene.by;
    struct emu_shadow *shadow = scene.shadow;
    emu_shadow_touch(shadow, 3 * LANE, 64, EMU_WRITE, &by[0]);
    emu_shadow_touch(shadow, 3 * LANE + 32, 4, EMU_READ, &by[0]);
    assert_int_equal(machine->report_count, 0);

    emu_shadow_touch(shadow, 3 * LANE + 20, 4, EMU_READ, &by[1]);
    assert_int_equal(machine->report_count, 1);
    assert_int_equal(machine->reports[0].class_, EMU_RACE);
    assert_non_null(strstr(machine->reports[0].text,
                           "warp 1 reads tensor memory, lane 3, column 5, which warp 0 writes"));
    emu_shadow_touch(shadow, 127 * LANE, 16, EMU_READ, &by[1]);
    assert_int_equal(machine->reports[1].class_, EMU_UNINITIALISED);
    assert_non_null(
        strstr(machine->reports[1].text, "tensor memory, lane 127, column 0 was never written"));

    scene.seen[1][0] = 1;  // warp 1 has heard of warp 0
    by[1].insn = &code[2];
    emu_shadow_touch(shadow, 3 * LANE, 64, EMU_READ, &by[1]);
    assert_int_equal(machine->report_count, 2);
    end(&scene);
}

// Cells written together are one until a writer, or a smaller access, sets some apart.
static void cells_that_were_touched_together_part(void **state) {
    struct scene scene;
    (void)state;
    begin(&scene);
    scene.seen[1][0] = 1;
    emu_shadow_touch(scene.shadow, 0, 2 * LANE, EMU_WRITE, &scene.by[0]);
    emu_shadow_touch(scene.shadow, 64, 16, EMU_WRITE, &scene.by[1]);
    emu_shadow_touch(scene.shadow, 256 + 4, 4, EMU_WRITE, &scene.by[1]);
    emu_shadow_touch(scene.shadow, 0, 64, EMU_READ, &scene.by[0]);
    emu_shadow_touch(scene.shadow, 80, 256 - 80, EMU_READ, &scene.by[0]);
    emu_shadow_touch(scene.shadow, 256, 4, EMU_READ, &scene.by[0]);
    emu_shadow_touch(scene.shadow, 256 + 8, LANE, EMU_READ, &scene.by[0]);
    assert_int_equal(scene.machine.report_count, 0);

    emu_shadow_touch(scene.shadow, 0, 2 * LANE, EMU_READ, &scene.by[0]);
    assert_int_equal(scene.machine.report_count, 1);
    assert_int_equal(scene.machine.reports[0].count, 2);
    assert_non_null(strstr(scene.machine.reports[0].text,
                           "warp 0 reads tensor memory, lane 0, column 16, which warp 1 writes"));
    end(&scene);
}

// Behind the agents of the warps come those of their wgmmas, of their cp.asyncs and, for each kind
// of what they do with tensor memory, more: whose it was is said.
static void who_touched_before_is_named(void **state) {
    static const struct {
        uint32_t agent;
        const char *name;
    } before[] = {{1, "which warp 1 writes"},
                  {2, "which a wgmma of the warpgroup of warp 0 writes"},
                  {3, "which a wgmma of the warpgroup of warp 1 writes"},
                  {5, "which a cp.async of warp 0 writes"},
                  {6, "which a cp.async of warp 1 writes"},
                  {7, "which an operation on tensor memory of warp 0 writes"},
                  {10, "which an operation on tensor memory of warp 1 writes"}};
    (void)state;
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        struct scene scene;
        begin(&scene);
        scene.cluster.has_tmem = true;
        scene.by[1].agent = before[i].agent;
        emu_shadow_touch(scene.shadow, 0, 4, EMU_WRITE, &scene.by[1]);
        emu_shadow_touch(scene.shadow, 0, 4, EMU_READ, &scene.by[0]);
        assert_int_equal(scene.machine.report_count, 1);
        if (!strstr(scene.machine.reports[0].text, before[i].name))
            fail_msg("not '%s': %s", before[i].name, scene.machine.reports[0].text);
        end(&scene);
    }
}

// Of warps that touch as one it is the one that has not heard of the other.
static void who_has_not_heard_is_named(void **state) {
    struct scene scene;
    (void)state;
    begin(&scene);
    uint32_t heard[AGENTS] = {1, 1};
    struct emu_warp group[4];
    for (uint32_t w = 0; w < 4; w++) {
        group[w] = scene.warps[0];
        group[w].index = 4 + w;
        group[w].clock.seen = w == 2 ? scene.seen[0] : heard;
    }
    scene.by[0].group = group;
    scene.by[0].what = "wgmma";
    emu_shadow_touch(scene.shadow, 0, 4, EMU_WRITE, &scene.by[1]);
    emu_shadow_touch(scene.shadow, 0, 4, EMU_READ, &scene.by[0]);
    assert_int_equal(scene.machine.report_count, 1);
    assert_non_null(strstr(scene.machine.reports[0].text, "wgmma of warp 6 reads"));
    end(&scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_and_columns_are_checked_alike),
        cmocka_unit_test(cells_that_were_touched_together_part),
        cmocka_unit_test(who_touched_before_is_named),
        cmocka_unit_test(who_has_not_heard_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// What cooperative groups are compiled to: the barrier of a grid in its workspace (%envreg), tiles
// of several warps in the bytes before shared memory (%reserved_smem_offset_1). And the words that
// nvcc seldom writes: registers of vectors, isspacep, a bulk reduction's subnormals.
#include "tests/unit/emu/emu_kernel.h"

#include <stdlib.h>

enum { WORDS = 1024 };

static struct emu_result result;
static uint32_t words[WORDS];

// Runs the entry k(out) of [body]'s PTX; %rd1 is out, %r1 the thread in the CTA.
static void run(const char *body, unsigned grid, unsigned block, bool cooperative, uint64_t seed) {
    static char text[8000];
    static const char frame[] =
        ".version 8.0\n.target sm_90a\n.address_size 64\n"
        ".visible .entry k(.param .u64 out)\n{\n"
        ".reg .pred %%p<8>;\n.reg .b32 %%r<32>;\n.reg .b64 %%rd<16>;\n.reg .f32 %%f<16>;\n"
        "ld.param.u64 %%rd1, [out];\nmov.u32 %%r1, %%tid.x;\n%s\nret;\n}\n";
    const struct emu_launch launch = {
        .grid = {grid, 1, 1}, .block = {block, 1, 1}, .cooperative = cooperative, .seed = seed};
    snprintf(text, sizeof text, frame, body);
    emu_result_free(&result);
    emu_kernel_words(text, launch, words, sizeof words, &result);
}

static void is_clean(void) { emu_kernel_is_clean(&result); }

// grid.sync(): CTA 0 adds 2^31 - (CTAs - 1), the others 1; done when the top bit has changed.
static const char grid_sync[] =
    "mov.u32 %r2, %envreg2;\nmov.u32 %r3, %envreg1;\ncvt.u64.u32 %rd2, %r2;\n"
    "cvt.u64.u32 %rd3, %r3;\nbfi.b64 %rd2, %rd3, %rd2, 32, 32;\n"
    "mov.u32 %r4, %ctaid.x;\nmov.u32 %r5, %nctaid.x;\nmov.u32 %r6, %ntid.x;\n"
    "mad.lo.u32 %r7, %r4, %r6, %r1;\nmad.wide.u32 %rd4, %r7, 4, %rd1;\n"
    "add.u32 %r8, %r7, 1;\nst.global.u32 [%rd4], %r8;\n"
    "setp.ne.s64 %p1, %rd2, 0;\n@%p1 bra THERE;\ntrap;\nTHERE:\nbarrier.sync 0;\n"
    "setp.ne.u32 %p2, %r1, 0;\n@%p2 bra MET;\n"
    "sub.u32 %r9, 0x80000001, %r5;\nsetp.eq.u32 %p3, %r4, 0;\nselp.b32 %r9, %r9, 1, %p3;\n"
    "add.s64 %rd2, %rd2, 4;\natom.add.release.gpu.u32 %r10, [%rd2], %r9;\n"
    "WAIT: ld.acquire.gpu.u32 %r11, [%rd2];\nxor.b32 %r11, %r11, %r10;\n"
    "setp.gt.s32 %p4, %r11, -1;\n@%p4 bra WAIT;\nMET:\nbarrier.sync 0;\n"
    // the value of the thread half a grid away
    "mul.lo.u32 %r12, %r5, %r6;\nshr.u32 %r13, %r12, 1;\nadd.u32 %r14, %r7, %r13;\n"
    "rem.u32 %r14, %r14, %r12;\nmad.wide.u32 %rd5, %r14, 4, %rd1;\nld.global.u32 %r15, [%rd5];\n"
    "mad.wide.u32 %rd6, %r12, 4, %rd4;\nst.global.u32 [%rd6], %r15;";

static void syncs_a_grid(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 5; seed++) {
        run(grid_sync, 6, 64, true, seed);
        is_clean();
        for (unsigned i = 0; i < 6 * 64; i++) assert_int_equal(words[384 + i], (i + 192) % 384 + 1);
    }
}

static void says_that_a_grid_is_not_cooperative(void **state) {
    (void)state;
    run(grid_sync, 2, 64, false, 0);
    assert_int_equal(result.report_count, 1);
    assert_int_equal(result.reports[0].class_, EMU_TRAP);
    assert_non_null(strstr(result.reports[0].text, "launched as cooperative"));
}

// The sum over a tile of two warps: each leaves its part behind the tile's bits and meets the other
// there, as tiled_partition<64> does.
static const char tile_sum[] =
    "mov.u32 %r2, %reserved_smem_offset_1;\ncvt.u64.u32 %rd2, %r2;\ncvta.shared.u64 %rd2, %rd2;\n"
    "shr.u32 %r3, %r1, 5;\nand.b32 %r4, %r1, 31;\nsetp.eq.u32 %p1, %r4, 0;\n"
    "shl.b32 %r5, 1, %r3;\nnot.b32 %r6, %r5;\n@%p1 red.and.release.cta.b32 [%rd2], %r6;\n"
    "barrier.sync 0;\nand.b32 %r7, %r3, 30;\nshl.b32 %r7, 3, %r7;\n"  // the tile's two bits
    "redux.sync.add.u32 %r8, %r1, -1;\nmad.wide.u32 %rd3, %r3, 8, %rd2;\n"
    "@%p1 st.u32 [%rd3+32], %r8;\n@!%p1 bra DONE;\n"
    "atom.or.acq_rel.cta.b32 %r9, [%rd2], %r5;\nor.b32 %r10, %r9, %r5;\nand.b32 %r10, %r10, %r7;\n"
    "setp.ne.u32 %p2, %r10, %r7;\n@%p2 bra WAIT;\n"
    "xor.b32 %r11, %r3, 1;\nmad.wide.u32 %rd4, %r11, 8, %rd2;\nld.u32 %r12, [%rd4+32];\n"
    "add.u32 %r12, %r12, %r8;\nst.u32 [%rd4+32], %r12;\nst.u32 [%rd3+32], %r12;\n"
    "not.b32 %r13, %r7;\nred.and.release.cta.b32 [%rd2], %r13;\nbra DONE;\n"
    "WAIT: ld.acquire.cta.u32 %r9, [%rd2];\nand.b32 %r9, %r9, %r5;\nsetp.ne.u32 %p3, %r9, 0;\n"
    "@%p3 bra WAIT;\nDONE:\nbar.warp.sync -1;\nld.u32 %r14, [%rd3+32];\n"
    "mad.wide.u32 %rd5, %r1, 4, %rd1;\nst.global.u32 [%rd5], %r14;";

static void syncs_tiles(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 5; seed++) {
        run(tile_sum, 1, 256, false, seed);
        is_clean();
        for (unsigned i = 0; i < 256; i++)
            assert_int_equal(words[i], 64 * (i & ~63u) + 63 * 64 / 2);
    }
}

// Only who asks for the reserved bytes may use them.
static void keeps_the_reserved_bytes(void **state) {
    (void)state;
    run("mov.u32 %r2, %reserved_smem_offset_begin;\nmov.u32 %r3, %reserved_smem_offset_end;\n"
        "mov.u32 %r4, %reserved_smem_offset_cap;\nmov.u32 %r5, %reserved_smem_offset_0;\n"
        "st.global.v4.u32 [%rd1], {%r2, %r3, %r4, %r5};",
        1, 1, false, 0);
    is_clean();
    assert_int_equal(words[0], 0);
    assert_int_equal(words[1], 0x120);
    assert_int_equal(words[2], 0x400);
    assert_int_equal(words[3], 0);
    run("mov.u32 %r2, 512;\nld.shared.u32 %r3, [%r2];", 1, 1, false, 0);
    assert_int_equal(result.reports[0].class_, EMU_OUT_OF_BOUNDS);
}

// A .const variable's window is apart from .global, and ends with the variable.
static void tells_windows_apart(void **state) {
    (void)state;
    run(".const .align 4 .b32 c[4] = {1, 2, 3, 4};\n.global .align 4 .b32 v[4] = {1, 2, 3, 4};\n"
        "mov.u64 %rd2, c;\ncvta.const.u64 %rd2, %rd2;\nmov.u64 %rd3, v;\n"
        "isspacep.const %p1, %rd2;\nselp.u32 %r2, 1, 0, %p1;\n"
        "isspacep.global %p1, %rd2;\nselp.u32 %r3, 1, 0, %p1;\n"
        "isspacep.const %p1, %rd3;\nselp.u32 %r4, 1, 0, %p1;\n"
        "isspacep.global %p1, %rd3;\nselp.u32 %r5, 1, 0, %p1;\n"
        "add.u64 %rd2, %rd2, 15;\nisspacep.const %p1, %rd2;\nselp.u32 %r6, 1, 0, %p1;\n"
        "add.u64 %rd2, %rd2, 1;\nisspacep.const %p1, %rd2;\nselp.u32 %r7, 1, 0, %p1;\n"
        "st.global.v4.u32 [%rd1], {%r2, %r3, %r4, %r5};\nst.global.v2.u32 [%rd1+16], {%r6, %r7};",
        1, 1, false, 0);
    is_clean();
    static const uint32_t want[] = {1, 0, 0, 1, 1, 0};
    assert_memory_equal(words, want, sizeof want);
}

// As an H200 adds: 0x007fffff + 0x00800001 is exact, 2 + 0 stays.
static void keeps_subnormals_of_bulk_reductions(void **state) {
    (void)state;
    run(".shared .align 16 .b32 s[4];\nmov.u32 %r2, s;\nmov.b32 %r3, 0x007fffff;\n"
        "mov.b32 %r4, 2;\nmov.b32 %r5, 0x00800001;\nmov.b32 %r6, 0;\n"
        "st.shared.v4.b32 [%r2], {%r3, %r4, %r5, %r6};\n"
        "st.global.v4.b32 [%rd1], {%r5, %r6, %r3, %r4};\nfence.proxy.async;\n"
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%rd1], [%r2], 16;\n"
        "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;",
        1, 1, false, 0);
    is_clean();
    static const uint32_t want[] = {0x01000000, 2, 0x01000000, 2};
    assert_memory_equal(words, want, sizeof want);
}

// .reg .v4: by element, by colour, as a whole; a range of vectors; 64-bit elements.
static void reads_vector_registers(void **state) {
    (void)state;
    run(".reg .v4 .u32 quad, %v;\n.reg .v2 .b64 pair<3>;\n.reg .v2 .f32 %w<2>;\n"
        "mov.u32 quad.x, 1;\nmov.u32 quad.y, 2;\nadd.u32 quad.b, quad.x, quad.g;\n"
        "mov.u32 quad.w, 4;\nst.global.v4.u32 [%rd1], quad;\nld.global.v4.u32 %v, [%rd1];\n"
        "shl.b32 %v.y, %v.w, %v.x;\nst.global.v4.b32 [%rd1+16], %v;\n"
        "mov.u64 pair2.x, 0x500000006;\nmov.u64 pair2.y, 7;\nmov.b64 {%r2, %r3}, pair2.x;\n"
        "st.global.v2.b64 [%rd1+32], pair2;\nst.global.u32 [%rd1+48], %r3;\n"
        "mov.f32 %w1.y, 0f40000000;\nmov.f32 %w1.x, 0f3F800000;\n"
        "mov.b64 %rd3, %w1;\nst.global.b64 [%rd1+56], %rd3;",
        1, 1, false, 0);
    is_clean();
    static const uint32_t expected[] = {1, 2, 3, 4, 1, 8, 3,          4,
                                        6, 5, 7, 0, 5, 0, 0x3f800000, 0x40000000};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_int_equal(words[i], expected[i]);
}

static void names_the_line_of_a_wrong_vector(void **state) {
    static const struct {
        const char *code, *said;
    } wrong[] = {
        {".reg .v2 .u32 v;\nmov.u32 v.z, 1;",
         "k.ptx:5:10: error: expected an element of the vector"},
        {".reg .v2 .u32 %v;\nmov.u32 %v.z, 1;", "k.ptx:5:9: error: the vector has no element .z"},
        {".reg .v4 .pred p;", "no vector of predicates"},
        {".reg .u32 a;\nmov.u32 a.x, 1;", "k.ptx:5:10: error: expected ';'"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[400];
        struct emu_module *module;
        struct emu_error error;
        snprintf(text, sizeof text, ".version 8.0\n.target sm_90a\n.entry k() {\n%s\nret;\n}\n",
                 wrong[i].code);
        assert_int_equal(emu_module_parse("k.ptx", text, strlen(text), NULL, &module, &error), -1);
        if (strstr(error.text, wrong[i].said) == NULL) fail_msg("%s", error.text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(syncs_a_grid),
        cmocka_unit_test(says_that_a_grid_is_not_cooperative),
        cmocka_unit_test(syncs_tiles),
        cmocka_unit_test(keeps_the_reserved_bytes),
        cmocka_unit_test(tells_windows_apart),
        cmocka_unit_test(keeps_subnormals_of_bulk_reductions),
        cmocka_unit_test(reads_vector_registers),
        cmocka_unit_test(names_the_line_of_a_wrong_vector),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// The target of a module: what it does not have is refused, by a sentence that says what has it.
#include "tests/unit/emu/emu_kernel.h"

#define REGISTERS                                                                        \
    "\n.address_size 64\n.visible .entry k()\n{\n.reg .pred %p<4>;\n.reg .b16 %rs<2>;\n" \
    ".reg .b32 %r<8>;\n.reg .b64 %rd<8>;\n.shared .align 16 .b8 s[256];\n"
#define MODULE(target, body) ".version 8.0\n.target " target REGISTERS body "\nret;\n}\n"

#define ENTRY(directives)                                                             \
    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n" directives \
    "\n{\nret;\n}\n"

static struct emu_error error;

// Parses and decodes [ptx], and launches it as [like]; false and error.text where it is refused.
static bool accepts(const char *ptx, struct emu_launch like) {
    struct emu_memory *memory = emu_memory_new();
    struct emu_result result = {0};
    struct emu_module *module;

    error.text[0] = '\0';
    bool good = emu_module_parse("test.ptx", ptx, strlen(ptx), NULL, &module, &error) == 0;
    if (good) {
        like.module = module;
        like.entry = "k";
        good = emu_launch_run(memory, &like, &result, &error) == 0;
        emu_result_free(&result);
        emu_module_free(module);
    }
    emu_memory_delete(memory);
    return good;
}

static void refuses(const char *ptx, struct emu_launch like, const char *why) {
    assert_false(accepts(ptx, like));
    if (strstr(error.text, why) == NULL) fail_msg("%s\nlacks: %s", error.text, why);
}

static const struct emu_launch one = {.grid = {1}, .block = {32}};

#define FENCE  "wgmma.fence.sync.aligned;"
#define TENSOR "tcgen05.fence::after_thread_sync;"
#define LEAST  "tcgen05.ld.red.sync.aligned.32x32b.x2.min.u32 {%r1, %r2}, %r3, [%r0];"
#define MOVE   "setmaxnreg.dec.sync.aligned.u32 24;"

static void instructions(void **state) {
    (void)state;
    assert_true(accepts(MODULE("sm_90a", FENCE), one));
    refuses(MODULE("sm_90", FENCE), one,
            "wgmma.fence.sync.aligned needs sm_90a, and the module's target is sm_90");
    refuses(MODULE("sm_100a", FENCE), one, "the module's target is sm_100a");
    refuses(MODULE("sm_90", MOVE), one, "setmaxnreg.dec.sync.aligned.u32 needs sm_90a");
    refuses(MODULE("sm_80", "barrier.cluster.arrive;"), one, "needs sm_90, and");
    refuses(MODULE("sm_80", "fence.proxy.async;"), one, "needs sm_90, and");
    refuses(MODULE("sm_80", "fence.acq_rel.cluster;"), one, "needs sm_90, and");
    refuses(MODULE("sm_86", "cvt.rn.satfinite.e4m3x2.f32 %r1, 0f00000000, 0f00000000;"), one,
            "is sm_86");
    refuses(MODULE("sm_90a", TENSOR), one, "needs sm_100a, and the module's target is sm_90a");
    refuses(MODULE("sm_100", TENSOR), one, "needs sm_100a, and the module's target is sm_100");
    assert_true(accepts(MODULE("sm_100a", TENSOR), one));
    assert_true(accepts(MODULE("sm_103f", TENSOR), one));
    refuses(MODULE("sm_100a", LEAST), one, "needs sm_103a, and the module's target is sm_100a");
    assert_true(accepts(MODULE("sm_80", "cp.async.wait_all;\nfence.acq_rel.gpu;"), one));
}

// What ptxas would say of tcgen05, before the launch: each form of it is taken for what it is, and
// what the ISA has not is refused in its words. They are decoded, and not run.
static const char *decoded(const char *target, const char *text) {
    static char ptx[4096];
    snprintf(ptx, sizeof ptx, ".version 8.8\n.target %s%sbra END;\n%s\nEND:\nret;\n}\n", target,
             REGISTERS, text);
    return ptx;
}

static void decodes(const char *target, const char *text) {
    if (!accepts(decoded(target, text),
                 (struct emu_launch){.grid = {2}, .block = {32}, .cluster = {2}}))
        fail_msg("%s: %s", text, error.text);
}

static const char *const kinds[] = {"f16", "tf32", "f8f6f4", "i8"};
static const char *const scaled[] = {
    "mxf8f6f4.block_scale",         "mxf8f6f4.block_scale.scale_vec::1X",
    "mxf8f6f4.block_scale.block32", "mxf4.block_scale.scale_vec::2X",
    "mxf4.block_scale.block32",     "mxf4nvf4.block_scale.scale_vec::2X",
    "mxf4nvf4.block_scale.block16", "mxf4nvf4.block_scale.scale_vec::4X",
    "mxf4nvf4.block_scale.block32",
};

// [sparse]: with metadata; A in shared memory, then in tensor memory.
static void products(int group, const char *sparse) {
    static const char *const hints[] = {"", ".collector::a::fill", ".collector::a::use",
                                        ".collector::a::lastuse", ".collector::a::discard"};
    const char *meta = *sparse ? "[%r2], " : "", *lanes = group == 2 ? ", 0, 0, 0, 0" : "";
    char text[300];
    for (int i = 0; i < 4 * 5 * 2; ++i) {
        const char *kind = kinds[i % 4], *hint = hints[i / 4 % 5], *a = i / 20 ? "[%r1]" : "%rd1";
        const char *last = i % 4 < 2 ? ", 3" : "";  // scale-input-d
        snprintf(text, sizeof text,
                 "tcgen05.mma%s.cta_group::%d.kind::%s%s [%%r1], %s, %%rd2, %s%%r3, %%p1%s;\n"
                 "tcgen05.mma%s.cta_group::%d.kind::%s%s [%%r1], %s, %%rd2, %s%%r3, "
                 "{0, 0, 0, 1%s}, %%p1;",
                 sparse, group, kind, hint, a, meta, last, sparse, group, kind, hint, a, meta,
                 lanes);
        decodes("sm_100a", text);
    }
    for (int i = 0; i < 9 * 2; ++i) {
        snprintf(
            text, sizeof text,
            "tcgen05.mma%s.cta_group::%d.kind::%s%s [%%r1], %s, %%rd2, %s%%r3, [%%r4], [%%r5], "
            "%%p1;",
            sparse, group, scaled[i / 2], hints[i % 5], i % 2 ? "[%r1]" : "%rd1", meta);
        decodes("sm_103a", text);
    }
    for (int i = 0; i < 4; ++i) {
        snprintf(text, sizeof text,
                 "tcgen05.mma%s.cta_group::%d.kind::%s.ashift [%%r1], [%%r2], %%rd2, %s%%r3, %%p1;",
                 sparse, group, kinds[i], meta);
        decodes("sm_100a", text);
        snprintf(text, sizeof text,
                 "tcgen05.mma.ws%s.cta_group::1.kind::%s.collector::b%d::lastuse [%%r1], %%rd1, "
                 "%%rd2, %s%%r3, %%p1, %%rd3;\n"
                 "tcgen05.mma.ws%s.cta_group::1.kind::%s [%%r1], [%%r2], %%rd2, %s%%r3, %%p1;",
                 sparse, kinds[i], i, meta, sparse, kinds[i], meta);
        decodes("sm_100a", text);
    }
}

static void moves(int group) {
    static const char *const shapes[] = {
        "128x256b",      "4x256b", "128x128b", "64x128b.warpx2::02_13", "64x128b.warpx2::01_23",
        "32x128b.warpx4"};
    static const char *const formats[] = {"", ".b8x16.b6x16_p32", ".b8x16.b4x16_p64"};
    char text[600];
    for (int i = 0; i < 18; ++i) {
        snprintf(text, sizeof text, "tcgen05.cp.cta_group::%d.%s%s [%%r1], %%rd1;", group,
                 shapes[i / 3], formats[i % 3]);
        decodes("sm_100a", text);
    }
    snprintf(text, sizeof text,
             "tcgen05.alloc.cta_group::%d.sync.aligned.shared::cta.b32 [%%r1], 32;\n"
             "tcgen05.alloc.cta_group::%d.sync.aligned.b32 [%%rd1], %%r2;\n"
             "tcgen05.dealloc.cta_group::%d.sync.aligned.b32 %%r1, 512;\n"
             "tcgen05.relinquish_alloc_permit.cta_group::%d.sync.aligned;\n"
             "tcgen05.shift.cta_group::%d.down [%%r1];\n"
             "tcgen05.commit.cta_group::%d.mbarrier::arrive::one.b64 [%%rd1];\n"
             "tcgen05.commit.cta_group::%d.mbarrier::arrive::one.shared::cluster"
             ".multicast::cluster.b64 [%%r1], %%rs1;",
             group, group, group, group, group, group, group);
    decodes("sm_100a", text);
}

// A list of so many registers.
static const char *registers(int count, char *list) {
    char *at = list + sprintf(list, "{%%r1");
    while (--count > 0) at += sprintf(at, ", %%r1");
    strcpy(at, "}");
    return list;
}

static void loads_and_stores(void) {
    static const struct {
        const char *name, *split;
        int registers;  // of .x1
    } shapes[] = {{"32x32b", "", 1},
                  {"16x64b", "", 1},
                  {"16x128b", "", 2},
                  {"16x256b", "", 4},
                  {"16x32bx2", ", 16", 1}};
    static char list[1000], text[3000];
    for (int i = 0; i < 5 * 8; ++i) {
        const int times = 1 << i % 8, count = times * shapes[i / 8].registers;
        const char *shape = shapes[i / 8].name, *split = shapes[i / 8].split;
        registers(count > 128 ? 128 : count, list);
        snprintf(text, sizeof text,
                 "tcgen05.ld.sync.aligned.%s.x%d%s.b32 %s, [%%r1]%s;\n"
                 "tcgen05.st.sync.aligned.%s.x%d%s.b32 [%%r1]%s, %s;",
                 shape, times, i % 2 ? ".pack::16b" : "", list, split, shape, times,
                 i % 2 ? ".unpack::16b" : "", split, list);
        if (accepts(decoded("sm_100a", text), one) != (count <= 128))
            fail_msg("%s\n%s", text, error.text);
    }
}

static void tensor_forms(void **state) {
    (void)state;
    for (int group = 1; group <= 2; ++group) {
        products(group, "");
        products(group, ".sp");
        moves(group);
    }
    loads_and_stores();
    decodes("sm_103a",
            "tcgen05.ld.red.sync.aligned.32x32b.x2.min.abs.NaN.f32 {%r1, %r2}, %r3, [%r4];"
            "tcgen05.ld.red.sync.aligned.16x32bx2.x2.max.s32 {%r1, %r2}, %r3, [%r4], 8;");
}

static void tensor_refusals(void **state) {
    static const struct {
        const char *text, *why;
    } wrong[] = {
        {"tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 48;",
         "48 columns: they are a power of two from 32 to 512"},
        {"tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 1024;", "1024 columns: they are"},
        {"tcgen05.shift.cta_group::1.down [%r1]; tcgen05.shift.cta_group::2.down [%r1];",
         "of a kernel's tcgen05 instructions others have .cta_group::1"},
        {"tcgen05.ld.sync.aligned.16x256b.x64.b32 {%r1}, [%r2];", "16x256b has no .x64"},
        {"tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r1}, [%r2];", "1 registers where 2 are due"},
        {"tcgen05.st.sync.aligned.16x32bx2.x1.b32 [%r2], 8, {%r1, %r1};", "2 registers where 1"},
        {"tcgen05.mma.ws.cta_group::2.kind::f16 [%r1], %rd1, %rd2, %r3, %p1;", "not implemented"},
        {"tcgen05.mma.cta_group::1.kind::f16.ashift [%r1], %rd1, %rd2, %r3, %p1;", "operands of"},
        {"tcgen05.mma.cta_group::1.kind::f16.block_scale [%r1], %rd1, %rd2, %r3, [%r4], [%r5], 1;",
         "not implemented"},
        {"tcgen05.cp.cta_group::1.64x128b [%r1], %rd1;", "not implemented"},
        {"tcgen05.cp.cta_group::1.128x256b.warpx4 [%r1], %rd1;", "not implemented"},
        {"ldmatrix.sync.aligned.m16n16.x4.trans.shared.b8 {%r1, %r2, %r3, %r4}, [%r5];",
         "not implemented"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        refuses(decoded("sm_100a", wrong[i].text), one, wrong[i].why);
    }
    refuses(decoded("sm_100a", "tcgen05.shift.cta_group::2.down [%r1];"), one,
            "k has tcgen05 with .cta_group::2, of pairs of CTAs; a cluster has 1");
    refuses(decoded("sm_103a", "tcgen05.mma.cta_group::1.kind::i8 [%r1], %rd1, %rd2, %r3, %p1;"),
            one, "needs sm_100a");
    refuses(decoded("sm_120a", "redux.sync.min.f32 %r1, %r2, -1;"), one, "needs sm_100a");
    refuses(decoded("sm_90a", "add.f32.bf16 %r1, %rs1, %r2;"), one, "needs sm_100");
}

static void launches(void **state) {
    struct emu_launch pair = {.grid = {2}, .block = {32}, .cluster = {2}};
    struct emu_launch large = {.grid = {16}, .block = {32}, .cluster = {16}};

    (void)state;
    assert_true(accepts(MODULE("sm_90", ""), pair));
    refuses(ENTRY(".maxclusterrank 1"), pair, "a cluster has 2 CTAs, but k has .maxclusterrank 1");
    assert_true(accepts(ENTRY(".maxclusterrank 2"), pair));
    refuses(ENTRY(".maxclusterrank 0"), pair, "a cluster has 1 CTA or more");
    refuses(ENTRY(".maxclusterrank 8, 2"), pair, "expected '{', found ','");
    refuses(ENTRY(".maxclusterrank 2\n.reqnctapercluster 2"), pair,
            "a kernel has .maxclusterrank or .reqnctapercluster, not both");
    refuses(ENTRY(".explicitcluster"), one, "nothing says what its cluster is");
    assert_true(accepts(ENTRY(".explicitcluster"), pair));
    refuses(MODULE("sm_89", ""), pair, "a cluster needs sm_90, and the module's target is sm_89");
    refuses(MODULE("sm_90", ""), large,
            "a cluster of 16 CTAs, more than the portable 8, needs "
            "cudaFuncAttributeNonPortableClusterSizeAllowed (nonportable: true)");
    large.non_portable = true;
    assert_true(accepts(MODULE("sm_90", ""), large));
    large.cluster[0] = large.grid[0] = 32;
    refuses(MODULE("sm_90", ""), large, "a cluster has more than 16 CTAs");
    large = one;
    large.dynamic_smem = 150000;
    assert_true(accepts(MODULE("sm_80", ""), large));
    refuses(MODULE("sm_86", ""), large, "the limit is 101376");
}

static void names(void **state) {
    (void)state;
    refuses(MODULE("sm_42", ""), one, "test.ptx:2:9: error: target sm_42 is not one");
    refuses(MODULE("compute_90", ""), one, "target compute_90 is not one");
    assert_true(accepts(MODULE("sm_100f", ""), one));
    assert_true(accepts(MODULE("sm_90a, debug", ""), one));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instructions),    cmocka_unit_test(tensor_forms),
        cmocka_unit_test(tensor_refusals), cmocka_unit_test(launches),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

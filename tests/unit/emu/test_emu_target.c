// The target of a module: what it does not have is refused, by a sentence that says what has it.
#include "tests/unit/emu/emu_kernel.h"

#define MODULE(target, body)                                                                       \
    ".version 8.0\n.target " target "\n.address_size 64\n.visible .entry k()\n{\n"                 \
    ".reg .pred %p<4>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<8>;\n.shared .align 16 .b8 s[256];\n" body \
    "\nret;\n}\n"

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

static void launches(void **state) {
    struct emu_launch pair = {.grid = {2}, .block = {32}, .cluster = {2}};
    struct emu_launch large = one;

    (void)state;
    assert_true(accepts(MODULE("sm_90", ""), pair));
    refuses(MODULE("sm_89", ""), pair, "a cluster needs sm_90, and the module's target is sm_89");
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
        cmocka_unit_test(instructions),
        cmocka_unit_test(launches),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// wmma on bits and nibbles in global memory, D in the registers of C, or of C and A; and what is
// wrong. All shapes, types and layouts are held to what an H200 gave, by emu/vectors/table_wmma.c.
#include "tests/unit/emu/emu_kernel.h"

enum { MATRIX = 8192 };
static _Alignas(4) uint8_t memory[4][MATRIX];  // A, B, C, D as the kernel sees them

static void run_kernel(const char *ptx) {
    struct emu_result result;
    struct emu_memory *device = emu_memory_new();
    uint64_t address[4];
    const void *params[4];
    for (int i = 0; i < 4; i++) {
        address[i] = emu_memory_alloc(device, MATRIX, "m");
        if (i < 3) emu_memory_write(device, address[i], memory[i], MATRIX);
        params[i] = &address[i];
    }
    emu_kernel_launch(device, ptx, (struct emu_launch){.block = {32}}, params, 4, &result);
    if (result.report_count) fail_msg("%s\n%s", result.reports[0].text, ptx);
    emu_memory_read(device, memory[3], address[3], MATRIX);
    emu_result_free(&result);
    emu_memory_delete(device);
}

static int32_t *sums(int matrix) { return (int32_t *)memory[matrix]; }

// The accumulators' values, small ones.
static void fill_sums(unsigned seed) {
    for (int i = 0; i < MATRIX / 4; i++) {
        seed = seed * 1103515245u + 12345u;
        sums(2)[i] = (int)(seed >> 16) % 7 - 3;
    }
}

static void test_bits(void **state) {
    static const char form[] =
        ".version 8.0\n.target sm_90a\n.address_size 64\n"
        ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d)\n"
        "{\n.reg .b32 %%r<8>;\n.reg .b64 %%p<4>;\n"
        "ld.param.u64 %%p0, [a];\nld.param.u64 %%p1, [b];\nld.param.u64 %%p2, [c];\n"
        "ld.param.u64 %%p3, [d];\n"
        "wmma.load.a.sync.aligned.row.m8n8k128.b1 {%%r0}, [%%p0], 128;\n"
        "wmma.load.b.sync.aligned.col.m8n8k128.b1 {%%r1}, [%%p1], 256;\n"
        "wmma.load.c.sync.aligned.row.m8n8k128.s32 {%%r2, %%r3}, [%%p2];\n"
        "wmma.mma.%s.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 {%%r3, %%r0}, {%%r0}, "
        "{%%r1}, {%%r2, %%r3};\n"
        "wmma.store.d.sync.aligned.row.m8n8k128.s32 [%%p3], {%%r3, %%r0};\nret;\n}\n";
    static char ptx[4096];
    (void)state;
    for (int is_xor = 0; is_xor < 2; is_xor++) {
        for (int i = 0; i < MATRIX; i++) {
            memory[0][i] = (uint8_t)(i * 37 + i / 7);
            memory[1][i] = (uint8_t)(i * 91 + i / 5);
        }
        fill_sums(5);
        snprintf(ptx, sizeof ptx, form, is_xor ? "xor" : "and");
        run_kernel(ptx);
        for (int i = 0; i < 64; i++) {
            int sum = sums(2)[i];
            for (int k = 0; k < 16; k++) {
                uint8_t a = memory[0][i / 8 * 16 + k], b = memory[1][i % 8 * 32 + k];
                sum += __builtin_popcount(is_xor ? a ^ b : a & b);
            }
            assert_int_equal(sums(3)[i], sum);
        }
    }
}

static int nibble(const uint8_t *bytes, int i, bool is_signed) {
    int value = bytes[i / 2] >> (i % 2 * 4) & 15;
    return is_signed && value > 7 ? value - 16 : value;
}

static void test_nibbles(void **state) {
    static const char form[] =
        ".version 8.0\n.target sm_90a\n.address_size 64\n"
        ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d)\n"
        "{\n.reg .b32 %%r<8>;\n.reg .b64 %%p<4>;\n"
        "ld.param.u64 %%p0, [a];\nld.param.u64 %%p1, [b];\nld.param.u64 %%p2, [c];\n"
        "ld.param.u64 %%p3, [d];\n"
        "wmma.load.a.sync.aligned.row.m8n8k32.%s {%%r0}, [%%p0], 64;\n"
        "wmma.load.b.sync.aligned.col.m8n8k32.%s {%%r1}, [%%p1];\n"
        "wmma.load.c.sync.aligned.col.m8n8k32.s32 {%%r2, %%r3}, [%%p2];\n"
        "wmma.mma.sync.aligned.row.col.m8n8k32.s32.%s.%s.s32.satfinite {%%r2, %%r3}, {%%r0}, "
        "{%%r1}, {%%r2, %%r3};\n"
        "wmma.store.d.sync.aligned.row.m8n8k32.s32 [%%p3], {%%r2, %%r3};\nret;\n}\n";
    static char ptx[4096];
    (void)state;
    for (int is_signed = 0; is_signed < 2; is_signed++) {
        const char *type = is_signed ? "s4" : "u4";
        for (int i = 0; i < MATRIX; i++) {
            memory[0][i] = (uint8_t)(i * 37 + i / 7);
            memory[1][i] = (uint8_t)(i * 91 + i / 5);
        }
        fill_sums(6);
        snprintf(ptx, sizeof ptx, form, type, type, type, type);
        run_kernel(ptx);
        for (int i = 0; i < 64; i++) {
            int sum = sums(2)[i % 8 * 8 + i / 8];
            for (int k = 0; k < 32; k++)
                sum += nibble(memory[0], i / 8 * 64 + k, is_signed) *
                       nibble(memory[1], i % 8 * 32 + k, is_signed);
            assert_int_equal(sums(3)[i], sum);
        }
    }
}

// What is wrong is said, with its class.
static void test_errors(void **state) {
    static const struct {
        const char *line, *said;
        enum emu_class class_;
    } wrong[] = {
        {"wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, "
         "%r7}, [%p0+8], 16;",
         "multiples of 16 bytes", EMU_MISALIGNED},
        {"wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, "
         "%r7}, [%p0], 12;",
         "multiples of 16 bytes", EMU_MISALIGNED},
        {"wmma.load.a.sync.aligned.row.m8n8k32.global.s4 {%r0}, [%p0], 33;", "multiples of 4 bytes",
         EMU_MISALIGNED},
        {"wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r0, %r1, %r2, %r3}, [%p0], 16;",
         "4 registers where 8 are due", EMU_BAD_OPERAND},
        {"wmma.load.a.sync.aligned.row.m8n8k4.global.f64 {%r0}, [%p0];", "does not have 64 bits",
         EMU_BAD_OPERAND},
        {"wmma.load.a.sync.aligned.row.m16n16k8.global.f16 {%r0}, [%p0];", "no such shape",
         EMU_UNIMPLEMENTED},
        {"wmma.load.a.sync.aligned.row.m8n8k16.global.s4 {%r0}, [%p0];", "no such shape",
         EMU_UNIMPLEMENTED},
        {"wmma.store.d.sync.aligned.row.m16n16k16.f32 [%p0], {%r0, %r1, %r2, %r3, %r4, %r5, %r6, "
         "%r7}, 4096;",
         "outside", EMU_OUT_OF_BOUNDS},
        {"wmma.load.a.sync.aligned.row.m16n16k16.global.s8 {%r0, %r1}, [%p0], %r9;", "than lane 0",
         EMU_BAD_OPERAND},
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char ptx[1024];
        struct emu_result result;
        struct emu_memory *device = emu_memory_new();
        uint64_t address = emu_memory_alloc(device, MATRIX, "m");
        const void *params[1] = {&address};
        snprintf(
            ptx, sizeof ptx,
            ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 a)\n"
            "{\n.reg .b32 %%r<10>;\n.reg .b64 %%p<4>;\nld.param.u64 %%p0, [a];\n"
            "mov.u32 %%r9, %%laneid;\n%s\nret;\n}\n",
            wrong[i].line);
        emu_memory_fill(device, address, 0, MATRIX);
        emu_kernel_launch(device, ptx, (struct emu_launch){.block = {32}}, params, 1, &result);
        assert_int_equal(result.report_count, 1);
        if (result.reports[0].class_ != wrong[i].class_ || result.reports[0].ptx_line != 10)
            fail_msg("%s", result.reports[0].text);
        if (strstr(result.reports[0].text, wrong[i].said) == NULL &&
            wrong[i].class_ != EMU_OUT_OF_BOUNDS)
            fail_msg("%s", result.reports[0].text);
        emu_result_free(&result);
        emu_memory_delete(device);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bits),
        cmocka_unit_test(test_nibbles),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

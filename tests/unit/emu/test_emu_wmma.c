// wmma.load, .mma and .store: every shape, type and layout, run from PTX and held against a plain
// triple loop. C's fragment is doubled between, element by element, as programs do.
#include "runtime/emu/model/convert.h"
#include "tests/unit/emu/emu_kernel.h"

#include <stdlib.h>

struct wmma_types {
    const char *operand, *result;  // PTX types
    enum tmg_number a, d;
    const char *add;  // how an accumulator's register is doubled
};
static const struct wmma_types kinds[] = {
    {"f16", "f32", TMG_F16, TMG_F32, "add.f32"},   {"f16", "f16", TMG_F16, TMG_F16, "add.f16x2"},
    {"bf16", "f32", TMG_BF16, TMG_F32, "add.f32"}, {"tf32", "f32", TMG_TF32, TMG_F32, "add.f32"},
    {"s8", "s32", TMG_S8, TMG_S32, "add.s32"},     {"u8", "s32", TMG_U8, TMG_S32, "add.s32"},
    {"f64", "f64", TMG_F64, TMG_F64, "add.f64"},
};
static const struct wmma_shape {
    int m, n, k;
    const char *types;
    int a[5], b[5];  // registers of A and B by type: f16, bf16, tf32, 8 bits, f64
} shapes[] = {
    {16, 16, 16, " f16 bf16 s8 u8 ", {8, 4, 0, 2, 0}, {8, 4, 0, 2, 0}},
    {8, 32, 16, " f16 bf16 s8 u8 ", {8, 2, 0, 1, 0}, {8, 8, 0, 4, 0}},
    {32, 8, 16, " f16 bf16 s8 u8 ", {8, 8, 0, 4, 0}, {8, 2, 0, 1, 0}},
    {16, 16, 8, " tf32 ", {0, 0, 4, 0, 0}, {0, 0, 4, 0, 0}},
    {8, 8, 4, " f64 ", {0, 0, 0, 0, 1}, {0, 0, 0, 0, 1}},
};

static bool has(const struct wmma_shape *shape, const struct wmma_types *kind) {
    char word[8];
    snprintf(word, sizeof word, " %s ", kind->operand);
    return strstr(shape->types, word) != NULL;
}

static int column_of(const struct wmma_types *kind) {
    switch (kind->a) {
    case TMG_F16: return 0;
    case TMG_BF16: return 1;
    case TMG_TF32: return 2;
    case TMG_F64: return 4;
    default: return 3;
    }
}

// Registers %PREFIX0 .. as a PTX list.
static const char *list(char *text, const char *prefix, int count) {
    char *to = text;
    for (int i = 0; i < count; i++) to += sprintf(to, "%s%%%s%d", i ? ", " : "{", prefix, i);
    strcpy(to, "}");
    return text;
}

struct wmma_layout {
    bool a, b, c, d;  // column-major
    bool strides;     // padded, else left to their default
    bool shared;      // B is copied to shared memory first, and D goes through generic addresses
};

enum { MATRIX = 8192 };
static uint8_t memory[4][MATRIX];  // A, B, C, D as the kernel sees them

static int stride_of(bool column, int rows, int columns, int size, bool padded) {
    return (column ? rows : columns) + (padded ? 16 / (size < 4 ? size : 4) : 0);
}

static uint8_t *element(uint8_t *matrix, bool column, int stride, int row, int at, int size) {
    return matrix + (size_t)(column ? at * stride + row : row * stride + at) * (size_t)size;
}

static double read_number(enum tmg_number type, const uint8_t *from) {
    uint64_t bits = 0;
    memcpy(&bits, from, (size_t)tmg_number_bytes(type));
    if (type == TMG_S32) return (int32_t)bits;
    if (type == TMG_S8) return (int8_t)bits;
    if (type == TMG_U8) return (double)bits;
    return tmg_number_to_double(type, bits);
}

static void write_number(enum tmg_number type, double value, uint8_t *to) {
    uint64_t bits = tmg_number_is_float(type)
                        ? tmg_number_from_double(type, value, TMG_ROUND_RN, false)
                        : (uint64_t)(int64_t)value;
    memcpy(to, &bits, (size_t)tmg_number_bytes(type));
}

// Small integers, so that every sum is exact in every type.
static void fill(enum tmg_number type, uint8_t *matrix, unsigned seed) {
    int size = tmg_number_bytes(type);
    for (int i = 0; i < MATRIX / size; i++) {
        seed = seed * 1103515245u + 12345u;
        int value = (int)(seed >> 16) % 7 - (type == TMG_U8 ? 0 : 3);
        write_number(type, value, matrix + i * size);
    }
}

struct texts {
    char a[200], b[200], c[200], d[200];
};

static void write_kernel(char *ptx, const struct wmma_shape *shape, const struct wmma_types *kind,
                         const struct wmma_layout *l) {
    static const char *const name[] = {"row", "col"};
    struct texts t;
    char strides[4][32] = {"", "", "", ""};
    bool wide = kind->a == TMG_F64;
    int size = tmg_number_bytes(kind->a), wide_size = tmg_number_bytes(kind->d);
    int counts = kind->d == TMG_F16 ? 4 : wide ? 2 : 8, column = column_of(kind);
    int m = shape->m, n = shape->n, k = shape->k;
    if (l->strides) {
        sprintf(strides[0], ", %d", stride_of(l->a, m, k, size, true));
        sprintf(strides[1], ", %d", stride_of(l->b, k, n, size, true));
        sprintf(strides[2], ", %d", stride_of(l->c, m, n, wide_size, true));
        sprintf(strides[3], ", %d", stride_of(l->d, m, n, wide_size, true));
    }
    ptx += sprintf(ptx,
                   ".version 8.0\n.target sm_90a\n.address_size 64\n"
                   ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d)\n"
                   "{\n.reg .b%d %%a<8>, %%b<8>, %%c<8>, %%d<8>;\n.reg .b64 %%p<8>;\n"
                   ".reg .b32 %%r<8>;\n.reg .pred %%q;\n.shared .align 16 .b8 s[%d];\n"
                   "ld.param.u64 %%p0, [a];\nld.param.u64 %%p1, [b];\nld.param.u64 %%p2, [c];\n"
                   "ld.param.u64 %%p3, [d];\n",
                   wide ? 64 : 32, (int)MATRIX);
    if (l->shared)
        ptx +=
            sprintf(ptx,
                    "mov.u32 %%r0, %%tid.x;\nmul.lo.u32 %%r0, %%r0, 4;\ncvt.u64.u32 %%p4, %%r0;\n"
                    "add.u64 %%p4, %%p4, %%p1;\nmov.u32 %%r1, s;\nadd.u32 %%r1, %%r1, %%r0;\n"
                    "mov.u32 %%r2, 0;\nL: ld.global.b32 %%r3, [%%p4];\n"
                    "st.shared.b32 [%%r1], %%r3;\nadd.u64 %%p4, %%p4, 128;\n"
                    "add.u32 %%r1, %%r1, 128;\nadd.u32 %%r2, %%r2, 1;\n"
                    "setp.lt.u32 %%q, %%r2, %d;\n@%%q bra L;\nbar.warp.sync -1;\n"
                    "mov.u32 %%r1, s;\ncvt.u64.u32 %%p1, %%r1;\n",
                    MATRIX / 128);
    char shape_text[24];
    sprintf(shape_text, "m%dn%dk%d", m, n, k);
    ptx += sprintf(ptx, "wmma.load.a.sync.aligned.%s.%s.global.%s %s, [%%p0]%s;\n", name[l->a],
                   shape_text, kind->operand, list(t.a, "a", shape->a[column]), strides[0]);
    ptx += sprintf(ptx, "wmma.load.b.sync.aligned.%s.%s.%s.%s %s, [%%p1]%s;\n", name[l->b],
                   shape_text, l->shared ? "shared" : "global", kind->operand,
                   list(t.b, "b", shape->b[column]), strides[1]);
    ptx += sprintf(ptx, "wmma.load.c.sync.aligned.%s.%s.%s %s, [%%p2]%s;\n", name[l->c], shape_text,
                   kind->result, list(t.c, "c", counts), strides[2]);
    for (int i = 0; i < counts; i++)
        ptx += sprintf(ptx, "%s %%c%d, %%c%d, %%c%d;\n", kind->add, i, i, i);
    // D over A's registers where there are enough of them
    bool over = shape->a[column] >= counts;
    list(t.d, over ? "a" : "d", counts);
    if (kind->a == TMG_F16)
        ptx += sprintf(ptx, "wmma.mma.sync.aligned.%s.%s.%s.%s.%s ", name[l->a], name[l->b],
                       shape_text, kind->result, kind->result);
    else
        ptx += sprintf(ptx, "wmma.mma.sync.aligned.%s.%s.%s.%s.%s.%s.%s%s ", name[l->a], name[l->b],
                       shape_text, kind->result, kind->operand, kind->operand, kind->result,
                       kind->d == TMG_S32 ? ".satfinite" : "");
    ptx += sprintf(ptx, "%s, %s, %s, %s;\n", t.d, t.a, t.b, t.c);
    sprintf(ptx, "wmma.store.d.sync.aligned.%s.%s%s.%s [%%p3], %s%s;\nret;\n}\n", name[l->d],
            shape_text, l->shared ? "" : ".global", kind->result, t.d, strides[3]);
}

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

static void check(const struct wmma_shape *shape, const struct wmma_types *kind,
                  const struct wmma_layout *l) {
    int size = tmg_number_bytes(kind->a), wide = tmg_number_bytes(kind->d);
    int m = shape->m, n = shape->n, k = shape->k;
    for (int row = 0; row < m; row++)
        for (int column = 0; column < n; column++) {
            double sum = 0, found;
            for (int i = 0; i < k; i++)
                sum += read_number(kind->a,
                                   element(memory[0], l->a, stride_of(l->a, m, k, size, l->strides),
                                           row, i, size)) *
                       read_number(kind->a,
                                   element(memory[1], l->b, stride_of(l->b, k, n, size, l->strides),
                                           i, column, size));
            sum += 2 * read_number(kind->d,
                                   element(memory[2], l->c, stride_of(l->c, m, n, wide, l->strides),
                                           row, column, wide));
            found = read_number(kind->d,
                                element(memory[3], l->d, stride_of(l->d, m, n, wide, l->strides),
                                        row, column, wide));
            if (found != sum)
                fail_msg("m%dn%dk%d %s %s (%d,%d): %g is not %g", m, n, k, kind->operand,
                         kind->result, row, column, found, sum);
        }
}

static void test_values(void **state) {
    static char ptx[8192];
    int runs = 0;
    (void)state;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
            for (int bits = 0; bits < 64 && has(&shapes[s], &kinds[i]); bits++) {
                struct wmma_layout l = {bits & 1, bits & 2,  bits & 4,
                                        bits & 8, bits & 16, bits & 32};
                fill(kinds[i].a, memory[0], (unsigned)bits + 1);
                fill(kinds[i].a, memory[1], (unsigned)bits + 100);
                fill(kinds[i].d, memory[2], (unsigned)bits + 200);
                write_kernel(ptx, &shapes[s], &kinds[i], &l);
                run_kernel(ptx);
                check(&shapes[s], &kinds[i], &l);
                runs++;
            }
    assert_int_equal(runs, 64 * 17);
}

// C in f16 and D in f32, and the reverse: products and sums here are exact in both.
static void test_mixed_accumulators(void **state) {
    static const char form[] =
        ".version 8.0\n.target sm_90a\n.address_size 64\n"
        ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d)\n"
        "{\n.reg .b32 %%a<8>, %%b<8>, %%c<8>, %%d<8>;\n.reg .b64 %%p<4>;\n"
        "ld.param.u64 %%p0, [a];\nld.param.u64 %%p1, [b];\nld.param.u64 %%p2, [c];\n"
        "ld.param.u64 %%p3, [d];\n"
        "wmma.load.a.sync.aligned.row.m8n32k16.f16 %s, [%%p0];\n"
        "wmma.load.b.sync.aligned.row.m8n32k16.f16 %s, [%%p1];\n"
        "wmma.load.c.sync.aligned.row.m8n32k16.%s %s, [%%p2];\n"
        "wmma.mma.sync.aligned.row.row.m8n32k16.%s.%s %s, %s, %s, %s;\n"
        "wmma.store.d.sync.aligned.row.m8n32k16.%s [%%p3], %s;\nret;\n}\n";
    static char ptx[4096];
    (void)state;
    for (int f32 = 0; f32 < 2; f32++) {
        struct texts t;
        const char *c = f32 ? "f16" : "f32", *d = f32 ? "f32" : "f16";
        enum tmg_number from = f32 ? TMG_F16 : TMG_F32, to = f32 ? TMG_F32 : TMG_F16;
        list(t.a, "a", 8), list(t.b, "b", 8), list(t.c, "c", f32 ? 4 : 8);
        list(t.d, "d", f32 ? 8 : 4);
        fill(TMG_F16, memory[0], 1), fill(TMG_F16, memory[1], 2), fill(from, memory[2], 3);
        snprintf(ptx, sizeof ptx, form, t.a, t.b, c, t.c, d, c, t.d, t.a, t.b, t.c, d, t.d);
        run_kernel(ptx);
        for (int i = 0; i < 8 * 32; i++) {
            double sum = read_number(from, memory[2] + i * tmg_number_bytes(from));
            for (int k = 0; k < 16; k++)
                sum += read_number(TMG_F16, memory[0] + (i / 32 * 16 + k) * 2) *
                       read_number(TMG_F16, memory[1] + (k * 32 + i % 32) * 2);
            assert_true(read_number(to, memory[3] + i * tmg_number_bytes(to)) == sum);
        }
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
        "wmma.mma.%s.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 {%%r3, %%r2}, {%%r0}, "
        "{%%r1}, {%%r2, %%r3};\n"
        "wmma.store.d.sync.aligned.row.m8n8k128.s32 [%%p3], {%%r3, %%r2};\nret;\n}\n";
    static char ptx[4096];
    (void)state;
    for (int is_xor = 0; is_xor < 2; is_xor++) {
        for (int i = 0; i < MATRIX; i++) {
            memory[0][i] = (uint8_t)(i * 37 + i / 7);
            memory[1][i] = (uint8_t)(i * 91 + i / 5);
        }
        fill(TMG_S32, memory[2], 5);
        snprintf(ptx, sizeof ptx, form, is_xor ? "xor" : "and");
        run_kernel(ptx);
        for (int i = 0; i < 64; i++) {
            double sum = read_number(TMG_S32, memory[2] + 4 * i);
            for (int k = 0; k < 16; k++) {
                uint8_t a = memory[0][i / 8 * 16 + k], b = memory[1][i % 8 * 32 + k];
                sum += __builtin_popcount(is_xor ? a ^ b : a & b);
            }
            assert_true(read_number(TMG_S32, memory[3] + 4 * i) == sum);
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
        fill(TMG_S32, memory[2], 6);
        snprintf(ptx, sizeof ptx, form, type, type, type, type);
        run_kernel(ptx);
        for (int i = 0; i < 64; i++) {
            double sum = read_number(TMG_S32, memory[2] + 4 * (i % 8 * 8 + i / 8));
            for (int k = 0; k < 32; k++)
                sum += nibble(memory[0], i / 8 * 64 + k, is_signed) *
                       nibble(memory[1], i % 8 * 32 + k, is_signed);
            assert_true(read_number(TMG_S32, memory[3] + 4 * i) == sum);
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
        cmocka_unit_test(test_values), cmocka_unit_test(test_mixed_accumulators),
        cmocka_unit_test(test_bits),   cmocka_unit_test(test_nibbles),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

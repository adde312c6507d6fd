// wmma as one or two mma.sync: m16n16 is two of n = 8 side by side, m32n8 two of m = 16 above each
// other, and m8n32 the transpose of m32n8, whose A is then B. Where a fragment has more registers
// than that takes (f16 has eight always), the others repeat the first.
#include "runtime/emu/model/wmma.h"

// Shapes by operand type (PTX ISA 9.7.14.4.1)
static bool has_shape(enum tmg_number type, int m, int n, int k) {
    bool wide = (m == 16 && n == 16) || (m == 32 && n == 8) || (m == 8 && n == 32);
    switch (type) {
    case TMG_F16:
    case TMG_BF16:
    case TMG_S8:
    case TMG_U8: return wide && k == 16;
    case TMG_TF32: return m == 16 && n == 16 && k == 8;
    case TMG_F64: return m == 8 && n == 8 && k == 4;
    case TMG_S4:
    case TMG_U4: return m == 8 && n == 8 && k == 32;
    case TMG_B1: return m == 8 && n == 8 && k == 128;
    default: return false;
    }
}

static bool accumulates(enum tmg_number a, enum tmg_number type) {
    switch (a) {
    case TMG_F16: return type == TMG_F16 || type == TMG_F32;
    case TMG_BF16:
    case TMG_TF32: return type == TMG_F32;
    case TMG_F64: return type == TMG_F64;
    default: return type == TMG_S32;
    }
}

const char *tmg_wmma_check(const struct tmg_wmma *op) {
    if (!has_shape(op->a, op->m, op->n, op->k))
        return "wmma has no such shape for this type, or it is not modelled";
    if (!accumulates(op->a, op->c) || !accumulates(op->a, op->d))
        return "wmma has no such accumulator for this type";
    if (op->satfinite && (op->d != TMG_S32 || op->a == TMG_B1))
        return ".satfinite is for integers of 8 and 4 bits";
    return NULL;
}

// The mma.sync that does a part of [op], and how many of its A and B make up the whole.
struct parts {
    struct tmg_mma mma;
    bool transposed;
    int a, b;
};

static struct parts parts_of(const struct tmg_wmma *op, enum tmg_number c) {
    struct parts parts = {.transposed = op->m == 8 && op->n == 32};
    int m = parts.transposed ? op->n : op->m, n = parts.transposed ? op->m : op->n;
    parts.mma = (struct tmg_mma){.m = m < 16 ? m : 16,
                                 .n = 8,
                                 .k = op->k,
                                 .a = op->a,
                                 .b = op->a,
                                 .c = c,
                                 .d = c,
                                 .satfinite = op->satfinite,
                                 .xor_popc = op->xor_popc};
    parts.a = m / parts.mma.m;
    parts.b = n / 8;
    return parts;
}

// How many registers of one mma.sync hold [part], and how many such parts there are.
static void count_of(const struct parts *parts, enum tmg_wmma_part part, int *each, int *times) {
    struct tmg_mma_registers count = tmg_mma_registers(&parts->mma);
    bool as_a = (part == TMG_WMMA_A) != parts->transposed;
    *each = part == TMG_WMMA_C ? count.c : as_a ? count.a : count.b;
    *times = part == TMG_WMMA_C ? parts->a * parts->b : as_a ? parts->a : parts->b;
}

int tmg_wmma_registers(const struct tmg_wmma *op, enum tmg_wmma_part part, enum tmg_number type) {
    struct parts parts = parts_of(op, part == TMG_WMMA_C ? type : op->d);
    int each, times;
    if (op->a == TMG_F16 && part != TMG_WMMA_C) return TMG_WMMA_REGISTERS;
    count_of(&parts, part, &each, &times);
    return each * times;
}

struct tmg_wmma_matrix tmg_wmma_matrix(const struct tmg_wmma *op, enum tmg_wmma_part part,
                                       enum tmg_number type) {
    enum tmg_number element = part == TMG_WMMA_C ? type : op->a;
    return (struct tmg_wmma_matrix){
        .lines = part == TMG_WMMA_B ? op->n : op->m,
        .length = part == TMG_WMMA_C ? op->n : op->k,
        .element_bits = tmg_mma_element_bits(element),
    };
}

// The byte of the dense matrix where register [i] of [lane] begins; *next is how far its second
// half lies from there, for packed accumulators.
static int place(const struct parts *parts, enum tmg_wmma_part part, enum tmg_number type, int i,
                 int lane, int *next) {
    const struct tmg_mma *mma = &parts->mma;
    bool as_a = (part == TMG_WMMA_A) != parts->transposed;
    int each, times, bytes = tmg_number_bytes(type);
    count_of(parts, part, &each, &times);
    int which = i / each % times;
    *next = 2;
    if (part != TMG_WMMA_C) {
        int line_bytes = mma->k * tmg_mma_element_bits(mma->a) / 8;
        return which * (as_a ? mma->m : 8) * line_bytes +
               (as_a ? tmg_mma_a_byte(mma, i % each, lane) : tmg_mma_b_byte(mma, i % each, lane));
    }
    int at = tmg_mma_c_element(type, i % each, lane);
    int row = at / 8 + which % parts->a * mma->m, column = at % 8 + which / parts->a * 8;
    int rows = parts->a * mma->m, columns = parts->b * 8;
    if (!parts->transposed) return (row * columns + column) * bytes;
    *next = rows * bytes;
    return (column * rows + row) * bytes;
}

void tmg_wmma_spread(const struct tmg_wmma *op, enum tmg_wmma_part part, enum tmg_number type,
                     const uint8_t *matrix, uint32_t *const *registers) {
    struct parts parts = parts_of(op, part == TMG_WMMA_C ? type : op->d);
    int next, count = tmg_wmma_registers(op, part, type);
    bool halves = part == TMG_WMMA_C && type == TMG_F16;
    for (int i = 0; i < count; ++i) {
        for (int lane = 0; lane < 32; ++lane) {
            const uint8_t *from = matrix + place(&parts, part, type, i, lane, &next);
            uint8_t *to = (uint8_t *)(registers[i] + (op->a == TMG_F64 ? 2 * lane : lane));
            memcpy(to, from, op->a == TMG_F64 ? 8 : halves ? 2 : 4);
            if (halves) memcpy(to + 2, from + next, 2);
        }
    }
}

void tmg_wmma_collect(const struct tmg_wmma *op, enum tmg_number type,
                      const uint32_t *const *registers, uint8_t *matrix) {
    struct parts parts = parts_of(op, type);
    int next, count = tmg_wmma_registers(op, TMG_WMMA_C, type);
    for (int i = 0; i < count; ++i) {
        for (int lane = 0; lane < 32; ++lane) {
            uint8_t *to = matrix + place(&parts, TMG_WMMA_C, type, i, lane, &next);
            const uint8_t *from =
                (const uint8_t *)(registers[i] + (op->a == TMG_F64 ? 2 * lane : lane));
            memcpy(to, from, op->a == TMG_F64 ? 8 : type == TMG_F16 ? 2 : 4);
            if (type == TMG_F16) memcpy(to + next, from + 2, 2);
        }
    }
}

static void run_f64(const struct tmg_mma *mma, const uint32_t *const *a, const uint32_t *const *b,
                    const uint32_t *const *c, uint32_t *const *d) {
    struct tmg_mma_operands_f64 operands = {
        .a = {(const void *)a[0]},
        .b = {(const void *)b[0]},
        .c = {(const void *)c[0], (const void *)c[1]},
        .d = {(void *)d[0], (void *)d[1]},
    };
    tmg_mma_run_f64(mma, &operands);
}

// C's registers as [wide] ones of f32, where D is wider or narrower than C.
static void widen_c(const struct tmg_wmma *op, const uint32_t *const *c, uint32_t (*wide)[32]) {
    for (int i = 0; i < TMG_WMMA_REGISTERS; ++i) {
        for (int lane = 0; lane < 32; ++lane) {
            uint32_t bits = c[op->c == TMG_F16 ? i / 2 : i][lane];
            float half = tmg_f16_to_f32((uint16_t)(i % 2 ? bits >> 16 : bits));
            wide[i][lane] = op->c == TMG_F16 ? tmg_f32_bits(half) : bits;
        }
    }
}

static uint32_t pack_f16(uint32_t low, uint32_t high) {
    return tmg_f32_to_f16_rn(tmg_f32_from_bits(low)) |
           (uint32_t)tmg_f32_to_f16_rn(tmg_f32_from_bits(high)) << 16;
}

static void store_d(const struct tmg_wmma *op, uint32_t (*sum)[32], uint32_t *const *d) {
    int count = tmg_wmma_registers(op, TMG_WMMA_C, op->d);
    bool narrows = op->d == TMG_F16 && op->c == TMG_F32;
    for (int i = 0; i < count; ++i) {
        for (int lane = 0; lane < 32; ++lane) {
            d[i][lane] = narrows ? pack_f16(sum[2 * i][lane], sum[2 * i + 1][lane]) : sum[i][lane];
        }
    }
}

// One [mma] on its registers. Hopper sums tf32 in steps of k = 4 here, though mma.sync takes all 8
// at once (as recorded): the registers of a step are neighbours.
static void run_part(const struct tmg_mma *mma, const uint32_t *const *a, const uint32_t *const *b,
                     const uint32_t *const *c, uint32_t *const *d) {
    struct tmg_mma step = *mma;
    if (mma->a == TMG_TF32) step.k = 4;
    struct tmg_mma_registers count = tmg_mma_registers(&step);
    for (int k = 0; k < mma->k; k += step.k, a += count.a, b += count.b, c = (const void *)d) {
        struct tmg_mma_operands operands = {0};
        for (int i = 0; i < count.a; ++i) operands.a[i] = a[i];
        for (int i = 0; i < count.b; ++i) operands.b[i] = b[i];
        for (int i = 0; i < count.c; ++i) {
            operands.c[i] = c[i];
            operands.d[i] = d[i];
        }
        tmg_mma_run(&step, &operands);
    }
}

void tmg_wmma_run(const struct tmg_wmma *op, const uint32_t *const *a, const uint32_t *const *b,
                  const uint32_t *const *c, uint32_t *const *d) {
    bool mixed = op->c != op->d;
    struct parts parts = parts_of(op, mixed ? TMG_F32 : op->d);
    struct tmg_mma_registers each = tmg_mma_registers(&parts.mma);
    const uint32_t *const *first = parts.transposed ? b : a, *const *second =
                                                                 parts.transposed ? a : b;
    uint32_t sum[TMG_WMMA_REGISTERS][32], wide[TMG_WMMA_REGISTERS][32];
    if (op->a == TMG_F64) {
        run_f64(&parts.mma, a, b, c, d);
        return;
    }
    if (mixed) widen_c(op, c, wide);
    for (int which = 0; which < parts.a * parts.b; ++which) {
        const uint32_t *rows[4];
        uint32_t *sums[4];
        for (int i = 0; i < each.c; ++i) {
            int at = which * each.c + i;
            rows[i] = mixed ? wide[at] : c[at];
            sums[i] = sum[at];
        }
        run_part(&parts.mma, first + which % parts.a * each.a, second + which / parts.a * each.b,
                 rows, sums);
    }
    store_d(op, sum, d);
}

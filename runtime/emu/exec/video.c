// SIMD video instructions (PTX ISA 9.7.19): an operation on the two halves or four bytes of a word,
// each extended to more bits than it needs. The headers of CUDA use them for sums of differences.
// Element masks and selectors are not taken.
#include "runtime/emu/exec/lanes.h"

enum video { VIDEO_ADD, VIDEO_SUB, VIDEO_ABSDIFF, VIDEO_MIN, VIDEO_MAX, VIDEO_AVERAGE, VIDEO_SET };
enum { HALVES = 16, ACCUMULATE = 32 };  // in aux, with the operation

// Element [i] of [word], which has [bits].
static int32_t element(uint32_t word, int i, int bits, bool is_signed) {
    uint32_t value = word << (32 - bits * (i + 1));

    return is_signed ? (int32_t)value >> (32 - bits) : (int32_t)(value >> (32 - bits));
}

static bool holds(uint8_t cmp, int32_t a, int32_t b) {
    switch (cmp) {
    case CMP_EQ: return a == b;
    case CMP_NE: return a != b;
    case CMP_LT: return a < b;
    case CMP_LE: return a <= b;
    case CMP_GT: return a > b;
    default: return a >= b;
    }
}

static int32_t combine(enum video op, uint8_t cmp, int32_t a, int32_t b) {
    switch (op) {
    case VIDEO_ADD: return a + b;
    case VIDEO_SUB: return a - b;
    case VIDEO_ABSDIFF: return a < b ? b - a : a - b;
    case VIDEO_MIN: return a < b ? a : b;
    case VIDEO_MAX: return a < b ? b : a;
    case VIDEO_AVERAGE: return (a + b + (a + b >= 0)) >> 1;
    default: return holds(cmp, a, b);
    }
}

static int32_t saturate(int32_t value, int bits, bool is_signed) {
    int32_t low = is_signed ? -(1 << (bits - 1)) : 0, high = (1 << (bits - is_signed)) - 1;

    return value < low ? low : value > high ? high : value;
}

// Operands d, a, b, c; types d, a, b (vset: a, b). c is added to with .add.
EMU_HANDLER(video) {
    const uint32_t *a = emu_r32(warp, insn->op[1]), *b = emu_r32(warp, insn->op[2]);
    const uint32_t *c = emu_r32(warp, insn->op[3]);
    uint32_t *d = emu_r32(warp, insn->op[0]);
    enum video op = (enum video)(insn->row->aux & 15);
    int bits = insn->row->aux & HALVES ? 16 : 8;
    bool sum = insn->row->aux & ACCUMULATE;
    const uint8_t *type = insn->type + (op == VIDEO_SET ? 0 : 1);
    bool is_signed = op != VIDEO_SET && insn->type[0] == T_S32;

    EMU_EACH_LANE(lane, mask) {
        uint32_t result = sum ? c[lane] : 0;
        for (int i = 0; i < 32 / bits; i++) {
            int32_t x = combine(op, insn->cmp, element(a[lane], i, bits, type[0] == T_S32),
                                element(b[lane], i, bits, type[1] == T_S32));
            if (insn->flags & F_SAT) x = saturate(x, bits, is_signed);
            uint32_t cut = (uint32_t)x & ((1u << bits) - 1);
            result += sum ? (uint32_t)x : cut << bits * i;
        }
        d[lane] = result;
    }
    return EMU_NEXT;
}

#define VIDEO(name, op)                                                     \
    {name "4.I32.I32.I32{.sat}", "Iiii", video, op},                        \
        {name "4.I32.I32.I32.add", "Iiii", video, (op) | ACCUMULATE},       \
        {name "2.I32.I32.I32{.sat}", "Iiii", video, (op) | HALVES}, {       \
        name "2.I32.I32.I32.add", "Iiii", video, (op) | HALVES | ACCUMULATE \
    }

const struct emu_op emu_ops_video[] = {
    VIDEO("vadd", VIDEO_ADD),
    VIDEO("vsub", VIDEO_SUB),
    VIDEO("vabsdiff", VIDEO_ABSDIFF),
    VIDEO("vmin", VIDEO_MIN),
    VIDEO("vmax", VIDEO_MAX),
    VIDEO("vavrg", VIDEO_AVERAGE),
    {"vset4.I32.I32.CMP", "Iiii", video, VIDEO_SET},
    {"vset4.I32.I32.CMP.add", "Iiii", video, VIDEO_SET | ACCUMULATE},
    {"vset2.I32.I32.CMP", "Iiii", video, VIDEO_SET | HALVES},
    {"vset2.I32.I32.CMP.add", "Iiii", video, VIDEO_SET | HALVES | ACCUMULATE},
    {NULL, NULL, NULL, 0},
};

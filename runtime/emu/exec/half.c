// f16 and bf16 arithmetic, single and packed (PTX ISA 9.7.4): exact in f64, then rounded once.
// An fma's sum may need more than 53 bits; it is rounded to odd, so that the second rounding is
// right.
#include "runtime/emu/exec/lanes.h"
#include "runtime/emu/model/approx.h"

#include <math.h>
#include <string.h>

enum {
    HALF_ADD,
    HALF_SUB,
    HALF_MUL,
    HALF_FMA,
    HALF_MIN,
    HALF_MAX,
    HALF_NEG,
    HALF_ABS,
    HALF_EX2,
    HALF_TANH
};

static bool is_bf16(const struct emu_insn *insn) {
    return insn->type[0] == T_BF16 || insn->type[0] == T_BF16X2;
}

static float widen(uint16_t bits, bool bf16) {
    return bf16 ? tmg_bf16_to_f32(bits) : tmg_f16_to_f32(bits);
}

static bool half_nan(uint16_t bits, bool bf16) {
    return (bits & 0x7fff) > (bf16 ? 0x7f80 : 0x7c00);
}

static uint16_t flush(uint16_t bits, bool bf16) {
    return bits & (bf16 ? 0x7f80 : 0x7c00) ? bits : bits & 0x8000;
}

static double fma_odd(double a, double b, double c) {
    double product = a * b, sum = product + c, c_part = sum - product;
    double rest = (product - (sum - c_part)) + (c - c_part);
    uint64_t bits;

    double result = sum;
    memcpy(&bits, &result, 8);
    if (rest == 0 || !isfinite(result) || isnan(rest) || bits & 1) return result;
    bits += (rest > 0) == (result > 0) ? 1 : -1;
    memcpy(&result, &bits, 8);
    return result;
}

// The number nearest to a double of that magnitude, which lies among the normal ones: the even of
// two. What rounds up to the largest exponent is infinite.
static uint16_t nearest_normal(uint64_t magnitude, bool bf16) {
    const int drop = bf16 ? 45 : 42;
    const uint64_t half = UINT64_C(1) << (drop - 1);
    const uint64_t bias = (uint64_t)(bf16 ? 1023 - 127 : 1023 - 15) << 52;
    return (uint16_t)((magnitude + half - 1 + (magnitude >> drop & 1) - bias) >> drop);
}

static bool is_normal(uint64_t magnitude, bool bf16) {
    const uint64_t least = (uint64_t)(bf16 ? 1023 - 126 : 1023 - 14) << 52,
                   end = (uint64_t)(bf16 ? 1023 + 128 : 1023 + 16) << 52;
    return magnitude >= least && magnitude < end;
}

static uint16_t rounded(double value, bool bf16) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint64_t magnitude = bits & INT64_MAX;
    if (is_normal(magnitude, bf16))
        return (uint16_t)(bits >> 63 << 15) | nearest_normal(magnitude, bf16);
    return (uint16_t)tmg_number_from_double(bf16 ? TMG_BF16 : TMG_F16, value, TMG_ROUND_RN, false);
}

static uint16_t narrow(double value, bool bf16, uint32_t flags) {
    uint16_t nan = 0x7fff, one = bf16 ? 0x3f80 : 0x3c00;
    uint16_t bits;

    if (isnan(value)) return flags & (F_SAT) ? 0 : nan;
    // .ftz looks at the value rounded to 11 bits, not to a subnormal's few; bf16 has no .ftz
    if (flags & F_FTZ && fabs(value) < 0x1p-14 &&
        (tmg_number_from_double(TMG_F16, value * 0x1p14, TMG_ROUND_RN, false) & 0x7fff) < 0x3c00)
        value = copysign(0, value);
    bits = rounded(value, bf16);
    if (flags & F_SAT) bits = bits >> 15 ? 0 : bits > one ? one : bits;
    if (flags & F_RELU && bits >> 15) bits = 0;
    return bits;
}

static uint16_t extreme(uint16_t a, uint16_t b, bool larger, bool bf16, uint32_t flags) {
    bool a_nan = half_nan(a, bf16), b_nan = half_nan(b, bf16);
    uint16_t sign = (a ^ b) & 0x8000;

    if ((flags & F_NAN && (a_nan || b_nan)) || (a_nan && b_nan)) return 0x7fff;
    if (flags & F_XORSIGN) {
        a &= 0x7fff;
        b &= 0x7fff;
    }
    int x = a >> 15 ? -(a & 0x7fff) - 1 : a, y = b >> 15 ? -(b & 0x7fff) - 1 : b;
    uint16_t result = a_nan ? b : b_nan ? a : (x > y) == larger ? a : b;
    return flags & F_XORSIGN ? result | sign : result;
}

static uint16_t compute(int op, uint16_t a, uint16_t b, uint16_t c, bool bf16, uint32_t flags) {
    if (flags & F_FTZ) {
        a = flush(a, bf16);
        b = flush(b, bf16);
        c = flush(c, bf16);
    }
    double x = widen(a, bf16), y = widen(b, bf16), z = widen(c, bf16);
    switch (op) {
    case HALF_ADD: return narrow(x + y, bf16, flags);
    case HALF_SUB: return narrow(x - y, bf16, flags);
    case HALF_MUL: return narrow(x * y, bf16, flags);
    case HALF_FMA: return narrow(fma_odd(x, y, z), bf16, flags);
    case HALF_MIN: return extreme(a, b, false, bf16, flags);
    case HALF_MAX: return extreme(a, b, true, bf16, flags);
    case HALF_NEG: return half_nan(a, bf16) ? 0x7fff : a ^ 0x8000;
    case HALF_ABS: return half_nan(a, bf16) ? 0x7fff : a & 0x7fff;
    case HALF_EX2: return bf16 ? tmg_approx_bf16(TMG_EX2, a) : tmg_approx_f16(TMG_EX2, a);
    default: return bf16 ? tmg_approx_bf16(TMG_TANH, a) : tmg_approx_f16(TMG_TANH, a);
    }
}

EMU_HANDLER(half) {
    int op = insn->row->aux;
    bool bf16 = is_bf16(insn), packed = ptx_type_bytes((enum ptx_type)insn->type[0]) == 4;
    uint32_t *d = emu_r32(warp, insn->op[0]);
    const uint32_t *pa = emu_r32(warp, insn->op[1]), *pb = pa, *pc = pa;

    if (op <= HALF_MAX) pb = emu_r32(warp, insn->op[2]);
    if (op == HALF_FMA) pc = emu_r32(warp, insn->op[3]);
    EMU_EACH_LANE(lane, mask) {
        uint32_t a = pa[lane], b = pb[lane], c = pc[lane];
        uint32_t low = compute(op, (uint16_t)a, (uint16_t)b, (uint16_t)c, bf16, insn->flags),
                 high = 0;
        if (packed)
            high = compute(op, (uint16_t)(a >> 16), (uint16_t)(b >> 16), (uint16_t)(c >> 16), bf16,
                           insn->flags);
        d[lane] = low | high << 16;
    }
    return EMU_NEXT;
}

#define EACH_TYPE(name, words, operands, op)                                            \
    {name words ".f16", operands, half, op}, {name words ".f16x2", operands, half, op}, \
        {name words ".bf16", operands, half, op}, {                                     \
        name words ".bf16x2", operands, half, op                                        \
    }

const struct emu_op emu_ops_half[] = {
    EACH_TYPE("add", "{.RND}{.ftz}{.sat}", "daa", HALF_ADD),
    EACH_TYPE("sub", "{.RND}{.ftz}{.sat}", "daa", HALF_SUB),
    EACH_TYPE("mul", "{.RND}{.ftz}{.sat}", "daa", HALF_MUL),
    EACH_TYPE("fma", ".RND{.ftz}{.sat}{.relu}", "daaa", HALF_FMA),
    EACH_TYPE("min", "{.ftz}{.NaN}{.xorsign}{.abs}", "daa", HALF_MIN),
    EACH_TYPE("max", "{.ftz}{.NaN}{.xorsign}{.abs}", "daa", HALF_MAX),
    EACH_TYPE("neg", "{.ftz}", "da", HALF_NEG),
    EACH_TYPE("abs", "{.ftz}", "da", HALF_ABS),
    EACH_TYPE("ex2", ".approx{.ftz}", "da", HALF_EX2),
    EACH_TYPE("tanh", ".approx", "da", HALF_TANH),
    {NULL, NULL, NULL, 0},
};

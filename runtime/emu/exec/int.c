// Integer arithmetic (PTX ISA 9.7.1, 9.7.2): one expression an instruction, one row a form.
// Arithmetic is done unsigned, where C defines wrapping; division by zero gives all ones, as
// observed.
#include "runtime/emu/exec/lanes.h"

// ---- add, sub, mul ----

EMU_BINARY(add_16, 32, uint32_t, uint16_t, a + b)
EMU_BINARY(add_32, 32, uint32_t, uint32_t, a + b)
EMU_BINARY(add_64, 64, uint64_t, uint64_t, a + b)
EMU_BINARY(sub_16, 32, uint32_t, uint16_t, a - b)
EMU_BINARY(sub_32, 32, uint32_t, uint32_t, a - b)
EMU_BINARY(sub_64, 64, uint64_t, uint64_t, a - b)
EMU_BINARY(mul_lo_16, 32, uint32_t, uint16_t, a *b)
EMU_BINARY(mul_lo_32, 32, uint32_t, uint32_t, a *b)
EMU_BINARY(mul_lo_64, 64, uint64_t, uint64_t, a *b)
EMU_BINARY(mul_hi_u16, 32, uint16_t, uint16_t, (uint32_t)a *b >> 16)
EMU_BINARY(mul_hi_s16, 32, int16_t, uint16_t, (uint32_t)((int32_t)a *b) >> 16)
EMU_BINARY(mul_hi_u32, 32, uint32_t, uint32_t, (uint64_t)a *b >> 32)
EMU_BINARY(mul_hi_s32, 32, int32_t, uint32_t, (uint64_t)((int64_t)a *b) >> 32)
EMU_BINARY(mul_hi_u64, 64, uint64_t, uint64_t, (unsigned __int128)a *b >> 64)
EMU_BINARY(mul_hi_s64, 64, int64_t, uint64_t, (unsigned __int128)((__int128)a *b) >> 64)
EMU_BINARY(mul24_lo_u32, 32, uint32_t, uint32_t, (a & 0xffffff) * (b & 0xffffff))

// mul24, mad24: bits 31 to 0 or 47 to 16 of the product of 24-bit numbers
#define SIGNED_24(x)   ((int64_t)((int32_t)((uint32_t)(x) << 8) >> 8))
#define UNSIGNED_24(x) ((uint64_t)((x)&0xffffff))
EMU_BINARY(mul24_lo_s32, 32, int32_t, uint32_t, (uint64_t)(SIGNED_24(a) * SIGNED_24(b)))
EMU_BINARY(mul24_hi_u32, 32, uint32_t, uint32_t, UNSIGNED_24(a) * UNSIGNED_24(b) >> 16)
EMU_BINARY(mul24_hi_s32, 32, int32_t, uint32_t, (uint64_t)(SIGNED_24(a) * SIGNED_24(b)) >> 16)
EMU_TERNARY(mad24_lo_u32, 32, uint32_t, uint32_t, UNSIGNED_24(a) * UNSIGNED_24(b) + c)
EMU_TERNARY(mad24_lo_s32, 32, int32_t, uint32_t,
            (uint64_t)(SIGNED_24(a) * SIGNED_24(b)) + (uint32_t)c)
EMU_TERNARY(mad24_hi_u32, 32, uint32_t, uint32_t, (UNSIGNED_24(a) * UNSIGNED_24(b) >> 16) + c)
EMU_TERNARY(mad24_hi_s32, 32, int32_t, uint32_t,
            ((uint64_t)(SIGNED_24(a) * SIGNED_24(b)) >> 16) + (uint32_t)c)

EMU_TERNARY(mad_hi_u16, 32, uint16_t, uint16_t, ((uint32_t)a * b >> 16) + c)
EMU_TERNARY(mad_hi_s16, 32, int16_t, uint16_t, ((uint32_t)((int32_t)a * b) >> 16) + (uint32_t)c)
EMU_TERNARY(mad_lo_16, 32, uint32_t, uint16_t, a *b + c)
EMU_TERNARY(mad_lo_32, 32, uint32_t, uint32_t, a *b + c)
EMU_TERNARY(mad_lo_64, 64, uint64_t, uint64_t, a *b + c)
EMU_TERNARY(mad_hi_u32, 32, uint32_t, uint32_t, (uint32_t)((uint64_t)a *b >> 32) + c)
EMU_TERNARY(mad_hi_s32, 32, int32_t, uint32_t,
            (uint32_t)((uint64_t)((int64_t)a *b) >> 32) + (uint32_t)c)
EMU_TERNARY(mad_hi_u64, 64, uint64_t, uint64_t, (uint64_t)((unsigned __int128)a *b >> 64) + c)
EMU_TERNARY(mad_hi_s64, 64, int64_t, uint64_t,
            (uint64_t)((unsigned __int128)((__int128)a *b) >> 64) + (uint64_t)c)
EMU_TERNARY(sad_u16, 32, uint16_t, uint16_t, c + (a > b ? a - b : b - a))
EMU_TERNARY(sad_s16, 32, int16_t, uint16_t, c + (a > b ? a - b : b - a))
EMU_TERNARY(sad_u64, 64, uint64_t, uint64_t, c + (a > b ? a - b : b - a))
EMU_TERNARY(sad_s64, 64, int64_t, uint64_t,
            (uint64_t)c + (a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a))
EMU_TERNARY(sad_u32, 32, uint32_t, uint32_t, c + (a > b ? a - b : b - a))
EMU_TERNARY(sad_s32, 32, int32_t, uint32_t,
            (uint32_t)c + (a > b ? (uint32_t)a - (uint32_t)b : (uint32_t)b - (uint32_t)a))

// mul.wide, mad.wide: the result has twice the width.
#define WIDE(name, R, T, U, OUT, EXPR)                                                     \
    EMU_HANDLER(mul_wide_##name) {                                                         \
        uint##OUT##_t *d = emu_r##OUT(warp, insn->op[0]);                                  \
        const uint32_t *pa = emu_r32(warp, insn->op[1]), *pb = emu_r32(warp, insn->op[2]); \
        EMU_LANES_DO({                                                                     \
            T a = (T)pa[lane], b = (T)pb[lane];                                            \
            d[lane] = (U)(EXPR);                                                           \
        })                                                                                 \
        return EMU_NEXT;                                                                   \
    }                                                                                      \
    EMU_HANDLER(mad_wide_##name) {                                                         \
        uint##OUT##_t *d = emu_r##OUT(warp, insn->op[0]);                                  \
        const uint32_t *pa = emu_r32(warp, insn->op[1]), *pb = emu_r32(warp, insn->op[2]); \
        const uint##OUT##_t *pc = emu_r##OUT(warp, insn->op[3]);                           \
        EMU_LANES_DO({                                                                     \
            T a = (T)pa[lane], b = (T)pb[lane];                                            \
            d[lane] = (U)(EXPR) + pc[lane];                                                \
        })                                                                                 \
        return EMU_NEXT;                                                                   \
    }
WIDE(u16, 32, uint16_t, uint32_t, 32, (uint32_t)a *b)
WIDE(s16, 32, int16_t, uint32_t, 32, (int32_t)a *b)
WIDE(u32, 32, uint32_t, uint64_t, 64, (uint64_t)a *b)
WIDE(s32, 32, int32_t, uint64_t, 64, (int64_t)a *b)

static int32_t saturate_s32(int64_t value) {
    return value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : (int32_t)value;
}

EMU_BINARY(add_sat_s32, 32, int32_t, uint32_t, saturate_s32((int64_t)a + b))
EMU_BINARY(sub_sat_s32, 32, int32_t, uint32_t, saturate_s32((int64_t)a - b))
EMU_TERNARY(mad_hi_sat_s32, 32, int32_t, uint32_t, saturate_s32(((int64_t)a * b >> 32) + c))
EMU_TERNARY(mad24_hi_sat_s32, 32, int32_t, uint32_t,
            saturate_s32((int32_t)(SIGNED_24(a) * SIGNED_24(b) >> 16) + (int64_t)c))

// ---- division ----

EMU_BINARY(div_u16, 32, uint16_t, uint16_t, b ? a / b : -1)
EMU_BINARY(div_s16, 32, int16_t, uint16_t, b ? a / b : -1)
EMU_BINARY(div_u32, 32, uint32_t, uint32_t, b ? a / b : UINT32_MAX)
EMU_BINARY(div_s32, 32, int32_t, uint32_t, b ? (int64_t)a / b : -1)
EMU_BINARY(div_u64, 64, uint64_t, uint64_t, b ? a / b : UINT64_MAX)
EMU_BINARY(div_s64, 64, int64_t, uint64_t, b == 0 ? -1 : b == -1 ? (int64_t)(-(uint64_t)a) : a / b)
EMU_BINARY(rem_u16, 32, uint16_t, uint16_t, b ? a % b : -1)
EMU_BINARY(rem_s16, 32, int16_t, uint16_t, b ? a % b : -1)
EMU_BINARY(rem_u32, 32, uint32_t, uint32_t, b ? a % b : UINT32_MAX)
EMU_BINARY(rem_s32, 32, int32_t, uint32_t, b ? (int64_t)a % b : -1)
EMU_BINARY(rem_u64, 64, uint64_t, uint64_t, b ? a % b : UINT64_MAX)
EMU_BINARY(rem_s64, 64, int64_t, uint64_t, b == 0 ? -1 : b == -1 ? 0 : a % b)

// ---- signs, minimum and maximum ----

EMU_UNARY(abs_s16, 32, int16_t, uint16_t, a < 0 ? -a : a)
EMU_UNARY(abs_s32, 32, uint32_t, uint32_t, a >> 31 ? -a : a)
EMU_UNARY(abs_s64, 64, uint64_t, uint64_t, a >> 63 ? -a : a)
EMU_UNARY(neg_s16, 32, uint32_t, uint16_t, -a)
EMU_UNARY(neg_s32, 32, uint32_t, uint32_t, -a)
EMU_UNARY(neg_s64, 64, uint64_t, uint64_t, -a)

#define EXTREMES(type, R, T, U)                    \
    EMU_BINARY(min_##type, R, T, U, a < b ? a : b) \
    EMU_BINARY(max_##type, R, T, U, a > b ? a : b)
EXTREMES(u16, 32, uint16_t, uint16_t)
EXTREMES(s16, 32, int16_t, uint16_t)
EXTREMES(u32, 32, uint32_t, uint32_t)
EXTREMES(s32, 32, int32_t, uint32_t)
EXTREMES(u64, 64, uint64_t, uint64_t)
EXTREMES(s64, 64, int64_t, uint64_t)
EMU_BINARY(min_relu_s32, 32, int32_t, uint32_t, (a < b ? a : b) < 0 ? 0 : a < b ? a : b)
EMU_BINARY(max_relu_s32, 32, int32_t, uint32_t, (a > b ? a : b) < 0 ? 0 : a > b ? a : b)

// Two 16-bit halves a lane; OP works on int16_t or uint16_t x and y.
#define HALVES(name, T, OP)                             \
    static uint32_t name##_of(uint32_t a, uint32_t b) { \
        T x = (T)a, y = (T)b;                           \
        uint32_t low = (uint16_t)(OP);                  \
        x = (T)(a >> 16);                               \
        y = (T)(b >> 16);                               \
        return low | (uint32_t)(uint16_t)(OP) << 16;    \
    }                                                   \
    EMU_BINARY(name, 32, uint32_t, uint32_t, name##_of(a, b))
HALVES(add_16x2, uint16_t, x + y)
HALVES(min_u16x2, uint16_t, x < y ? x : y)
HALVES(max_u16x2, uint16_t, x > y ? x : y)
HALVES(min_s16x2, int16_t, x < y ? x : y)
HALVES(max_s16x2, int16_t, x > y ? x : y)
HALVES(min_relu_s16x2, int16_t, (x < y ? x : y) < 0 ? 0 : x < y ? x : y)
HALVES(max_relu_s16x2, int16_t, (x > y ? x : y) < 0 ? 0 : x > y ? x : y)

// ---- extended precision: CC.CF is a bit a lane ----

#define CARRY(name, R, IN, SUM, OUT)                                                            \
    EMU_HANDLER(name) {                                                                         \
        uint##R##_t *d = emu_r##R(warp, insn->op[0]);                                           \
        const uint##R##_t *pa = emu_r##R(warp, insn->op[1]), *pb = emu_r##R(warp, insn->op[2]); \
        EMU_EACH_LANE(lane, mask) {                                                             \
            unsigned in = (IN) ? warp->carry >> lane & 1 : 0;                                   \
            unsigned __int128 a = pa[lane], b = pb[lane], sum = SUM;                            \
            d[lane] = (uint##R##_t)sum;                                                         \
            if (OUT)                                                                            \
                warp->carry = (warp->carry & ~(1u << lane)) | (uint32_t)(sum >> R & 1) << lane; \
        }                                                                                       \
        return EMU_NEXT;                                                                        \
    }
CARRY(add_cc_32, 32, false, a + b + in, true)
CARRY(addc_32, 32, true, a + b + in, false)
CARRY(addc_cc_32, 32, true, a + b + in, true)
CARRY(sub_cc_32, 32, false, a - b - in, true)
CARRY(subc_32, 32, true, a - b - in, false)
CARRY(subc_cc_32, 32, true, a - b - in, true)
CARRY(add_cc_64, 64, false, a + b + in, true)
CARRY(addc_64, 64, true, a + b + in, false)
CARRY(addc_cc_64, 64, true, a + b + in, true)
CARRY(sub_cc_64, 64, false, a - b - in, true)
CARRY(subc_64, 64, true, a - b - in, false)
CARRY(subc_cc_64, 64, true, a - b - in, true)

// mad{c}.{lo,hi}{.cc}: aux bits say high half, carry in, carry out
enum { MAD_HIGH = 1, MAD_IN = 2, MAD_OUT = 4, MAD_WIDE = 8, MAD_SIGNED = 16 };
EMU_HANDLER(mad_carry) {
    int aux = insn->row->aux;
    uint32_t wide = aux & MAD_WIDE ? EMU_WIDE : 0;
    unsigned bits = wide ? 64 : 32;

    EMU_EACH_LANE(lane, mask) {
        uint64_t a = emu_get(warp, insn->op[1] | wide, lane),
                 b = emu_get(warp, insn->op[2] | wide, lane);
        unsigned __int128 product = (unsigned __int128)a * b;
        if (aux & MAD_SIGNED)
            product = wide ? (unsigned __int128)((__int128)(int64_t)a * (int64_t)b)
                           : (unsigned __int128)((int64_t)(int32_t)a * (int32_t)b);
        if (aux & MAD_HIGH) product >>= bits;
        uint64_t half = wide ? (uint64_t)product : (uint32_t)product;
        unsigned __int128 sum = (unsigned __int128)half + emu_get(warp, insn->op[3] | wide, lane);
        sum += aux & MAD_IN ? warp->carry >> lane & 1 : 0;
        emu_set(warp, insn->op[0] | wide, lane, (uint64_t)sum);
        if (aux & MAD_OUT)
            warp->carry = (warp->carry & ~(1u << lane)) | (uint32_t)(sum >> bits & 1) << lane;
    }
    return EMU_NEXT;
}

// ---- dot products of bytes ----

static uint32_t byte_of(uint32_t word, int index, bool is_signed) {
    uint8_t byte = (uint8_t)(word >> (8 * index));

    return is_signed ? (uint32_t)(int8_t)byte : byte;
}

enum { DOT_A_SIGNED = 1, DOT_B_SIGNED = 2, DOT_HIGH = 4 };

static uint32_t dot4(uint32_t a, uint32_t b, uint32_t c, int aux) {
    for (int i = 0; i < 4; i++)
        c += byte_of(a, i, aux & DOT_A_SIGNED) * byte_of(b, i, aux & DOT_B_SIGNED);
    return c;
}

static uint32_t dot2(uint32_t a, uint32_t b, uint32_t c, int aux) {
    for (int i = 0; i < 2; i++) {
        uint16_t half = (uint16_t)(a >> (16 * i));
        uint32_t x = aux & DOT_A_SIGNED ? (uint32_t)(int16_t)half : half;
        c += x * byte_of(b, i + (aux & DOT_HIGH ? 2 : 0), aux & DOT_B_SIGNED);
    }
    return c;
}

EMU_TERNARY(dp4a, 32, uint32_t, uint32_t, dot4(a, b, c, insn->row->aux))
EMU_TERNARY(dp2a, 32, uint32_t, uint32_t, dot2(a, b, c, insn->row->aux))

const struct emu_op emu_ops_int[] = {
    {"add.I16", "daa", add_16, 0},
    {"add.I32", "daa", add_32, 0},
    {"add.I64", "daa", add_64, 0},
    {"add.sat.s32", "daa", add_sat_s32, 0},
    {"add.u16x2", "daa", add_16x2, 0},
    {"add.s16x2", "daa", add_16x2, 0},
    {"sub.I16", "daa", sub_16, 0},
    {"sub.I32", "daa", sub_32, 0},
    {"sub.I64", "daa", sub_64, 0},
    {"sub.sat.s32", "daa", sub_sat_s32, 0},
    {"mul.lo.I16", "daa", mul_lo_16, 0},
    {"mul.lo.I32", "daa", mul_lo_32, 0},
    {"mul.lo.I64", "daa", mul_lo_64, 0},
    {"mul.hi.u16", "daa", mul_hi_u16, 0},
    {"mul.hi.s16", "daa", mul_hi_s16, 0},
    {"mul.hi.u32", "daa", mul_hi_u32, 0},
    {"mul.hi.s32", "daa", mul_hi_s32, 0},
    {"mul.hi.u64", "daa", mul_hi_u64, 0},
    {"mul.hi.s64", "daa", mul_hi_s64, 0},
    {"mul.wide.u16", "waa", mul_wide_u16, 0},
    {"mul.wide.s16", "waa", mul_wide_s16, 0},
    {"mul.wide.u32", "waa", mul_wide_u32, 0},
    {"mul.wide.s32", "waa", mul_wide_s32, 0},
    {"mul24.lo.u32", "daa", mul24_lo_u32, 0},
    {"mul24.lo.s32", "daa", mul24_lo_s32, 0},
    {"mul24.hi.u32", "daa", mul24_hi_u32, 0},
    {"mul24.hi.s32", "daa", mul24_hi_s32, 0},
    {"mad24.lo.u32", "daaa", mad24_lo_u32, 0},
    {"mad24.lo.s32", "daaa", mad24_lo_s32, 0},
    {"mad24.hi.u32", "daaa", mad24_hi_u32, 0},
    {"mad24.hi.s32", "daaa", mad24_hi_s32, 0},
    {"mad24.hi.sat.s32", "daaa", mad24_hi_sat_s32, 0},
    {"mad.hi.u16", "daaa", mad_hi_u16, 0},
    {"mad.hi.s16", "daaa", mad_hi_s16, 0},
    {"mad.hi.sat.s32", "daaa", mad_hi_sat_s32, 0},
    {"mad.lo.I16", "daaa", mad_lo_16, 0},
    {"mad.lo.I32", "daaa", mad_lo_32, 0},
    {"mad.lo.I64", "daaa", mad_lo_64, 0},
    {"mad.hi.u32", "daaa", mad_hi_u32, 0},
    {"mad.hi.s32", "daaa", mad_hi_s32, 0},
    {"mad.hi.u64", "daaa", mad_hi_u64, 0},
    {"mad.hi.s64", "daaa", mad_hi_s64, 0},
    {"mad.wide.u16", "waax", mad_wide_u16, 0},
    {"mad.wide.s16", "waax", mad_wide_s16, 0},
    {"mad.wide.u32", "waax", mad_wide_u32, 0},
    {"mad.wide.s32", "waax", mad_wide_s32, 0},
    {"sad.u16", "daaa", sad_u16, 0},
    {"sad.s16", "daaa", sad_s16, 0},
    {"sad.u64", "daaa", sad_u64, 0},
    {"sad.s64", "daaa", sad_s64, 0},
    {"sad.u32", "daaa", sad_u32, 0},
    {"sad.s32", "daaa", sad_s32, 0},
    {"div.u16", "daa", div_u16, 0},
    {"div.s16", "daa", div_s16, 0},
    {"div.u32", "daa", div_u32, 0},
    {"div.s32", "daa", div_s32, 0},
    {"div.u64", "daa", div_u64, 0},
    {"div.s64", "daa", div_s64, 0},
    {"rem.u16", "daa", rem_u16, 0},
    {"rem.s16", "daa", rem_s16, 0},
    {"rem.u32", "daa", rem_u32, 0},
    {"rem.s32", "daa", rem_s32, 0},
    {"rem.u64", "daa", rem_u64, 0},
    {"rem.s64", "daa", rem_s64, 0},
    {"abs.s16", "da", abs_s16, 0},
    {"abs.s32", "da", abs_s32, 0},
    {"abs.s64", "da", abs_s64, 0},
    {"neg.s16", "da", neg_s16, 0},
    {"neg.s32", "da", neg_s32, 0},
    {"neg.s64", "da", neg_s64, 0},
    {"min.u16", "daa", min_u16, 0},
    {"min.s16", "daa", min_s16, 0},
    {"min.u32", "daa", min_u32, 0},
    {"min.s32", "daa", min_s32, 0},
    {"min.relu.s32", "daa", min_relu_s32, 0},
    {"min.relu.s16x2", "daa", min_relu_s16x2, 0},
    {"max.relu.s16x2", "daa", max_relu_s16x2, 0},
    {"min.u64", "daa", min_u64, 0},
    {"min.s64", "daa", min_s64, 0},
    {"min.u16x2", "daa", min_u16x2, 0},
    {"min.s16x2", "daa", min_s16x2, 0},
    {"max.u16", "daa", max_u16, 0},
    {"max.s16", "daa", max_s16, 0},
    {"max.u32", "daa", max_u32, 0},
    {"max.s32", "daa", max_s32, 0},
    {"max.relu.s32", "daa", max_relu_s32, 0},
    {"max.u64", "daa", max_u64, 0},
    {"max.s64", "daa", max_s64, 0},
    {"max.u16x2", "daa", max_u16x2, 0},
    {"max.s16x2", "daa", max_s16x2, 0},
    {"add.cc.I32", "daa", add_cc_32, 0},
    {"addc.I32", "daa", addc_32, 0},
    {"addc.cc.I32", "daa", addc_cc_32, 0},
    {"sub.cc.I32", "daa", sub_cc_32, 0},
    {"subc.I32", "daa", subc_32, 0},
    {"subc.cc.I32", "daa", subc_cc_32, 0},
    {"add.cc.I64", "daa", add_cc_64, 0},
    {"addc.I64", "daa", addc_64, 0},
    {"addc.cc.I64", "daa", addc_cc_64, 0},
    {"sub.cc.I64", "daa", sub_cc_64, 0},
    {"subc.I64", "daa", subc_64, 0},
    {"subc.cc.I64", "daa", subc_cc_64, 0},
    {"mad.lo.cc.I32", "daaa", mad_carry, MAD_OUT},
    {"mad.hi.cc.u32", "daaa", mad_carry, MAD_OUT | MAD_HIGH},
    {"mad.hi.cc.s32", "daaa", mad_carry, MAD_OUT | MAD_HIGH | MAD_SIGNED},
    {"madc.lo.I32", "daaa", mad_carry, MAD_IN},
    {"madc.hi.u32", "daaa", mad_carry, MAD_IN | MAD_HIGH},
    {"madc.hi.s32", "daaa", mad_carry, MAD_IN | MAD_HIGH | MAD_SIGNED},
    {"madc.lo.cc.I32", "daaa", mad_carry, MAD_IN | MAD_OUT},
    {"madc.hi.cc.u32", "daaa", mad_carry, MAD_IN | MAD_OUT | MAD_HIGH},
    {"madc.hi.cc.s32", "daaa", mad_carry, MAD_IN | MAD_OUT | MAD_HIGH | MAD_SIGNED},
    {"mad.lo.cc.I64", "daaa", mad_carry, MAD_WIDE | MAD_OUT},
    {"mad.hi.cc.u64", "daaa", mad_carry, MAD_WIDE | MAD_OUT | MAD_HIGH},
    {"mad.hi.cc.s64", "daaa", mad_carry, MAD_WIDE | MAD_OUT | MAD_HIGH | MAD_SIGNED},
    {"madc.hi.s64", "daaa", mad_carry, MAD_WIDE | MAD_IN | MAD_HIGH | MAD_SIGNED},
    {"madc.hi.cc.s64", "daaa", mad_carry, MAD_WIDE | MAD_IN | MAD_OUT | MAD_HIGH | MAD_SIGNED},
    {"madc.lo.I64", "daaa", mad_carry, MAD_WIDE | MAD_IN},
    {"madc.hi.u64", "daaa", mad_carry, MAD_WIDE | MAD_IN | MAD_HIGH},
    {"madc.lo.cc.I64", "daaa", mad_carry, MAD_WIDE | MAD_IN | MAD_OUT},
    {"madc.hi.cc.u64", "daaa", mad_carry, MAD_WIDE | MAD_IN | MAD_OUT | MAD_HIGH},
    {"dp4a.u32.u32", "daaa", dp4a, 0},
    {"dp4a.u32.s32", "daaa", dp4a, DOT_B_SIGNED},
    {"dp4a.s32.u32", "daaa", dp4a, DOT_A_SIGNED},
    {"dp4a.s32.s32", "daaa", dp4a, DOT_A_SIGNED | DOT_B_SIGNED},
    {"dp2a.lo.u32.u32", "daaa", dp2a, 0},
    {"dp2a.lo.u32.s32", "daaa", dp2a, DOT_B_SIGNED},
    {"dp2a.lo.s32.u32", "daaa", dp2a, DOT_A_SIGNED},
    {"dp2a.lo.s32.s32", "daaa", dp2a, DOT_A_SIGNED | DOT_B_SIGNED},
    {"dp2a.hi.u32.u32", "daaa", dp2a, DOT_HIGH},
    {"dp2a.hi.u32.s32", "daaa", dp2a, DOT_HIGH | DOT_B_SIGNED},
    {"dp2a.hi.s32.u32", "daaa", dp2a, DOT_HIGH | DOT_A_SIGNED},
    {"dp2a.hi.s32.s32", "daaa", dp2a, DOT_HIGH | DOT_A_SIGNED | DOT_B_SIGNED},
    {NULL, NULL, NULL, 0},
};

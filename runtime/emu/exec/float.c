// f32 and f64 arithmetic (PTX ISA 9.7.3), bit for bit: rounding modes, .ftz, .sat, the GPU's NaN.
// Directed roundings of f32 go through a double rounded to odd, which one more rounding cannot
// spoil.
#include "runtime/emu/exec/lanes.h"
#include "runtime/emu/model/approx.h"

#include <fenv.h>
#include <math.h>
#include <string.h>

#define F64_NAN UINT64_C(0xfff8000000000000)

static double f64(uint64_t bits) {
    double value;

    memcpy(&value, &bits, 8);
    return value;
}

static uint64_t f64_bits(double value) {
    uint64_t bits;

    memcpy(&bits, &value, 8);
    return bits;
}

static uint32_t flush(uint32_t bits) { return bits & 0x7f800000 ? bits : bits & 0x80000000; }

static float f32_in(uint32_t bits, uint32_t flags) {
    return tmg_f32_from_bits(flags & F_FTZ ? flush(bits) : bits);
}

static uint32_t f32_out(float value, uint32_t flags) {
    uint32_t bits = tmg_f32_bits(value);

    if ((bits & 0x7fffffff) > 0x7f800000) return flags & F_SAT ? 0 : TMG_F32_NAN;
    if (flags & F_FTZ) bits = flush(bits);
    if (flags & F_SAT) bits = bits >> 31 ? 0 : bits > 0x3f800000 ? 0x3f800000 : bits;
    return bits;
}

// The double next to [value] whose last bit is odd, if [value] has lost something of sign [rest].
static double to_odd(double value, double rest) {
    uint64_t bits = f64_bits(value);

    if (rest == 0 || isnan(rest) || isinf(value) || bits & 1) return value;
    bool away = (rest > 0) == (value > 0);
    return f64(away ? bits + 1 : bits - 1);
}

// a + b with the error known (Knuth's two-sum), rounded to odd.
static double add_odd(double a, double b) {
    volatile double sum = a + b, b_part = sum - a, a_part = sum - b_part;

    return to_odd(sum, (a - a_part) + (b - b_part));
}

static float round_f32(double value, uint8_t round) {
    return tmg_f32_from_bits(
        (uint32_t)tmg_number_from_double(TMG_F32, value, (enum tmg_round)round, false));
}

// What is below every normal number when rounded to 24 bits is zero with .ftz, even where rounding
// to a subnormal's few bits would give 2^-126 (observed).
static float flush_tiny(double exact, float rounded, uint8_t round) {
    bool tiny = fabsf(rounded) == 0x1p-126f && fabsf(round_f32(exact * 0x1p64, round)) < 0x1p-62f;

    return tiny ? copysignf(0, rounded) : rounded;
}

enum { OP_ADD, OP_SUB, OP_MUL, OP_FMA, OP_DIV, OP_RCP, OP_SQRT };

static bool nearest(const struct emu_insn *insn) {
    return insn->round == ROUND_NONE || insn->round == ROUND_RN;
}

static float directed(int op, float a, float b, float c, uint8_t round, uint32_t flags) {
    double q;

    switch (op) {
    case OP_ADD: q = add_odd(a, b); break;
    case OP_SUB: q = add_odd(a, -(double)b); break;
    case OP_MUL: q = (double)a * b; break;
    case OP_FMA: q = add_odd((double)a * b, c); break;
    case OP_RCP: a = 1, b = c;  // fall through
    case OP_DIV:
        q = (double)a / b;
        q = isfinite(q) && b != 0 ? to_odd(q, fma(-q, b, a) / b) : q;
        break;
    default:
        q = sqrt(a);
        q = isfinite(q) ? to_odd(q, fma(-q, q, a)) : q;
        break;
    }
    // an exact zero of differing signs is negative only when rounding down
    if (q == 0 && (op == OP_ADD || op == OP_SUB || op == OP_FMA) && round == ROUND_RM &&
        !isnan(q)) {
        double x = op == OP_FMA ? (double)a * b : a, y = op == OP_FMA ? c : op == OP_SUB ? -b : b;
        if (signbit(x) != signbit(y)) return -0.0f;
    }
    float rounded = round_f32(q, round);
    return flags & F_FTZ ? flush_tiny(q, rounded, round) : rounded;
}

#define F32_BINARY(name, OP, EXPR)                                                              \
    EMU_HANDLER(name) {                                                                         \
        uint32_t *d = emu_r32(warp, insn->op[0]), flags = insn->flags;                          \
        const uint32_t *pa = emu_r32(warp, insn->op[1]), *pb = emu_r32(warp, insn->op[2]);      \
        if (nearest(insn)) {                                                                    \
            EMU_LANES_DO({                                                                      \
                float a = f32_in(pa[lane], flags), b = f32_in(pb[lane], flags);                 \
                d[lane] = f32_out(EXPR, flags);                                                 \
            })                                                                                  \
        } else {                                                                                \
            EMU_EACH_LANE(lane, mask)                                                           \
            d[lane] = f32_out(directed(OP, f32_in(pa[lane], flags), f32_in(pb[lane], flags), 0, \
                                       insn->round, flags),                                     \
                              flags);                                                           \
        }                                                                                       \
        return EMU_NEXT;                                                                        \
    }
F32_BINARY(add_f32, OP_ADD, a + b)
F32_BINARY(sub_f32, OP_SUB, a - b)
F32_BINARY(mul_f32, OP_MUL, flags &F_FTZ ? flush_tiny((double)a *b, a *b, ROUND_RN) : a *b)
F32_BINARY(div_f32, OP_DIV, flags &F_FTZ ? flush_tiny((double)a / b, a / b, ROUND_RN) : a / b)

static uint32_t fma_bits(const struct emu_insn *insn, uint32_t x, uint32_t y, uint32_t z) {
    uint32_t flags = insn->flags;
    float a = f32_in(x, flags), b = f32_in(y, flags), c = f32_in(z, flags);
    bool simple = nearest(insn);
    float r = simple ? fmaf(a, b, c) : directed(OP_FMA, a, b, c, insn->round, flags);

    if (simple && flags & F_FTZ && fabsf(r) == 0x1p-126f)
        r = flush_tiny(add_odd((double)a * b, c), r, ROUND_RN);
    return f32_out(r, flags);
}

EMU_HANDLER(fma_f32) {
    uint32_t *d = emu_r32(warp, insn->op[0]);
    const uint32_t *pa = emu_r32(warp, insn->op[1]), *pb = emu_r32(warp, insn->op[2]);
    const uint32_t *pc = emu_r32(warp, insn->op[3]);

    EMU_EACH_LANE(lane, mask) d[lane] = fma_bits(insn, pa[lane], pb[lane], pc[lane]);
    return EMU_NEXT;
}

// One half of an .f32x2, or an operation whose operands were widened; the third one is FMA's.
static uint32_t half_bits(const struct emu_insn *insn, uint32_t x, uint32_t y, uint32_t z) {
    uint32_t flags = insn->flags;
    int op = insn->row->aux;

    if (op == OP_FMA) return fma_bits(insn, x, y, z);
    return f32_out(directed(op, f32_in(x, flags), f32_in(y, flags), 0,
                            insn->round == ROUND_NONE ? ROUND_RN : insn->round, flags),
                   flags);
}

EMU_HANDLER(arithmetic_f32x2) {
    uint64_t *d = emu_r64(warp, insn->op[0]);
    const uint64_t *pa = emu_r64(warp, insn->op[1]), *pb = emu_r64(warp, insn->op[2]);
    const uint64_t *pc = insn->row->aux == OP_FMA ? emu_r64(warp, insn->op[3]) : pa;

    EMU_EACH_LANE(lane, mask) {
        uint64_t a = pa[lane], b = pb[lane], c = pc[lane];
        uint32_t low = half_bits(insn, (uint32_t)a, (uint32_t)b, (uint32_t)c);
        d[lane] =
            (uint64_t)half_bits(insn, (uint32_t)(a >> 32), (uint32_t)(b >> 32), (uint32_t)(c >> 32))
                << 32 |
            low;
    }
    return EMU_NEXT;
}

// The first operand, of fma the first two, is f16 or bf16; the sum is f32's.
EMU_HANDLER(arithmetic_mixed) {
    const int op = insn->row->aux, last = op == OP_FMA ? 3 : 2;
    const uint32_t *pa = emu_r32(warp, insn->op[1]), *pb = emu_r32(warp, insn->op[2]);
    const uint32_t *pc = emu_r32(warp, insn->op[last]);
    uint32_t *d = emu_r32(warp, insn->op[0]);
    const bool bf16 = insn->type[1] == T_BF16;

    EMU_EACH_LANE(lane, mask) {
        const uint16_t a = (uint16_t)pa[lane], b = (uint16_t)pb[lane];
        uint32_t x = tmg_f32_bits(bf16 ? tmg_bf16_to_f32(a) : tmg_f16_to_f32(a));
        uint32_t y = tmg_f32_bits(bf16 ? tmg_bf16_to_f32(b) : tmg_f16_to_f32(b));
        d[lane] = half_bits(insn, x, op == OP_FMA ? y : pc[lane], pc[lane]);
    }
    return EMU_NEXT;
}

EMU_HANDLER(root_f32)  // sqrt, rcp with IEEE rounding; aux says which
{
    uint32_t *d = emu_r32(warp, insn->op[0]), flags = insn->flags;
    const uint32_t *pa = emu_r32(warp, insn->op[1]);
    int op = insn->row->aux;

    EMU_EACH_LANE(lane, mask) {
        float a = f32_in(pa[lane], flags), r;
        if (!nearest(insn))
            r = directed(op, a, 0, a, insn->round, flags);
        else
            r = op == OP_RCP ? 1.0f / a : sqrtf(a);
        d[lane] = f32_out(r, flags);
    }
    return EMU_NEXT;
}

EMU_HANDLER(approx_f32) {
    uint32_t *d = emu_r32(warp, insn->op[0]);
    const uint32_t *pa = emu_r32(warp, insn->op[1]);

    EMU_EACH_LANE(lane, mask)
    d[lane] = tmg_approx_f32((enum tmg_function)insn->row->aux, insn->flags & F_FTZ, pa[lane]);
    return EMU_NEXT;
}

EMU_BINARY(div_approx_f32, 32, uint32_t, uint32_t,
           tmg_divide_f32(insn->row->aux, insn->flags &F_FTZ, a, b))

// ---- minimum, maximum, signs ----

uint32_t emu_extreme_f32(uint32_t a, uint32_t b, bool larger, uint32_t flags) {
    uint32_t sign = (a ^ b) & 0x80000000;

    if (flags & F_FTZ) {
        a = flush(a);
        b = flush(b);
    }
    bool a_nan = (a & 0x7fffffff) > 0x7f800000, b_nan = (b & 0x7fffffff) > 0x7f800000;
    if ((flags & F_NAN && (a_nan || b_nan)) || (a_nan && b_nan)) return TMG_F32_NAN;
    if (flags & F_XORSIGN) {
        a &= 0x7fffffff;
        b &= 0x7fffffff;
    }
    // order of the bits as sign-magnitude integers, where -0 < +0
    int64_t x = a >> 31 ? -(int64_t)(a & 0x7fffffff) - 1 : a,
            y = b >> 31 ? -(int64_t)(b & 0x7fffffff) - 1 : b;
    uint32_t result = a_nan ? b : b_nan ? a : (x > y) == larger ? a : b;
    return flags & F_XORSIGN ? result | sign : result;
}

EMU_BINARY(min_f32, 32, uint32_t, uint32_t, emu_extreme_f32(a, b, false, insn->flags))
EMU_BINARY(max_f32, 32, uint32_t, uint32_t, emu_extreme_f32(a, b, true, insn->flags))
EMU_TERNARY(min3_f32, 32, uint32_t, uint32_t,
            emu_extreme_f32(emu_extreme_f32(a, b, false, insn->flags), c, false, insn->flags))
EMU_TERNARY(max3_f32, 32, uint32_t, uint32_t,
            emu_extreme_f32(emu_extreme_f32(a, b, true, insn->flags), c, true, insn->flags))

static uint32_t change_sign(uint32_t a, uint32_t and_mask, uint32_t xor_mask, uint32_t flags) {
    if (flags & F_FTZ) a = flush(a);
    return (a & 0x7fffffff) > 0x7f800000 ? TMG_F32_NAN : (a & and_mask) ^ xor_mask;
}

static bool is_nan_f64(uint64_t bits) {
    return (bits & UINT64_C(0x7fffffffffffffff)) > UINT64_C(0x7ff0000000000000);
}

// Observed: no f64 instruction but a copy changes a NaN's sign or payload; it becomes quiet.
static uint64_t quiet_f64(uint64_t bits) { return bits | UINT64_C(1) << 51; }

static uint64_t change_sign_f64(uint64_t a, uint64_t changed) {
    return is_nan_f64(a) ? quiet_f64(a) : changed;
}

EMU_UNARY(abs_f32, 32, uint32_t, uint32_t, change_sign(a, 0x7fffffff, 0, insn->flags))
EMU_UNARY(neg_f32, 32, uint32_t, uint32_t, change_sign(a, 0xffffffff, 0x80000000, insn->flags))
EMU_UNARY(abs_f64, 64, uint64_t, uint64_t, change_sign_f64(a, a & ~(UINT64_C(1) << 63)))
EMU_UNARY(neg_f64, 64, uint64_t, uint64_t, change_sign_f64(a, a ^ UINT64_C(1) << 63))
EMU_BINARY(copysign_f32, 32, uint32_t, uint32_t, (b & 0x7fffffff) | (a & 0x80000000))
EMU_BINARY(copysign_f64, 64, uint64_t, uint64_t,
           (b & ~(UINT64_C(1) << 63)) | (a & UINT64_C(1) << 63))

// ---- f64: the host's own arithmetic under the host's rounding mode ----

static int host_round(uint8_t round) {
    switch (round) {
    case ROUND_RZ: return FE_TOWARDZERO;
    case ROUND_RM: return FE_DOWNWARD;
    case ROUND_RP: return FE_UPWARD;
    default: return FE_TONEAREST;
    }
}

// Of several NaNs the result is b's, then c's, then a's; a division takes a's first (observed).
static uint64_t f64_op(int op, uint64_t x, uint64_t y, uint64_t z) {
    volatile double a = f64(x), b = f64(y), c = f64(z), r; /* volatile: for fesetround */

    if (isnan(c) || isnan(b) || isnan(a)) {
        if (op == OP_DIV && isnan(a)) return quiet_f64(x);
        return quiet_f64(isnan(b) ? y : isnan(c) ? z : x);
    }
    switch (op) {
    case OP_ADD: r = a + b; break;
    case OP_SUB: r = a - b; break;
    case OP_MUL: r = a * b; break;
    case OP_FMA: r = fma(a, b, c); break;
    case OP_DIV: r = a / b; break;
    case OP_RCP: r = 1.0 / a; break;
    default: r = sqrt(a); break;
    }
    return isnan(r) ? F64_NAN : f64_bits(r);
}

EMU_HANDLER(arithmetic_f64) {
    uint64_t *d = emu_r64(warp, insn->op[0]);
    int op = insn->row->aux;
    const uint64_t *pa = emu_r64(warp, insn->op[1]), *pb = pa, *pc;

    if (op <= OP_FMA || op == OP_DIV) pb = emu_r64(warp, insn->op[2]);
    pc = pb;
    if (op == OP_FMA) pc = emu_r64(warp, insn->op[3]);
    if (!nearest(insn)) fesetround(host_round(insn->round));
    EMU_EACH_LANE(lane, mask)
    d[lane] = f64_op(op, pa[lane], pb[lane], pc[lane]);
    if (!nearest(insn)) fesetround(FE_TONEAREST);
    return EMU_NEXT;
}

static uint64_t extreme_f64(uint64_t a, uint64_t b, bool larger) {
    double x = f64(a), y = f64(b);

    if (isnan(x) || isnan(y)) return isnan(x) && isnan(y) ? quiet_f64(b) : isnan(x) ? b : a;
    if (x == y) return (a >> 63) == larger ? b : a;
    return (x > y) == larger ? a : b;
}

EMU_BINARY(min_f64, 64, uint64_t, uint64_t, extreme_f64(a, b, false))
EMU_BINARY(max_f64, 64, uint64_t, uint64_t, extreme_f64(a, b, true))
EMU_UNARY(approx_f64, 64, uint64_t, uint64_t,
          tmg_approx_ftz_f64((enum tmg_function)insn->row->aux, a))
EMU_UNARY(rsqrt_f64, 64, uint64_t, uint64_t, tmg_rsqrt_f64(a))

// ---- testp ----

enum { TEST_FINITE, TEST_INFINITE, TEST_NUMBER, TEST_NAN, TEST_NORMAL, TEST_SUBNORMAL };

static bool test(double value, bool normal, int what) {
    switch (what) {
    case TEST_FINITE: return isfinite(value);
    case TEST_INFINITE: return isinf(value);
    case TEST_NUMBER: return !isnan(value);
    case TEST_NAN: return isnan(value);
    case TEST_NORMAL: return normal;
    default: return isfinite(value) && !normal && value != 0;
    }
}

EMU_HANDLER(testp) {
    uint32_t found = 0;
    bool wide = insn->type[0] == T_F64;

    EMU_EACH_LANE(lane, mask) {
        double x = wide ? f64(emu_r64(warp, insn->op[1])[lane])
                        : tmg_f32_from_bits(emu_r32(warp, insn->op[1])[lane]);
        bool normal = x == 0 || (wide ? isnormal(x) : isnormal((float)x)); /* zeros count */
        found |= (uint32_t)test(x, normal, insn->row->aux) << lane;
    }
    emu_set_pred(warp, insn->op[0], mask, found);
    return EMU_NEXT;
}

#define TESTP(name, what) \
    {"testp." name ".f32", "Pa", testp, what}, { "testp." name ".f64", "Pa", testp, what }

const struct emu_op emu_ops_float[] = {
    {"add{.RND}{.ftz}{.sat}.f32", "daa", add_f32, 0},
    {"sub{.RND}{.ftz}{.sat}.f32", "daa", sub_f32, 0},
    {"mul{.RND}{.ftz}{.sat}.f32", "daa", mul_f32, 0},
    {"fma.RND{.ftz}{.sat}.f32", "daaa", fma_f32, 0},
    {"mad{.RND}{.ftz}{.sat}.f32", "daaa", fma_f32, 0},
    {"add{.RND}{.ftz}.f32x2", "daa", arithmetic_f32x2, OP_ADD, 0, TMG_HAS_LAUNCH_CONTROL},
    {"sub{.RND}{.ftz}.f32x2", "daa", arithmetic_f32x2, OP_SUB, 0, TMG_HAS_LAUNCH_CONTROL},
    {"mul{.RND}{.ftz}.f32x2", "daa", arithmetic_f32x2, OP_MUL, 0, TMG_HAS_LAUNCH_CONTROL},
    {"fma.RND{.ftz}.f32x2", "daaa", arithmetic_f32x2, OP_FMA, 0, TMG_HAS_LAUNCH_CONTROL},
#define MIXED(WORDS, OPERANDS, OP)                                                         \
    {WORDS "{.sat}.f32.f16", OPERANDS, arithmetic_mixed, OP, 0, TMG_HAS_LAUNCH_CONTROL}, { \
        WORDS "{.sat}.f32.bf16", OPERANDS, arithmetic_mixed, OP, 0, TMG_HAS_LAUNCH_CONTROL \
    }
    MIXED("add{.RND}", "dfa", OP_ADD),
    MIXED("sub{.RND}", "dfa", OP_SUB),
    MIXED("fma.RND", "dffa", OP_FMA),
    {"div.approx{.ftz}.f32", "daa", div_approx_f32, 0},
    {"div.full{.ftz}.f32", "daa", div_approx_f32, 1},
    {"div.RND{.ftz}.f32", "daa", div_f32, 0},
    {"rcp.approx{.ftz}.f32", "da", approx_f32, TMG_RCP},
    {"rcp.RND{.ftz}.f32", "da", root_f32, OP_RCP},
    {"sqrt.approx{.ftz}.f32", "da", approx_f32, TMG_SQRT},
    {"sqrt.RND{.ftz}.f32", "da", root_f32, OP_SQRT},
    {"rsqrt.approx{.ftz}.f32", "da", approx_f32, TMG_RSQRT},
    {"sin.approx{.ftz}.f32", "da", approx_f32, TMG_SIN},
    {"cos.approx{.ftz}.f32", "da", approx_f32, TMG_COS},
    {"lg2.approx{.ftz}.f32", "da", approx_f32, TMG_LG2},
    {"ex2.approx{.ftz}.f32", "da", approx_f32, TMG_EX2},
    {"tanh.approx.f32", "da", approx_f32, TMG_TANH},
    {"min{.ftz}{.NaN}{.xorsign}{.abs}.f32", "daa", min_f32, 0},
    {"max{.ftz}{.NaN}{.xorsign}{.abs}.f32", "daa", max_f32, 0},
    {"min{.ftz}{.NaN}.f32", "daaa", min3_f32, 0},
    {"max{.ftz}{.NaN}.f32", "daaa", max3_f32, 0},
    {"abs{.ftz}.f32", "da", abs_f32, 0},
    {"neg{.ftz}.f32", "da", neg_f32, 0},
    {"abs.f64", "da", abs_f64, 0},
    {"neg.f64", "da", neg_f64, 0},
    {"copysign.f32", "daa", copysign_f32, 0},
    {"copysign.f64", "daa", copysign_f64, 0},
    {"add{.RND}.f64", "daa", arithmetic_f64, OP_ADD},
    {"sub{.RND}.f64", "daa", arithmetic_f64, OP_SUB},
    {"mul{.RND}.f64", "daa", arithmetic_f64, OP_MUL},
    {"fma.RND.f64", "daaa", arithmetic_f64, OP_FMA},
    {"mad{.RND}.f64", "daaa", arithmetic_f64, OP_FMA},
    {"div.RND.f64", "daa", arithmetic_f64, OP_DIV},
    {"rcp.RND.f64", "da", arithmetic_f64, OP_RCP},
    {"sqrt.RND.f64", "da", arithmetic_f64, OP_SQRT},
    {"rcp.approx.ftz.f64", "da", approx_f64, TMG_RCP},
    {"rsqrt.approx.ftz.f64", "da", approx_f64, TMG_RSQRT},
    {"rsqrt.approx.f64", "da", rsqrt_f64, 0},
    {"min.f64", "daa", min_f64, 0},
    {"max.f64", "daa", max_f64, 0},
    TESTP("finite", TEST_FINITE),
    TESTP("infinite", TEST_INFINITE),
    TESTP("number", TEST_NUMBER),
    TESTP("notanumber", TEST_NAN),
    TESTP("normal", TEST_NORMAL),
    TESTP("subnormal", TEST_SUBNORMAL),
    {NULL, NULL, NULL, 0},
};

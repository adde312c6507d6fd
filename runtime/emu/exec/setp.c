// setp and set for all types (PTX ISA 9.7.6, 9.7.7): a comparison to a mask of lanes, then its use.
// Unordered comparisons (equ ...) hold with a NaN, ordered ones don't.
#include "runtime/emu/exec/lanes.h"
#include "runtime/emu/model/convert.h"

#include <math.h>
#include <string.h>

// Three-way result: below, equal, above, unordered.
enum { BELOW = 1, EQUAL = 2, ABOVE = 4, UNORDERED = 8 };

// Which results make each comparison true.
static const uint8_t holds[] = {
    [CMP_EQ] = EQUAL,
    [CMP_NE] = BELOW | ABOVE,
    [CMP_LT] = BELOW,
    [CMP_LE] = BELOW | EQUAL,
    [CMP_GT] = ABOVE,
    [CMP_GE] = ABOVE | EQUAL,
    [CMP_LO] = BELOW,
    [CMP_LS] = BELOW | EQUAL,
    [CMP_HI] = ABOVE,
    [CMP_HS] = ABOVE | EQUAL,
    [CMP_EQU] = EQUAL | UNORDERED,
    [CMP_NEU] = BELOW | ABOVE | UNORDERED,
    [CMP_LTU] = BELOW | UNORDERED,
    [CMP_LEU] = BELOW | EQUAL | UNORDERED,
    [CMP_GTU] = ABOVE | UNORDERED,
    [CMP_GEU] = ABOVE | EQUAL | UNORDERED,
    [CMP_NUM] = BELOW | EQUAL | ABOVE,
    [CMP_NAN] = UNORDERED,
};

static unsigned order_double(double a, double b) {
    return isnan(a) || isnan(b) ? UNORDERED : a < b ? BELOW : a > b ? ABOVE : EQUAL;
}

#define COMPARE(name, R, T)                                                        \
    static uint32_t compare_##name(const void *va, const void *vb, unsigned set) { \
        const uint##R##_t *pa = va, *pb = vb;                                      \
        uint32_t result = 0;                                                       \
        for (unsigned lane = 0; lane < EMU_LANES; lane++) {                        \
            T a = (T)pa[lane], b = (T)pb[lane];                                    \
            unsigned order = a < b ? BELOW : a > b ? ABOVE : EQUAL;                \
            result |= (uint32_t)((order & set) != 0) << lane;                      \
        }                                                                          \
        return result;                                                             \
    }
COMPARE(u16, 32, uint16_t)
COMPARE(s16, 32, int16_t)
COMPARE(u32, 32, uint32_t)
COMPARE(s32, 32, int32_t)
COMPARE(u64, 64, uint64_t)
COMPARE(s64, 64, int64_t)

static double lane_value(const void *rows, unsigned lane, enum ptx_type type, unsigned half,
                         bool ftz) {
    uint32_t bits = ((const uint32_t *)rows)[lane];
    double wide;

    switch (type) {
    case T_F64: memcpy(&wide, (const uint64_t *)rows + lane, 8); return wide;
    case T_F16:
    case T_F16X2:
        bits >>= 16 * half;
        return tmg_f16_to_f32((uint16_t)(ftz && !(bits & 0x7c00) ? bits & 0x8000 : bits));
    case T_BF16:
    case T_BF16X2: return tmg_bf16_to_f32((uint16_t)(bits >> (16 * half)));
    default: return tmg_f32_from_bits(ftz && !(bits & 0x7f800000) ? bits & 0x80000000 : bits);
    }
}

static uint32_t compare_float(const void *a, const void *b, unsigned set, enum ptx_type type,
                              unsigned half, bool ftz) {
    uint32_t result = 0;

    for (unsigned lane = 0; lane < EMU_LANES; lane++) {
        unsigned order = order_double(lane_value(a, lane, type, half, ftz),
                                      lane_value(b, lane, type, half, ftz));
        result |= (uint32_t)((order & set) != 0) << lane;
    }
    return result;
}

// Lanes where the comparison holds; [half] for packed types.
static uint32_t compare(struct emu_warp *warp, const struct emu_insn *insn, enum ptx_type type,
                        unsigned at, unsigned half) {
    const void *a = emu_r32(warp, insn->op[at]), *b = emu_r32(warp, insn->op[at + 1]);
    unsigned set = holds[insn->cmp];

    switch (type) {
    case T_U16:
    case T_B16: return compare_u16(a, b, set);
    case T_S16: return compare_s16(a, b, set);
    case T_U32:
    case T_B32: return compare_u32(a, b, set);
    case T_S32: return compare_s32(a, b, set);
    case T_U64:
    case T_B64: return compare_u64(a, b, set);
    case T_S64: return compare_s64(a, b, set);
    default: return compare_float(a, b, set, type, half, insn->flags & F_FTZ);
    }
}

static uint32_t combine(const struct emu_insn *insn, uint32_t found, uint32_t with) {
    switch (insn->word) {
    case WORD_AND: return found & with;
    case WORD_OR: return found | with;
    case WORD_XOR: return found ^ with;
    default: return found;
    }
}

// What PTX says of the comparison is [found]; says where hardware is told otherwise.
static void check_bounded(struct emu_warp *warp, const struct emu_insn *insn, uint32_t mask,
                          uint32_t found) {
    const uint32_t *bounded = emu_r32(warp, insn->op[2]), *second = emu_r32(warp, insn->op[3]);
    const uint32_t *first = emu_r32(warp, insn->op[4]);
    const uint32_t differs = (compare_s32(bounded, first, holds[CMP_EQ]) ^ found) & mask;

    if (!differs) return;
    const unsigned lane = (unsigned)__builtin_ctz(differs);
    const int is = (int)bounded[lane];
    emu_report(
        warp, &emu_machine(warp)->program->code[insn->op[5]], EMU_MISCOMPILED,
        "what is bounded here, and by 0, is compared with the second operand in PTX line "
        "%u; ptxas 12.6 to 13.3 compares it with the first: of lane %u %d == %d for %d == %d",
        insn->line, lane, is, (int)first[lane], is, (int)second[lane]);
}

// setp p|q: q is the same with the comparison negated; of packed types q is the upper half's.
EMU_HANDLER(setp) {
    enum ptx_type type = (enum ptx_type)insn->type[0];
    bool packed = type == T_F16X2 || type == T_BF16X2;
    uint32_t found = compare(warp, insn, type, 2, 0);
    uint32_t with = insn->word ? emu_pred(warp, insn->op[4]) : 0;
    if (insn->flags & F_BOUNDED) check_bounded(warp, insn, mask, found);
    uint32_t other = packed ? compare(warp, insn, type, 2, 1) : ~found;

    emu_set_pred(warp, insn->op[0], mask, combine(insn, found, with));
    emu_set_pred(warp, insn->op[1], mask, combine(insn, other, with));
    return EMU_NEXT;
}

// set: all ones or 1.0 where it holds. Types: destination, source.
EMU_HANDLER(set) {
    enum ptx_type to = (enum ptx_type)insn->type[0], from = (enum ptx_type)insn->type[1];
    bool packed = from == T_F16X2 || from == T_BF16X2;
    uint32_t found = compare(warp, insn, from, 1, 0),
             upper = packed ? compare(warp, insn, from, 1, 1) : 0;
    uint32_t with = insn->word ? emu_pred(warp, insn->op[3]) : 0;

    found = combine(insn, found, with);
    upper = combine(insn, upper, with);
    EMU_EACH_LANE(lane, mask) {
        uint32_t yes = found >> lane & 1, high = upper >> lane & 1, value;
        switch (to) {
        case T_F32: value = yes ? 0x3f800000 : 0; break;
        case T_F16: value = yes ? 0x3c00 : 0; break;
        case T_BF16: value = yes ? 0x3f80 : 0; break;
        case T_F16X2: value = (yes ? 0x3c00u : 0) | (high ? 0x3c00u << 16 : 0); break;
        case T_BF16X2: value = (yes ? 0x3f80u : 0) | (high ? 0x3f80u << 16 : 0); break;
        case T_U16:
        case T_S16: value = yes ? 0xffff : 0; break;
        default:
            value = packed ? (yes ? 0xffffu : 0) | (high ? 0xffffu << 16 : 0)
                    : yes  ? UINT32_MAX
                           : 0;
            break;
        }
        emu_r32(warp, insn->op[0])[lane] = value;
    }
    return EMU_NEXT;
}

const struct emu_op emu_ops_compare[] = {
    {"setp.CMP{.ftz}.TYPE", "Qaa", setp, 0},
    {"setp.CMP.BOOL{.ftz}.TYPE", "Qaap", setp, 0},
    {"set.CMP{.ftz}.TYPE.TYPE", "dff", set, 0},
    {"set.CMP.BOOL{.ftz}.TYPE.TYPE", "dffp", set, 0},
    {NULL, NULL, NULL, 0},
};

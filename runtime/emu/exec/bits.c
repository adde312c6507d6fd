// Logic, shifts, bit fields, moves and selections (PTX ISA 9.7.1, 9.7.8, 9.7.9).
// Shift counts clamp at the width in PTX, where C leaves them undefined.
#include "runtime/emu/exec/lanes.h"

#include <string.h>

EMU_BINARY(and_32, 32, uint32_t, uint32_t, a &b)
EMU_BINARY(or_32, 32, uint32_t, uint32_t, a | b)
EMU_BINARY(xor_32, 32, uint32_t, uint32_t, a ^ b)
EMU_BINARY(and_64, 64, uint64_t, uint64_t, a &b)
EMU_BINARY(or_64, 64, uint64_t, uint64_t, a | b)
EMU_BINARY(xor_64, 64, uint64_t, uint64_t, a ^ b)
EMU_UNARY(not_16, 32, uint32_t, uint16_t, ~a)
EMU_UNARY(not_32, 32, uint32_t, uint32_t, ~a)
EMU_UNARY(not_64, 64, uint64_t, uint64_t, ~a)
EMU_UNARY(cnot_32, 32, uint32_t, uint32_t, a == 0)
EMU_UNARY(cnot_64, 64, uint64_t, uint64_t, a == 0)

EMU_HANDLER(logic_pred) {
    uint32_t a = emu_pred(warp, insn->op[1]), b = emu_pred(warp, insn->op[2]);

    switch (insn->row->aux) {
    case WORD_AND: a &= b; break;
    case WORD_OR: a |= b; break;
    default: a ^= b; break;
    }
    emu_set_pred(warp, insn->op[0], mask, a);
    return EMU_NEXT;
}

EMU_HANDLER(not_pred) {
    emu_set_pred(warp, insn->op[0], mask, ~emu_pred(warp, insn->op[1]));
    return EMU_NEXT;
}

EMU_HANDLER(mov_pred) {
    emu_set_pred(warp, insn->op[0], mask, emu_pred(warp, insn->op[1]));
    return EMU_NEXT;
}

// %is_explicit_cluster is a predicate
EMU_HANDLER(mov_pred_special) {
    const uint32_t *a = emu_r32(warp, insn->op[1]);
    uint32_t value = 0;

    EMU_EACH_LANE(lane, mask)
    value |= (uint32_t)(a[lane] != 0) << lane;
    emu_set_pred(warp, insn->op[0], mask, value);
    return EMU_NEXT;
}

// ---- shifts: the count is 32 bits wide whatever the type ----

#define SHIFT(name, R, T, U, EXPR)                           \
    EMU_HANDLER(name) {                                      \
        uint##R##_t *d = emu_r##R(warp, insn->op[0]);        \
        const uint##R##_t *pa = emu_r##R(warp, insn->op[1]); \
        const uint32_t *count = emu_r32(warp, insn->op[2]);  \
        EMU_LANES_DO({                                       \
            T a = (T)pa[lane];                               \
            uint32_t n = count[lane];                        \
            d[lane] = (U)(EXPR);                             \
        })                                                   \
        return EMU_NEXT;                                     \
    }
SHIFT(shl_16, 32, uint32_t, uint16_t, n > 15 ? 0 : a << n)
SHIFT(shl_32, 32, uint32_t, uint32_t, n > 31 ? 0 : a << n)
SHIFT(shl_64, 64, uint64_t, uint64_t, n > 63 ? 0 : a << n)
SHIFT(shr_u16, 32, uint16_t, uint16_t, n > 15 ? 0 : a >> n)
SHIFT(shr_u32, 32, uint32_t, uint32_t, n > 31 ? 0 : a >> n)
SHIFT(shr_u64, 64, uint64_t, uint64_t, n > 63 ? 0 : a >> n)
SHIFT(shr_s16, 32, int16_t, uint16_t, a >> (n > 15 ? 15 : n))
SHIFT(shr_s32, 32, int32_t, uint32_t, a >> (n > 31 ? 31 : n))
SHIFT(shr_s64, 64, int64_t, uint64_t, a >> (n > 63 ? 63 : n))

static uint64_t pair(uint32_t low, uint32_t high) { return (uint64_t)high << 32 | low; }

EMU_TERNARY(shf_l_wrap, 32, uint32_t, uint32_t, pair(a, b) << (c & 31) >> 32)
EMU_TERNARY(shf_r_wrap, 32, uint32_t, uint32_t, pair(a, b) >> (c & 31))
EMU_TERNARY(shf_l_clamp, 32, uint32_t, uint32_t, pair(a, b) << (c > 32 ? 32 : c) >> 32)
EMU_TERNARY(shf_r_clamp, 32, uint32_t, uint32_t, pair(a, b) >> (c > 32 ? 32 : c))

// ---- counting and reversing ----

static uint32_t reverse32(uint32_t x) {
    x = (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
    x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
    x = (x >> 4 & 0x0f0f0f0f) | (x & 0x0f0f0f0f) << 4;
    return __builtin_bswap32(x);
}

static uint64_t reverse64(uint64_t x) {
    return (uint64_t)reverse32((uint32_t)x) << 32 | reverse32((uint32_t)(x >> 32));
}

EMU_UNARY(popc_32, 32, uint32_t, uint32_t, __builtin_popcount(a))
EMU_UNARY(clz_32, 32, uint32_t, uint32_t, a ? __builtin_clz(a) : 32)
EMU_UNARY(brev_32, 32, uint32_t, uint32_t, reverse32(a))
EMU_UNARY(brev_64, 64, uint64_t, uint64_t, reverse64(a))

#define NARROWING(name, EXPR)                            \
    EMU_HANDLER(name) {                                  \
        uint32_t *d = emu_r32(warp, insn->op[0]);        \
        const uint64_t *pa = emu_r64(warp, insn->op[1]); \
        EMU_LANES_DO({                                   \
            uint64_t a = pa[lane];                       \
            d[lane] = (uint32_t)(EXPR);                  \
        })                                               \
        return EMU_NEXT;                                 \
    }
NARROWING(popc_64, __builtin_popcountll(a))
NARROWING(clz_64, a ? __builtin_clzll(a) : 64)

// Position of the most significant bit that differs from the sign; -1 if none.
static uint32_t find_bit(uint64_t a, unsigned bits, bool is_signed, bool shift_amount) {
    if (is_signed && a >> (bits - 1) & 1)
        a = ~a & (bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1);
    if (a == 0) return UINT32_MAX;
    uint32_t at = 63 - (uint32_t)__builtin_clzll(a);
    return shift_amount ? bits - 1 - at : at;
}

EMU_HANDLER(bfind) {
    bool is_signed = insn->type[0] == T_S32 || insn->type[0] == T_S64;
    unsigned bits = 8 * ptx_type_bytes((enum ptx_type)insn->type[0]);

    EMU_EACH_LANE(lane, mask)
    emu_r32(warp, insn->op[0])[lane] =
        find_bit(emu_get(warp, insn->op[1] | (bits == 64 ? EMU_WIDE : 0), lane), bits, is_signed,
                 insn->flags & F_SHIFTAMT);
    return EMU_NEXT;
}

// ---- bit fields ----

static uint64_t extract(uint64_t a, uint32_t at, uint32_t length, unsigned bits, bool is_signed) {
    at &= 0xff;
    length &= 0xff;
    if (length == 0) return 0;
    uint64_t sign_at = at + length - 1 < bits - 1 ? at + length - 1 : bits - 1;
    bool negative = is_signed && (a >> sign_at & 1);
    uint64_t field = at >= bits ? 0 : a >> at,
             keep = length > 63 ? UINT64_MAX : (UINT64_C(1) << length) - 1;
    uint64_t available = at >= bits       ? 0
                         : bits - at > 63 ? UINT64_MAX
                                          : (UINT64_C(1) << (bits - at)) - 1;
    return negative ? (field & keep & available) | ~(keep & available) : field & keep & available;
}

EMU_HANDLER(bfe) {
    bool wide = ptx_type_bytes((enum ptx_type)insn->type[0]) == 8;
    bool is_signed = insn->type[0] == T_S32 || insn->type[0] == T_S64;
    uint32_t flag = wide ? EMU_WIDE : 0;

    EMU_EACH_LANE(lane, mask)
    emu_set(warp, insn->op[0] | flag, lane,
            extract(emu_get(warp, insn->op[1] | flag, lane), emu_r32(warp, insn->op[2])[lane],
                    emu_r32(warp, insn->op[3])[lane], wide ? 64 : 32, is_signed));
    return EMU_NEXT;
}

EMU_HANDLER(bfi) {
    bool wide = insn->type[0] == T_B64;
    uint32_t flag = wide ? EMU_WIDE : 0;
    unsigned bits = wide ? 64 : 32;

    EMU_EACH_LANE(lane, mask) {
        uint64_t a = emu_get(warp, insn->op[1] | flag, lane),
                 b = emu_get(warp, insn->op[2] | flag, lane);
        uint32_t at = emu_r32(warp, insn->op[3])[lane] & 0xff,
                 length = emu_r32(warp, insn->op[4])[lane] & 0xff;
        uint64_t ones = length > 63 ? UINT64_MAX : (UINT64_C(1) << length) - 1;
        uint64_t field = at >= bits ? 0 : ones << at;
        emu_set(warp, insn->op[0] | flag, lane, (b & ~field) | (at >= bits ? 0 : a << at & field));
    }
    return EMU_NEXT;
}

static uint32_t bit_mask(uint32_t at, uint32_t length, bool wrap) {
    if (wrap) {
        at &= 31;
        length &= 31;
    }
    if (at > 31) return 0;
    return (length > 31 ? UINT32_MAX : (1u << length) - 1) << at;
}

EMU_BINARY(bmsk_clamp, 32, uint32_t, uint32_t, bit_mask(a, b, false))
EMU_BINARY(bmsk_wrap, 32, uint32_t, uint32_t, bit_mask(a, b, true))

static uint32_t extend(uint32_t a, uint32_t n, bool wrap, bool is_signed) {
    n = wrap ? n & 31 : n > 32 ? 32 : n;
    if (n == 0) return 0;
    return is_signed ? (uint32_t)((int32_t)(a << (32 - n)) >> (32 - n)) : a << (32 - n) >> (32 - n);
}

EMU_BINARY(szext_clamp, 32, uint32_t, uint32_t, extend(a, b, false, insn->type[0] == T_S32))
EMU_BINARY(szext_wrap, 32, uint32_t, uint32_t, extend(a, b, true, insn->type[0] == T_S32))

// ---- lop3, prmt ----

static uint32_t lop3_of(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
    uint32_t result = 0;

    for (int i = 0; i < 8; i++)
        if (table >> i & 1) result |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
    return result;
}

EMU_TERNARY(lop3, 32, uint32_t, uint32_t, lop3_of(a, b, c, insn->op[4]))

// lop3.BOOL: d|p, the predicate is (d != 0) BOOL q
EMU_HANDLER(lop3_bool) {
    uint32_t found = 0, q = emu_pred(warp, insn->op[6]);

    EMU_EACH_LANE(lane, mask) {
        uint32_t result =
            lop3_of(emu_r32(warp, insn->op[2])[lane], emu_r32(warp, insn->op[3])[lane],
                    emu_r32(warp, insn->op[4])[lane], insn->op[5]);
        found |= (uint32_t)(result != 0) << lane;
        emu_r32(warp, insn->op[0])[lane] = result;
    }
    if (insn->op[1] != EMU_NO_PC)
        emu_set_pred(warp, insn->op[1], mask, insn->word == WORD_AND ? found & q : found | q);
    return EMU_NEXT;
}

static uint32_t permute(uint32_t a, uint32_t b, uint32_t selector) {
    uint64_t bytes = pair(a, b);
    uint32_t result = 0;

    for (int i = 0; i < 4; i++, selector >>= 4) {
        uint32_t byte = (uint32_t)(bytes >> (8 * (selector & 7))) & 0xff;
        if (selector & 8) byte = byte & 0x80 ? 0xff : 0;
        result |= byte << (8 * i);
    }
    return result;
}

// The selectors of the modes as tables of generic ones, by the low two bits of c.
static uint32_t mode_selector(int mode, uint32_t c) {
    static const uint16_t modes[][4] = {
        {0x3210, 0x4321, 0x5432, 0x6543},  // f4e
        {0x5670, 0x6701, 0x7012, 0x0123},  // b4e
        {0x0000, 0x1111, 0x2222, 0x3333},  // rc8
        {0x3210, 0x3211, 0x3222, 0x3333},  // ecl
        {0x0000, 0x1110, 0x2210, 0x3210},  // ecr
        {0x1010, 0x3232, 0x1010, 0x3232},  // rc16
    };

    return modes[mode][c & 3];
}

EMU_TERNARY(prmt, 32, uint32_t, uint32_t, permute(a, b, c))
EMU_TERNARY(prmt_mode, 32, uint32_t, uint32_t, permute(a, b, mode_selector(insn->row->aux, c)))

// ---- moves ----

EMU_HANDLER(mov_32) {
    uint32_t *d = emu_r32(warp, insn->op[0]);
    const uint32_t *a = emu_r32(warp, insn->op[1]);

    EMU_LANES_DO({ d[lane] = a[lane]; })
    return EMU_NEXT;
}

EMU_HANDLER(mov_64) {
    uint64_t *d = emu_r64(warp, insn->op[0]);
    const uint64_t *a = emu_r64(warp, insn->op[1]);

    EMU_LANES_DO({ d[lane] = a[lane]; })
    return EMU_NEXT;
}

EMU_HANDLER(mov_128) {
    uint64_t *d = emu_r64(warp, insn->op[0]);
    const uint64_t *a = emu_r64(warp, insn->op[1]);

    EMU_EACH_LANE(lane, mask) {
        d[lane] = a[lane];
        d[lane + EMU_LANES] = a[lane + EMU_LANES];
    }
    return EMU_NEXT;
}

// mov.b64 d, {a, b}: the elements' width is the type's divided by their number.
EMU_HANDLER(pack) {
    unsigned bytes = ptx_type_bytes((enum ptx_type)insn->type[0]);
    const uint32_t *list = insn->op + insn->op[1];
    unsigned bits = 8 * bytes / list[0];

    EMU_EACH_LANE(lane, mask) {
        uint64_t low = 0, high = 0;
        for (uint32_t i = 0; i < list[0]; i++) {
            uint64_t element = emu_get(warp, list[1 + i], lane);
            if (bits < 64) element &= (UINT64_C(1) << bits) - 1;
            if (i * bits < 64)
                low |= element << (i * bits);
            else
                high |= element << (i * bits - 64);
        }
        if (bytes <= 4)
            emu_r32(warp, insn->op[0])[lane] = (uint32_t)low;
        else
            emu_r64(warp, insn->op[0])[lane] = low;
        if (bytes == 16) emu_r64(warp, insn->op[0])[lane + EMU_LANES] = high;
    }
    return EMU_NEXT;
}

EMU_HANDLER(unpack) {
    unsigned bytes = ptx_type_bytes((enum ptx_type)insn->type[0]);
    const uint32_t *list = insn->op + insn->op[0];
    unsigned bits = 8 * bytes / list[0];

    EMU_EACH_LANE(lane, mask) {
        uint64_t low =
            bytes <= 4 ? emu_r32(warp, insn->op[1])[lane] : emu_r64(warp, insn->op[1])[lane];
        uint64_t high = bytes == 16 ? emu_r64(warp, insn->op[1])[lane + EMU_LANES] : 0;
        for (uint32_t i = 0; i < list[0]; i++) {
            uint64_t element = i * bits < 64 ? low >> (i * bits) : high >> (i * bits - 64);
            if (bits < 64) element &= (UINT64_C(1) << bits) - 1;
            if ((list[1 + i] & ~EMU_WIDE) != 0) emu_set(warp, list[1 + i], lane, element);
        }
    }
    return EMU_NEXT;
}

// ---- selections ----

EMU_HANDLER(selp_32) {
    uint32_t *d = emu_r32(warp, insn->op[0]), p = emu_pred(warp, insn->op[3]);
    const uint32_t *a = emu_r32(warp, insn->op[1]), *b = emu_r32(warp, insn->op[2]);

    EMU_LANES_DO({ d[lane] = p >> lane & 1 ? a[lane] : b[lane]; })
    return EMU_NEXT;
}

EMU_HANDLER(selp_64) {
    uint64_t *d = emu_r64(warp, insn->op[0]);
    const uint64_t *a = emu_r64(warp, insn->op[1]), *b = emu_r64(warp, insn->op[2]);
    uint32_t p = emu_pred(warp, insn->op[3]);

    EMU_LANES_DO({ d[lane] = p >> lane & 1 ? a[lane] : b[lane]; })
    return EMU_NEXT;
}

// slct: a where c >= 0 (a float -0 counts as that), else b
EMU_HANDLER(slct) {
    uint32_t wide = ptx_type_bytes((enum ptx_type)insn->type[0]) == 8 ? EMU_WIDE : 0;

    EMU_EACH_LANE(lane, mask) {
        uint32_t c = emu_r32(warp, insn->op[3])[lane];
        bool first = !(c >> 31);
        if (insn->type[1] == T_F32 && insn->flags & F_FTZ && !(c & 0x7f800000))
            first = true;
        else if (insn->type[1] == T_F32)
            first = (c & 0x7fffffff) <= 0x7f800000 && (first || (c << 1) == 0);
        emu_set(warp, insn->op[0] | wide, lane,
                emu_get(warp, insn->op[first ? 1 : 2] | wide, lane));
    }
    return EMU_NEXT;
}

// The [offset]th set bit of the mask from bit [base] on, upwards or downwards (PTX ISA 9.7.1.18).
EMU_HANDLER(find_nth_set) {
    EMU_EACH_LANE(lane, mask) {
        uint32_t bits = emu_r32(warp, insn->op[1])[lane], base = emu_r32(warp, insn->op[2])[lane];
        int32_t offset = (int32_t)emu_r32(warp, insn->op[3])[lane], step = offset < 0 ? -1 : 1;
        int64_t left = offset == 0 ? 1 : offset < 0 ? -(int64_t)offset : offset, bit = base;
        for (; bit >= 0 && bit < 32; bit += step)
            if ((bits >> bit & 1 && --left == 0) || (offset == 0 && !(bits >> bit & 1))) break;
        bool found = bit >= 0 && bit < 32 && bits >> bit & 1;
        emu_r32(warp, insn->op[0])[lane] = found ? (uint32_t)bit : UINT32_MAX;
    }
    return EMU_NEXT;
}

const struct emu_op emu_ops_bits[] = {
    {"and.pred", "Ppp", logic_pred, WORD_AND},
    {"or.pred", "Ppp", logic_pred, WORD_OR},
    {"xor.pred", "Ppp", logic_pred, WORD_XOR},
    {"not.pred", "Pp", not_pred, 0},
    {"mov.pred", "Pp", mov_pred, 0},
    {"mov.pred", "Pi", mov_pred_special, 0},
    {"fns.b32", "Iiii", find_nth_set, 0},
    {"and.b16", "daa", and_32, 0},
    {"and.b32", "daa", and_32, 0},
    {"and.b64", "daa", and_64, 0},
    {"or.b16", "daa", or_32, 0},
    {"or.b32", "daa", or_32, 0},
    {"or.b64", "daa", or_64, 0},
    {"xor.b16", "daa", xor_32, 0},
    {"xor.b32", "daa", xor_32, 0},
    {"xor.b64", "daa", xor_64, 0},
    {"not.b16", "da", not_16, 0},
    {"not.b32", "da", not_32, 0},
    {"not.b64", "da", not_64, 0},
    {"cnot.b16", "da", cnot_32, 0},
    {"cnot.b32", "da", cnot_32, 0},
    {"cnot.b64", "da", cnot_64, 0},
    {"shl.b16", "dai", shl_16, 0},
    {"shl.b32", "dai", shl_32, 0},
    {"shl.b64", "dai", shl_64, 0},
    {"shr.u16", "dai", shr_u16, 0},
    {"shr.b16", "dai", shr_u16, 0},
    {"shr.u32", "dai", shr_u32, 0},
    {"shr.b32", "dai", shr_u32, 0},
    {"shr.u64", "dai", shr_u64, 0},
    {"shr.b64", "dai", shr_u64, 0},
    {"shr.s16", "dai", shr_s16, 0},
    {"shr.s32", "dai", shr_s32, 0},
    {"shr.s64", "dai", shr_s64, 0},
    {"shf.l.wrap.b32", "daai", shf_l_wrap, 0},
    {"shf.r.wrap.b32", "daai", shf_r_wrap, 0},
    {"shf.l.clamp.b32", "daai", shf_l_clamp, 0},
    {"shf.r.clamp.b32", "daai", shf_r_clamp, 0},
    {"popc.b32", "Ia", popc_32, 0},
    {"popc.b64", "Ia", popc_64, 0},
    {"clz.b32", "Ia", clz_32, 0},
    {"clz.b64", "Ia", clz_64, 0},
    {"brev.b32", "da", brev_32, 0},
    {"brev.b64", "da", brev_64, 0},
    {"bfind{.shiftamt}.I32", "Ia", bfind, 0},
    {"bfind{.shiftamt}.I64", "Ia", bfind, 0},
    {"bfe.I32", "daii", bfe, 0},
    {"bfe.I64", "daii", bfe, 0},
    {"bfi.b32", "daaii", bfi, 0},
    {"bfi.b64", "daaii", bfi, 0},
    {"bmsk.clamp.b32", "daa", bmsk_clamp, 0},
    {"bmsk.wrap.b32", "daa", bmsk_wrap, 0},
    {"szext.clamp.I32", "daa", szext_clamp, 0},
    {"szext.wrap.I32", "daa", szext_wrap, 0},
    {"lop3.b32", "daaan", lop3, 0},
    {"lop3.BOOL.b32", "Xaaanp", lop3_bool, 0},
    {"prmt.b32", "daaa", prmt, 0},
    {"prmt.b32.f4e", "daaa", prmt_mode, 0},
    {"prmt.b32.b4e", "daaa", prmt_mode, 1},
    {"prmt.b32.rc8", "daaa", prmt_mode, 2},
    {"prmt.b32.ecl", "daaa", prmt_mode, 3},
    {"prmt.b32.ecr", "daaa", prmt_mode, 4},
    {"prmt.b32.rc16", "daaa", prmt_mode, 5},
    {"mov.B16", "da", mov_32, 0},
    {"mov.B32", "da", mov_32, 0, FACT_COPIES},
    {"mov.B64", "da", mov_64, 0},
    {"mov.b128", "da", mov_128, 0},
    {"mov.b16", "du", pack, 0},
    {"mov.b32", "du", pack, 0},
    {"mov.b64", "du", pack, 0},
    {"mov.b128", "du", pack, 0},
    {"mov.b16", "Ua", unpack, 0},
    {"mov.b32", "Ua", unpack, 0},
    {"mov.b64", "Ua", unpack, 0},
    {"mov.b128", "Ua", unpack, 0},
    {"selp.B16", "daap", selp_32, 0},
    {"selp.B32", "daap", selp_32, 0},
    {"selp.B64", "daap", selp_64, 0},
    {"slct.I16.s32", "daai", slct, 0},
    {"slct{.ftz}.I16.f32", "daai", slct, 0},
    {"slct.B32.s32", "daai", slct, 0},
    {"slct{.ftz}.B32.f32", "daai", slct, 0},
    {"slct.B64.s32", "daai", slct, 0},
    {"slct{.ftz}.B64.f32", "daai", slct, 0},
    {NULL, NULL, NULL, 0},
};

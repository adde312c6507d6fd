// cvt for every pair of types, cvta and isspacep (PTX ISA 9.7.9).
// The conversions that compilers emit most have a loop here; all others go through the models.
#include "runtime/emu/exec/lanes.h"
#include "runtime/emu/model/convert.h"

// How a PTX type is converted: its element, how many, and whether they share one register.
static const struct {
    uint8_t number, lanes;
    bool known;
} kinds[T_COUNT] = {
    [T_U8] = {TMG_U8, 1, true},         [T_S8] = {TMG_S8, 1, true},
    [T_U16] = {TMG_U16, 1, true},       [T_S16] = {TMG_S16, 1, true},
    [T_U32] = {TMG_U32, 1, true},       [T_S32] = {TMG_S32, 1, true},
    [T_U64] = {TMG_U64, 1, true},       [T_S64] = {TMG_S64, 1, true},
    [T_B8] = {TMG_U8, 1, true},         [T_B16] = {TMG_U16, 1, true},
    [T_B32] = {TMG_U32, 1, true},       [T_B64] = {TMG_U64, 1, true},
    [T_F16] = {TMG_F16, 1, true},       [T_BF16] = {TMG_BF16, 1, true},
    [T_F32] = {TMG_F32, 1, true},       [T_F64] = {TMG_F64, 1, true},
    [T_TF32] = {TMG_TF32, 1, true},     [T_F16X2] = {TMG_F16, 2, true},
    [T_BF16X2] = {TMG_BF16, 2, true},   [T_E4M3X2] = {TMG_E4M3, 2, true},
    [T_E5M2X2] = {TMG_E5M2, 2, true},   [T_E2M3X2] = {TMG_E2M3, 2, true},
    [T_E3M2X2] = {TMG_E3M2, 2, true},   [T_E2M1X2] = {TMG_E2M1, 2, true},
    [T_UE8M0X2] = {TMG_UE8M0, 2, true}, [T_E4M3X4] = {TMG_E4M3, 4, true},
    [T_E5M2X4] = {TMG_E5M2, 4, true},
};

static bool describe(const struct emu_insn *insn, struct tmg_cvt *cvt) {
    enum ptx_type to = (enum ptx_type)insn->type[0], from = (enum ptx_type)insn->type[1];

    if (!kinds[to].known || !kinds[from].known) return false;
    *cvt = (struct tmg_cvt){
        .to = (enum tmg_number)kinds[to].number,
        .from = (enum tmg_number)kinds[from].number,
        .round = (enum tmg_round)insn->round,
        .ftz = insn->flags & F_FTZ,
        .sat = insn->flags & F_SAT,
        .satfinite = insn->flags & F_SATFINITE,
        .relu = insn->flags & F_RELU,
        .packed_source = kinds[from].lanes > 1,
        .lanes = kinds[to].lanes,
    };
    return true;
}

static bool is_signed(enum ptx_type type) {
    return type == T_S8 || type == T_S16 || type == T_S32 || type == T_S64;
}

static uint64_t take(uint64_t bits, enum ptx_type type) {
    unsigned shift = 64 - 8 * ptx_type_bytes(type);

    bits <<= shift;
    return is_signed(type) ? (uint64_t)((int64_t)bits >> shift) : bits >> shift;
}

// The result as its register holds it: integers extend to the register's width.
static uint64_t give(uint64_t bits, enum ptx_type type) { return take(bits, type); }

EMU_HANDLER(cvt) {
    enum ptx_type to = (enum ptx_type)insn->type[0], from = (enum ptx_type)insn->type[1];
    struct tmg_cvt cvt;
    uint64_t source[4];
    int sources = insn->row->aux;

    if (!describe(insn, &cvt) || tmg_cvt_check(&cvt) != NULL) {
        emu_fatal(warp, insn, EMU_UNIMPLEMENTED,
                  "cvt.%s.%s with these modifiers is not implemented: %s", ptx_type_name(to),
                  ptx_type_name(from), describe(insn, &cvt) ? tmg_cvt_check(&cvt) : "unknown type");
        return EMU_NEXT;
    }
    EMU_EACH_LANE(lane, mask) {
        if (cvt.lanes == 1 && sources == 1) {
            uint64_t bits = take(emu_get(warp, insn->op[1], lane), from);
            emu_set(warp, insn->op[0], lane, give(tmg_cvt_scalar(&cvt, bits), to));
            continue;
        }
        if (sources == 4) {
            const uint32_t *list = insn->op + insn->op[1];
            for (int i = 0; i < 4; i++) source[i] = emu_get(warp, list[1 + i], lane);
        } else {
            for (int i = 0; i < sources; i++) source[i] = emu_get(warp, insn->op[1 + i], lane);
        }
        emu_set(warp, insn->op[0], lane, tmg_cvt_packed(&cvt, source));
    }
    return EMU_NEXT;
}

// ---- integers to integers ----

EMU_HANDLER(cvt_int) {
    enum ptx_type to = (enum ptx_type)insn->type[0], from = (enum ptx_type)insn->type[1];

    EMU_EACH_LANE(lane, mask)
    emu_set(warp, insn->op[0], lane, give(take(emu_get(warp, insn->op[1], lane), from), to));
    return EMU_NEXT;
}

// cvt.pack.sat: two numbers, clamped to the first type and above them what [c] has (PTX ISA
// 9.7.9.22).
EMU_HANDLER(cvt_pack) {
    enum ptx_type to = (enum ptx_type)insn->type[0];
    unsigned bits = insn->row->aux ? (unsigned)insn->row->aux : 8 * ptx_type_bytes(to);
    bool narrow = to == T_S8 || to == T_S16 || to == T_S4 || to == T_S2;
    int64_t low = narrow ? -(INT64_C(1) << (bits - 1)) : 0;
    int64_t high = (INT64_C(1) << (bits - narrow)) - 1;

    EMU_EACH_LANE(lane, mask) {
        uint64_t packed = bits == 16 ? 0 : (uint64_t)emu_r32(warp, insn->op[3])[lane] << 2 * bits;
        for (int i = 0; i < 2; i++) {
            int64_t a = (int32_t)emu_r32(warp, insn->op[1 + i])[lane];
            a = a < low ? low : a > high ? high : a;
            packed |= ((uint64_t)a & ((UINT64_C(1) << bits) - 1)) << (i ? 0 : bits);
        }
        emu_r32(warp, insn->op[0])[lane] = (uint32_t)packed;
    }
    return EMU_NEXT;
}

// ---- the usual float conversions, which need no general machinery ----

#define CVT_32(name, EXPR)                               \
    EMU_HANDLER(name) {                                  \
        uint32_t *d = emu_r32(warp, insn->op[0]);        \
        const uint32_t *pa = emu_r32(warp, insn->op[1]); \
        EMU_LANES_DO({                                   \
            uint32_t a = pa[lane];                       \
            d[lane] = EXPR;                              \
        })                                               \
        return EMU_NEXT;                                 \
    }
CVT_32(f32_of_s32, tmg_f32_bits((float)(int32_t)a))
CVT_32(f32_of_u32, tmg_f32_bits((float)a))
CVT_32(f32_of_f16, tmg_f32_bits(tmg_f16_to_f32((uint16_t)a)))
CVT_32(f16_of_f32, tmg_f32_to_f16_rn(tmg_f32_from_bits(a)))
CVT_32(bf16_of_f32, tmg_f32_to_bf16_rn(tmg_f32_from_bits(a)))
EMU_BINARY(f16x2_of_f32, 32, uint32_t, uint32_t,
           (uint32_t)tmg_f32_to_f16_rn(tmg_f32_from_bits(a)) << 16 |
               tmg_f32_to_f16_rn(tmg_f32_from_bits(b)))
EMU_BINARY(bf16x2_of_f32, 32, uint32_t, uint32_t,
           (uint32_t)tmg_f32_to_bf16_rn(tmg_f32_from_bits(a)) << 16 |
               tmg_f32_to_bf16_rn(tmg_f32_from_bits(b)))

// ---- address spaces ----

static uint64_t window(uint8_t space) {
    switch (space) {
    case SPACE_SHARED: return EMU_SHARED_WINDOW;
    case SPACE_LOCAL: return EMU_LOCAL_WINDOW;
    case SPACE_PARAM: return EMU_PARAM_WINDOW;
    default: return 0;
    }
}

// aux: to the space; else from it to a generic address
EMU_HANDLER(cvta) {
    uint64_t base = window(insn->space);

    EMU_EACH_LANE(lane, mask) {
        uint64_t a = emu_get(warp, insn->op[1], lane);
        if (base) a = insn->row->aux ? a & ~EMU_WINDOW_MASK : a | base;
        emu_set(warp, insn->op[0], lane, a);
    }
    return EMU_NEXT;
}

// .const variables lie among the module's .global ones.
static bool is_constant(const struct emu_machine *machine, uint64_t address) {
    for (const struct ptx_global_data *data = machine->module->tree.globals; data;
         data = data->next) {
        const struct ptx_symbol *symbol = data->symbol;
        if (symbol->space == SPACE_CONST &&
            address - machine->image_address - symbol->offset < symbol->bytes)
            return true;
    }
    return false;
}

// Of what is in no other window, .const's is apart; .param's is within .global (PTX ISA 6.4.1).
EMU_HANDLER(isspacep) {
    uint32_t found = 0;

    EMU_EACH_LANE(lane, mask) {
        uint64_t a = emu_get(warp, insn->op[1], lane), in = a & EMU_WINDOW_MASK;
        bool far = a >> 48 != 0 || (a >> 40) > 3;
        bool yes = insn->space == SPACE_SHARED  ? !far && in == EMU_SHARED_WINDOW
                   : insn->space == SPACE_LOCAL ? !far && in == EMU_LOCAL_WINDOW
                   : insn->space == SPACE_PARAM ? !far && in == EMU_PARAM_WINDOW
                   : insn->space == SPACE_CONST ? far && is_constant(emu_machine(warp), a)
                   : far                        ? !is_constant(emu_machine(warp), a)
                                                : in == EMU_PARAM_WINDOW;
        if (yes && insn->space == SPACE_SHARED && !(insn->flags & F_SHARED_CLUSTER))
            yes = (a & UINT32_MAX) >> EMU_RANK_SHIFT == warp->cta->rank;
        found |= (uint32_t)yes << lane;
    }
    emu_set_pred(warp, insn->op[0], mask, found);
    return EMU_NEXT;
}

const struct emu_op emu_ops_convert[] = {
    {"cvt.rn.f32.s32", "da", f32_of_s32, 0},
    {"cvt.rn.f32.u32", "da", f32_of_u32, 0},
    {"cvt.f32.f16", "If", f32_of_f16, 0},
    {"cvt.rn.f16.f32", "If", f16_of_f32, 0},
    {"cvt.rn.bf16.f32", "If", bf16_of_f32, 0},
    {"cvt.rn.f16x2.f32", "Iff", f16x2_of_f32, 0},
    {"cvt.rn.bf16x2.f32", "Iff", bf16x2_of_f32, 0},
    {"cvt.B8.B8", "rs", cvt_int, 0},
    {"cvt.B8.I16", "rs", cvt_int, 0},
    {"cvt.B8.I32", "rs", cvt_int, 0},
    {"cvt.B8.I64", "rs", cvt_int, 0},
    {"cvt.I16.B8", "rs", cvt_int, 0},
    {"cvt.I16.I16", "rs", cvt_int, 0},
    {"cvt.I16.I32", "rs", cvt_int, 0},
    {"cvt.I16.I64", "rs", cvt_int, 0},
    {"cvt.I32.B8", "rs", cvt_int, 0},
    {"cvt.I32.I16", "rs", cvt_int, 0},
    {"cvt.I32.I32", "rs", cvt_int, 0},
    {"cvt.I32.I64", "rs", cvt_int, 0},
    {"cvt.I64.B8", "rs", cvt_int, 0},
    {"cvt.I64.I16", "rs", cvt_int, 0},
    {"cvt.I64.I32", "rs", cvt_int, 0},
    {"cvt.I64.I64", "rs", cvt_int, 0},
    {"cvt{.RNDI}{.satfinite}{.relu}{.ftz}{.sat}{.satfinite}.TYPE.TYPE", "rs", cvt, 1},
    {"cvt{.RNDI}{.relu}{.satfinite}.TYPE.TYPE", "rss", cvt, 2},
    {"cvt{.RNDI}{.satfinite}{.relu}.TYPE.TYPE", "rss", cvt, 2},
    {"cvt{.RNDI}{.relu}{.satfinite}.TYPE.TYPE", "rs", cvt, 1},
    {"cvt.pack.sat.I16.s32", "Iii", cvt_pack, 0},
    {"cvt.pack.sat.B8.s32.b32", "Iiii", cvt_pack, 0},
    {"cvt.pack.sat.s4.s32.b32", "Iiii", cvt_pack, 4},
    {"cvt.pack.sat.u4.s32.b32", "Iiii", cvt_pack, 4},
    {"cvt.pack.sat.s2.s32.b32", "Iiii", cvt_pack, 2},
    {"cvt.pack.sat.u2.s32.b32", "Iiii", cvt_pack, 2},
    {"cvta.to.SPACE.u64", "rs", cvta, 1},
    {"cvta.SPACE.u64", "rs", cvta, 0},
    {"cvta.to.SPACE.u32", "rs", cvta, 1},
    {"cvta.SPACE.u32", "rs", cvta, 0},
    {"isspacep.SPACE", "Ps", isspacep, 0},
    {NULL, NULL, NULL, 0},
};

// mma.sync, ldmatrix, stmatrix, movmatrix (PTX ISA 9.7.14): gathers registers and rows for the
// models. All lanes take part, so a partial mask is an error.
#include "runtime/emu/lanes.h"
#include "runtime/emu/model_mma.h"

#include <string.h>

static bool whole_warp(struct emu_warp *warp, const struct emu_insn *insn, uint32_t mask) {
    if (mask == UINT32_MAX) return true;
    emu_fatal(warp, insn, EMU_DIVERGENT, "lanes 0x%08x execute this; it needs all 32", mask);
    return false;
}

static const uint8_t numbers[T_COUNT] = {
    [T_F16] = TMG_F16, [T_BF16] = TMG_BF16, [T_TF32] = TMG_TF32, [T_F32] = TMG_F32,
    [T_F64] = TMG_F64, [T_E4M3] = TMG_E4M3, [T_E5M2] = TMG_E5M2, [T_S8] = TMG_S8,
    [T_U8] = TMG_U8,   [T_S32] = TMG_S32,   [T_B1] = TMG_B1,
};

// Types in order d, a, b, c; aux: .xor.popc
EMU_HANDLER(mma) {
    const uint32_t *list[4];
    struct tmg_mma op = {
        .m = insn->shape[0],
        .n = insn->shape[1],
        .k = insn->shape[2],
        .d = (enum tmg_number)numbers[insn->type[0]],
        .a = (enum tmg_number)numbers[insn->type[1]],
        .b = (enum tmg_number)numbers[insn->type[2]],
        .c = (enum tmg_number)numbers[insn->type[3]],
        .satfinite = insn->flags & F_SATFINITE,
        .xor_popc = insn->row->aux,
    };
    const char *wrong = tmg_mma_check(&op);

    if (!whole_warp(warp, insn, mask)) return EMU_NEXT;
    if (wrong != NULL) {
        emu_fatal(warp, insn, EMU_UNIMPLEMENTED, "mma: %s", wrong);
        return EMU_NEXT;
    }
    struct tmg_mma_registers wanted = tmg_mma_registers(&op);
    int counts[4] = {wanted.d, wanted.a, wanted.b, wanted.c};
    for (int i = 0; i < 4; i++) {
        list[i] = insn->op + insn->op[i];
        if ((int)list[i][0] != counts[i]) {
            emu_fatal(warp, insn, EMU_BAD_OPERAND, "mma: %u registers where %d are due", list[i][0],
                      counts[i]);
            return EMU_NEXT;
        }
    }
    if (op.d == TMG_F64) {
        struct tmg_mma_operands_f64 f64 = {0};
        for (int i = 0; i < counts[1]; i++) f64.a[i] = emu_r64(warp, list[1][1 + i]);
        for (int i = 0; i < counts[2]; i++) f64.b[i] = emu_r64(warp, list[2][1 + i]);
        for (int i = 0; i < counts[3]; i++) f64.c[i] = emu_r64(warp, list[3][1 + i]);
        for (int i = 0; i < counts[0]; i++) f64.d[i] = emu_r64(warp, list[0][1 + i]);
        tmg_mma_run_f64(&op, &f64);
        return EMU_NEXT;
    }
    struct tmg_mma_operands f32 = {0};
    for (int i = 0; i < counts[1]; i++) f32.a[i] = emu_r32(warp, list[1][1 + i]);
    for (int i = 0; i < counts[2]; i++) f32.b[i] = emu_r32(warp, list[2][1 + i]);
    for (int i = 0; i < counts[3]; i++) f32.c[i] = emu_r32(warp, list[3][1 + i]);
    for (int i = 0; i < counts[0]; i++) f32.d[i] = emu_r32(warp, list[0][1 + i]);
    tmg_mma_run(&op, &f32);
    return EMU_NEXT;
}

EMU_HANDLER(load_matrix) {
    uint8_t rows[EMU_LANES][16] = {{0}};
    uint32_t *registers[4] = {NULL};
    const uint32_t *list = insn->op + insn->op[0];
    int count = insn->vector;

    if (!whole_warp(warp, insn, mask)) return EMU_NEXT;
    for (unsigned lane = 0; lane < 8u * (unsigned)count; lane++) {
        const uint8_t *from =
            emu_access(warp, insn, lane, emu_address(warp, insn, 1, lane), 16, EMU_READ);
        if (from == NULL) return EMU_NEXT;
        memcpy(rows[lane], from, 16);
    }
    for (int i = 0; i < count; i++) registers[i] = emu_r32(warp, list[1 + i]);
    tmg_ldmatrix(count, insn->flags & F_TRANS, (const uint8_t(*)[16])rows, registers);
    return EMU_NEXT;
}

EMU_HANDLER(store_matrix) {
    uint8_t rows[EMU_LANES][16];
    const uint32_t *registers[4] = {NULL};
    const uint32_t *list = insn->op + insn->op[2];
    int count = insn->vector;

    if (!whole_warp(warp, insn, mask)) return EMU_NEXT;
    for (int i = 0; i < count; i++) registers[i] = emu_r32(warp, list[1 + i]);
    tmg_stmatrix(count, insn->flags & F_TRANS, registers, rows);
    for (unsigned lane = 0; lane < 8u * (unsigned)count; lane++) {
        uint8_t *to = emu_access(warp, insn, lane, emu_address(warp, insn, 0, lane), 16, EMU_WRITE);
        if (to == NULL) return EMU_NEXT;
        memcpy(to, rows[lane], 16);
    }
    return EMU_NEXT;
}

EMU_HANDLER(move_matrix) {
    if (whole_warp(warp, insn, mask))
        tmg_movmatrix(emu_r32(warp, insn->op[1]), emu_r32(warp, insn->op[0]));
    return EMU_NEXT;
}

const struct emu_op emu_ops_mma[] = {
    {"mma.sync.aligned.SHAPE.row.col{.satfinite}.TYPE.TYPE.TYPE.TYPE", "Vvvv", mma, 0},
    {"mma.sync.aligned.SHAPE.row.col.TYPE.TYPE.TYPE.TYPE.xor.popc", "Vvvv", mma, 1},
    {"mma.sync.aligned.SHAPE.row.col.TYPE.TYPE.TYPE.TYPE.and.popc", "Vvvv", mma, 0},
    {"ldmatrix.sync.aligned.m8n8.NUM{.trans}{.SHARED}.b16", "Vm", load_matrix, 0},
    {"stmatrix.sync.aligned.m8n8.NUM{.trans}{.SHARED}.b16", "mv", store_matrix, 0},
    {"movmatrix.sync.aligned.m8n8.trans.b16", "Ii", move_matrix, 0},
    {NULL, NULL, NULL, 0},
};

// mma.sync, ldmatrix, stmatrix, movmatrix (PTX ISA 9.7.14): gathers registers and rows for the
// models. All lanes take part, so a partial mask is an error.
#include "runtime/emu/exec/matrix.h"
#include "runtime/emu/model/mma.h"
#include "runtime/emu/model/tmem_copy.h"

#include <string.h>

bool emu_whole_warp(struct emu_warp *warp, const struct emu_insn *insn, uint32_t mask) {
    if (mask == UINT32_MAX) return true;
    emu_fatal(warp, insn, EMU_DIVERGENT, "lanes 0x%08x execute this; it needs all 32", mask);
    return false;
}

enum tmg_number emu_matrix_number(uint8_t type) {
    static const uint8_t above[T_COUNT] = {
        [T_F16] = TMG_F16 + 1,   [T_BF16] = TMG_BF16 + 1, [T_TF32] = TMG_TF32 + 1,
        [T_F32] = TMG_F32 + 1,   [T_F64] = TMG_F64 + 1,   [T_E4M3] = TMG_E4M3 + 1,
        [T_E5M2] = TMG_E5M2 + 1, [T_S8] = TMG_S8 + 1,     [T_U8] = TMG_U8 + 1,
        [T_S32] = TMG_S32 + 1,   [T_B1] = TMG_B1 + 1,     [T_S4] = TMG_S4 + 1,
        [T_U4] = TMG_U4 + 1,
    };
    return above[type] ? (enum tmg_number)(above[type] - 1) : TMG_NUMBER_COUNT;
}

bool emu_matrix_rows(struct emu_warp *warp, const struct emu_insn *insn, unsigned at, int count,
                     bool wide, uint32_t **rows) {
    const uint32_t *list = insn->op + insn->op[at];

    for (int i = 0; i < count && (uint32_t)count == list[0]; i++) {
        rows[i] = emu_r32(warp, list[1 + i]);
        if (((list[1 + i] & EMU_WIDE) != 0) == wide) continue;
        emu_fatal(warp, insn, EMU_BAD_OPERAND, "a register that does not have %d bits",
                  wide ? 64 : 32);
        return false;
    }
    if ((uint32_t)count == list[0]) return true;
    emu_fatal(warp, insn, EMU_BAD_OPERAND, "%u registers where %d are due", list[0], count);
    return false;
}

static void run_f64(const struct tmg_mma *op, uint32_t *const (*rows)[8]) {
    struct tmg_mma_operands_f64 operands = {0};

    for (int i = 0; i < 8; i++) operands.a[i] = (const void *)rows[1][i];
    for (int i = 0; i < 4; i++) {
        operands.d[i] = (void *)rows[0][i];
        operands.b[i] = (const void *)rows[2][i];
        operands.c[i] = (const void *)rows[3][i];
    }
    tmg_mma_run_f64(op, &operands);
}

static void run(const struct tmg_mma *op, uint32_t *const (*rows)[8], const uint32_t *metadata) {
    struct tmg_mma_operands operands = {0};

    for (int i = 0; i < 4; i++) {
        operands.d[i] = rows[0][i];
        operands.a[i] = rows[1][i];
        operands.c[i] = rows[3][i];
    }
    for (int i = 0; i < 4; i++) operands.b[i] = rows[2][i];
    operands.metadata = metadata;
    tmg_mma_run(op, &operands);
}

enum { XOR_POPC = 1, SPARSE = 2 };  // in aux

// Types in order d, a, b, c; behind the operands a sparse one has metadata and their selector.
EMU_HANDLER(mma) {
    uint32_t *rows[4][8] = {{NULL}};
    struct tmg_mma op = {
        .m = insn->shape[0],
        .n = insn->shape[1],
        .k = insn->shape[2],
        .d = emu_matrix_number(insn->type[0]),
        .a = emu_matrix_number(insn->type[1]),
        .b = emu_matrix_number(insn->type[2]),
        .c = emu_matrix_number(insn->type[3]),
        .satfinite = insn->flags & F_SATFINITE,
        .xor_popc = insn->row->aux & XOR_POPC,
        .sparse = insn->row->aux & SPARSE,
    };
    if (op.sparse) op.selector = insn->op[5] > 3 ? 4 : (int)insn->op[5];
    const char *wrong = tmg_mma_check(&op);

    if (!emu_whole_warp(warp, insn, mask)) return EMU_NEXT;
    if (wrong != NULL) {
        emu_fatal(warp, insn, EMU_UNIMPLEMENTED, "mma: %s", wrong);
        return EMU_NEXT;
    }
    struct tmg_mma_registers due = tmg_mma_registers(&op);
    int counts[4] = {due.d, due.a, due.b, due.c};
    for (unsigned i = 0; i < 4; i++)
        if (!emu_matrix_rows(warp, insn, i, counts[i], op.d == TMG_F64, rows[i])) return EMU_NEXT;
    if (op.d == TMG_F64)
        run_f64(&op, (uint32_t *const(*)[8])rows);
    else
        run(&op, (uint32_t *const(*)[8])rows, op.sparse ? emu_r32(warp, insn->op[4]) : NULL);
    return EMU_NEXT;
}

enum { BYTES = 8, SQUARE = 16 };  // in aux, beside a format: elements of a byte, 16 rows of them

// The 16 bytes, or as many as are packed there, of a row whose address [lane] has.
static bool read_row(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                     uint8_t *row) {
    const enum tmg_tmem_format format = (enum tmg_tmem_format)(insn->row->aux % BYTES);
    const uint64_t address = emu_address(warp, insn, 1, lane);
    const uint32_t bytes = tmg_tmem_format_bytes(format), step = address % 16 ? 16 : bytes & -bytes;

    for (uint32_t at = 0; at < bytes; at += step) {
        const uint8_t *from = emu_access(warp, insn, lane, address + at, step, EMU_READ);
        if (from == NULL) return false;
        memcpy(row + at, from, step);
    }
    tmg_tmem_unpack(format, row);
    for (int i = 0; i < 16 && format == TMG_COPY_B4X16; i++) row[i] >>= 2;
    return true;
}

EMU_HANDLER(load_matrix) {
    uint8_t bytes[EMU_LANES][16] = {{0}};
    uint32_t *rows[4] = {NULL};
    const bool square = insn->row->aux & SQUARE;
    int count = square ? 2 * insn->vector : insn->vector;

    if (!emu_whole_warp(warp, insn, mask) || !emu_matrix_rows(warp, insn, 0, count, false, rows))
        return EMU_NEXT;
    for (unsigned lane = 0; lane < 8u * (unsigned)count; lane++)
        if (!read_row(warp, insn, lane, bytes[lane])) return EMU_NEXT;
    if (square)
        tmg_ldmatrix_bytes(insn->vector, (const uint8_t(*)[16])bytes, rows);
    else
        tmg_ldmatrix(count, insn->flags & F_TRANS, (const uint8_t(*)[16])bytes, rows);
    return EMU_NEXT;
}

EMU_HANDLER(store_matrix) {
    uint8_t bytes[EMU_LANES][16];
    uint32_t *rows[4] = {NULL};
    int count = insn->vector;

    if (!emu_whole_warp(warp, insn, mask) || !emu_matrix_rows(warp, insn, 2, count, false, rows))
        return EMU_NEXT;
    if (insn->row->aux & BYTES)
        tmg_stmatrix_bytes(count, (const uint32_t *const *)rows, bytes);
    else
        tmg_stmatrix(count, insn->flags & F_TRANS, (const uint32_t *const *)rows, bytes);
    for (unsigned lane = 0; lane < 8u * (unsigned)count; lane++) {
        uint8_t *to = emu_access(warp, insn, lane, emu_address(warp, insn, 0, lane), 16, EMU_WRITE);
        if (to == NULL) return EMU_NEXT;
        memcpy(to, bytes[lane], 16);
    }
    return EMU_NEXT;
}

EMU_HANDLER(move_matrix) {
    if (emu_whole_warp(warp, insn, mask))
        tmg_movmatrix(emu_r32(warp, insn->op[1]), emu_r32(warp, insn->op[0]));
    return EMU_NEXT;
}

const struct emu_op emu_ops_mma[] = {
    {"mma.sync.aligned.SHAPE.row.col{.satfinite}{.rn}.TYPE.TYPE.TYPE.TYPE{.satfinite}{.rn}", "Vvvv",
     mma, 0, FACT_MULTIPLIES},
    {"mma.sync.aligned.SHAPE.row.col.TYPE.TYPE.TYPE.TYPE.xor.popc", "Vvvv", mma, XOR_POPC,
     FACT_MULTIPLIES},
    {"mma.sync.aligned.SHAPE.row.col.TYPE.TYPE.TYPE.TYPE.and.popc", "Vvvv", mma, 0,
     FACT_MULTIPLIES},
    {"mma.sp.sync.aligned.SHAPE.row.col{.satfinite}.TYPE.TYPE.TYPE.TYPE", "Vvvvin", mma, SPARSE,
     FACT_MULTIPLIES},
    {"mma.sp::ordered_metadata.sync.aligned.SHAPE.row.col{.satfinite}.TYPE.TYPE.TYPE.TYPE",
     "Vvvvin", mma, SPARSE, FACT_MULTIPLIES},
    {"ldmatrix.sync.aligned.m8n8.NUM{.trans}{.SHARED}.b16", "Vm", load_matrix, 0},
    {"stmatrix.sync.aligned.m8n8.NUM{.trans}{.SHARED}.b16", "mv", store_matrix, 0, 0,
     TMG_HAS_CLUSTERS},
#define IN_SM_100A 0, TMG_HAS_LAUNCH_CONTROL | TMG_HAS_REGISTER_MOVES  // and sm_120a
#define UNPACKED(FORMAT, ID)                                                                       \
    {"ldmatrix.sync.aligned.m8n16.NUM{.SHARED}.b8x16." FORMAT, "Vm", load_matrix, ID, IN_SM_100A}, \
    {                                                                                              \
        "ldmatrix.sync.aligned.m16n16.TWO.trans{.SHARED}.b8x16." FORMAT, "Vm", load_matrix,        \
            SQUARE | ID, IN_SM_100A                                                                \
    }
    UNPACKED("b6x16_p32", TMG_COPY_B6X16),
    UNPACKED("b4x16_p64", TMG_COPY_B4X16),
    {"ldmatrix.sync.aligned.m16n16.TWO.trans{.SHARED}.b8", "Vm", load_matrix, SQUARE, IN_SM_100A},
    {"stmatrix.sync.aligned.m16n8.NUM.trans{.SHARED}.b8", "mv", store_matrix, BYTES, IN_SM_100A},
    {"movmatrix.sync.aligned.m8n8.trans.b16", "Ii", move_matrix, 0},
    {NULL, NULL, NULL, 0},
};

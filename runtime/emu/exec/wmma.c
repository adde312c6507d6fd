// wmma.load, wmma.mma, wmma.store (PTX ISA 9.7.14.4): a warp's matrix in memory, by lines, and the
// fragments of model/wmma.c. Address and stride are the warp's, so that one lane's are looked at.
#include "runtime/emu/exec/matrix.h"
#include "runtime/emu/model/wmma.h"

#include <string.h>

enum { COLUMN_MAJOR = 4 };  // in aux, with the part

static struct tmg_wmma shape_of(const struct emu_insn *insn) {
    return (struct tmg_wmma){.m = insn->shape[0], .n = insn->shape[1], .k = insn->shape[2]};
}

// [op] of a load or store, whose one type is A's, B's or the accumulators': the other one is any
// that goes with it, as it does not change the fragment.
static bool set_types(struct emu_warp *warp, const struct emu_insn *insn, enum tmg_wmma_part part,
                      struct tmg_wmma *op) {
    static const enum tmg_number operands[] = {TMG_F16, TMG_TF32, TMG_S8, TMG_F64, TMG_B1, TMG_S4};
    static const enum tmg_number sums[] = {TMG_F32, TMG_F32, TMG_S32, TMG_F64, TMG_S32, TMG_S32};
    enum tmg_number type = emu_matrix_number(insn->type[0]);
    const char *wrong = "";

    *op = shape_of(insn);
    for (size_t i = 0; wrong != NULL && i < sizeof sums / sizeof *sums; i++) {
        op->a = part == TMG_WMMA_C ? operands[i] : type;
        op->c = op->d = part == TMG_WMMA_C ? type : sums[i];
        wrong = tmg_wmma_check(op);
    }
    if (wrong != NULL) emu_fatal(warp, insn, EMU_UNIMPLEMENTED, "wmma: %s", wrong);
    return wrong == NULL;
}

// A matrix in memory: [count] lines of [bytes], [pitch] bytes apart, aligned to [align].
struct matrix_lines {
    uint64_t address, pitch;
    uint32_t count, bytes, align;
};

// Rows and columns change places where the layout is not that of the dense matrix: A by rows, B by
// columns, C by rows.
static bool turned(enum tmg_wmma_part part, bool column_major) {
    return column_major != (part == TMG_WMMA_B);
}

// Address operand at [at], stride in elements at [stride_at]. False after a report.
// PTX ISA 9.7.14.4.2: lines are aligned to min(16, bytes of the fragment in a thread).
static bool find_lines(struct emu_warp *warp, const struct emu_insn *insn, unsigned at,
                       unsigned stride_at, const struct tmg_wmma_matrix *matrix, bool turn,
                       uint32_t fragment, struct matrix_lines *lines) {
    uint32_t length = (uint32_t)(turn ? matrix->lines : matrix->length), bits, stride = length;

    bits = (uint32_t)matrix->element_bits;
    if (insn->op[stride_at] != EMU_NO_PC) stride = emu_r32(warp, insn->op[stride_at])[0];
    lines->address = emu_address(warp, insn, at, 0);
    for (unsigned lane = 1; lane < EMU_LANES; lane++)
        if (emu_address(warp, insn, at, lane) != lines->address ||
            (insn->op[stride_at] != EMU_NO_PC &&
             emu_r32(warp, insn->op[stride_at])[lane] != stride)) {
            emu_fatal(warp, insn, EMU_BAD_OPERAND,
                      "lane %u gives another address or stride than lane 0", lane);
            return false;
        }
    lines->count = (uint32_t)(turn ? matrix->length : matrix->lines);
    lines->bytes = length * bits / 8;
    lines->pitch = (uint64_t)stride * bits / 8;
    lines->align = fragment < 16 ? fragment : 16;
    if (lines->address % lines->align == 0 && (uint64_t)stride * bits % (8 * lines->align) == 0)
        return true;
    emu_fatal(warp, insn, EMU_MISALIGNED,
              "matrix at 0x%llx, %u elements from line to line; both must be multiples of %u bytes",
              (unsigned long long)lines->address, stride, lines->align);
    return false;
}

// Copies between memory and [dense], line after line. False after a report.
static bool copy_lines(struct emu_warp *warp, const struct emu_insn *insn,
                       const struct matrix_lines *lines, enum emu_use use, uint8_t *dense) {
    uint32_t step = lines->align < lines->bytes ? lines->align : lines->bytes;

    for (uint32_t line = 0; line < lines->count; line++)
        for (uint32_t i = 0; i < lines->bytes; i += step) {
            uint8_t *at = emu_access(warp, insn, EMU_LANES,
                                     lines->address + line * lines->pitch + i, step, use);
            uint8_t *mine = dense + line * lines->bytes + i;
            if (at == NULL) return false;
            memcpy(use == EMU_WRITE ? at : mine, use == EMU_WRITE ? mine : at, step);
        }
    return true;
}

// to[column][row] = from[row][column], elements of [size] bytes.
static void turn_over(uint32_t rows, uint32_t columns, uint32_t size, const uint8_t *from,
                      uint8_t *to) {
    for (uint32_t row = 0; row < rows; row++)
        for (uint32_t column = 0; column < columns; column++)
            memcpy(to + (column * rows + row) * size, from + (row * columns + column) * size, size);
}

EMU_HANDLER(load) {
    enum tmg_wmma_part part = (enum tmg_wmma_part)(insn->row->aux & 3);
    bool turn = turned(part, insn->row->aux & COLUMN_MAJOR);
    uint8_t memory[TMG_WMMA_BYTES], dense[TMG_WMMA_BYTES];
    uint32_t *rows[TMG_WMMA_REGISTERS];
    struct tmg_wmma op;
    struct matrix_lines lines;

    if (!emu_whole_warp(warp, insn, mask) || !set_types(warp, insn, part, &op)) return EMU_NEXT;
    struct tmg_wmma_matrix matrix = tmg_wmma_matrix(&op, part, op.d);
    int count = tmg_wmma_registers(&op, part, op.d);
    uint32_t fragment = (uint32_t)count * (op.a == TMG_F64 ? 8 : 4);
    if (turn && matrix.element_bits < 8) {
        emu_fatal(warp, insn, EMU_BAD_OPERAND,
                  "elements of less than a byte are row-major in A and column-major in B");
        return EMU_NEXT;
    }
    if (!emu_matrix_rows(warp, insn, 0, count, op.a == TMG_F64, rows) ||
        !find_lines(warp, insn, 1, 3, &matrix, turn, fragment, &lines) ||
        !copy_lines(warp, insn, &lines, EMU_READ, memory))
        return EMU_NEXT;
    if (turn)
        turn_over(lines.count, (uint32_t)matrix.lines, (uint32_t)matrix.element_bits / 8, memory,
                  dense);
    tmg_wmma_spread(&op, part, op.d, turn ? dense : memory, rows);
    return EMU_NEXT;
}

EMU_HANDLER(store) {
    bool turn = turned(TMG_WMMA_C, insn->row->aux & COLUMN_MAJOR);
    uint8_t memory[TMG_WMMA_BYTES], dense[TMG_WMMA_BYTES];
    uint32_t *rows[TMG_WMMA_REGISTERS];
    struct tmg_wmma op;
    struct matrix_lines lines;

    if (!emu_whole_warp(warp, insn, mask) || !set_types(warp, insn, TMG_WMMA_C, &op))
        return EMU_NEXT;
    struct tmg_wmma_matrix matrix = tmg_wmma_matrix(&op, TMG_WMMA_C, op.d);
    int count = tmg_wmma_registers(&op, TMG_WMMA_C, op.d);
    uint32_t fragment = (uint32_t)count * (op.a == TMG_F64 ? 8 : 4);
    if (!emu_matrix_rows(warp, insn, 2, count, op.a == TMG_F64, rows) ||
        !find_lines(warp, insn, 0, 3, &matrix, turn, fragment, &lines))
        return EMU_NEXT;
    tmg_wmma_collect(&op, op.d, (const uint32_t *const *)rows, dense);
    if (turn)
        turn_over((uint32_t)matrix.lines, (uint32_t)matrix.length,
                  (uint32_t)matrix.element_bits / 8, dense, memory);
    copy_lines(warp, insn, &lines, EMU_WRITE, turn ? memory : dense);
    return EMU_NEXT;
}

// aux: how the types are given. Of f16, D's and C's only; else d, a, b, c.
enum { TYPES_OF_F16, TYPES_ALL, TYPES_XOR_POPC };

EMU_HANDLER(mma) {
    bool all = insn->row->aux != TYPES_OF_F16;
    uint32_t *rows[4][TMG_WMMA_REGISTERS];
    struct tmg_wmma op = shape_of(insn);

    op.d = emu_matrix_number(insn->type[0]);
    op.a = all ? emu_matrix_number(insn->type[1]) : TMG_F16;
    op.c = emu_matrix_number(insn->type[all ? 3 : 1]);
    op.satfinite = insn->flags & F_SATFINITE;
    op.xor_popc = insn->row->aux == TYPES_XOR_POPC;
    const char *wrong = tmg_wmma_check(&op);
    if (wrong == NULL && all && insn->type[1] != insn->type[2])
        wrong = "A and B must be of one type";
    if (!emu_whole_warp(warp, insn, mask)) return EMU_NEXT;
    if (wrong != NULL) {
        emu_fatal(warp, insn, EMU_UNIMPLEMENTED, "wmma: %s", wrong);
        return EMU_NEXT;
    }
    int counts[4] = {
        tmg_wmma_registers(&op, TMG_WMMA_C, op.d), tmg_wmma_registers(&op, TMG_WMMA_A, op.d),
        tmg_wmma_registers(&op, TMG_WMMA_B, op.d), tmg_wmma_registers(&op, TMG_WMMA_C, op.c)};
    for (unsigned i = 0; i < 4; i++)
        if (!emu_matrix_rows(warp, insn, i, counts[i], op.a == TMG_F64, rows[i])) return EMU_NEXT;
    tmg_wmma_run(&op, (const uint32_t *const *)rows[1], (const uint32_t *const *)rows[2],
                 (const uint32_t *const *)rows[3], rows[0]);
    return EMU_NEXT;
}

#define LOAD(part, row)                                                              \
    {"wmma.load." part ".sync.aligned.row.SHAPE{.SPACE}.TYPE", "Vm?i", load, row}, { \
        "wmma.load." part ".sync.aligned.col.SHAPE{.SPACE}.TYPE", "Vm?i", load,      \
            (row) | COLUMN_MAJOR                                                     \
    }

const struct emu_op emu_ops_wmma[] = {
    LOAD("a", TMG_WMMA_A),
    LOAD("b", TMG_WMMA_B),
    LOAD("c", TMG_WMMA_C),
    {"wmma.store.d.sync.aligned.row.SHAPE{.SPACE}.TYPE", "mv?i", store, 0},
    {"wmma.store.d.sync.aligned.col.SHAPE{.SPACE}.TYPE", "mv?i", store, COLUMN_MAJOR},
    {"wmma.mma.sync.aligned.LAYOUT.LAYOUT.SHAPE.TYPE.TYPE", "Vvvv", mma, TYPES_OF_F16,
     FACT_MULTIPLIES},
    {"wmma.mma.sync.aligned.LAYOUT.LAYOUT.SHAPE{.rn}.TYPE.TYPE.TYPE.TYPE{.rn}{.satfinite}", "Vvvv",
     mma, TYPES_ALL, FACT_MULTIPLIES},
    {"wmma.mma.xor.popc.sync.aligned.row.col.SHAPE.TYPE.TYPE.TYPE.TYPE", "Vvvv", mma,
     TYPES_XOR_POPC, FACT_MULTIPLIES},
    {"wmma.mma.and.popc.sync.aligned.row.col.SHAPE.TYPE.TYPE.TYPE.TYPE", "Vvvv", mma, TYPES_ALL,
     FACT_MULTIPLIES},
    {NULL, NULL, NULL, 0},
};

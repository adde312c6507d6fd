// tcgen05.cp and tcgen05.shift (PTX ISA 9.7.16.9): operations of the tensor core's pipeline that
// fill tensor memory from shared memory, and move its rows by one.
#include "runtime/emu/model/tmem_copy.h"
#include "runtime/emu/exec/lanes.h"

#include <stdlib.h>
#include <string.h>

// aux: the shape; the format is a word of the row
enum { PIECE = 16, WORDS = PIECE / 4, FORMAT_SHIFT = 8, SHIFTED = 8, PARTITION = 32 };

struct copy_work {
    struct tmg_matrix_descriptor source;
    const struct tmg_tmem_copy *shape;
    enum tmg_tmem_format format;
    uint32_t address;
};

// Calls [one] for the CTA that the operation works on, or for both of a pair.
static void each_cta(struct emu_async *op, void (*one)(struct emu_async *op, struct emu_cta *cta)) {
    one(op, op->cta);
    if (op->insn->flags & F_PAIR) one(op, emu_peer(op->cta));
}

// ---- cp ----

// Touches where the rows go; false after a report.
static bool touch_lanes(struct emu_async *op, struct emu_cta *cta, const struct copy_work *work) {
    const struct tmg_tmem_copy *shape = work->shape;
    uint32_t lane = emu_tmem_lane(work->address), apart = shape->row_step > 1 ? shape->rows : 1;
    struct emu_rectangle at = {lane, apart > 1 ? 1 : TMG_TENSOR_LANES,
                               emu_tmem_column(work->address), shape->pieces * WORDS};

    for (uint32_t row = 0; row < apart; row++) {
        at.lane = lane + row * shape->row_step;
        emu_tensor_touch(op, cta, &at, EMU_WRITE);
        if (!emu_tmem_has(op->warp, op->insn, cta, &at, op->what)) return false;
    }
    return true;
}

static void put_piece(const struct emu_cta *cta, const struct copy_work *work, uint32_t row,
                      uint32_t piece, const uint8_t *bytes) {
    uint32_t column = emu_tmem_column(work->address) + piece * WORDS;

    for (uint32_t copy = 0; copy < work->shape->copies; copy++) {
        uint32_t lane = emu_tmem_lane(work->address) + tmg_tmem_copy_lane(work->shape, row, copy);
        memcpy(emu_tmem_words(cta, lane, column), bytes, PIECE);
    }
}

static void copy_rows(struct emu_async *op, struct emu_cta *cta) {
    const struct copy_work *work = op->tensor.data;
    uint32_t read = tmg_tmem_format_bytes(work->format);
    uint8_t bytes[PIECE];

    if (!touch_lanes(op, cta, work)) return;
    op->layout = (uint8_t)(1 + work->source.swizzle);
    for (uint32_t at = 0; at < (uint32_t)work->shape->rows * work->shape->pieces; at++) {
        uint32_t row = at / work->shape->pieces, piece = at % work->shape->pieces;
        uint32_t from = tmg_matrix_address(&work->source, false, 8, row, piece * PIECE);
        if (from < EMU_SMEM_RESERVED || from + PIECE > cta->smem_bytes) {
            emu_fatal(op->warp, op->insn, EMU_OUT_OF_BOUNDS,
                      "tcgen05.cp reads row %u at 0x%x, outside of shared memory [0x%x, 0x%x)", row,
                      from, EMU_SMEM_RESERVED, cta->smem_bytes);
            return;
        }
        emu_async_touch(op, cta, from, read, EMU_READ);
        memcpy(bytes, cta->smem + from, PIECE);
        tmg_tmem_unpack(work->format, bytes);
        put_piece(cta, work, row, piece, bytes);
    }
}

static void run_copy(struct emu_async *op) { each_cta(op, copy_rows); }

EMU_HANDLER(copy) {
    EMU_EACH_LANE(lane, mask) {
        struct copy_work *work = calloc(1, sizeof *work);
        struct emu_async *op =
            work ? emu_pipeline_new(warp, insn, lane, insn->flags & F_PAIR, "tcgen05.cp") : NULL;
        if (op == NULL) {
            free(work);
            return EMU_NEXT;
        }
        work->shape = &tmg_tmem_copies[insn->row->aux & 0xff];
        work->format = (enum tmg_tmem_format)(insn->row->aux >> FORMAT_SHIFT);
        work->address = (uint32_t)emu_address(warp, insn, 0, lane);
        op->tensor.data = work;
        op->tensor.run = run_copy;
        const char *wrong = tmg_tmem_copy_source(emu_r64(warp, insn->op[2])[lane], &work->source);
        if (wrong != NULL)
            emu_fatal(warp, insn, EMU_BAD_OPERAND,
                      "tcgen05.cp: shared memory descriptor 0x%016llx: %s",
                      (unsigned long long)emu_r64(warp, insn->op[2])[lane], wrong);
        if (work->shape->row_step == 1 && emu_tmem_lane(work->address) != 0)
            emu_fatal(warp, insn, EMU_BAD_OPERAND,
                      "tcgen05.cp to lane %u: this shape fills all lanes from 0 on",
                      emu_tmem_lane(work->address));
        emu_pipeline_give(op);
    }
    emu_tick(warp);
    return EMU_NEXT;
}

// ---- shift ----

// In each partition of 32 lanes every lane gets what the next one has; the last keeps its own.
static void shift_rows(struct emu_async *op, struct emu_cta *cta) {
    uint32_t address = *(const uint32_t *)op->tensor.data, column = emu_tmem_column(address);
    uint32_t first = emu_tmem_lane(address);
    struct emu_rectangle at = {first, TMG_TENSOR_LANES - first, column, SHIFTED};

    emu_tensor_touch(op, cta, &at, EMU_ATOMIC);
    if (!emu_tmem_has(op->warp, op->insn, cta, &at, op->what)) return;
    for (uint32_t lane = first; lane < TMG_TENSOR_LANES; lane++)
        if (lane % PARTITION != PARTITION - 1)
            memcpy(emu_tmem_words(cta, lane, column), emu_tmem_words(cta, lane + 1, column),
                   SHIFTED * sizeof(uint32_t));
}

static void run_shift(struct emu_async *op) { each_cta(op, shift_rows); }

EMU_HANDLER(shift) {
    EMU_EACH_LANE(lane, mask) {
        uint32_t *address = malloc(sizeof *address);
        struct emu_async *op =
            address ? emu_pipeline_new(warp, insn, lane, insn->flags & F_PAIR, "tcgen05.shift")
                    : NULL;
        if (op == NULL) {
            free(address);
            return EMU_NEXT;
        }
        *address = (uint32_t)emu_address(warp, insn, 0, lane);
        op->tensor.data = address;
        op->tensor.run = run_shift;
        if (emu_tmem_lane(*address) % PARTITION != 0)
            emu_fatal(warp, insn, EMU_MISALIGNED, "tcgen05.shift at lane %u, no multiple of 32",
                      emu_tmem_lane(*address));
        emu_pipeline_give(op);
    }
    emu_tick(warp);
    return EMU_NEXT;
}

const struct emu_op emu_ops_tmem_copy[] = {
#define FORM(shape, format, id, bits) \
    { "tcgen05.cp.GROUP." shape format, "mj", copy, (id) | (bits) << FORMAT_SHIFT }
#define FORMS(shape, id)                                                                         \
    FORM(shape, "", id, TMG_COPY_AS_IT_IS), FORM(shape, ".b8x16.b6x16_p32", id, TMG_COPY_B6X16), \
        FORM(shape, ".b8x16.b4x16_p64", id, TMG_COPY_B4X16)
    FORMS("128x256b", TMG_COPY_128X256B),
    FORMS("4x256b", TMG_COPY_4X256B),
    FORMS("128x128b", TMG_COPY_128X128B),
    FORMS("64x128b.warpx2::02_13", TMG_COPY_64X128B_02_13),
    FORMS("64x128b.warpx2::01_23", TMG_COPY_64X128B_01_23),
    FORMS("32x128b.warpx4", TMG_COPY_32X128B),
    {"tcgen05.shift.GROUP.down", "m", shift, 0},
    {NULL, NULL, NULL, 0},
};

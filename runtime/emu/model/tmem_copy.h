// tcgen05.cp (PTX ISA 9.7.16.9.2): rows of 16-byte pieces in shared memory, and the lanes of tensor
// memory that get them, some in two or four copies.
#ifndef TMG_EMU_MODEL_TMEM_COPY_H
#define TMG_EMU_MODEL_TMEM_COPY_H

#include "runtime/emu/model/wgmma.h"

enum tmg_tmem_copy_id {
    TMG_COPY_128X256B,
    TMG_COPY_4X256B,
    TMG_COPY_128X128B,
    TMG_COPY_64X128B_02_13,
    TMG_COPY_64X128B_01_23,
    TMG_COPY_32X128B,
    TMG_COPY_SHAPES
};

enum tmg_tmem_format { TMG_COPY_AS_IT_IS, TMG_COPY_B6X16, TMG_COPY_B4X16 };

struct tmg_tmem_copy {
    uint8_t rows, pieces, copies;
    uint8_t row_step, group_step, copy_step;  // lanes from a row, 32 rows, a copy to the next
};
extern const struct tmg_tmem_copy tmg_tmem_copies[TMG_COPY_SHAPES];

// The lane of [row] in [copy], from that of the address on.
static inline uint32_t tmg_tmem_copy_lane(const struct tmg_tmem_copy *shape, uint32_t row,
                                          uint32_t copy) {
    return row % 32 * shape->row_step + row / 32 * shape->group_step + copy * shape->copy_step;
}

// Takes the matrix descriptor apart (9.7.16.4.1), whose rows are K-major. NULL, or the field that
// is illegal.
const char *tmg_tmem_copy_source(uint64_t bits, struct tmg_matrix_descriptor *source);

// Bytes of a piece that are read.
uint32_t tmg_tmem_format_bytes(enum tmg_tmem_format format);
// Makes bytes of the 16 elements of a piece: of 4 bits with two zeros on both sides, of 6 with two
// above.
void tmg_tmem_unpack(enum tmg_tmem_format format, uint8_t piece[16]);

#endif

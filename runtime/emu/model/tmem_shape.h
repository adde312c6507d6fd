// The shapes of tcgen05.ld and tcgen05.st (PTX ISA 9.7.16.2.3, 9.7.16.8): which word of tensor
// memory a register of a thread is. All are linear in the bits of both numbers: a shape is a row.
#ifndef TMG_EMU_MODEL_TMEM_SHAPE_H
#define TMG_EMU_MODEL_TMEM_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

enum tmg_tmem_shape_id {
    TMG_TMEM_32X32B,
    TMG_TMEM_16X64B,
    TMG_TMEM_16X128B,
    TMG_TMEM_16X256B,
    TMG_TMEM_16X32BX2,
    TMG_TMEM_SHAPES
};

struct tmg_tmem_shape {
    const char *name;
    uint8_t lanes;               // of tensor memory
    uint8_t registers, columns;  // of .x1
    // what each bit of the thread's number, and of the register's, adds
    uint8_t thread_lane[5], thread_column[5], register_lane[2], register_column[2];
    bool split;  // threads from 16 on are at an offset that the instruction gives
};
extern const struct tmg_tmem_shape tmg_tmem_shapes[TMG_TMEM_SHAPES];

enum { TMG_TMEM_REGISTERS = 128 };  // most of an instruction

// Where the words of an instruction lie: of thread t and register r at the sums of both, from its
// address on. Packed, a register is the lower halves of two columns, the second one to the right.
struct tmg_tmem_places {
    uint8_t thread_lane[32], register_lane[TMG_TMEM_REGISTERS];
    uint16_t thread_column[32], register_column[TMG_TMEM_REGISTERS];
    uint32_t registers;
    uint32_t columns;  // of the first rectangle, and of the second, which begins at [split]
    bool packed;
};

// Of .x[times]; false where there is no such form. [split]: columns from the first half to the
// second.
bool tmg_tmem_places(enum tmg_tmem_shape_id shape, uint32_t times, bool packed, uint32_t split,
                     struct tmg_tmem_places *places);

#endif

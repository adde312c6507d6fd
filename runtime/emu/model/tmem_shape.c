// The rows of the shapes, and how an instruction's places follow from them.
#include "runtime/emu/model/tmem_shape.h"

const struct tmg_tmem_shape tmg_tmem_shapes[TMG_TMEM_SHAPES] = {
    [TMG_TMEM_32X32B] = {"32x32b", 32, 1, 1, {1, 2, 4, 8, 16}, {0}, {0}, {0}, false},
    [TMG_TMEM_16X64B] = {"16x64b", 16, 1, 2, {8, 0, 1, 2, 4}, {0, 1}, {0}, {0}, false},
    [TMG_TMEM_16X128B] = {"16x128b", 16, 2, 4, {0, 0, 1, 2, 4}, {1, 2}, {8}, {0}, false},
    [TMG_TMEM_16X256B] = {"16x256b", 16, 4, 8, {0, 0, 1, 2, 4}, {2, 4}, {0, 8}, {1, 0}, false},
    [TMG_TMEM_16X32BX2] = {"16x32bx2", 16, 1, 1, {1, 2, 4, 8, 0}, {0}, {0}, {0}, true},
};

// What the bits of [number] add up to.
static uint32_t sum(const uint8_t *of_bit, unsigned bits, uint32_t number) {
    uint32_t total = 0;

    for (unsigned bit = 0; bit < bits; bit++) total += number >> bit & 1 ? of_bit[bit] : 0;
    return total;
}

bool tmg_tmem_places(enum tmg_tmem_shape_id id, uint32_t times, bool packed, uint32_t split,
                     struct tmg_tmem_places *places) {
    const struct tmg_tmem_shape *shape = &tmg_tmem_shapes[id];
    uint32_t scale = packed ? 2 : 1;

    if (times == 0 || times * shape->registers > TMG_TMEM_REGISTERS) return false;
    places->registers = times * shape->registers;
    places->columns = times * shape->columns * scale;
    places->packed = packed;
    for (uint32_t t = 0; t < 32; t++) {
        places->thread_lane[t] = (uint8_t)sum(shape->thread_lane, 5, t);
        places->thread_column[t] = (uint16_t)(scale * sum(shape->thread_column, 5, t) +
                                              (shape->split && t >= 16 ? split : 0));
    }
    for (uint32_t r = 0; r < places->registers; r++) {
        uint32_t within = r % shape->registers, turn = r / shape->registers;
        places->register_lane[r] = (uint8_t)sum(shape->register_lane, 2, within);
        places->register_column[r] =
            (uint16_t)(scale * (sum(shape->register_column, 2, within) + turn * shape->columns));
    }
    return true;
}

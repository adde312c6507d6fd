// The table of swizzle rules (PTX ISA 5.5.7): pure data, so that a mode is one line to check.
// Lines are 128 bytes: bits 7 and up of the address number them, bits 4 to 6 number 16-byte pieces.
#include "runtime/emu/model/swizzle.h"

const struct tmg_swizzle_rule tmg_swizzle_rules[TMG_SWIZZLE_COUNT] = {
    [TMG_SWIZZLE_NONE] = {"none", 0x00, 3, 0, 16, 16, 16},
    [TMG_SWIZZLE_32B] = {"32B", 0x10, 3, 0, 32, 16, 256},
    [TMG_SWIZZLE_64B] = {"64B", 0x30, 3, 0, 64, 16, 512},
    [TMG_SWIZZLE_128B] = {"128B", 0x70, 3, 0, 128, 16, 1024},
    [TMG_SWIZZLE_128B_ATOM_32B] = {"128B, 32-byte atoms", 0x60, 2, 0, 128, 32, 512},
    [TMG_SWIZZLE_128B_ATOM_32B_FLIP_8B] = {"128B, 32-byte atoms, 8-byte flip", 0x60, 2, 0x08, 128,
                                           32, 512},
    [TMG_SWIZZLE_128B_ATOM_64B] = {"128B, 64-byte atoms", 0x40, 1, 0, 128, 64, 256},
};

// Swizzles of shared memory, as bit permutations of an address: one rule a mode, in a table.
// TMA and wgmma apply them to absolute shared addresses, so a tile's own alignment takes part.
#ifndef TMG_EMU_MODEL_SWIZZLE_H
#define TMG_EMU_MODEL_SWIZZLE_H

#include <stdint.h>

// Same numbers as CUtensorMapSwizzle.
enum tmg_swizzle {
    TMG_SWIZZLE_NONE,
    TMG_SWIZZLE_32B,
    TMG_SWIZZLE_64B,
    TMG_SWIZZLE_128B,
    TMG_SWIZZLE_128B_ATOM_32B,
    TMG_SWIZZLE_128B_ATOM_32B_FLIP_8B,
    TMG_SWIZZLE_128B_ATOM_64B,
    TMG_SWIZZLE_COUNT
};

// address ^= (address >> shift) & mask: the number of the 128-byte line moves [atom]-byte pieces.
// [flip]: the line's lowest bit also swaps the 8-byte halves of each 16 bytes.
// [span]: bytes within which pieces move; [period]: bytes after which the pattern repeats.
struct tmg_swizzle_rule {
    const char *name;
    uint32_t mask, shift, flip;
    uint32_t span, atom, period;
};

extern const struct tmg_swizzle_rule tmg_swizzle_rules[TMG_SWIZZLE_COUNT];

// Where the byte that an unswizzled layout puts at [address] lies; its own inverse.
static inline uint32_t tmg_swizzle_address(enum tmg_swizzle mode, uint32_t address) {
    const struct tmg_swizzle_rule *rule = &tmg_swizzle_rules[mode];
    return address ^ ((address >> rule->shift) & rule->mask) ^ ((address >> 4) & rule->flip);
}

// The same with the pattern's first line at a line number of [base_offset] modulo 8 instead of 0
// (PTX ISA 9.7.15.5.1.2.2, matrix base offset).
static inline uint32_t tmg_swizzle_address_based(enum tmg_swizzle mode, uint32_t address,
                                                 uint32_t base_offset) {
    const struct tmg_swizzle_rule *rule = &tmg_swizzle_rules[mode];
    return address ^ (((address - (base_offset << 7)) >> rule->shift) & rule->mask);
}

#endif

// tensormap.replace and tensormap.cp_fenceproxy (PTX ISA 9.7.9.28, 9.7.13.17): maps that a kernel
// changes in shared or global memory. check/maps.c knows whether a map was fenced before its use.
#include "runtime/emu/exec/lanes.h"
#include "runtime/emu/model/tensormap.h"

#include <string.h>

// The 128 bytes of a map at [address]; NULL after a report.
static uint8_t *map_bytes(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                          uint64_t address, uint8_t space, enum emu_use use) {
    uint8_t *first = NULL;

    for (unsigned i = 0; i < TMG_TENSOR_MAP_BYTES; i += 16) {
        uint8_t *at = emu_access_in(warp, insn, space, lane, address + i, 16, use);
        if (at == NULL) return NULL;
        if (i == 0) first = at;
    }
    return first;
}

// aux: the field, and whether an ordinal stands before the value
enum { HAS_ORDINAL = 1 << 8 };

EMU_HANDLER(replace) {
    unsigned field = insn->row->aux & 0xff, at = insn->row->aux & HAS_ORDINAL ? 3 : 2;
    uint32_t value = insn->op[at] | (insn->row->operands[at - 1] == 'j' ? EMU_WIDE : 0);
    uint8_t copy[TMG_TENSOR_MAP_BYTES];
    char why[TMG_TENSOR_WHY];

    EMU_EACH_LANE(lane, mask) {
        uint64_t address = emu_address(warp, insn, 0, lane);
        uint32_t ordinal = at == 3 ? emu_r32(warp, insn->op[2])[lane] : 0;
        uint8_t *map = map_bytes(warp, insn, lane, address, insn->space, EMU_WRITE);
        if (map == NULL) return EMU_NEXT;
        memcpy(copy, map, sizeof copy);
        if (tmg_tensor_map_replace(copy, (enum tmg_tensor_field)field, ordinal,
                                   emu_get(warp, value, lane), why) != 0) {
            emu_fatal(warp, insn, EMU_BAD_OPERAND, "tensormap.replace: %s", why);
            return EMU_NEXT;
        }
        memcpy(map, copy, sizeof copy);
        emu_map_changed(warp, address);
    }
    return EMU_NEXT;
}

// The warp copies one map from shared to global memory.
EMU_HANDLER(copy_map) {
    unsigned lane = (unsigned)__builtin_ctz(mask);

    if (insn->op[4] != TMG_TENSOR_MAP_BYTES) {
        emu_fatal(warp, insn, EMU_BAD_OPERAND, "tensormap.cp_fenceproxy of %u bytes, not 128",
                  insn->op[4]);
        return EMU_NEXT;
    }
    const uint8_t *from =
        map_bytes(warp, insn, lane, emu_address(warp, insn, 2, lane), SPACE_SHARED, EMU_READ);
    uint8_t *to = from == NULL ? NULL
                               : map_bytes(warp, insn, lane, emu_address(warp, insn, 0, lane),
                                           SPACE_GLOBAL, EMU_WRITE);
    if (to != NULL) memcpy(to, from, TMG_TENSOR_MAP_BYTES);
    emu_map_changed(warp, emu_address(warp, insn, 0, lane));
    emu_map_release(warp);
    return EMU_NEXT;
}

const struct emu_op emu_ops_tensormap[] = {
#define REPLACE(name, type, operands, aux)                                                \
    {                                                                                     \
        "tensormap.replace.tile." name "{.SPACE}.b1024." type, operands, replace, aux, 0, \
            TMG_HAS_MAP_CHANGES                                                           \
    }
    REPLACE("global_address", "b64", "mj", TMG_FIELD_GLOBAL_ADDRESS),
    REPLACE("rank", "b32", "mi", TMG_FIELD_RANK),
    REPLACE("box_dim", "b32", "mii", TMG_FIELD_BOX_DIM | HAS_ORDINAL),
    REPLACE("global_dim", "b32", "mii", TMG_FIELD_GLOBAL_DIM | HAS_ORDINAL),
    REPLACE("global_stride", "b64", "mij", TMG_FIELD_GLOBAL_STRIDE | HAS_ORDINAL),
    REPLACE("element_stride", "b32", "mii", TMG_FIELD_ELEMENT_STRIDE | HAS_ORDINAL),
    REPLACE("elemtype", "b32", "mi", TMG_FIELD_ELEMTYPE),
    REPLACE("interleave_layout", "b32", "mi", TMG_FIELD_INTERLEAVE_LAYOUT),
    REPLACE("swizzle_mode", "b32", "mi", TMG_FIELD_SWIZZLE_MODE),
    REPLACE("swizzle_atomicity", "b32", "mi", TMG_FIELD_SWIZZLE_ATOMICITY),
    REPLACE("fill_mode", "b32", "mi", TMG_FIELD_FILL_MODE),
    {"tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.SCOPE.sync.aligned",
     "mmn", copy_map, 0},
    {NULL, NULL, NULL, 0},
};

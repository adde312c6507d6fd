// Loads and stores of every space, width and vector length (PTX ISA 9.7.9.8 to 9.7.9.14).
// What may go wrong with an address is space.c's; what order a flag gives to others is sync.c's.
#include "runtime/emu/lanes.h"

#include <string.h>

static bool is_signed(enum ptx_type type) {
    return type == T_S8 || type == T_S16 || type == T_S32 || type == T_S64;
}

static uint64_t load_element(const uint8_t *bytes, enum ptx_type type) {
    unsigned size = ptx_type_bytes(type), shift = 64 - 8 * size;
    uint64_t value = 0;

    memcpy(&value, bytes, size);
    return is_signed(type) ? (uint64_t)((int64_t)(value << shift) >> shift) : value;
}

// The name of a flag word for sync.c: generic addresses and windows give the same.
static uint64_t sync_key(struct emu_warp *warp, const struct emu_insn *insn, uint64_t address) {
    (void)warp;
    return insn->space == SPACE_SHARED ? EMU_SHARED_WINDOW | (address & UINT32_MAX) : address;
}

static void load_lane(struct emu_warp *warp, const uint32_t *list, unsigned lane,
                      const uint8_t *bytes, enum ptx_type type) {
    unsigned size = ptx_type_bytes(type);

    for (uint32_t i = 0; i < list[0]; i++, bytes += size) {
        if ((list[1 + i] & ~EMU_WIDE) == 0)  // the sink
            continue;
        if (size == 16) {
            memcpy(&emu_r64(warp, list[1 + i])[lane], bytes, 8);
            memcpy(&emu_r64(warp, list[1 + i])[lane + EMU_LANES], bytes + 8, 8);
        } else {
            emu_set(warp, list[1 + i], lane, load_element(bytes, type));
        }
    }
}

EMU_HANDLER(load) {
    enum ptx_type type = (enum ptx_type)insn->type[0];
    const uint32_t *list = insn->op + insn->op[0];
    uint32_t bytes = ptx_type_bytes(type) * list[0];

    EMU_EACH_LANE(lane, mask) {
        uint64_t address = emu_address(warp, insn, 1, lane);
        const uint8_t *from = emu_access(warp, insn, lane, address, bytes, EMU_READ);
        if (from == NULL) return EMU_NEXT;
        load_lane(warp, list, lane, from, type);
        if (insn->sem != SEM_WEAK)
            emu_sync_acquire(warp, insn, sync_key(warp, insn, address), insn->sem == SEM_ACQUIRE);
    }
    return insn->sem != SEM_WEAK ? EMU_YIELD : EMU_NEXT;  // it may be polling
}

static void store_lane(struct emu_warp *warp, const uint32_t *list, unsigned lane, uint8_t *bytes,
                       unsigned size) {
    for (uint32_t i = 0; i < list[0]; i++, bytes += size) {
        if (size == 16) {
            memcpy(bytes, &emu_r64(warp, list[1 + i])[lane], 8);
            memcpy(bytes + 8, &emu_r64(warp, list[1 + i])[lane + EMU_LANES], 8);
        } else {
            uint64_t value = emu_get(warp, list[1 + i], lane);
            memcpy(bytes, &value, size);
        }
    }
}

EMU_HANDLER(store) {
    unsigned size = ptx_type_bytes((enum ptx_type)insn->type[0]);
    const uint32_t *list = insn->op + insn->op[2];

    EMU_EACH_LANE(lane, mask) {
        uint64_t address = emu_address(warp, insn, 0, lane);
        if (insn->sem != SEM_WEAK)
            emu_sync_release(warp, insn, sync_key(warp, insn, address), insn->sem == SEM_RELEASE);
        uint8_t *to = emu_access(warp, insn, lane, address, size * list[0], EMU_WRITE);
        if (to == NULL) return EMU_NEXT;
        store_lane(warp, list, lane, to, size);
    }
    warp->cta->cluster->last_change = emu_machine(warp)->steps;
    if (insn->sem != SEM_WEAK) emu_tick(warp);
    return EMU_NEXT;
}

// Prefetches and cache policies change nothing that a program can see.
EMU_HANDLER(nothing) {
    (void)warp;
    (void)insn;
    (void)mask;
    return EMU_NEXT;
}

EMU_HANDLER(create_policy) {
    EMU_EACH_LANE(lane, mask)
    emu_r64(warp, insn->op[0])[lane] = 0;
    return EMU_NEXT;
}

const struct emu_op emu_ops_memory[] = {
    {"ld{.mmio}{.SEM}{.SCOPE}{.SPACE}{.CACHE*}{.L2::cache_hint}{.CACHE*}{.VEC}.TYPE", "Vm?j", load,
     0},
    {"ldu{.SPACE}{.VEC}.TYPE", "Vm", load, 0},
    {"st{.mmio}{.SEM}{.SCOPE}{.SPACE}{.CACHE*}{.L2::cache_hint}{.VEC}.TYPE", "mv?j", store, 0},
    {"prefetch{.SPACE}.L1", "m", nothing, 0},
    {"prefetch{.SPACE}.L2", "m", nothing, 0},
    {"prefetch{.SPACE}{.CACHE*}", "m", nothing, 0},
    {"prefetchu.L1", "m", nothing, 0},
    {"prefetch{.SPACE}.tensormap", "m", nothing, 0},
    {"applypriority{.SPACE}.L2::evict_normal", "mn", nothing, 0},
    {"discard{.SPACE}.L2", "mn", nothing, 0},
    {"createpolicy.fractional{.CACHE*}.b64", "J?i", create_policy, 0},
    {"createpolicy.range{.SPACE}{.CACHE*}.b64", "Jmii", create_policy, 0},
    {"createpolicy.cvt.L2.b64", "Jj", create_policy, 0},
    {NULL, NULL, NULL, 0},
};

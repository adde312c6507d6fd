// Loads and stores of every space, width and vector length (PTX ISA 9.7.9.8 to 9.7.9.14).
// What may go wrong with an address is space.c's; what order a flag gives to others is sync.c's.
#include "runtime/emu/exec/lanes.h"

#include <stdio.h>
#include <string.h>

static bool is_signed(enum ptx_type type) {
    return type == T_S8 || type == T_S16 || type == T_S32 || type == T_S64;
}

// memcpy of 1, 2, 4 or 8 bytes, as an instruction and not a call.
static inline void copy_word(void *to, const void *from, unsigned size) {
    switch (size) {
    case 1: memcpy(to, from, 1); break;
    case 2: memcpy(to, from, 2); break;
    case 4: memcpy(to, from, 4); break;
    default: memcpy(to, from, 8);
    }
}

static uint64_t load_element(const uint8_t *bytes, enum ptx_type type) {
    unsigned size = ptx_type_bytes(type), shift = 64 - 8 * size;
    uint64_t value = 0;

    copy_word(&value, bytes, size);
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
            emu_sync_acquire(warp, insn, lane, sync_key(warp, insn, address),
                             insn->sem == SEM_ACQUIRE);
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
            copy_word(bytes, &value, size);
        }
    }
}

// What a store's lanes write, in units of an element or, where that has 16 bytes, of its halves.
struct units {
    const uint32_t *list;
    unsigned size, unit, count;  // of an element, of a unit, of units
};

static uint64_t unit_value(struct emu_warp *warp, const struct units *units, unsigned lane,
                           unsigned i) {
    if (units->size == 16) return emu_r64(warp, units->list[1 + i / 2])[lane + i % 2 * EMU_LANES];
    return emu_get(warp, units->list[1 + i], lane) & (UINT64_MAX >> (64 - 8 * units->unit));
}

// The first of [lane]'s units that is not what is at [bytes], or count.
static unsigned lost_unit(struct emu_warp *warp, const struct units *units, unsigned lane,
                          const uint8_t *bytes) {
    unsigned i = 0;

    for (; i < units->count; i++, bytes += units->unit) {
        uint64_t there = 0;
        copy_word(&there, bytes, units->unit);
        if (there != unit_value(warp, units, lane, i)) break;
    }
    return i;
}

static void report_lanes(struct emu_warp *warp, const struct emu_insn *insn,
                         const struct units *units, unsigned lane, unsigned other, unsigned i) {
    uint64_t address = emu_address(warp, insn, 0, lane) + (uint64_t)i * units->unit;
    const struct emu_allocation *found = emu_memory_find(emu_machine(warp)->memory, address);
    int digits = (int)(2 * units->unit);
    char place[EMU_PLACE_TEXT];

    if (found != NULL)
        emu_memory_text(emu_machine(warp), found, address - found->base, 1, place, sizeof place);
    else
        snprintf(place, sizeof place, "shared memory at 0x%x",
                 (unsigned)address & ((1u << EMU_RANK_SHIFT) - 1));
    emu_report(warp, insn, EMU_RACE,
               "lanes %u and %u store 0x%0*llx and 0x%0*llx to %s:\n"
               "  which of the two stays is undefined",
               lane, other, digits, (unsigned long long)unit_value(warp, units, lane, i), digits,
               (unsigned long long)unit_value(warp, units, other, i), place);
}

// Of lanes that write the same place it is undefined which writes last (CUDA C++ Programming Guide,
// SIMT Architecture), so what they write has to be the same. [to]: where each lane has written.
static void check_lanes(struct emu_warp *warp, const struct emu_insn *insn, uint32_t mask,
                        const struct units *units, uint8_t *const *to) {
    EMU_EACH_LANE(lane, mask) {
        unsigned i = lost_unit(warp, units, lane, to[lane]), last = EMU_LANES - 1;
        if (i == units->count) continue;
        while (last > lane && !(mask >> last & 1 && to[last] == to[lane])) last--;
        if (unit_value(warp, units, lane, i) == unit_value(warp, units, last, i)) continue;
        report_lanes(warp, insn, units, lane, last, i);
        return;
    }
}

EMU_HANDLER(store) {
    unsigned size = ptx_type_bytes((enum ptx_type)insn->type[0]);
    const uint32_t *list = insn->op + insn->op[2];
    const uint32_t bytes = size * list[0];
    uint8_t *to[EMU_LANES], made[32];
    uintptr_t end = 0;
    bool ascending = true;  // then no two lanes meet

    EMU_EACH_LANE(lane, mask) {
        uint64_t address = emu_address(warp, insn, 0, lane);
        if (insn->sem != SEM_WEAK)
            emu_sync_release(warp, insn, lane, sync_key(warp, insn, address),
                             insn->sem == SEM_RELEASE);
        if (bytes <= sizeof made && emu_machine(warp)->order != NULL) {
            store_lane(warp, list, lane, made, size);
            warp->stores = made;
        }
        to[lane] = emu_access(warp, insn, lane, address, bytes, EMU_WRITE);
        warp->stores = NULL;
        if (to[lane] == NULL) return EMU_NEXT;
        store_lane(warp, list, lane, to[lane], size);
        ascending &= (uintptr_t)to[lane] >= end;
        end = (uintptr_t)to[lane] + bytes;
    }
    if (!ascending && insn->sem == SEM_WEAK && emu_machine(warp)->check) {
        unsigned unit = size < 8 ? size : 8;
        check_lanes(warp, insn, mask, &(struct units){list, size, unit, bytes / unit}, to);
    }
    warp->cta->cluster->last_change = emu_machine(warp)->steps;
    if (insn->sem == SEM_RELEASE) emu_tick(warp);
    return EMU_NEXT;
}

enum emu_step emu_nothing(struct emu_warp *warp, const struct emu_insn *insn, uint32_t mask) {
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
     0, FACT_ACCESSES},
    {"ldu{.SPACE}{.VEC}.TYPE", "Vm", load, 0},
    {"st{.mmio}{.SEM}{.SCOPE}{.SPACE}{.CACHE*}{.L2::cache_hint}{.VEC}.TYPE", "mv?j", store, 0,
     FACT_ACCESSES},
    {"prefetch{.SPACE}.L1", "m", emu_nothing, 0},
    {"prefetch{.SPACE}.L2", "m", emu_nothing, 0},
    {"prefetch{.SPACE}{.CACHE*}", "m", emu_nothing, 0},
    {"prefetchu.L1", "m", emu_nothing, 0},
    {"prefetch{.SPACE}.tensormap", "m", emu_nothing, 0},
    {"applypriority{.SPACE}.L2::evict_normal", "mn", emu_nothing, 0},
    {"discard{.SPACE}.L2", "mn", emu_nothing, 0},
    {"createpolicy.fractional{.CACHE*}.b64", "J?i", create_policy, 0},
    {"createpolicy.range{.SPACE}{.CACHE*}.b64", "Jmii", create_policy, 0},
    {"createpolicy.cvt.L2.b64", "Jj", create_policy, 0},
    {NULL, NULL, NULL, 0},
};

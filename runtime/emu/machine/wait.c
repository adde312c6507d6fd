// Waiting: what a split waits for, and the word that something has changed for those who wait.
// Whoever waits looks again after a change only; chance decides what the hardware leaves open.
#include "runtime/emu/machine/machine.h"

const struct emu_wait_row emu_waits[WAIT_KINDS] = {
    [WAIT_NOTHING] = {"waits", WAIT_PLAIN},
    [WAIT_BARRIER] = {"waits at barrier %u", WAIT_AT_NAMED_BARRIER},
    [WAIT_CLUSTER] = {"waits at barrier.cluster", WAIT_PLAIN},
    [WAIT_MBARRIER] = {"waits for", WAIT_AT_MBARRIER},
    [WAIT_BULK_GROUP] = {"waits for bulk groups (%u may be pending)", WAIT_PLAIN},
    [WAIT_COPY_GROUP] = {"waits for cp.async groups", WAIT_PLAIN},
    [WAIT_WARPGROUP] = {"waits for its warpgroup at a wgmma", WAIT_PLAIN},
    [WAIT_WARP] = {"waits for lanes 0x%08x at bar.warp.sync", WAIT_PLAIN},
    [WAIT_SLEEP] = {"sleeps", WAIT_PLAIN},
    [WAIT_TMEM] = {"waits for %u columns of tensor memory", WAIT_PLAIN},
    [WAIT_TMEM_PAIR] = {"waits for the other CTA of its pair", WAIT_PLAIN},
};

uint64_t emu_random(uint64_t *state) {
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);  // splitmix64

    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

void emu_changed(struct emu_cluster *cluster) {
    cluster->changes++;
    cluster->last_change = cluster->machine->steps;
}

bool emu_waiting(struct emu_warp *warp, enum emu_wait_kind kind) {
    return emu_split(warp)->wait.kind == kind;
}

enum emu_step emu_block(struct emu_warp *warp, enum emu_wait_kind kind, uint32_t object) {
    struct emu_wait *wait = &emu_split(warp)->wait;

    wait->kind = kind;
    wait->object = object;
    wait->expired = false;
    return EMU_BLOCKED;
}

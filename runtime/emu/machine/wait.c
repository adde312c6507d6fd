// Waiting: what a split waits for, and the word that something has changed for those who wait.
// Whoever waits looks again after a change only; chance decides what the hardware leaves open.
#include "runtime/emu/machine/machine.h"

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

    if (wait->kind != kind) {
        wait->kind = kind;
        wait->since = emu_machine(warp)->steps;
    }
    wait->object = object;
    return EMU_BLOCKED;
}

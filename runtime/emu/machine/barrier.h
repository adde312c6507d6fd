// Barriers of a CTA and of a cluster as objects: who has come, and what ends the phase.
// One object serves both; the cluster's is counted over all its CTAs.
#ifndef TMG_EMU_MACHINE_BARRIER_H
#define TMG_EMU_MACHINE_BARRIER_H

#include "runtime/emu/machine/machine.h"

void emu_votes_add(struct emu_votes *to, const struct emu_votes *from);
// [mask] of the warp is at barrier [number], which it wants for [asked] threads; 0: all who live.
void emu_gather(struct emu_warp *warp, const struct emu_insn *insn, uint32_t mask, uint32_t number,
                uint32_t asked);
// Reports lanes of [warp] that wait at a barrier for others that wait for them.
void emu_gather_check(struct emu_warp *warp);
// Ends the phase of barrier.cluster where all live threads have arrived (PTX ISA 9.7.13.4); those
// that exit are not waited for.
void emu_cluster_barrier_end(struct emu_cluster *cluster);
// Nobody waits for [mask] of the warp, which has exited, any longer.
void emu_barriers_leave(struct emu_warp *warp, uint32_t mask);

#endif

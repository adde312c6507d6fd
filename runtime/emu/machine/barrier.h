// Barriers of a CTA and of a cluster, and what happens when lanes exit.
// One object serves both; the cluster's is counted over all its CTAs.
#ifndef TMG_EMU_MACHINE_BARRIER_H
#define TMG_EMU_MACHINE_BARRIER_H

#include "runtime/emu/machine/machine.h"

// Reports lanes of [warp] that wait at a barrier for others that wait for them.
void emu_gather_check(struct emu_warp *warp);
// [mask] of [warp] has exited: counts, and the checks that an ended CTA must pass.
void emu_lanes_exited(struct emu_warp *warp, uint32_t mask);

#endif

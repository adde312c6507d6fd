// What a launch did, counted as the hardware's counters would: instructions by kind, wavefronts of
// shared memory, sectors of global memory, and the order in which work was taken up.
#ifndef TMG_EMU_PROFILE_H
#define TMG_EMU_PROFILE_H

#include "runtime/emu/machine/machine.h"

// A machine whose launch is profiled calls these; it runs on one thread, so nothing is locked.

// [insn] is about to run, for the first time since the warp came to it.
void emu_profile_begin(struct emu_warp *warp, const struct emu_insn *insn);
// A lane of it touches [bytes] at [address], an offset of shared memory or an address of global.
void emu_profile_access(struct emu_warp *warp, bool shared, uint64_t address, uint32_t bytes);
// It has run, or will be tried again; its lanes' accesses become wavefronts and sectors.
void emu_profile_end(struct emu_warp *warp);
// An operation that [insn] began copies [bytes] of global memory at [address].
void emu_profile_copy(struct emu_machine *machine, const struct emu_insn *insn, uint64_t address,
                      uint64_t bytes);
// [insn] of [warp] takes up the place with these [count] coordinates.
void emu_profile_place(struct emu_warp *warp, const struct emu_insn *insn,
                       const int32_t *coordinates, uint32_t count);

#endif

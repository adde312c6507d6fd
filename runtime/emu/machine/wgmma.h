// What the rest of the machine needs of wgmma: the check of registers that are still in flight.
// The product itself is model/wgmma.c's.
#ifndef TMG_EMU_MACHINE_WGMMA_H
#define TMG_EMU_MACHINE_WGMMA_H

#include "runtime/emu/machine/machine.h"

// Reports an instruction that touches registers of a wgmma not yet waited for.
void emu_wgmma_check_registers(struct emu_warp *warp, const struct emu_insn *insn, uint32_t mask);
void emu_wgmma_free(struct emu_warp *warp);

#endif

// Functions that PTX declares and the driver provides.
// printf's work is here, so that a kernel's messages come out in the order of the emulated threads.
#ifndef TMG_EMU_EXEC_PRINT_H
#define TMG_EMU_EXEC_PRINT_H

#include "runtime/emu/check/check.h"

// Runs [insn]'s callee if it is one of them; arguments and returns are lists of local offsets or
// NULL. False if there is no such function.
bool emu_call_builtin(struct emu_warp *warp, const struct emu_insn *insn, uint32_t mask,
                      const uint32_t *arguments, const uint32_t *returns);

#endif

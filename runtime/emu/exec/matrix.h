// What the matrix instructions of a warp share: who takes part, and the registers of an operand.
#ifndef TMG_EMU_EXEC_MATRIX_H
#define TMG_EMU_EXEC_MATRIX_H

#include "runtime/emu/exec/lanes.h"
#include "runtime/emu/model/convert.h"

// ---- mma.c ----

// True when all lanes of the warp are here; else false after a report.
bool emu_whole_warp(struct emu_warp *warp, const struct emu_insn *insn, uint32_t mask);

// The model's number type of a PTX type; TMG_NUMBER_COUNT where matrices have none such.
enum tmg_number emu_matrix_number(uint8_t type);

// True when the list operand at [at] has [count] registers, each of 64 bits if [wide] and of at
// most 32 if not; then [rows] are theirs. Else false after a report.
bool emu_matrix_rows(struct emu_warp *warp, const struct emu_insn *insn, unsigned at, int count,
                     bool wide, uint32_t **rows);

#endif

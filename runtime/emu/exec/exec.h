// The instructions: all tables of rows, each row with its handler.
// Nothing below knows a handler by its name; decode/ gets the tables, a program the rows.
#ifndef TMG_EMU_EXEC_H
#define TMG_EMU_EXEC_H

#include "runtime/emu/decode/decode.h"

// A row ends where nothing more is to be said of it: most have no facts.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

// All tables; the last has no rows. A form of an instruction is a row in one of them.
extern const struct emu_table emu_ops[];

extern const struct emu_op emu_ops_int[], emu_ops_bits[], emu_ops_float[], emu_ops_half[],
    emu_ops_convert[], emu_ops_compare[], emu_ops_memory[], emu_ops_atomic[], emu_ops_warp[],
    emu_ops_control[], emu_ops_barrier[], emu_ops_mbarrier[], emu_ops_copy[], emu_ops_bulk[],
    emu_ops_tensor[], emu_ops_wgmma[], emu_ops_mma[], emu_ops_cluster[], emu_ops_fence[],
    emu_ops_tensormap[], emu_ops_wmma[], emu_ops_video[], emu_ops_tmem[], emu_ops_tmem_shape[],
    emu_ops_tmem_copy[], emu_ops_tcgen05_mma[];

// What can be said of instructions before they run, see struct emu_table.

// ---- tmem.c ----

const char *emu_tmem_wrong(const struct emu_insn *insn, const struct ptx_statement *statement,
                           char *text, size_t size);

// ---- tmem_shape.c ----

const char *emu_tmem_shape_wrong(const struct emu_insn *insn, const struct ptx_statement *statement,
                                 char *text, size_t size);

#endif

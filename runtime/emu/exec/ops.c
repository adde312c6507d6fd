// The list of the instruction tables; a new table is a line here and one in exec.h.
// Of rows that take the same statement the first is meant, so that the order is part of it.
#include "runtime/emu/exec/exec.h"

#include <stddef.h>

const struct emu_table emu_ops[] = {
    {"integer", emu_ops_int, true},
    {"bits", emu_ops_bits, true},
    {"float", emu_ops_float, true},
    {"half", emu_ops_half, true},
    {"convert", emu_ops_convert, true},
    {"compare", emu_ops_compare, true},
    {"memory", emu_ops_memory, false},
    {"atomic", emu_ops_atomic, false},
    {"warp", emu_ops_warp, false},
    {"control", emu_ops_control, true},
    {"barrier", emu_ops_barrier, false},
    {"mbarrier", emu_ops_mbarrier, false},
    {"cp.async", emu_ops_copy, false},
    {"bulk copy", emu_ops_bulk, false, TMG_HAS_CLUSTERS},
    {"tensor copy", emu_ops_tensor, false, TMG_HAS_CLUSTERS},
    {"tensor map", emu_ops_tensormap, false, TMG_HAS_CLUSTERS},
    {"wgmma", emu_ops_wgmma, false, TMG_HAS_WGMMA},
    {"tensor memory", emu_ops_tmem, false, TMG_HAS_TENSOR_MEMORY, emu_tmem_wrong},
    {"tcgen05.mma", emu_ops_tcgen05_mma, false, TMG_HAS_TENSOR_MEMORY},
    {"tensor memory load", emu_ops_tmem_shape, false, TMG_HAS_TENSOR_MEMORY, emu_tmem_shape_wrong},
    {"tensor memory copy", emu_ops_tmem_copy, false, TMG_HAS_TENSOR_MEMORY},
    {"mma", emu_ops_mma, false},
    {"peer", emu_ops_cluster, false, TMG_HAS_CLUSTERS},
    {"fence", emu_ops_fence, false},
    {"wmma", emu_ops_wmma, false},
    {"video", emu_ops_video, true},
    {NULL, NULL, false},
};

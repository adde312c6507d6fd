// One element of a reduction in memory, by operation and type: bulk copies, red and atom share it.
// A pure function on bits, so that the order of a race can be explored by calling it again.
#ifndef TMG_EMU_MODEL_REDUCE_H
#define TMG_EMU_MODEL_REDUCE_H

#include "runtime/emu/model/convert.h"

enum tmg_reduce {
    TMG_REDUCE_ADD,
    TMG_REDUCE_MIN,
    TMG_REDUCE_MAX,
    TMG_REDUCE_INC,
    TMG_REDUCE_DEC,
    TMG_REDUCE_AND,
    TMG_REDUCE_OR,
    TMG_REDUCE_XOR,
    TMG_REDUCE_COUNT
};

// What memory holding [old] holds after reducing [value] into it. Floats round to nearest even.
// [far]: f32 additions flush subnormals to signed zero, as atom does in global memory and bulk
// reductions, against PTX ISA 9.7.9.25.4.2, were seen not to; f64 additions leave a NaN as it is.
uint64_t tmg_reduce_element(enum tmg_reduce op, enum tmg_number type, bool far, uint64_t old,
                            uint64_t value);

#endif

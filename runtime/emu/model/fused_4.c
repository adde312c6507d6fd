// The fused sum in vectors of 4 columns, which every machine has.
#include "runtime/emu/model/fused.h"

#define LANES 4
#define TARGET
#include "runtime/emu/model/fused_vector.h"
#include "runtime/emu/model/scaled_vector.h"

WAY(plain, true)

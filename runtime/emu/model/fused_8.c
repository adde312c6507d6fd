// The fused sum in vectors of 8 columns: of AVX2, or in plain C, which takes as many of a machine's
// own vectors for one as it must.
#define LANES 8
#include "runtime/emu/model/fused_vector.h"

WAY(plain, , true)
#if defined(__x86_64__)
WAY(avx2, __attribute__((target("avx2"))), __builtin_cpu_supports("avx2"))
#endif

// The fused sum in vectors of 8 columns, of AVX2.
#include "runtime/emu/model/fused.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define LANES  8
#define TARGET __attribute__((target("avx2")))
#include "runtime/emu/model/fused_vector.h"
#include "runtime/emu/model/scaled_vector.h"

WAY(avx2, __builtin_cpu_supports("avx2"))
#endif

// The fused sum in vectors of 16 columns, of AVX-512: half the instructions.
#include "runtime/emu/model/fused.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define LANES  16
#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#include "runtime/emu/model/fused_vector.h"
#include "runtime/emu/model/scaled_vector.h"

WAY(avx512, __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                __builtin_cpu_supports("avx512vl"))
#endif

// What the commands that run kernels share: the way from generated outputs to measure/.
#pragma once
#include "gen/generate.h"
#include "measure/kernels.h"

// The kernels of [count] results, in order; their texts stay the results'. Free the array.
struct kernel_text *kernels_of(const struct gen_result *results, size_t count, size_t *kernels);

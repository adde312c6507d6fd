// What the library costs the CPU: a launch against the driver's own, and a load out of the cache.
#pragma once
#include "measure/bench.h"

// Prints, for each of our kernels, the time of tmagen_kernel_launch and of a bare cuLaunchKernelEx
// with the same function, configuration and parameters, and of loading the kernel from a warm
// cache, in all and without the driver's module load. Returns an exit code as bench_all().
int overhead_all(const struct bench_plan *plan);

// The same for a set: a launch of a shape seen before, beside that of the kernel that it takes, and
// the choice for shapes that are new. A library error code, which it has said.
int overhead_set(struct gpu *gpu, struct rotation_source *source, const struct kernel_text *text,
                 bool json);

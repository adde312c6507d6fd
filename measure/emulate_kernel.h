// The command `tmagen emulate SPEC --shape`, behind its arguments: a generated kernel on the
// emulator as anyone's PTX is, with what the checker says and what it took, and no comparison.
#pragma once
#include <stdio.h>

#include "measure/kernels.h"

struct emulate_plan {
    const struct kernel_text *kernel;
    const struct shape *shape;
    uint64_t seed;  // of the first order
    int schedules;  // orders to run it in
};

// Prints reports, or that there were none, to [out]. Returns an exit code: 0; 1 where anything was
// found; 2 where the kernel is not for this shape; 3 where it cannot be compiled here.
int emulate_kernel(const struct emulate_plan *plan, FILE *out);

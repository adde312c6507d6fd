// The command `tmagen profile`, behind its arguments: what each kernel costs, as far as compiler
// and emulator can say without a GPU. A kernel that is right but slow shows here, and nowhere else.
#pragma once
#include <stdio.h>

#include "measure/kernels.h"

struct profile_plan {
    const struct kernel_text *kernels;
    size_t kernel_count;
    const struct shape_list *shapes;  // of them the first that is for a kernel; none: its own
    bool only_ptx;                    // without what the assembler says
};

// Prints a paragraph for each kernel to [out]: the compiler's resources, the grid that a whole GPU
// gets at the family's typical shape, and the counts of one launch on the emulator, on the largest
// of its shapes for that. Returns an exit code: 1 where a kernel is wrong.
int profile_all(const struct profile_plan *, FILE *out);

// Which kernels may stand in one contest: those that take the same tensors.
#pragma once
#include <stddef.h>

#include "measure/kernels.h"

// 0; or -1 where two kernels that [shapes] would bring together (one without a type brings all)
// differ in a tensor's type or layout: the first two such are named on stderr.
int kernels_alike(const struct kernel_text *kernels, size_t count, const struct shape_list *shapes);

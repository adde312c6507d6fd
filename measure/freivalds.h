// A check of a whole matrix product in O(n^2) per block of columns, after Freivalds (1977).
// It says where to look: what it lists is computed exactly by who calls, so it may be sharp.
#pragma once
#include "measure/reference.h"

// D[m,n] = A[m,k] B[n,k]^T + bias[n]. [accumulation] is the standard deviation that summing in the
// kernel's arithmetic adds to an element, in units of the root of the summed squares of its
// products.
struct freivalds {
    const struct ref_tensor *a, *b, *d;
    const struct ref_tensor *bias;  // or NULL
    bool a_columns, b_columns;      // stored as [k,m], as [k,n]
    double accumulation;
};

// Lists the pieces of rows of D, up to 256 elements each, that are not the product up to rounding.
//
// For a piece J of D's columns and random signs x_j, the sum of x_j D_ij over J must equal
// A_i . (sum of x_j B_j) + sum of x_j bias_j. What rounding of D's elements adds to the difference
// has standard deviation s = sqrt(sum of (u D_ij)^2 * 0.18 + ...) with u the type's relative
// rounding; a piece that is off by more than 4 s, or not a number, is listed. So one piece in about
// 10^6 is listed for nothing, and one wrong element is missed only where its error is below about
// 0.1 of the root mean square of D in bf16 and 0.02 in fp16 and fp32. Returns 0, or -1 without
// memory.
int freivalds_check(const struct freivalds *, uint64_t seed, struct ref_spans *spans);

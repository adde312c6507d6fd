// The part `measured` of a dispatch table: what its kernels took at some shapes, told to the
// library by how far off the model is there.
#pragma once
#include "gen/spec.h"
#include "runtime/table.h"

// The lines of the JSON for the rows of [list], each {shape: S, us: {KERNEL: T, KERNEL/SPLITS: T}},
// of a table without them. A kernel that a row does not name took longer than the slowest that it
// does, if [all] says of that kernel that every row measured it. Free them. Errors go to the diag.
char *measured_lines(struct diag *, const struct spec_node *list, const struct tmg_table *,
                     const char *suffix, const bool *all);

// The shapes that a dispatch table's kernels were measured at.
#pragma once

#include "runtime/table.h"

// Reads [count] rows of [list] into [table], whose dims and launches are known and which has room
// for as many shapes. TMAGEN_ERROR_MANIFEST, with the place in the document, or _MEMORY.
int tmg_measured_read(struct tmg_table *table, const struct tmg_node *list, unsigned count);

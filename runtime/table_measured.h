// The shapes that a dispatch table's kernels were measured at.
#pragma once

#include "runtime/table.h"

// Reads [count] rows of [list] into [table], whose dims and launches are known and which has room
// for as many shapes. TMAGEN_ERROR_MANIFEST, with the place in the document, or _MEMORY.
int tmg_measured_read(struct tmg_table *table, const struct tmg_node *list, unsigned count);

// Writes a measured shape's sizes, dim by dim: exact below 700,000 or so, as far as a float has
// their logs.
void tmg_measured_shape(const struct tmg_table *table, const struct tmg_measured *measured,
                        int64_t *shape);

// Makes the shape at place [index] one that nothing is near, or what it was.
void tmg_measured_hide(struct tmg_table *table, unsigned index, int hidden);

// How many blocks a launch has, and how much workspace: the manifest's rules, evaluated.
// The rules are a small fixed vocabulary and not a language, so they are a few functions.
#pragma once

#include "runtime/binding.h"

// What of the device the rules look at.
struct tmg_capacity {
    int sms;
    int resident_blocks;  // at once on the device, in whole clusters; 0: not known
};

// The grid of [binding], which is not empty. TMAGEN_ERROR_ARGUMENT when a grid that large is
// illegal.
int tmg_grid_size(const struct tmg_binding *binding, const struct tmg_capacity *capacity,
                  unsigned grid[3]);

// The number of tiles in row [index] of the grid's rule.
int64_t tmg_tile_count(const struct tmg_binding *binding, unsigned index);

// The bytes of workspace that the launch needs.
int tmg_workspace_bytes(const struct tmg_binding *binding, int64_t *bytes);

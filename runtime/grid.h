// How many blocks a launch has, how much workspace, and what it costs: the manifest's rules,
// evaluated. The rules are a small fixed vocabulary and not a language, so they are a few
// functions.
#pragma once

#include "runtime/binding.h"

enum { TMG_SEMAPHORES = 64 << 10 };  // bytes at the beginning of a workspace that has any

// What of the device the rules look at.
struct tmg_capacity {
    int sms;
    int resident_blocks;  // at once on the device, in whole clusters; 0: not known
    // What a workspace begins with where launches of other shapes, or of other kernels, share it:
    // semaphores, and nothing else that any of them writes there. 0: none is kept. A launch that
    // has more of them finds them written to, and clears them each time.
    int64_t semaphore_bytes;
};

// The grid of [binding], which is not empty. TMAGEN_ERROR_ARGUMENT when a grid that large is
// illegal, or has more SMs than the device.
int tmg_grid_size(const struct tmg_binding *binding, const struct tmg_capacity *capacity,
                  unsigned grid[3]);

// The SMs of the device whose blocks are resident at once: the most that a launch may name.
int tmg_grid_sms(const struct tmg_manifest *manifest, const struct tmg_capacity *capacity);

// The number of tiles in row [index] of the grid's rule.
int64_t tmg_tile_count(const struct tmg_binding *binding, unsigned index);

// The tiles along each axis of the grid.
void tmg_count_tiles(const struct tmg_binding *binding, int64_t tiles[3]);

// How many launches (one), tiles, items, blocks and SMs the launch has; fails as tmg_grid_size().
int tmg_launch_counts(const struct tmg_binding *binding, const struct tmg_capacity *capacity,
                      int64_t counts[TMG_PER_COUNT]);

// The same for a launch that has these tiles.
int tmg_counts_of(const struct tmg_binding *binding, const struct tmg_capacity *capacity,
                  const int64_t tiles[3], int64_t counts[TMG_PER_COUNT]);

// Where the parts of the workspace lie: [ends] behind each kind of clearing, offsets of each part.
struct tmg_layout {
    int64_t bytes, offsets[TMG_MAX_PARTS];
    int64_t zero_launch, zero_first;  // the bytes from its beginning that are cleared then
};
int tmg_workspace_layout(const struct tmg_binding *binding, const struct tmg_capacity *capacity,
                         struct tmg_layout *layout);

// The same for a launch that has these counts.
int tmg_layout_of(const struct tmg_binding *binding, const struct tmg_capacity *capacity,
                  const int64_t counts[TMG_PER_COUNT], struct tmg_layout *layout);

// What the launch spends of each unit, by the manifest's rows.
int tmg_launch_cost(const struct tmg_binding *binding, const struct tmg_capacity *capacity,
                    double cost[TMG_UNITS]);

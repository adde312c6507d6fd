// Evaluates the manifest's grid and workspace rules.
#include "runtime/grid.h"

#include <inttypes.h>

#include "runtime/error.h"

static const int64_t largest[3] = {INT32_MAX, 65535, 65535};  // of a grid, by axis

int64_t tmg_tile_count(const struct tmg_binding *binding, unsigned index) {
    const struct tmg_tile *tile = &binding->manifest->grid.tiles[index];
    int64_t extent = tmg_extent_value(&tile->extent, binding->dims);
    return extent <= 0 ? 0 : (extent - 1) / tile->by + 1;
}

// The product of the tiles on [axis], INT64_MAX where it is no number.
static int64_t tiles_on_axis(const struct tmg_binding *binding, int axis) {
    const struct tmg_grid *grid = &binding->manifest->grid;
    int64_t product = 1;
    for (unsigned i = 0; i < grid->tile_count; ++i) {
        if (grid->tiles[i].axis != axis) continue;
        if (__builtin_mul_overflow(product, tmg_tile_count(binding, i), &product)) return INT64_MAX;
    }
    return product;
}

// The blocks of those tiles, if no fewer blocks take them all.
static int64_t blocks_on_axis(const struct tmg_binding *binding, int axis) {
    int64_t blocks = tiles_on_axis(binding, axis);
    const int64_t of_tile = axis == 0 ? binding->manifest->grid.blocks_per_tile : 1;
    return __builtin_mul_overflow(blocks, of_tile, &blocks) ? INT64_MAX : blocks;
}

static int check_tiles(const struct tmg_binding *binding) {
    const struct tmg_grid *grid = &binding->manifest->grid;
    const int64_t tiles = tiles_on_axis(binding, 0);
    if (grid->rule != TMG_GRID_PERSISTENT || tiles <= grid->max_tiles) return TMAGEN_OK;
    return tmg_fail(
        TMAGEN_ERROR_ARGUMENT,
        "%s: %" PRId64 " tiles%s; legal: at most %" PRId64 ", as many as the kernel can count",
        binding->manifest->name, tiles, tiles == INT64_MAX ? " or more" : "", grid->max_tiles);
}

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

// As many blocks as are resident at once, and no more than [blocks]; whole clusters.
static int64_t persistent_blocks(const struct tmg_grid *grid, const struct tmg_capacity *capacity,
                                 int64_t blocks, int64_t cluster) {
    int64_t most = grid->blocks_per_sm * capacity->sms;
    if (capacity->resident_blocks > 0) most = smaller(most, capacity->resident_blocks);
    if (grid->max_blocks) most = smaller(most, grid->max_blocks);
    most = most / cluster * cluster;
    if (most < cluster) most = cluster;
    return smaller(blocks, most);
}

int tmg_grid_size(const struct tmg_binding *binding, const struct tmg_capacity *capacity,
                  unsigned size[3]) {
    const struct tmg_manifest *manifest = binding->manifest;
    const int status = check_tiles(binding);
    if (status) return status;
    for (int axis = 0; axis < 3; ++axis) {
        int64_t cluster = manifest->cluster[axis], blocks = blocks_on_axis(binding, axis);
        if (blocks < INT64_MAX - cluster) blocks = (blocks + cluster - 1) / cluster * cluster;
        if (axis == 0 && blocks > 0 && manifest->grid.rule == TMG_GRID_PERSISTENT)
            blocks = persistent_blocks(&manifest->grid, capacity, blocks, cluster);
        if (blocks < 1 || blocks > largest[axis])
            return tmg_fail(TMAGEN_ERROR_ARGUMENT,
                            "%s: the grid's axis %d has %" PRId64 " blocks; legal: 1 to %" PRId64,
                            manifest->name, axis, blocks, largest[axis]);
        size[axis] = (unsigned)blocks;
    }
    return TMAGEN_OK;
}

int tmg_workspace_bytes(const struct tmg_binding *binding, int64_t *bytes) {
    const struct tmg_workspace *workspace = &binding->manifest->workspace;
    int64_t tiles = 1;
    for (int axis = 0; axis < 3 && workspace->rule == TMG_WORKSPACE_PER_TILE; ++axis) {
        if (__builtin_mul_overflow(tiles, blocks_on_axis(binding, axis), &tiles)) tiles = INT64_MAX;
    }
    *bytes = 0;
    if (workspace->rule == TMG_WORKSPACE_NONE) return TMAGEN_OK;
    if (__builtin_mul_overflow(tiles, workspace->bytes, bytes))
        return tmg_fail(TMAGEN_ERROR_ARGUMENT, "%s: the workspace is larger than an address space",
                        binding->manifest->name);
    return TMAGEN_OK;
}

// Evaluates the manifest's rules: grid, workspace, cost.
#include "runtime/grid.h"

#include <inttypes.h>

#include "runtime/error.h"

// Blocks of a grid, by axis.
static const int64_t largest[3] = {INT32_MAX, TMG_MAX_ACROSS, TMG_MAX_ACROSS};

int64_t tmg_tile_count(const struct tmg_binding *binding, unsigned index) {
    const struct tmg_tile *tile = &binding->manifest->grid.tiles[index];
    const int64_t tiles = tmg_extent_value(&tile->extent, binding->dims);
    return tiles < 0 ? 0 : tiles;
}

// The product, INT64_MAX where it is no number; neither is negative.
static int64_t product(int64_t a, int64_t b) {
    int64_t both;
    return __builtin_mul_overflow(a, b, &both) ? INT64_MAX : both;
}

void tmg_count_tiles(const struct tmg_binding *binding, int64_t tiles[3]) {
    const struct tmg_grid *grid = &binding->manifest->grid;
    tiles[0] = tiles[1] = tiles[2] = 1;
    for (unsigned i = 0; i < grid->tile_count; ++i) {
        int64_t *axis = &tiles[grid->tiles[i].axis];
        *axis = product(*axis, tmg_tile_count(binding, i));
    }
}

// The blocks on [axis], if no fewer blocks take all of its tiles.
static int64_t blocks_on_axis(const struct tmg_binding *binding, const int64_t *tiles, int axis) {
    const struct tmg_grid *grid = &binding->manifest->grid;
    return axis ? tiles[axis] : product(tiles[0], grid->blocks_per_tile * binding->splits);
}

static int check_tiles(const struct tmg_binding *binding, int64_t tiles) {
    const struct tmg_grid *grid = &binding->manifest->grid;
    const int64_t items = product(tiles, binding->splits);
    if (grid->rule != TMG_GRID_PERSISTENT || items <= grid->max_tiles) return TMAGEN_OK;
    return tmg_fail(
        TMAGEN_ERROR_ARGUMENT,
        "%s: %" PRId64 " tiles%s; legal: at most %" PRId64 ", as many as the kernel can count",
        binding->manifest->name, items, items == INT64_MAX ? " or more" : "", grid->max_tiles);
}

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

// The SMs that the launch uses: its own number, else all.
static int64_t sms_of(const struct tmg_binding *binding, const struct tmg_capacity *capacity) {
    return binding->sms ? binding->sms : capacity->sms;
}

int tmg_grid_sms(const struct tmg_manifest *manifest, const struct tmg_capacity *capacity) {
    const int64_t most = capacity->resident_blocks / manifest->grid.blocks_per_sm;
    if (manifest->grid.rule != TMG_GRID_PERSISTENT || !most) return capacity->sms;
    return (int)smaller(most, capacity->sms);
}

// A number of SMs that the launch names is kept to the block, because results may vary with it.
static int check_sms(const struct tmg_binding *binding, const struct tmg_capacity *capacity) {
    const struct tmg_grid *grid = &binding->manifest->grid;
    if (grid->rule != TMG_GRID_PERSISTENT || !binding->sms) return TMAGEN_OK;
    const int64_t most = capacity->resident_blocks / grid->blocks_per_sm;
    if (!most || binding->sms <= most) return TMAGEN_OK;
    return tmg_fail(TMAGEN_ERROR_ARGUMENT,
                    "%s: sms is %" PRId64 "; legal: up to %" PRId64
                    ", whose blocks are resident at once on this device",
                    binding->manifest->name, binding->sms, most);
}

// As many blocks as are resident at once, and no more than [blocks]; whole clusters.
static int64_t persistent_blocks(const struct tmg_binding *binding,
                                 const struct tmg_capacity *capacity, int64_t blocks,
                                 int64_t cluster) {
    const struct tmg_grid *grid = &binding->manifest->grid;
    int64_t most = grid->blocks_per_sm * sms_of(binding, capacity);
    if (capacity->resident_blocks > 0) most = smaller(most, capacity->resident_blocks);
    if (grid->max_blocks) most = smaller(most, grid->max_blocks);
    if (cluster > 1) most = most / cluster * cluster;
    if (most < cluster) most = cluster;
    return smaller(blocks, most);
}

// All of a grid, which a kernel can count and a GPU can end.
static int check_blocks(const struct tmg_manifest *manifest, const unsigned size[3]) {
    const int64_t blocks = product(product(size[0], size[1]), size[2]);
    if (blocks <= largest[0]) return TMAGEN_OK;
    return tmg_fail(TMAGEN_ERROR_ARGUMENT,
                    "%s: the grid has %" PRId64 " blocks; legal: at most %" PRId64, manifest->name,
                    blocks, largest[0]);
}

static int grid_of(const struct tmg_binding *binding, const struct tmg_capacity *capacity,
                   const int64_t tiles[3], unsigned size[3]) {
    const struct tmg_manifest *manifest = binding->manifest;
    int status = check_tiles(binding, tiles[0]);
    if (!status) status = check_sms(binding, capacity);
    if (status) return status;
    for (int axis = 0; axis < 3; ++axis) {
        int64_t cluster = manifest->cluster[axis], blocks = blocks_on_axis(binding, tiles, axis);
        if (axis && blocks == 1 && cluster <= 1) {
            size[axis] = 1;
            continue;
        }
        if (cluster > 1 && blocks < INT64_MAX - cluster)
            blocks = (blocks + cluster - 1) / cluster * cluster;
        if (axis == 0 && blocks > 0 && manifest->grid.rule == TMG_GRID_PERSISTENT)
            blocks = persistent_blocks(binding, capacity, blocks, cluster);
        if (blocks < 1 || blocks > largest[axis])
            return tmg_fail(TMAGEN_ERROR_ARGUMENT,
                            "%s: the grid's axis %d has %" PRId64 " blocks; legal: 1 to %" PRId64,
                            manifest->name, axis, blocks, largest[axis]);
        size[axis] = (unsigned)blocks;
    }
    return check_blocks(manifest, size);
}

int tmg_grid_size(const struct tmg_binding *binding, const struct tmg_capacity *capacity,
                  unsigned size[3]) {
    int64_t tiles[3];
    tmg_count_tiles(binding, tiles);
    return grid_of(binding, capacity, tiles, size);
}

int tmg_counts_of(const struct tmg_binding *binding, const struct tmg_capacity *capacity,
                  const int64_t tiles[3], int64_t counts[TMG_PER_COUNT]) {
    unsigned grid[3];
    const int status = grid_of(binding, capacity, tiles, grid);
    if (status) return status;
    counts[TMG_PER_LAUNCH] = counts[TMG_PER_TILE] = counts[TMG_PER_BLOCK] = 1;
    for (int axis = 0; axis < 3; ++axis) {
        counts[TMG_PER_TILE] = product(counts[TMG_PER_TILE], tiles[axis]);
        counts[TMG_PER_BLOCK] = product(counts[TMG_PER_BLOCK], grid[axis]);
    }
    counts[TMG_PER_ITEM] = product(counts[TMG_PER_TILE], binding->splits);
    counts[TMG_PER_SM] = sms_of(binding, capacity);
    return TMAGEN_OK;
}

int tmg_launch_counts(const struct tmg_binding *binding, const struct tmg_capacity *capacity,
                      int64_t counts[TMG_PER_COUNT]) {
    int64_t tiles[3];
    tmg_count_tiles(binding, tiles);
    return tmg_counts_of(binding, capacity, tiles, counts);
}

int tmg_layout_of(const struct tmg_binding *binding, const struct tmg_capacity *capacity,
                  const int64_t counts[TMG_PER_COUNT], struct tmg_layout *layout) {
    enum { ALIGNMENT = 256 };
    const struct tmg_manifest *manifest = binding->manifest;
    int elsewhere = 0;  // whether launches of other shapes leave no zeros where semaphores are
    *layout = (struct tmg_layout){0};
    for (unsigned i = 0; i < manifest->part_count; ++i) {
        const struct tmg_part *part = &manifest->parts[i];
        int64_t at = (layout->bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        if (part->zero == TMG_ZERO_NEVER && at < capacity->semaphore_bytes)
            at = capacity->semaphore_bytes;
        struct tmg_bound_tensor matrix;
        const int64_t bytes = part->matrix.rank ? tmg_bind_part(part, binding->dims, &matrix)
                                                : product(part->bytes, counts[part->per]);
        if (bytes > (INT64_C(1) << 48) || at > (INT64_C(1) << 48))
            return tmg_fail(TMAGEN_ERROR_ARGUMENT,
                            "%s: the workspace is larger than an address space", manifest->name);
        layout->offsets[i] = at;
        layout->bytes = at + bytes;
        if (part->zero == TMG_ZERO_LAUNCH) layout->zero_launch = layout->bytes;
        if (part->zero == TMG_ZERO_LAUNCH && part->per != TMG_PER_LAUNCH) elsewhere = 1;
        if (part->zero != TMG_ZERO_NEVER) layout->zero_first = layout->bytes;
    }
    elsewhere |= layout->zero_first > capacity->semaphore_bytes;
    if (capacity->semaphore_bytes && elsewhere) layout->zero_launch = layout->zero_first;
    return TMAGEN_OK;
}

int tmg_workspace_layout(const struct tmg_binding *binding, const struct tmg_capacity *capacity,
                         struct tmg_layout *layout) {
    int64_t counts[TMG_PER_COUNT];
    int status = TMAGEN_OK;
    if (binding->manifest->part_count) status = tmg_launch_counts(binding, capacity, counts);
    return status ? status : tmg_layout_of(binding, capacity, counts, layout);
}

// What [row] says that each thing spends that it counts; splits change only how many there are.
static double cost_value(const struct tmg_binding *binding, const struct tmg_cost *row) {
    double spent = (double)row->amount;
    for (unsigned i = 0; i < row->factor_count; ++i)
        spent *= (double)tmg_extent_value(&row->factors[i], binding->dims);
    return spent;
}

int tmg_launch_cost(const struct tmg_binding *binding, const struct tmg_capacity *capacity,
                    double cost[TMG_UNITS]) {
    const struct tmg_manifest *manifest = binding->manifest;
    int64_t counts[TMG_PER_COUNT];
    const int status = tmg_launch_counts(binding, capacity, counts);
    for (int unit = 0; unit < TMG_UNITS; ++unit) cost[unit] = 0;
    for (unsigned i = 0; i < manifest->cost_count && !status; ++i) {
        const struct tmg_cost *row = &manifest->costs[i];
        cost[row->unit] += cost_value(binding, row) * (double)counts[row->per];
    }
    return status;
}

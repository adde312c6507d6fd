-- schedules.lua: the values of `grid`, a row each: who computes which part of D over which part of K.
-- A schedule is its row and schedule/NAME.cu.in, which keeps the contract of schedule/item.cu.in.

local archs = require "archs"
local rows = require "rows"

-- The CTAs that share an SM, where they are more than one: the model wants to know.
local function resident_ctas(s, p)
    local registers = p.lane_registers or 1
    for _, role in ipairs(p.lane_registers and {} or p.registers) do
        registers = math.max(registers, math.min(role.registers, p.launch_registers))
    end
    local ctas = archs.resident_ctas(s.arch, p.threads, registers, p.smem_bytes)
    return ctas > 1 and ctas or nil
end

-- One CTA for each tile; blockIdx says which.
local function tile_a_cta(s, p)
    local tiles = { { dim = "n", by = s.tile.n * (p.alike or 1), axis = 0 } }
    tiles[#tiles + 1] = p.alike and { count = p.alike, axis = 0 } or nil
    tiles[#tiles + 1] = { dim = "m", by = s.tile.m, axis = 1 }
    tiles[#tiles + 1] = s.problem.batch and { dim = "batch", axis = 2 } or nil
    return rows.grid("tiles", tiles, { blocks_per_tile = p.cluster_size > 1 and p.cluster_size or nil,
        blocks_per_sm = resident_ctas(s, p) })
end

-- As many CTAs as the SMs hold, in whole clusters; each walks. [with]: splits, of a tile's parts; along, the CTAs of a
-- cluster that have the same tile; periodic, where a tile's rows are a few of each of many periods; apart, if its
-- columns are so many apart; groups, true of problems of which the device alone knows how many tiles there are: of each
-- as many as of all; rule, another.
local function walkers(s, with)
    with = with or {}
    local cluster, periodic = s.cluster.m * s.cluster.n * (with.along or 1), with.periodic
    local tiles = { { dim = "m", by = s.tile.m * s.cluster.m },
        { dim = "n", by = s.tile.n * s.cluster.n * (with.apart or 1) } }
    if periodic then
        tiles[1] = { dim = "period_groups", times = periodic.of // periodic.rows, by = s.cluster.m }
    end
    tiles[#tiles + 1] = with.apart and { count = with.apart } or nil
    tiles[#tiles + 1] = s.problem.batch and { dim = "batch" } or nil
    tiles[#tiles + 1] = with.groups and { dim = "groups" } or nil
    return rows.grid(with.rule or "persistent", tiles, { blocks_per_tile = cluster, blocks_per_sm = 1,
        max_tiles = with.splits and (1 << 30) // cluster, splits = with.splits })
end

local function of_groups(s)
    return walkers(s, { groups = true })
end

-- The same of problems whose sizes all stand on the device: no more tiles than D has pieces of 16 bytes.
local function of_array(s)
    return rows.grid("persistent", { { dim = "d_pieces" } },
        { blocks_per_tile = s.cluster.m * s.cluster.n, blocks_per_sm = 1 })
end

local function cta_an_sm(s, p)
    -- of eighths CTAs are counted as if a tile's columns lay together: so their tables were measured
    return walkers(s, { periodic = p.periodic, apart = p.apart and p.apart > 8 and p.apart or nil })
end

-- As many CTAs as there are tiles, in whole clusters, of which those that run take over what others would do.
local function cta_a_tile(s)
    return walkers(s, { rule = "tiles" })
end

-- A cluster a tile, of CTAs that divide its K.
local function part_a_cta(s)
    return rows.grid("persistent", { { dim = "m", by = s.tile.m }, { dim = "n", by = s.tile.n } },
        { blocks_per_tile = s.splits, blocks_per_sm = 1 })
end

local function parts_an_sm(s, p)
    return walkers(s, { splits = { default = s.splits, most = 64 }, along = p.shares and p.in_cluster or nil })
end

-- walks: a CTA has any number of items, one after another, in the order of `raster`; clusters and ping-pong need that.
-- parts: an item may be a part of a tile's K; their sums meet in the workspace: { counters =, sums = } are needed, so
-- many for each of what the manifest counts; varies_with, what the sums' order depends on; takes_splits, whether it
-- wants the launch's number; most_steps along K, so that those of all the tiles that it divides are an int.
-- asks: Work asks for its next tile, and takes the shared memory for that.
-- in_cluster: the CTAs of a cluster, `splits` of them, have parts of one tile; their sums meet in shared memory.
-- shares: so have `cluster.k` of them, and each of them has, in the end, the sums of its share of the tile.
-- batches: it hands out the problems of a batch, one after the other. groups: an item belongs to one of several
-- problems, of which the device knows the sizes: { tensor = that holds them, counts = they are numbers of rows, not
-- where rows end, along_k = groups are parts of K instead, array = it is a table of problems, each with its own
-- matrices and sizes, of = the tensors that have a matrix for each group }.
-- by_grid: blockIdx says which tile it is, so that no size along M or N is asked for. launch: the grid in a few
-- words. grid(s): the manifest's rule.
return {
    { name = "tiles", doc = "a CTA a tile", batches = true, by_grid = true,
      launch = "ceil(n / tile.n) x ceil(m / tile.m)", grid = tile_a_cta },
    { name = "persistent", doc = "a CTA an SM that walks the tiles", walks = true, batches = true,
      launch = "persistent: min(tiles, SMs), in whole clusters", grid = cta_an_sm },
    { name = "launch_control", doc = "a CTA, or cluster, a tile, which those that run take over (tcgen05)",
      walks = true, asks = true, batches = true, launch = "tiles, in whole clusters", grid = cta_a_tile },
    { name = "split_k", doc = "the same, where a tile's K is divided by `splits`: for few tiles and a long K",
      walks = true, launch = "persistent: min(tiles x splits, SMs), in whole clusters", grid = parts_an_sm,
      parts = { counters = { 1, "tile" }, sums = { 1, "item" }, varies_with = { "splits" }, takes_splits = true } },
    { name = "stream_k", doc = "whole waves of tiles first, then the steps along K of the rest, dealt out evenly",
      walks = true, launch = "persistent: min(tiles x splits, SMs), in whole clusters", grid = parts_an_sm,
      parts = { counters = { 1, "block" }, sums = { 2, "block" }, varies_with = { "sms", "splits" },
                most_steps = 1 << 21 } },
    { name = "cluster_k", doc = "the CTAs of a cluster divide a tile's K, and the first adds their sums",
      walks = true, in_cluster = true, launch = "persistent: min(tiles x splits, SMs), in whole clusters",
      grid = part_a_cta },
    { name = "shares_k", doc = "`cluster.k` CTAs of a cluster divide a tile's K, or a part; each adds up its share",
      walks = true, in_cluster = true, shares = true, grid = parts_an_sm,
      launch = "persistent: min(tiles x splits x cluster.k, SMs), in whole clusters",
      parts = { counters = { 1, "tile" }, sums = { 1, "item" }, varies_with = { "splits" }, takes_splits = true } },
    { name = "grouped", doc = "persistent, groups' rows behind each other in A and D, up to ends[g], a B for each",
      walks = true, launch = "persistent: min(tiles x groups, SMs), in whole clusters", grid = of_groups,
      groups = { tensor = "ends", of = { b = true } } },
    { name = "grouped_k", doc = "persistent, groups' parts of K behind each other, up to ends[g], a D for each",
      walks = true, launch = "persistent: min(tiles x groups, SMs), in whole clusters", grid = of_groups,
      groups = { tensor = "ends", along_k = true, of = { d = true } } },
    { name = "masked", doc = "persistent, of each group's matrices in A and D the first counts[g] rows",
      walks = true, launch = "persistent: min(tiles x groups, SMs), in whole clusters", grid = of_groups,
      groups = { tensor = "counts", counts = true, of = { a = true, b = true, d = true } } },
    { name = "array", doc = "persistent, problems whose addresses, sizes and strides stand in problems[groups, 9]",
      walks = true, launch = "persistent: min(pieces of D, SMs), in whole clusters", grid = of_array,
      groups = { tensor = "problems", array = true, of = {} } },
}

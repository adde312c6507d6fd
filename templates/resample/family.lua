-- resample: out[B,T,D] = source[B,S,D] at the target times, linear in between, clamped at both ends; fp32 arithmetic.
-- The knobs and the ladder. Writing `out` is nearly all the traffic, so each rung removes what keeps a store waiting.

local plan = require "plan"
local manifest = require "manifest"
local checks = require "checks"

local function is_tile(s) return s.mapping == "tile" end
local function shares_times(s) return s.mapping == "lanes" or s.mapping == "tile" end
local function is_bulk(s) return s.mapping == "tile" and s.load == "tma_bulk" end

local knobs = {
    { "problem.dtype", type = "enum", values = { "bf16", "fp16", "fp32" }, default = "bf16",
      doc = "element type of the source and of the output; times are fp32" },
    { "problem.b", type = "dim", default = "dynamic", doc = "batches" },
    { "problem.s", type = "dim", default = "dynamic", doc = "source rows of a batch, any number" },
    { "problem.t", type = "dim", default = "dynamic", doc = "targets of a batch, in any order" },
    { "problem.d", type = "dim", default = "dynamic", doc = "features of a row, any number" },
    { "mapping", type = "enum", values = { "element", "warp", "lanes", "tile" }, default = "tile",
      doc = "element: a thread an output element and a search each; warp: a warp a target, one search by ballots; "
          .. "lanes: a lane searches for a target of its warp, shuffles pass it on; tile: a CTA searches for all "
          .. "its targets, then only streams" },
    { "threads", type = "int", min = 32, max = 1024, step = 32, default = 256, unit = "threads",
      doc = "threads of a CTA" },
    { "vector", type = "int", values = { 1, 2, 4, 8 }, default = plan.widest_vector, unit = "elements",
      doc = "elements that a lane moves at once, up to 16 bytes; where a dynamic d is no multiple, one by one, or "
          .. "with load: cp_async and store: bulk a launch is refused" },
    { "targets_per_warp", type = "int", min = 1, max = 256, default = 16, unit = "targets", when = shares_times,
      when_doc = "mapping is lanes (up to 32) or tile", doc = "targets of a CTA, a warp of it" },
    { "unroll", type = "int", values = { 1, 2, 4, 8 }, default = 4, unit = "vectors", when = shares_times,
      when_doc = "mapping is lanes or tile", doc = "vectors that a lane loads before it stores the first" },
    { "cached_times", type = "int", min = 0, max = 32768, default = 1024, unit = "times", when = shares_times,
      when_doc = "mapping is lanes or tile",
      doc = "source times of a batch that shared memory holds; where s is larger, searches read global memory" },
    { "reuse", type = "bool", default = false, when = function(s) return s.mapping == "lanes" end,
      when_doc = "mapping is lanes",
      doc = "a lane keeps its part of both rows while its next target needs the same: for sorted targets" },
    { "schedule", type = "enum", values = { "tiles", "persistent" }, default = "tiles",
      when = function(s) return s.mapping ~= "element" end, when_doc = "mapping is not element",
      doc = "tiles: a CTA a tile of a batch's targets; persistent: CTAs that walk all tiles" },
    { "blocks_per_sm", type = "int", min = 1, max = 32, default = 2, unit = "CTAs",
      when = function(s) return s.mapping ~= "element" end, when_doc = "mapping is not element",
      doc = "CTAs that an SM shall hold: bounds the registers, and is the grid of a persistent schedule" },
    { "load", type = "enum", values = { "ldg", "cp_async", "tma_bulk" }, default = "ldg", when = is_tile,
      when_doc = "mapping is tile",
      doc = "ldg: rows from global memory through L1; cp_async: each lane prefetches its own vectors; "
          .. "tma_bulk: one bulk copy brings a CTA's rows into shared memory" },
    { "store", type = "enum", values = { "direct", "bulk" }, default = "direct", when = is_tile,
      when_doc = "mapping is tile",
      doc = "direct: from registers; bulk: through shared memory, one bulk copy for each warp's unrolled vectors" },
    { "store_buffers", type = "int", min = 1, max = 4, default = 2, unit = "buffers",
      when = function(s) return s.mapping == "tile" and s.store == "bulk" end, when_doc = "store is bulk",
      doc = "staging buffers of a warp, written in turn" },
    { "stages", type = "int", min = 2, max = 16, default = 4, unit = "stages",
      when = function(s) return s.mapping == "tile" and s.load == "cp_async" end, when_doc = "load is cp_async",
      doc = "vectors that a lane has in its ring, the one at work included" },
    { "window", type = "int", min = 1, max = 220, default = plan.default_window, unit = "KiB", when = is_bulk,
      when_doc = "load is tma_bulk",
      doc = "shared memory for a CTA's source rows; a CTA whose targets span more reads global memory" },
    { "store_hint", type = "enum", values = { "none", "streaming" }, default = "none",
      when = function(s) return s.mapping ~= "element" and s.store ~= "bulk" end,
      when_doc = "mapping is not element and store is not bulk",
      doc = "streaming: the output leaves the caches first" },
}

local phases = {
    [0] = { title = "naive", doc = "one thread computes one element, with a binary search of its own",
            sets = { ["mapping"] = "element", ["threads"] = 256 } },
    [1] = { title = "a warp a target", doc = "one search for each target by ballots, vectors along d, a "
            .. "persistent grid",
            predict = "5.5 times: a search a row, with nothing to hide its chain of loads",
            sets = { ["mapping"] = "warp", ["schedule"] = "persistent", ["blocks_per_sm"] = 6 } },
    [2] = { title = "a lane a search", doc = "times in shared memory, 32 searches at once, several targets a warp",
            predict = "2.2 times: searches hide each other, the output's bytes begin to bind",
            sets = { ["mapping"] = "lanes", ["schedule"] = "tiles", ["targets_per_warp"] = 16, ["unroll"] = 2,
                     ["blocks_per_sm"] = 4 } },
    [3] = { title = "bulk copies", doc = "all searches first, rows by one bulk copy: then only stores touch memory",
            predict = "1.1 times: memset's rate for the output plus the reads",
            sets = { ["mapping"] = "tile", ["load"] = "tma_bulk", ["threads"] = 1024, ["targets_per_warp"] = 64,
                     ["unroll"] = 1, ["blocks_per_sm"] = 1 } },
}

-- The targets that a CTA takes at a time.
local function tile_of(p)
    for _, factor in ipairs(p.grid) do
        if factor[1] == "t" then return factor[2] end
    end
    return 128
end

-- What verify and bench must know beside reference.c. Shapes lie around the tile of targets, have one source row and
-- one more, features that no vector divides, more rows than shared memory holds, and several waves.
local function reference(s, p)
    local t = tile_of(p)
    return {
        dims = { "b", "s", "t", "d" }, typical = "256x100x2048x256", inputs = { "special" },
        draws = { "source_times", "target_times" }, flops = { { 4, "b", "t", "d" } }, cost = { { 200 } },
        small = { { 1, 1, 1, 1 }, { 2, 3, 9, 8 }, { 2, 40, t + 3, 24 }, { 3, 7, 5, 33 } },
        waves = p.persistent and { { 9 * s.blocks_per_sm, 41, t + 3, 24 } } or {},
        full = {
            { 1, 1, 1, 1 },                                        -- the smallest
            { 3, 1, 7, 40 },                                       -- one source row: nothing to interpolate
            { 2, 2, t, 64 },                                       -- one interval, a whole tile
            { 5, 33, t + 1, 136 },                                 -- just more than a tile
            { 4, 100, math.max(t - 1, 1), 31 },                    -- just less; elements one by one
            { 7, 77, 321, 250 },                                   -- rows of 4 bytes' alignment
            { 2, 5000, 700, 512 },                                 -- rows and times that exceed shared memory
            { 300, 20, 70, 16 },                                   -- many small batches
            { 33, 500, 2 * t, 128 },                               -- several waves
            { 1, 40000, 3000, 8 },                                 -- one long batch
        },
    }
end

return {
    name = "resample",
    doc = "out[B,T,D] = source[B,S,D] interpolated linearly at target times, clamped at both ends",
    template = function(s)
        return ({ element = "naive", warp = "warp", lanes = "lanes", tile = "tile" })[s.mapping] .. ".cu.in"
    end,
    arch = { "sm_90a" },
    knobs = knobs,
    phases = phases,
    default_phase = 3,
    checks = checks,
    plan = plan.plan,
    manifest = manifest,
    reference = reference,
    tune = {
        { ["phase"] = 2, ["threads"] = { 128, 256 }, ["targets_per_warp"] = { 8, 16, 32 }, ["unroll"] = { 1, 2, 4 },
          ["blocks_per_sm"] = { 2, 4, 8 } },
        { ["phase"] = 3, ["threads"] = { 256, 512, 1024 }, ["targets_per_warp"] = { 16, 32, 64, 128 },
          ["unroll"] = { 1, 2, 4 }, ["blocks_per_sm"] = { 1, 2, 4 } },
    },
}

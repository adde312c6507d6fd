-- quantise: 16-bit floats to E4M3, with a scale for every 128 elements of a row, as block-scaled GEMMs want them.
-- NaN stays NaN and counts for no scale; an infinity makes its block's scale infinite, its other elements 0 and itself
-- NaN; a block whose largest magnitude is below 2^-100 has the scale 2^-100 / 448.
-- From this table come validation, defaults, errors and `tmagen explain quantise`.

local plan = require "plan"
local manifest = require "manifest"
local checks = require "checks"

local function in_lanes(s) return s.mapping == "lanes" end
local function is_persistent(s) return s.schedule == "persistent" end

local knobs = {
    { "problem.m", type = "dim", default = "dynamic", doc = "rows" },
    { "problem.k", type = "dim", default = "dynamic",
      doc = "elements of a row; its last block may be shorter than 128" },
    { "problem.dtype", type = "enum", values = { "bf16", "fp16" }, default = "bf16", doc = "element type of x" },
    { "mapping", type = "enum", values = { "element", "lanes" }, default = "lanes",
      doc = "element: a thread takes a block, element by element; lanes: a few lanes share it, a vector each" },
    { "threads", type = "int", min = 32, max = 1024, step = 32, default = 256, unit = "threads",
      doc = "threads of a CTA" },
    { "vector", type = "int", values = { 4, 8, 16 }, default = 8, unit = "elements", when = in_lanes,
      when_doc = "mapping is lanes", doc = "elements of a block that a lane takes; 128 / vector lanes share a block" },
    { "unroll", type = "int", values = { 1, 2, 4, 8 }, default = 1, unit = "blocks", when = in_lanes,
      when_doc = "mapping is lanes", doc = "blocks that a lane loads before it quantises the first" },
    { "tile.m", type = "int", values = { 1, 2, 4, 8, 16, 32 }, default = 1, unit = "rows", when = in_lanes,
      when_doc = "mapping is lanes", doc = "rows of a CTA's tile; more of them for short rows" },
    { "schedule", type = "enum", values = { "tiles", "persistent" }, default = "tiles", when = in_lanes,
      when_doc = "mapping is lanes",
      doc = "tiles: a CTA a tile; persistent: as many CTAs as fit take tile after tile" },
    { "blocks_per_sm", type = "int", min = 1, max = 32, default = 4, unit = "CTAs", when = is_persistent,
      when_doc = "schedule is persistent", doc = "CTAs that share an SM" },
    { "store_hint", type = "enum", values = { "none", "streaming" }, default = "none", when = in_lanes,
      when_doc = "mapping is lanes", doc = "streaming: y leaves the caches first" },
}

local phases = {
    [0] = { title = "a thread a block", doc = "two passes over 128 elements, one at a time, nothing coalesced",
            sets = { mapping = "element", threads = 128 } },
    [1] = { title = "lanes", doc = "16 lanes a block: a 16-byte load and an 8-byte store each, the maximum by shuffles",
            predict = "10 to 20 times: whole sectors, and x is read once",
            sets = { mapping = "lanes", threads = 256, vector = 8, unroll = 1, schedule = "tiles" } },
    [2] = { title = "32 bytes a lane", doc = "8 lanes a block, two loads each, and stores that leave the caches first",
            predict = "+5%: twice the bytes in flight, fewer shuffles a block, and y does not drive x out of the L2",
            sets = { threads = 128, vector = 16, store_hint = "streaming" } },
}

-- What verify and bench must know beside reference.c: short last blocks, single elements, and edges of tiles.
local reference = {
    dims = { "m", "k" }, typical = "8192x8192", inputs = { "special" }, draws = { "x" }, cost = { { 130 } },
    small = { { 1, 1 }, { 3, 200 }, { 2, 4240 }, { 37, 128 } }, waves = { { 75, 300 } },
    full = { { 1, 1 }, { 3, 200 }, { 37, 128 }, { 1000, 7168 }, { 8191, 8208 }, { 100003, 144 } },
}

return {
    name = "quantise",
    doc = "y[m,k] = E4M3(x[m,k] / scales[m,k/128]), scales[m,b] = max |x| of block b / 448",
    template = function(s) return s.mapping .. ".cu.in" end,
    arch = { "sm_90a" },
    knobs = knobs,
    phases = phases,
    default_phase = 2,
    checks = checks,
    plan = plan,
    manifest = manifest,
    reference = reference,
    tune = {
        { ["phase"] = 2, ["vector"] = { 8, 16 }, ["unroll"] = { 1, 2, 4 }, ["tile.m"] = { 1, 2, 4, 8 },
          ["threads"] = { 128, 256, 512 }, ["store_hint"] = { "none", "streaming" } },
        { ["phase"] = 2, ["schedule"] = "persistent", ["vector"] = { 8, 16 }, ["unroll"] = { 1, 2, 4 },
          ["tile.m"] = { 1, 4 }, ["blocks_per_sm"] = { 2, 4, 8 } },
    },
}

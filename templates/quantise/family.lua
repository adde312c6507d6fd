-- quantise: 16-bit floats to E4M3, with a scale for every 128 elements of a row, as block-scaled GEMMs want them, for
-- 128 x 128, a row or all; of gated pairs too.
-- NaN stays NaN and counts for no scale; an infinity makes its block's scale infinite, its other elements 0 and itself
-- NaN; a block whose largest magnitude is below 2^-100 has the scale 2^-100 / 448.
-- From this table come validation, defaults, errors and `tmagen explain quantise`.

local plan = require "plan"
local manifest = require "manifest"
local checks = require "checks"

local function in_vectors(s) return s.mapping == "lanes" end
local function of_blocks(s) return s.scales == "1x128" end
local function in_tiles(s) return in_vectors(s) and of_blocks(s) end
local function is_persistent(s) return s.schedule == "persistent" end

local knobs = {
    { "problem.m", type = "dim", default = "dynamic", doc = "rows" },
    { "problem.k", type = "dim", default = "dynamic",
      doc = "elements of a row; its last block may be shorter than 128" },
    { "problem.dtype", type = "enum", values = { "bf16", "fp16" }, default = "bf16", doc = "element type of x" },
    { "scales", type = "enum", values = { "1x128", "128x128", "row", "tensor" }, default = "1x128",
      doc = "what shares a scale: 128 elements of a row, a block of as many rows of them, a row, or all" },
    { "order", type = "enum", values = { "row", "column" }, default = "row", when = of_blocks,
      when_doc = "scales is 1x128", doc = "row: scales[m, k / 128]; column: scales[k / 128, m]" },
    { "swiglu", type = "bool", default = false,
      doc = "x has 2 k columns, and what is quantised is silu of the first k times the others" },
    { "mapping", type = "enum", values = { "element", "lanes" }, default = "lanes",
      doc = "element: a thread takes a block, element by element; lanes: a few lanes share it, a vector each, or a "
          .. "CTA's threads the row, or the 128 x 128 elements, of one scale" },
    { "threads", type = "int", min = 32, max = 1024, step = 32, default = 256, unit = "threads",
      doc = "threads of a CTA" },
    { "vector", type = "int", values = { 4, 8, 16 }, default = 8, unit = "elements", when = in_vectors,
      when_doc = "mapping is lanes", doc = "elements of a block that a lane takes; 128 / vector lanes share it" },
    { "unroll", type = "int", values = { 1, 2, 4, 8 }, default = 1, unit = "blocks", when = in_vectors,
      when_doc = "mapping is lanes", doc = "blocks that a lane loads before it quantises the first" },
    { "tile.m", type = "int", values = { 1, 2, 4, 8, 16, 32 }, default = 1, unit = "rows", when = in_tiles,
      when_doc = "mapping is lanes and scales is 1x128", doc = "rows of a CTA's tile; more of them for short rows" },
    { "schedule", type = "enum", values = { "tiles", "persistent" }, default = "tiles", when = in_tiles,
      when_doc = "mapping is lanes and scales is 1x128",
      doc = "tiles: a CTA a tile; persistent: as many CTAs as fit take tile after tile" },
    { "blocks_per_sm", type = "int", min = 1, max = 32, default = 4, unit = "CTAs", when = is_persistent,
      when_doc = "schedule is persistent", doc = "CTAs that share an SM" },
    { "store_hint", type = "enum", values = { "none", "streaming" }, default = "none", when = in_vectors,
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
local function reference(s)
    local costs = { ["1x128"] = { 130 }, ["128x128"] = { 16640 }, row = { 2, "k" }, tensor = { 2, "m", "k" } }
    local list = {
        dims = { "m", "k" }, typical = "8192x8192", inputs = { "special" }, draws = { "x" },
        cost = { costs[s.scales] }, small = { { 1, 1 }, { 3, 200 }, { 2, 4240 }, { 37, 128 } }, waves = { { 75, 300 } },
        full = { { 1, 1 }, { 3, 200 }, { 37, 128 }, { 1000, 7168 }, { 8191, 8208 }, { 100003, 144 } },
    }
    if s.scales == "1x128" and s.order == "row" and not s.swiglu then
        return list
    end
    list.values = { rows = s.scales == "128x128" and 128 or s.scales == "tensor" and -1 or nil,
        columns = not s.scales:match("x128") and -1 or nil, column = s.order == "column" or nil,
        swiglu = s.swiglu or nil }
    if s.scales ~= "1x128" then
        list.small, list.waves = { { 1, 1 }, { 3, 200 }, { 130, 264 }, { 2, 4240 } }, { { 75, 304 } }
        list.full = s.scales == "tensor" and { { 1, 1 }, { 3, 200 }, { 130, 264 }, { 2, 4240 }, { 1000, 16 } }
            or { { 1, 1 }, { 3, 200 }, { 130, 264 }, { 200, 7168 }, { 33, 40000 } }
    end
    return list
end

return {
    name = "quantise",
    doc = "y[m,k] = E4M3(x[m,k] / scale), a scale being max |x| / 448 of 1x128 or 128x128 elements, a row or all",
    template = function(s) return in_vectors(s) and not of_blocks(s) and "cta.cu.in" or s.mapping .. ".cu.in" end,
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

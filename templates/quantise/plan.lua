-- plan.lua: what follows from quantise's knobs: lanes, tiles, launch.
-- Pure functions of the resolved spec; the manifest, explain and the template read the same values.

local archs = require "archs"
local dtypes = require "dtypes"
local parameters = require "parameters"
local vectors = require "vectors"

local BLOCK = 128                                                   -- elements, or rows of them, that share a scale

-- What a thread moves at once, and what it holds of it: pairs as they are or, of gated ones, their product.
local function vector(s, p)
    p.multiple_of = s.vector                                        -- of k
    p.load = vectors.of_bytes(math.min(16, s.vector * p.element.bits // 8))
    p.loads = s.vector * p.element.bits // 8 // p.load.bytes         -- of a vector
    p.load_pairs = p.load.bytes // 4
    p.store = vectors.of_bytes(s.vector)
    p.held = s.swiglu and { name = "values", type = "float", count = "VECTOR" }
        or { name = "pairs", type = "uint32_t", count = "PAIRS" }
end

-- Who takes what: a CTA's groups of lanes stand in tile.m rows, and each takes `unroll` blocks beside each other.
local function lanes(s, p)
    vector(s, p)
    p.lanes = BLOCK // s.vector
    p.groups = s.threads // p.lanes
    p.tile_m, p.tile_k = s.tile.m, p.groups // s.tile.m * s.unroll * BLOCK
    p.persistent, p.finds = s.schedule == "persistent", true
end

local function element(s, p)
    p.tile_m, p.tile_k, p.multiple_of = 1, s.threads * BLOCK, 1
end

-- A CTA has a row, or 128 of as many columns; one scale of all is found by a kernel before.
local function cta(s, p)
    vector(s, p)
    p.finds = true
    if s.scales == "128x128" then
        p.tile_m, p.tile_k, p.unroll = BLOCK, BLOCK, math.max(1, BLOCK * BLOCK // s.vector // s.threads)
        return
    end
    p.tile_m, p.tile_k, p.unroll = 1, s.threads * s.vector * s.unroll, s.unroll
    p.find = s.scales == "tensor" and { entry = "find_largest" } or nil
end

-- how a spec's elements are laid out over threads
local function layout_of(s)
    return s.mapping == "element" and element or s.scales == "1x128" and lanes or cta
end

-- The dims of the scales.
local function scales_of(s, p)
    local blocks = s.order == "column" and { "blocks", "m" } or { "m", "blocks" }
    local dims = { ["1x128"] = blocks, ["128x128"] = { "row_blocks", "blocks" }, row = { "m" }, tensor = { 1 } }
    return dims[s.scales]
end

return function(s)
    local p = { block = BLOCK, element = dtypes[s.problem.dtype] }
    layout_of(s)(s, p)
    p.place = s.order == "column" and "static_cast<int64_t>(block) * m + row" or "row * blocks + block"    -- of a scale
    p.roles = { { name = "all", first_warp = 0, warps = s.threads // 32 } }
    p.registers = { { role = "all", warps = s.threads // 32,
        registers = archs.launch_registers(s.arch, s.threads, p.persistent and s.blocks_per_sm or 1) } }
    p.tensors = {
        { name = "x", dtype = s.problem.dtype, dims = { "m", s.swiglu and { dim = "k", times = 2 } or "k" },
          access = "read", alignment = p.load and p.load.bytes },
        { name = "y", dtype = "e4m3", dims = { "m", "k" }, access = "write", alignment = p.store and p.store.bytes },
        { name = "scales", dtype = "fp32", dims = scales_of(s, p), access = "write" },
    }
    local list = { { kind = "pointer", tensor = "x" }, { kind = "pointer", tensor = "y" },
        { kind = "pointer", tensor = "scales" } }
    local by_row = s.scales == "row" or s.scales == "tensor"
    local whole_rows = s.mapping == "element" and s.order == "row" or by_row
    local own = whole_rows and { "k" } or { "m", "k" }                -- that it reads; else the grid has whole rows
    p.dims = p.find and { "m", "k" } or own                           -- and the kernel before
    for _, row in ipairs(parameters.dims(s.problem, own)) do
        list[#list + 1] = row
    end
    local found = { kind = "workspace", part = "found", cuda = "uint32_t" }
    list[#list + 1] = p.find and found
    p.parameters = parameters.list(p.tensors, list)
    if p.find then
        p.find.parameters = parameters.list(p.tensors, { list[1], found,
            table.unpack(parameters.dims(s.problem, { "m", "k" })) })
    end
    local tiles = ("ceil(m / %d) x ceil(k / %d)"):format(p.tile_m, p.tile_k)
    if by_row then tiles = "m" end
    p.launch = { block = { s.threads, 1, 1 },
        grid = p.persistent and ("min(%s, SMs * %d)"):format(tiles, s.blocks_per_sm) or tiles }
    return p
end

-- plan.lua: what follows from quantise's knobs: lanes, tiles, launch.
-- Pure functions of the resolved spec; the manifest, explain and the template read the same values.

local archs = require "archs"
local dtypes = require "dtypes"
local parameters = require "parameters"
local vectors = require "vectors"

local BLOCK = 128                                                   -- elements that share a scale

-- Who takes what: a CTA's groups of lanes stand in tile.m rows, and each takes `unroll` blocks beside each other.
local function lanes(s, p)
    p.lanes = BLOCK // s.vector
    p.groups = s.threads // p.lanes
    p.tile_m, p.tile_k = s.tile.m, p.groups // s.tile.m * s.unroll * BLOCK
    p.multiple_of = s.vector                                        -- of k
    p.persistent = s.schedule == "persistent"
    p.load = vectors.of_bytes(math.min(16, s.vector * p.element.bits // 8))
    p.loads = s.vector * p.element.bits // 8 // p.load.bytes         -- of a vector
    p.load_pairs = p.load.bytes // 4
    p.store = vectors.of_bytes(s.vector)
end

local function element(s, p)
    p.tile_m, p.tile_k, p.multiple_of = 1, s.threads * BLOCK, 1
end

return function(s)
    local p = { block = BLOCK, element = dtypes[s.problem.dtype] }
    local lay_out = s.mapping == "lanes" and lanes or element
    lay_out(s, p)
    p.roles = { { name = "all", first_warp = 0, warps = s.threads // 32 } }
    p.registers = { { role = "all", warps = s.threads // 32,
        registers = archs.launch_registers(s.arch, s.threads, p.persistent and s.blocks_per_sm or 1) } }
    p.tensors = {
        { name = "x", dtype = s.problem.dtype, dims = { "m", "k" }, access = "read",
          alignment = p.load and p.load.bytes },
        { name = "y", dtype = "e4m3", dims = { "m", "k" }, access = "write", alignment = p.store and p.store.bytes },
        { name = "scales", dtype = "fp32", dims = { "m", "blocks" }, access = "write" },
    }
    local list = { { kind = "pointer", tensor = "x" }, { kind = "pointer", tensor = "y" },
        { kind = "pointer", tensor = "scales" } }
    p.dims = s.mapping == "lanes" and { "m", "k" } or { "k" }         -- that it reads; else the grid has whole rows
    for _, row in ipairs(parameters.dims(s.problem, p.dims)) do
        list[#list + 1] = row
    end
    p.parameters = parameters.list(p.tensors, list)
    local tiles = ("ceil(m / %d) x ceil(k / %d)"):format(p.tile_m, p.tile_k)
    p.launch = { block = { s.threads, 1, 1 },
        grid = p.persistent and ("min(%s, SMs * %d)"):format(tiles, s.blocks_per_sm) or tiles }
    return p
end

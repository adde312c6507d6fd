-- manifest.lua: what the runtime must know of a resample kernel beyond its plan. Tensors have no gaps.

local rows = require "rows"

local STEP = 1 << 16 -- no loop over features or times steps further

local function dims(s, p)
    local multiple = s.problem.d == "dynamic" and not p.scalar_path and s.vector or 1
    return {
        { name = "b", value = s.problem.b }, { name = "s", value = s.problem.s, most = rows.largest(STEP) },
        { name = "t", value = s.problem.t, most = rows.largest(p.targets) },
        { name = "d", value = s.problem.d, multiple_of = multiple, most = rows.largest(STEP) } }
end

local function grid(s, p)
    local tiles = {}
    for i, factor in ipairs(p.grid) do
        tiles[i] = { dim = factor[1], by = factor[2] }
    end
    local per_sm = p.persistent and { blocks_per_sm = s.blocks_per_sm }
    return rows.grid(p.persistent and "persistent" or "tiles", tiles, per_sm)
end

local function cost(p)
    local function moves(unit, amount, ...)
        return { unit = unit, per = "launch", amount = amount, times = { ... } }
    end
    return { moves("dram_bytes", p.bytes, "b", "s", "d"), moves("dram_bytes", 4, "b", "s"),
        moves("dram_bytes", 4, "b", "t"), moves("dram_bytes", p.bytes, "b", "t", "d"),
        moves("store_bytes", p.bytes, "b", "t", "d") }
end

return function(s, p)
    return rows.manifest("resample", s, p, {
        dims = dims(s, p), tensors = p.tensors, grid = grid(s, p), cost = cost(p),
    })
end

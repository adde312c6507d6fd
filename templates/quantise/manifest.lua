-- manifest.lua: what the runtime must know of a quantise kernel beyond its plan. Tensors have no gaps.

local rows = require "rows"

return function(s, p)
    local tiles = { { dim = "m", by = p.tile_m }, { dim = "k", by = p.tile_k } }
    local function moves(unit, amount, ...)
        return { unit = unit, per = "launch", amount = amount, times = { ... } }
    end
    return rows.manifest("quantise", s, p, {
        dims = {
            { name = "m", value = s.problem.m, most = rows.largest(p.tile_m) },
            { name = "k", value = s.problem.k, multiple_of = p.multiple_of, most = rows.largest(p.tile_k) },
            { name = "blocks", ceil = { dim = "k", by = p.block } },
        },
        tensors = p.tensors,
        grid = rows.grid(p.persistent and "persistent" or "tiles", tiles,
            p.persistent and { blocks_per_sm = s.blocks_per_sm }),
        cost = { moves("dram_bytes", 3, "m", "k"), moves("dram_bytes", 4, "m", "blocks"),
            moves("store_bytes", 1, "m", "k"), moves("store_bytes", 4, "m", "blocks") },
    })
end

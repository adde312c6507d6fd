-- manifest.lua: what the runtime must know of a quantise kernel beyond its plan. Tensors have no gaps.

local rows = require "rows"

-- The kernel before, which finds the largest magnitude of all.
local function find(s, p)
    return { entry = p.find.entry, block = { s.threads, 1, 1 }, parameters = p.find.parameters,
        grid = rows.grid("persistent", { { dim = "m" } }, { blocks_per_sm = math.max(1, 1024 // s.threads) }),
        cost = { { unit = "dram_bytes", per = "launch", amount = s.swiglu and 4 or 2, times = { "m", "k" } } } }
end

return function(s, p)
    local tiles = { { dim = "m", by = p.tile_m }, { dim = "k", by = p.tile_k } }
    if s.scales == "row" or s.scales == "tensor" then tiles[2] = nil end
    local function moves(unit, amount, ...)
        return { unit = unit, per = "launch", amount = amount, times = { ... } }
    end
    local scales = p.tensors[3].dims
    if p.find then scales = {} end
    return rows.manifest("quantise", s, p, {
        dims = {
            { name = "m", value = s.problem.m, most = rows.largest(p.tile_m) },
            { name = "k", value = s.problem.k, multiple_of = p.multiple_of,
              most = rows.largest(p.tile_k) // (s.swiglu and 2 or 1) },
            { name = "blocks", ceil = { dim = "k", by = p.block } },
            s.scales == "128x128" and { name = "row_blocks", ceil = { dim = "m", by = p.block } } or nil,
        },
        tensors = p.tensors,
        grid = rows.grid(p.persistent and "persistent" or "tiles", tiles,
            p.persistent and { blocks_per_sm = s.blocks_per_sm }),
        workspace = p.find and { { name = "found", bytes = 4, per = "launch", zero = "launch" } } or nil,
        before = p.find and { find(s, p) } or nil,
        cost = { moves("dram_bytes", s.swiglu and 5 or 3, "m", "k"), moves("dram_bytes", 4, table.unpack(scales)),
            moves("store_bytes", 1, "m", "k"), moves("store_bytes", 4, table.unpack(scales)) },
    })
end

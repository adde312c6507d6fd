-- manifest.lua: what the runtime must know of a deform_attn kernel beyond its plan.
-- The rows of value are fixed by the levels, so a launch with another number of them is refused.

local rows = require "rows"

local STEP = 1 << 16 -- no loop over the items of a batch steps further, but from one CTA's to the next's

local function dims(s, p)
    local step = math.max(STEP, (s.queries_per_block or 1) * s.problem.heads)
    return { { name = "b", value = s.problem.b }, { name = "s", value = p.pixels },
        { name = "q", value = s.problem.q, most = rows.largest(step) // s.problem.heads } }
end

local function grid(s, p)
    local tiles, more = {}, { blocks_per_sm = p.persistent and s.blocks_per_sm or nil }
    for i, factor in ipairs(p.grid) do
        tiles[i] = { dim = factor[1], times = factor[3], by = factor[2] }
    end
    if s.schedule == "dynamic" then -- the counter of groups has 32 bits, half of them for draws behind the end
        more.max_tiles = (1 << 31) // math.max(p.warps, (s.problem.heads + p.items - 1) // p.items)
    end
    return rows.grid(p.persistent and "persistent" or "tiles", tiles, more)
end

local function cost(s, p)
    local points, out_bytes = s.problem.heads * p.points_of_item, s.problem.heads * s.problem.channels * p.bytes
    return {
        { unit = "l1_bytes", per = "launch", amount = points * 4 * p.head_bytes, times = { "b", "q" } },
        { unit = "dram_bytes", per = "launch", amount = p.record_bytes, times = { "b", "s" } },
        { unit = "dram_bytes", per = "launch", amount = 3 * points * p.bytes + out_bytes, times = { "b", "q" } },
        { unit = "store_bytes", per = "launch", amount = out_bytes, times = { "b", "q" } },
    }
end

return function(s, p)
    local counter = { name = "counter", bytes = 4, per = "launch", zero = "launch" }
    return rows.manifest("deform_attn", s, p, {
        dims = dims(s, p), tensors = p.tensors, grid = grid(s, p), cost = cost(s, p),
        workspace = s.schedule == "dynamic" and { counter } or nil,
    })
end

-- manifest.lua: what the runtime must know of a gemm kernel beyond its plan: dims, tensors, grid, cost.

local rows = require "rows"

-- What a tile ends beyond must be an int too, and so must a group of the tile order.
local function dims(s, p)
    local wgmma, list = p.mma ~= nil, {}
    for i, name in ipairs { "m", "n", "k" } do
        local step = s.tile[name] * (name ~= "k" and wgmma and s.cluster[name] or 1)
        local most = (name ~= "k" or wgmma) and rows.largest(math.max(step, s.raster.group)) // step * step
        if name == "k" and p.work.parts and p.work.parts.most_steps then
            most = math.min(most, p.work.parts.most_steps * step)
        end
        list[i] = { name = name, value = s.problem[name], multiple_of = p.multiples[name], most = most or nil }
    end
    for _, operand in ipairs(p.op_operands) do
        list[#list + 1] = operand.period and { name = operand.name .. "_rows", value = operand.period } or nil
    end
    return list
end

-- A tile here is what the grid counts: a cluster's where CTAs walk, which reads each operand once.
local function cost(s, p)
    local clusters = p.work.walks and s.cluster or { m = 1, n = 1 }
    local m, n, k, steps = s.tile.m * clusters.m, s.tile.n * clusters.n, s.tile.k, { { dim = "k", by = s.tile.k } }
    local a, b, d = p.a_type.bits // 8, p.b_type.bits // 8, p.d.bits // 8
    local list = { { unit = "flops", per = "tile", amount = 2 * m * n, times = { "k" } } }
    if p.mma then
        list = {
            { unit = "tensor_flops", per = "tile", amount = 2 * m * n * k, times = steps },
            { unit = "shared_bytes", per = "tile", times = steps,
              amount = (s.tile.m * a + s.tile.n * b) * k * clusters.m * clusters.n },
            { unit = "l2_bytes", per = "tile", amount = (m * a + n * b) * k, times = steps },
            { unit = "steps", per = "tile", amount = 1, times = steps },
        }
    end
    if p.work.parts then
        local count, per = table.unpack(p.work.parts.sums)                            -- written and read
        list[#list + 1] = { unit = "l2_bytes", per = per, amount = 2 * 4 * count * s.tile.m * s.tile.n
            * (per == "block" and 1 or clusters.m * clusters.n) }
    end
    list[#list + 1] = { unit = "store_bytes", per = "tile", amount = m * n * d }
    for _, part in ipairs { { a, "m", "k" }, { b, "n", "k" }, { d, "m", "n" } } do
        list[#list + 1] = { unit = "dram_bytes", per = "launch", amount = part[1], times = { part[2], part[3] } }
    end
    return list
end

local function ops(p)
    local list = {}
    for i, op in ipairs(p.ops) do
        local operand = op.operand
        list[i] = { op = op.row.name, tensors = operand and { operand.name },
            values = operand and operand.period and { { operand.rows, operand.period } } or nil }
    end
    return list
end

return function(s, p)
    return rows.manifest("gemm", s, p, {
        dims = dims(s, p), tensors = p.tensors, grid = p.work.grid(s), ops = ops(p), cost = cost(s, p),
        workspace = p.workspace or nil, varies_with = p.work.parts and p.work.parts.varies_with or nil,
    })
end

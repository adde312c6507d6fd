-- manifest.lua: what the runtime must know of a gemm kernel beyond its plan: dims, tensors, grid, cost.

local dtypes = require "dtypes"
local rows = require "rows"
local reads = require "epilogue/reads"

-- What a tile ends beyond must be an int too, and so must a group of the tile order.
local function dims(s, p)
    local wgmma, list = p.mma ~= nil, {}
    if p.array then
        return { { name = "groups", value = s.problem.groups, most = p.groups.most }, { name = "a_pieces" },
            { name = "b_pieces" }, { name = "d_pieces" } }
    end
    for i, name in ipairs { "m", "n", "k" } do
        local step = s.tile[name] * (name ~= "k" and wgmma and s.cluster[name] or 1)
        if name == "n" then step = step * (p.apart or p.alike or 1) end
        local most = (name ~= "k" or wgmma) and rows.largest(math.max(step, s.raster.group)) // step * step
        if p.apart and name == "k" then most = most - s.tile.k end
        if name == "k" and p.work.parts and p.work.parts.most_steps then
            most = math.min(most, p.work.parts.most_steps * step)
        end
        list[i] = { name = name, value = s.problem[name], multiple_of = p.multiples[name], most = most or nil }
    end
    for _, dim in ipairs(p.scaled and p.scaled.dims or {}) do
        list[#list + 1] = { name = dim .. "_blocks", ceil = { dim = dim, by = 128 } }
    end
    list[#list + 1] = p.periodic and { name = "period_groups",
        ceil = { dim = "m", by = s.tile.m // p.periodic.rows * p.periodic.of } } or nil
    list[#list + 1] = p.batched and { name = "batch", value = s.problem.batch } or nil
    list[#list + 1] = p.groups and { name = "groups", value = s.problem.groups, most = p.groups.most } or nil
    for _, operand in ipairs(p.op_operands) do
        list[#list + 1] = operand.period and { name = operand.name .. "_rows",
            value = operand.wrapped_rows or operand.period } or nil
    end
    return list
end

-- What the tensor cores read of shared memory for a k step of a CTA: 64 rows of one operand and the other's tile each
-- time.
local function operand_reads(s, p)
    if p.tcgen05 then
        return p.stage_bytes                                        -- once each; of a pair half of B
    end
    local rows, columns = s.tile.m, s.tile.n
    if p.exchanged then rows, columns = columns, rows end
    return rows // 64 * (64 * p.a_type.bits + columns * p.b_type.bits) // 8 * s.tile.k
end

-- What loads by threads move through the same wires for a k step of a CTA: two loads around each piece of 16 bytes,
-- which cross lines, and its way into shared memory.
local function copies(s, p)
    return p.ldg and 4 * (p.a.stage_bytes + p.b.stage_bytes) or 0
end

-- What the parts of split tiles write and read of the workspace; nil where no tile is split.
local function sums(s, p, clusters)
    if not p.work.parts then return nil end
    local count, per = table.unpack(p.work.parts.sums)
    return { unit = "store_bytes", per = per, amount = 2 * 4 * count * s.tile.m * s.tile.n
        * (per == "block" and 1 or clusters.m * clusters.n), scatters = p.scatter }
end

-- Bytes of what an SM's L1 and shared memory move, in lines of 128, for a tile of [count] elements of D: operands that
-- each row reads by itself, 32 lanes of 32 rows at once; and D on its way by staging, or pairs in sectors of 32 bytes.
local function epilogue_lines(s, p, count)
    local bytes = 0
    for _, operand in ipairs(p.op_operands) do
        local pieces = operand.held and 8 or 2                      -- elements of a load
        if operand.kind == "matrix" then
            bytes = bytes + count // pieces * (operand.blocks and 64 or 128)
        end
    end
    return bytes + (not p.store and count // 2 * 32 or (p.store.by_threads and 3 or 2) * count * p.d.bits // 8)
end

-- What an epilogue of its own warps spends on a cluster's tile. Half of the stores hide behind the next part's work
-- where there is a buffer for that; threads read staging and write, bulk copies only read.
local function epilogue_role(s, p, count, ctas, steps)
    local stored
    if p.store then
        stored = count * p.d.bits // 8 * (p.store.by_threads and 2 or 1) // (s.epilogue.buffers > 1 and 2 or 1)
    else
        stored = count // 2 * 32
    end
    return {
        { unit = "sums_bytes", per = "tile", amount = 4 * count },
        { unit = "epilogue_warps", per = "tile", amount = p.epilogue_warps * ctas },
        { unit = "l1_bytes", per = "tile", amount = p.stage_bytes * ctas, times = steps },
        { unit = "l1_bytes", per = "tile", amount = epilogue_lines(s, p, count) },
        { unit = "store_bytes", per = "tile", amount = stored, overlaps = s.accumulators > 1 },
    }
end

-- What the L2 delivers of operand [name], whose [rows] are read once for each [other]: {dim=, by=}. The rows of one
-- that is copied before begin with lines, whatever the tensor's do.
local function fetches(name, type, rows, other, repacked)
    local stored, k = dtypes.stored(type.name, "k")
    return { unit = "l2_bytes", per = "launch", amount = dtypes.bytes(stored.name), times = { rows, k, other },
        tensor = not repacked and name or nil }
end

-- The kernel that copies operands to the workspace: as many CTAs as fit, which share the tiles of all.
local function repack(s, p)
    local cost, by = {}, 8 * p.repack.rows
    for i, operand in ipairs(p.repack.operands) do
        cost[i] = { unit = "dram_bytes", amount = 2 * dtypes.bytes(operand.dtype),
            times = { operand.extent:lower(), "k", p.batched and "batch" or nil } }
    end
    local tiles = { { dim = "m", by = by }, { dim = "n", by = by }, { dim = "k", by = by * 2 * p.piece.elements } }
    if p.apart then
        tiles = { { dim = "m" }, { dim = "k", plus = p.apart - 1, by = 1024 } }
        cost[1].amount = dtypes.bytes(p.a.dtype) * p.apart
    end
    tiles[#tiles + 1] = p.batched and { dim = "batch" } or nil
    return { entry = p.repack.entry, block = { 32 * p.repack.rows, 1, 1 }, parameters = p.repack.parameters,
        cost = cost, grid = rows.grid("persistent", tiles, { blocks_per_sm = 8, max_tiles = (1 << 31) - 1 }) }
end

-- The kernel that writes maps of A and B for each group, a warp each.
local function group_maps(p)
    return { entry = p.group_maps.entry, block = { p.group_maps.threads, 1, 1 }, parameters = p.group_maps.parameters,
        grid = rows.grid("tiles", { { dim = "groups", by = p.group_maps.groups, axis = 0 } }) }
end

-- Adds what boxes bring to [list]: whole tiles of [m] rows and [n] columns, whose K [along] CTAs divide; of an operand
-- with boxes of few rows at its edge, as many of them as it has rows for, and of a cluster's tiles those that lie in D.
local function boxes(s, p, m, n, along, list)
    local k, bits = { dim = "k", by = s.tile.k * along }, 0
    if p.ldg or p.groups then
        return
    end
    local function at_edges(operand, type, rows, tile, other)
        local step = operand.cut or p.beyond and p.beyond[rows] and s.tile[rows]
        if step then
            list[#list + 1] = { unit = "box_bytes", per = "launch", amount = step * type.bits // 8 * k.by,
                times = { { dim = rows, by = step }, k, other } }
        else
            bits = bits + tile * type.bits
        end
    end
    at_edges(p.a, p.a_type, "m", m, { dim = "n", by = n })
    at_edges(p.b, p.b_type, "n", n, { dim = "m", by = m })
    list[#list + 1] = bits > 0 and { unit = "box_bytes", per = "tile", amount = bits // 8 * k.by, times = { k } } or nil
end

-- How many times as long as by TMA a store takes whose lanes write pairs, in halves of sectors: on an H200 .08 us a KB
-- and SM for .02, by 4,400 times of 60 kernels. Where parts of tiles are added up that is in the rates of parts.
local function by_pairs(p)
    return (p.store or p.work.parts) and 1 or 4
end

-- A tile here is what the grid counts: a cluster's where CTAs walk, which reads each operand once. Its split parts
-- share its steps.
local function multiplies(s, p)
    local clusters = p.work.walks and s.cluster or { m = 1, n = 1 }
    local m, n = s.tile.m * clusters.m, s.tile.n * clusters.n
    local along = p.shares and p.in_cluster or 1                    -- CTAs that divide K
    local steps = { { dim = "k", by = s.tile.k * along } }
    local bits = p.spread and 8 or p.a_type.bits                    -- of an element that is multiplied
    local list = {
        { unit = "tensor_flops", per = "tile", amount = 2 * m * n * s.tile.k * along * bits // 16, times = steps },
        { unit = "shared_bytes", per = "tile",
          amount = (operand_reads(s, p) + copies(s, p)) * clusters.m * clusters.n * along, times = steps },
        fetches("a", p.a_type, "m", { dim = "n", by = n }, p.a.repacked),
        fetches("b", p.b_type, "n", { dim = "m", by = m }, p.b.repacked),
        { unit = "steps", per = "tile", amount = 1, times = steps, ahead = p.ldg and 1 or s.stages },
    }
    boxes(s, p, m, n, along, list)
    list[#list + 1] = p.shares and { unit = "peers", per = "item",
        amount = clusters.m * clusters.n * along * (along - 1) } or nil
    if p.tcgen05 then
        local role = epilogue_role(s, p, m * n // (p.gated and 2 or 1), clusters.m * clusters.n, steps)
        role[#role + 1] = sums(s, p, clusters)
        return table.move(role, 1, #role, #list + 1, list)
    end
    list[#list + 1] = { unit = "store_bytes", per = "tile", overlaps = p.pingpong,
        amount = m * n // (p.gated and 2 or 1) * p.d.bits // 8 * by_pairs(p) }
    list[#list + 1] = sums(s, p, clusters)
    return list
end

-- Warps that stream: a step of a CTA is one of each warp. Those that shift take some 35 KB a us in an SM of an H200 by
-- their instructions, an eighth of what its wires deliver; lanes that load registers read no shared memory.
local function streams(s, p)
    local m, n, bytes = s.tile.m, s.tile.n, p.a_type.bits // 8
    local slower = p.shifted and 8 or 1
    local warps = p.warps * p.parts
    local steps = { { dim = "k", by = s.tile.k * warps } }
    local list = {
        { unit = "tensor_flops", per = "tile", amount = 2 * m * n * s.tile.k * warps, times = steps },
        fetches("a", p.a_type, "m", { dim = "n", by = n }),
        fetches("b", p.b_type, "n", { dim = "m", by = m }),
        { unit = "steps", per = "tile", amount = 1, times = steps, ahead = s.stages },
        { unit = "store_bytes", per = "tile", amount = m * n * p.d.bits // 8 },
    }
    if not p.direct then
        table.insert(list, 2, { unit = "shared_bytes", per = "tile",
            amount = slower * (m + n) * s.tile.k * p.warps * bytes, times = steps })
    end
    return list
end

local function cost(s, p)
    local list = p.mma and multiplies(s, p) or s.math == "mma" and streams(s, p) or {
        { unit = "flops", per = "tile", amount = 2 * s.tile.m * s.tile.n, times = { "k" } },
        { unit = "store_bytes", per = "tile", amount = s.tile.m * s.tile.n * p.d.bits // 8 },
    }
    for _, part in ipairs { { "a", p.a_type, "m", "k" }, { "b", p.b_type, "n", "k" }, { "d", p.d, "m", p.columns } } do
        local stored, along = dtypes.stored(part[2].name, part[4])
        list[#list + 1] = { unit = "dram_bytes", per = "launch", amount = dtypes.bytes(stored.name),
            times = { part[3], along }, tensor = part[1] }
    end
    for _, row in ipairs(list) do
        local several = p.batched or p.groups and p.groups.of[row.tensor or "d"]
        if row.per == "launch" and several then
            table.insert(row.times, p.batched and "batch" or "groups")
        end
    end
    return list
end

-- The numbers that the spec fixed for an op, by their names.
local function values_of(op)
    local values = {}
    for i, number in ipairs(op.row.numbers or {}) do
        values[i] = { number.name, op.numbers[i] }
    end
    if op.operand and op.operand.period then
        values[#values + 1] = { op.operand.rows, op.operand.period }
    end
    if op.operand and op.operand.wrapped then
        values[#values + 1] = { "wrapped", op.operand.wrapped }
    end
    if op.operand and (op.operand.blocks or op.operand.blocked) then
        values[#values + 1] = { "block", op.operand.blocked and reads.BLOCK or 32 }
    end
    return #values > 0 and values or nil
end

local function ops(p)
    local list = {}
    for i, op in ipairs(p.ops) do
        local operand = op.operand
        local tensor = operand or op.output
        list[i] = { op = op.row.name, tensors = tensor and { tensor.name },
            scalars = op.scalar and { op.scalar.name } or nil,
            values = values_of(op) }
    end
    return list
end

return function(s, p)
    local before = p.repack and repack(s, p) or p.group_maps and group_maps(p)
    return rows.manifest("gemm", s, p, {
        dims = dims(s, p), tensors = p.tensors, grid = p.work.grid(s, p), ops = ops(p),
        cost = (not p.groups or p.groups.counts) and cost(s, p) or nil,     -- else the tiles are not counted
        dependent_launch = p.dependent_launch and true, before = before and { before },
        workspace = p.workspace or nil, varies_with = p.work.parts and p.work.parts.varies_with or nil,
    })
end

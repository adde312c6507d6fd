-- groups.lua: what follows from a schedule that lays several problems into one launch, their sizes on the device.

local groups = {}

-- [row]: that field of the schedule's row. Adds most, the groups that a CTA has room to list: whole warps of them.
function groups.plan(s, row)
    local count = s.problem.groups
    local most = count == "dynamic" and s.most_groups or (count + 31) // 32 * 32
    return { tensor = row.tensor, counts = row.counts or false, along_k = row.along_k or false, of = row.of,
        array = row.array or false, largest = 1 << 30, group_bytes = row.array and 16 or 8,
        most_of = row.along_k and "k" or "m", most = most }
end

-- Numbers of groups: none too many for a CTA to list, more than a warp, and one.
local GROUPS = { 3, 40, 8, 1 }

-- The same of an array of problems: shapes say how much memory each tensor has, of which every problem draws a part.
local function array_reference(s, p, one)
    local count = s.problem.groups
    local function shapes(list)
        for i, shape in ipairs(list) do
            table.insert(shape, 1, count == "dynamic" and GROUPS[i % #GROUPS + 1] or count)
        end
        return list
    end
    local m, n, k = s.tile.m, s.tile.n, s.tile.k
    one.dims = { "groups", "a_pieces", "b_pieces", "d_pieces" }
    one.small = shapes { { 1, 1, 1 }, { m * k // 2, n * k // 2, m * n // 4 }, { m * k // 4, n * k, m * n // 2 } }
    one.full = shapes { { 1, 1, 1 }, { m * k, n * k, m * n }, { 16 * m * k, 16 * n * k, 16 * m * n } }
    one.waves = shapes { { m * k * 2, n * k * 2, m * n } }
    one.draws, one.leaves, one.addresses = { "problems" }, { "d" }, { "problems", "a", "b", "d" }
    one.values.array, one.verified = true, { "bad", "edge" }
    one.inputs = { "special", "exact", "bad", "edge" }
    one.flops, one.cost, one.peer, one.product, one.matrix = nil, nil, nil, nil, nil
    one.typical = "8x1048576x1048576x1048576"
    return one
end

-- What verify and bench must know, [one] being that of one problem. Shapes begin with the number of groups. What is
-- drawn of their sizes: some without rows, by default; `one` that has all, a `rest` of rows that are nobody's, sizes
-- that cannot be (`bad`), and all rows of all (`full`).
function groups.reference(s, p, one)
    if p.groups.array then
        return array_reference(s, p, one)
    end
    local masked, along_k = p.groups.counts, p.groups.along_k
    one.values.along_k = along_k or nil
    for _, name in ipairs { "small", "waves", "full" } do
        for i, shape in ipairs(one[name]) do
            local count = s.problem.groups == "dynamic" and GROUPS[i % #GROUPS + 1] or s.problem.groups
            one[name][i] = { count, table.unpack(shape) }
        end
    end
    one.dims = { "groups", "m", "n", "k" }
    one.draws, one.leaves = one.draws or {}, { "d" }
    one.draws[#one.draws + 1] = p.groups.tensor
    for _, op in ipairs(p.ops) do
        one.leaves[#one.leaves + 1] = op.output and op.output.name
    end
    one.verified = { "one", "bad", not masked and "rest" or nil }
    one.inputs = table.move(one.verified, 1, #one.verified, #one.inputs + 1, one.inputs)
    one.inputs[#one.inputs + 1] = masked and "full" or nil
    one.flops = { masked and { 2, "groups", "m", "n", "k" } or { 2, "m", "n", "k" } }
    one.typical = masked and "64x16x2048x7168" or along_k and "8x4096x4096x8192" or "8x8192x4096x4096"
    one.peer, one.product = nil, nil
    return one
end

return groups

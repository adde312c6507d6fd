-- shapes.lua: what verify and bench must know of a kernel beside reference.c: sizes, what to draw, and what its ops are
-- to the reference.

local groups = require "schedule/groups"
local reads = require "epilogue/reads"

-- The product that Freivalds' check knows: with a bias, and no other op.
local function product_of(s, p)
    local first = p.ops[1] and p.ops[1].row.name
    if #p.ops > 1 or first and first ~= "bias" or s.scales.a or p.spread or p.quantised or p.packed then
        return nil
    end
    return { a = "a", b = "b", bias = first, a_columns = p.a_columns or nil, b_columns = p.b_columns or nil,
        sum_bits = p.sum_bits, promoted = p.promoted }
end

-- What verify gives for scalars; with special values, which a tensor has then, none of a tensor that is not read.
local function scalars_of(p)
    local list
    for _, op in ipairs(p.ops) do
        if op.scalar then
            list = list or {}
            list[op.scalar.name] = { usual = op.operand and 0.5 or -0.75, special = op.operand and 0 or -0.75 }
        end
    end
    return list
end

-- What reference.c must know of an op: its exact value, what approximate instructions may cost, y's tensor, and how
-- many rows it has, if they repeat.
local function ops_of(p)
    local list, scalars = {}, scalars_of(p)
    for i, op in ipairs(p.ops) do
        local operand = op.operand
        list[i] = { name = op.row.name, value = op.reference, error = op.error,
                    operand = operand and operand.name or "", kind = operand and operand.kind or "",
                    period = operand and operand.period or 0, writes = op.row.writes or "",
                    scalar = scalars and (op.row.scalar or "") or nil,
                    sums = p.op_sums.any and (op.row.sums and op.row.most and "row_most" or op.row.sums or "") or nil,
                    wrapped = p.reads.tma and (operand and operand.wrapped or 0) or nil,
                    block = p.reads.by == "blocked" and (operand and operand.blocked and reads.BLOCK or 0) or nil }
    end
    return list
end

-- which op makes one value of two
local function gate_of(p)
    for i, op in ipairs(p.ops) do
        if op.row.gates then
            return i
        end
    end
end

-- What reference.c draws by itself: operands of less than a byte, and scales.
local function draws_of(s, p)
    local list = s.scales.a and { "a_scales", "b_scales" } or {}
    for _, name in ipairs { "a", "b" } do
        list[#list + 1] = p[name .. "_type"].stored and name or nil
    end
    return #list > 0 and list or nil
end

local EMULATED_SMS <const> = 4

-- Several waves of tiles of [m] rows and [n] columns on the emulator, the last row and column of them half empty: of a
-- CTA's three or more tiles so many steps that its ring turns twice; in turns then a tile of more steps than the ring
-- has stages.
local function waves_of(s, p, m, n)
    local at_once = math.max(1, EMULATED_SMS // p.cluster_size)
    local columns = at_once > 2 and 5 or at_once + 1
    local wide = math.min(768, columns * n - n // 2)
    local rows = math.max(at_once > 1 and 3 or 2, math.ceil(3 * at_once / math.ceil(wide / n)))
    local tall = math.min(640, rows * m - m // 2)
    local each = math.ceil(tall / m) * math.ceil(wide / n) // at_once
    local steps = (2 * s.stages + each) // each * (p.in_cluster or 1)
    local long, longer = (steps - 1) * s.tile.k + 8, s.stages * s.tile.k + 8
    if p.groups then                                                       -- of which there are many
        long, longer = 0, 520
    end
    return { { tall, wide, math.max(136, long) }, s.schedule == "pingpong" and { tall, wide, longer } or nil }
end

-- What verify and bench must know beside reference.c. Shapes lie around the tile's edges in each dim, take several
-- waves of an H200, long and short k; n and k are rounded up to the multiples that the manifest wants.
local function reference_of_one(s, p)
    local shared = p.work.walks
    local m, n = s.tile.m * (shared and s.cluster.m or 1), s.tile.n * (shared and s.cluster.n or 1)
    local ragged = #(p.staged_scales or {}) > 0 and m - 4 or m - 1         -- whole 16 bytes of scales
    local small = { { 1, 1, 1 }, { m + 8, n + 8, 72 }, { 2 * m, n, 264 }, { ragged, 2 * n - 1, 130 } }
    if p.ldg or p.shifted or p.repack or p.alike then
        table.move({ { 7, 13, 17 }, { m + 1, 1, 67 }, { 1, n + 1, 1 } }, 1, 3, #small + 1, small)
    end
    if p.shifted then                       -- from odd addresses too: rings in turns over what came by element
        small[3] = { m - 1, n + 1, (s.stages + 1) * s.warps.consumer.count * s.tile.k + 13 }
    end
    if p.alike then                         -- columns in two groups, the last one's few
        small[3] = { m - 1, p.alike * n + 3, (s.warps.consumer.count + 1) * s.tile.k + 13 }
    end
    local waves = shared and waves_of(s, p, m, n) or {}
    if s.math == "mma" then
        waves = { { 3, 2 * n, (2 * s.stages + 1) * s.warps.consumer.count * s.tile.k + 8 } }    -- rings in turns
    end
    return {
        dims = { "m", "n", "k" }, typical = "4096x4096x4096", inputs = { "special", "exact" },
        peer = not (p.tcgen05 and s.scales.a) and "cublaslt" or nil,
        flops = { { 2, "m", "n", "k" } }, cost = { { 2, "k" } }, matrix = true,
        product = product_of(s, p), draws = draws_of(s, p),
        values = { ops = #p.ops > 0 and ops_of(p) or nil, gate = p.gated and gate_of(p) or nil,
            packed = p.packed or nil,
            a_columns = p.a_columns or nil, b_columns = p.b_columns or nil, sum_bits = p.sum_bits,
            promoted = p.promoted, a_scale_rows = p.scaled and p.scaled.a.block or nil,
            b_scale_rows = p.scaled and p.scaled.b.block or nil,
            a_scale_columns = p.scaled and p.scaled.a.column or nil,
            b_scale_columns = p.scaled and p.scaled.b.column or nil,
            block = p.tcgen05 and (s.scales.a and tonumber(s.scales.a:match("x(%d+)")) or p.spread and 32) or nil,
            a_exponent = p.a_type.exponent, a_mantissa = p.a_type.mantissa,
            b_exponent = p.b_type.exponent, b_mantissa = p.b_type.mantissa,
            quantised = p.quantised and p.quantised.block or nil, largest = p.quantised and p.d.largest or nil,
            ue4m3 = s.scales.a and s.scales.type == "ue4m3" or nil },
        scalars = scalars_of(p),
        small = small,
        waves = waves,
        full = (p.op_most or p.op_sums.any) and small or {
            { 1, 1, 1 },                                           -- the smallest that the manifest allows
            { m, n, 64 },                                          -- one tile, one step
            { m - 1, n - 1, 63 },                                  -- just less
            { m + 8, n + 8, 72 },                                  -- just more
            { 3 * m + 17, 5 * n - 8, 1000 },                       -- odd numbers of tiles: half-empty clusters
            { m * 150 + 1, n, 136 },                               -- a column of tiles, more than one wave
            { 3, n * 150 + 8, 264 },                               -- a row of tiles of which three rows exist
            { m * 21 + m // 2, n * 19 + 24, 520 },                 -- about three waves and a ragged rest
            { 2 * m, 2 * n, 8192 },                                -- long k
            { 2048, 2048, 2048 },                                  -- round
        },
    }
end

-- The same of a batch, which shapes begin with; one, two or three problems each.
return function(s, p)
    if p.groups then
        return groups.reference(s, p, reference_of_one(s, p))
    end
    local one = reference_of_one(s, p)
    if not s.problem.batch then
        return one
    end
    for _, name in ipairs { "small", "waves", "full" } do
        for i, shape in ipairs(one[name]) do
            local problems = s.problem.batch == "dynamic" and i % 3 + 1 or s.problem.batch
            one[name][i] = { problems, table.unpack(shape) }
        end
    end
    one.dims = { "batch", table.unpack(one.dims) }
    one.typical, one.flops, one.product = "64x512x512x512", { { 2, "batch", "m", "n", "k" } }, nil
    return one
end

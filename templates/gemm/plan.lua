-- plan.lua: what follows from gemm's knobs, in numbers: operands, shared memory, barriers, registers, launch.
-- Pure functions of the resolved spec; checks, the manifest, explain and the templates read the same values.

local archs = require "archs"
local dtypes = require "dtypes"
local parameters = require "parameters"
local swizzle = require "swizzle"
local epilogue = require "epilogue/epilogue"
local reads = require "epilogue/reads"
local schedules = require "schedule/schedules"

local plan = {}

local by_name = {}
for _, schedule in ipairs(schedules) do
    by_name[schedule.name] = schedule
end

-- the plan of the mma that `math` names: mma/NAME/plan.lua
local function mma_plan(s)
    return require("mma/" .. s.math .. "/plan")
end

function plan.template(s)
    return mma_plan(s).template(s)
end

function plan.schedule(s)
    return by_name[s.math == "mma" and "tiles" or s.grid]
end

-- The member of an item that says which matrix of a tensor is meant, of those that have several; by the tensor's name.
local function problems(p)
    local list = {}
    for _, name in ipairs { "a", "b", "d" } do
        list[name] = p.periodic and name ~= "b" and "period" or p.batched and "batch"
            or p.groups and p.groups.of[name] and "group" or nil
    end
    return list
end

-- Operands of ops go with the tensor whose rows they have, or are D's columns.
local GOES_WITH = { row = "b", column = "a", matrix = "d", output = "d" }

-- The axes, m or n, along which a CTA of a cluster may have a tile wholly beyond D, for which it loads but what its
-- peers share, and multiplies and stores nothing. False where there are none, and where such a CTA has more to do: it
-- gives sums to its peers, counts among those that arrive, or its rows end otherwise than with D.
local function beyond(s, p)
    if s.math ~= "wgmma" or not p.drains or p.groups or p.scaled or p.periodic or p.gated or p.cut or p.op_most
        or p.op_sums.any or p.reads.lends or p.dependent_launch == "weights" then
        return false
    end
    return { m = s.cluster.m > 1, n = s.cluster.n > 1 }
end

local function plan_ops(s, p, ops, operands)
    p.ops, p.op_operands = ops, operands
    for _, operand in ipairs(operands) do
        operand.of = GOES_WITH[operand.kind]
        operand.problem = operand.of and (operand.strided or p.groups)
            and not p.periodic and p.problem[operand.of] or nil
    end
    p.reads = p.reads or { ahead = {} }
    reads.halve(ops, s.epilogue.packed)
    p.op_direct = epilogue.direct(operands)
    p.op_types = epilogue.types(p.op_direct)
    p.held = s.math == "tcgen05" and (s.epilogue.read.matrix or "pairs") ~= "pairs" and epilogue.held(ops) or {}
    for _, operand in ipairs(p.held) do
        operand.held = true
        operand.blocks = s.epilogue.read.layout == "blocked"
        operand.strided = not operand.blocks
    end
    p.op_most = #p.op_types.most > 0
    p.op_strided = #p.op_types.matrix > 0 or #p.op_types.output > 0
    p.op_sums = { any = false, row = false, column = false }
    for _, operand in ipairs(operands) do
        if operand.kind == "sums" then
            p.op_sums.any, p.op_sums[operand.sums] = true, operand
        end
    end
    local placed = p.op_strided or p.op_most or p.op_sums.any or #p.held > 0
    local by_pairs = {}
    for _, operand in ipairs(p.op_direct) do
        by_pairs[#by_pairs + 1] = not operand.held and operand or nil
    end
    p.paired_types = epilogue.types(by_pairs).matrix                -- of matrices that are read by pairs
    p.op_inside = #p.paired_types > 0 or #p.op_types.output > 0 or p.op_most or p.op_sums.any
    p.op_wants = { row = placed or #p.op_types.column > 0, column = placed or #p.op_types.row > 0 }
    -- the same of an element's ops, which have what is held
    p.apply_wants = { row = p.op_inside or #p.op_types.column > 0, column = p.op_inside or #p.op_types.row > 0 }
end

-- the tensors as the manifest has them: alignment of the pointer and stride between rows, in bytes
local function tensor_plan(s, p)
    local list = {}
    local function add(name, dtype, dims, access, alignment, of)
        if p.batched and #dims == 2 then
            table.insert(dims, 1, "batch")
        elseif p.problem[of or name] == "group" then
            table.insert(dims, 1, "groups")
        end
        list[#list + 1] = { name = name, dtype = dtype, dims = dims, access = access, alignment = alignment,
            stride_bytes_multiple = alignment }
    end
    local function add_input(name, extent, columns)
        local type, k = dtypes.stored(s.problem[name], "k")
        if p.array then return add(name, type.name, { name .. "_pieces", 128 // type.bits }, "read", 16) end
        add(name, type.name, columns and { k, extent } or { extent, k }, "read", p.alignment[name])
    end
    add_input("a", "m", p.a_columns)
    add_input("b", "n", p.b_columns)
    if p.apart then
        list[#list].stride_bytes_multiple = dtypes[s.problem.b].bits // 8
    end
    for _, staged in ipairs(p.tcgen05 and p.staged_scales or {}) do
        add(staged.tensor, "u8", staged.dims, "read", 16)
    end
    local function add_operand(operand)
        local rows = operand.period and operand.name .. "_rows" or "m"
        local columns = operand.doubled and "n" or p.columns
        local dims = { row = { columns }, column = { "m" }, single = { 1 }, most = { 1 },
            sums = { operand.sums == "row" and "m" or columns } }
        local matrix = operand.blocks and { { dim = rows, by = 32 }, { dim = columns, by = 32 }, 32, 32 }
            or { rows, columns }
        add(operand.name, operand.dtype.name, dims[operand.kind] or matrix,
            operand.written and "write" or "read", (operand.by or operand.held) and 16
            or dtypes.bytes(operand.dtype.name, p.mma and operand.strided and p.neighbours or 1),
            operand.problem and operand.of)
    end
    if p.array then
        add(p.groups.tensor, "i64", { "groups", 9 }, "read", 8)
    elseif p.groups then
        add(p.groups.tensor, "i32", { "groups" }, "read", 4)
    end
    for _, op in ipairs(p.ops) do
        if op.operand then add_operand(op.operand) end
    end
    for _, scales in ipairs(p.scaled or {}) do
        add(scales.tensor, scales.dtype.name, scales.dims, "read", scales.alignment, scales.operand.name)
    end
    local stored, columns = dtypes.stored(s.problem.d, p.columns)
    add("d", stored.name, p.array and { "d_pieces", 128 // p.d.bits } or { "m", columns }, "write", p.alignment.d)
    if p.quantised then
        local by = 4 * p.quantised.block * (p.gated and 2 or 1)
        add("d_scales", "u8", { { dim = "m", by = 128 }, { dim = "n", by = by }, 32, 16 }, "write", 4)
    end
    for _, op in ipairs(p.ops) do
        if op.output then add_operand(op.output) end
    end
    if p.groups then
        add("status", "i32", { 1 }, "write", 4)
        list[#list].tells_of = p.groups.tensor
    end
    return list
end

-- The sizes that the kernel reads: TMA stops at edges by itself. As constants also those that the kernel before it
-- reads, of operands that are copied.
local function dims(s, p)
    local list = {}
    if p.array then return list end                                 -- each problem has its own
    local function add(name, reads, copied)
        list[#list + 1] = (reads or copied and s.problem[name] ~= "dynamic") and name or nil
    end
    local all = p.ldg or p.apart or p.cut or p.quantised
        or not (p.work.by_grid and p.mma and p.store and not p.store.by_threads)
    local a, b = p.mma and p.a.repacked, p.mma and p.b.repacked
    local apart = p.reads.matrix and not p.reads.tma and not p.periodic -- by threads, which stop at edges
    add("m", all or p.op_wants.row or apart or p.scaled, a)
    add("n", all or p.op_wants.column or p.gated or apart or #p.reads.ahead > 0 or p.scaled, b)
    add("k", true)
    if p.batched then add("batch", not p.work.by_grid, a or b) end
    if p.groups then add("groups", true) end
    return list
end

-- what the kernel before leaves of an array's problems
local function array_parts()
    return { { kind = "workspace", part = "listing", cuda = "Listing" },
        { kind = "workspace", part = "maps", cuda = "TensorMap" } }
end

-- every parameter of the kernel, in its order
local function parameter_plan(s, p)
    local list = {}
    if p.array then return parameters.list(p.tensors, array_parts()) end
    local function tensor_map(name, rows, columns, bits)
        list[#list + 1] = { kind = "tensor_map", tensor = name,
            box = p.problem[name] == "period" and { rows // p.periodic.rows, p.periodic.rows, columns }
                or p.problem[name] and { 1, rows, columns } or { rows, columns },
            period = p.problem[name] == "period" and p.periodic.of or nil,
            spread = p[name] and p[name].spread or nil,
            swizzle_bytes = swizzle.bytes(bits), l2_promotion = s.l2_promotion[name] }
    end
    local function pointer(name, strided, problem)
        list[#list + 1] = { kind = "pointer", tensor = name }
        list[#list + 1] = problem and { kind = "stride", tensor = name, axis = 0, type = "i64",
            name = name .. "_" .. problem .. "_stride" } or nil
        list[#list + 1] = strided and { kind = "stride", tensor = name, axis = problem and 1 or 0, type = "i64" }
            or nil
    end
    for _, name in ipairs(p.group_maps and {} or { "a", "b" }) do   -- else maps are the group's, of the workspace
        if p[name] and p[name].repacked then
            tensor_map(name, p[name].box_rows, p[name].box_columns, s.swizzle_bits[name])
            list[#list].tensor, list[#list].part, list[#list].name = nil, name .. "_rows", name .. "_map"
        elseif p[name] and p.apart then
            tensor_map(name, p[name].box_rows, p[name].box_columns, s.swizzle_bits[name])
            list[#list].rows_apart = p.apart
            pointer(name, true)
        elseif p[name] and not p.ldg then
            tensor_map(name, p[name].box_rows, p[name].box_columns, s.swizzle_bits[name])
        else
            pointer(name, true, p.problem[name])
        end
        if p[name] and p[name].cut then                             -- at its edge
            local of = list[#list]
            tensor_map(name, p[name].cut, p[name].box_columns, s.swizzle_bits[name])
            list[#list].tensor, list[#list].part, list[#list].name = of.tensor, of.part, name .. "_edge_map"
        end
    end
    for _, staged in ipairs(p.tcgen05 and p.staged_scales or {}) do
        list[#list + 1] = { kind = "tensor_map", tensor = staged.tensor, box = staged.box, swizzle_bytes = 0 }
    end
    if p.store and not p.store.by_threads then
        tensor_map("d", p.store.m, p.store.columns, s.swizzle_bits.d)
    end
    if not p.store or p.store.by_threads or p.clips then
        pointer("d", true, p.problem.d)
    end
    if p.quantised then pointer("d_scales") end
    for _, scales in ipairs(p.scaled or {}) do
        if scales.staged then
            list[#list + 1] = { kind = "tensor_map", tensor = scales.tensor,
                box = scales.problem and { 1, 1, scales.rows } or { 1, scales.rows }, swizzle_bytes = 0 }
        else
            pointer(scales.tensor, true, scales.problem)
        end
    end
    for _, operand in ipairs(p.op_operands) do
        if operand.by == "tma" or operand.by == "rows" then
            local rows = p.periodic and p.periodic.rows or p.store.m
            list[#list + 1] = { kind = "tensor_map", tensor = operand.name, box = { rows, p.store.columns },
                swizzle_bytes = swizzle.bytes(s.swizzle_bits.d) }
        elseif operand.kind == "scalar" then
            list[#list + 1] = { kind = "scalar", name = operand.name, type = "f32", default = 1 }
        else
            pointer(operand.name, operand.strided, operand.problem)
        end
    end
    if p.groups then
        pointer(p.groups.tensor)
        pointer("status")
    end
    table.move(parameters.dims(s.problem, p.dims), 1, 5, #list + 1, list)
    if p.work.parts then
        list[#list + 1] = { kind = "workspace", part = "arrived", cuda = "uint32_t" }
        list[#list + 1] = { kind = "workspace", part = "partials", cuda = "float4" }
        list[#list + 1] = p.work.parts.takes_splits and { kind = "splits", type = "i32" } or nil
    end
    list[#list + 1] = p.group_maps and { kind = "workspace", part = "maps", cuda = "TensorMap" } or nil
    list[#list + 1] = p.op_most and { kind = "workspace", part = "amax_state", cuda = "uint32_t" } or nil
    for _, along in ipairs { "row", "column" } do
        if p.op_sums[along] then
            list[#list + 1] = { kind = "workspace", part = along .. "_arrived", cuda = "uint32_t" }
            list[#list + 1] = { kind = "workspace", part = along .. "_partials", cuda = "float" }
        end
    end
    return parameters.list(p.tensors, list)
end

-- The kernel before, which copies operands to the workspace: a warp a row, so many pieces a thread.
local function repack_plan(s, p)
    local operands, list, dims = {}, {}, {}
    local function strides(of, name)
        for axis = 0, p.batched and 1 or 0 do
            list[#list + 1] = { kind = "stride", tensor = of.tensor, part = of.part, axis = axis, type = "i64",
                name = name .. (p.batched and axis == 0 and "_batch" or "") .. "_stride" }
        end
    end
    for _, operand in ipairs(p.operands) do
        local name, part = operand.name, operand.name .. "_rows"
        if operand.repacked then
            operands[#operands + 1] = operand
            list[#list + 1] = { kind = "pointer", tensor = name }
            strides({ tensor = name }, name)
            list[#list + 1] = { kind = "workspace", part = part, cuda = p.piece.type }
            strides({ part = part }, part)
            dims[operand.extent:lower()], dims.k, dims.batch = true, true, p.batched
        end
    end
    for _, name in ipairs { "m", "n", "k", "batch" } do
        if dims[name] and s.problem[name] == "dynamic" then
            list[#list + 1] = { kind = "dim", dim = name, type = "i32" }
        end
    end
    return { entry = "repack", operands = operands, parameters = parameters.list(p.tensors, list),
        rows = p.apart or 8, pieces = 4 }
end

-- The kernel before that writes maps of A and B for each group: a warp a group.
local function group_maps_plan(s, p)
    local list = {}
    for _, operand in ipairs(p.operands) do
        list[#list + 1] = { kind = "tensor_map", tensor = operand.name, box = { operand.box_rows, operand.box_columns },
            swizzle_bytes = swizzle.bytes(s.swizzle_bits[operand.name]),
            l2_promotion = s.l2_promotion[operand.name] }
        list[#list + 1] = { kind = "pointer", tensor = operand.name }
        list[#list + 1] = { kind = "stride", tensor = operand.name, axis = 0, type = "i64" }
    end
    list[#list + 1] = { kind = "pointer", tensor = p.groups.tensor }
    list[#list + 1] = { kind = "workspace", part = "maps", cuda = "TensorMap" }
    table.move(parameters.dims(s.problem, { "k", "groups" }), 1, 2, #list + 1, list)
    return { entry = "write_group_maps", threads = 128, groups = 4, parameters = parameters.list(p.tensors, list) }
end

-- The kernel before that lists an array's problems, and writes maps of A, B and D for each: a warp a problem.
local function array_maps_plan(s, p)
    local list, dims = {}, {}
    local function add(name, box_rows, box_columns)
        list[#list + 1] = { kind = "tensor_map", tensor = name, box = { box_rows, box_columns },
            swizzle_bytes = swizzle.bytes(s.swizzle_bits[name]), l2_promotion = s.l2_promotion[name] }
        list[#list + 1] = { kind = "pointer", tensor = name }
        dims[#dims + 1] = { kind = "dim", dim = name .. "_pieces", type = "i32" }
    end
    for _, operand in ipairs(p.operands) do
        add(operand.name, operand.box_rows, operand.box_columns)
    end
    add("d", p.store.m, p.store.columns)
    list[#list + 1] = { kind = "pointer", tensor = p.groups.tensor }
    list[#list + 1] = { kind = "pointer", tensor = "status" }
    table.move(array_parts(), 1, 2, #list + 1, list)
    table.move(dims, 1, 3, #list + 1, list)
    table.move(parameters.dims(s.problem, { "groups" }), 1, 1, #list + 1, list)
    return { entry = "list_problems", threads = 128, groups = 4, parameters = parameters.list(p.tensors, list) }
end

-- What the parts of tiles leave for each other: how many have arrived, of each that sums by itself, and fp32 sums.
-- The grid counts a cluster's tiles as one, and its blocks each. CTAs that share a tile share its sums.
local function parts_plan(s, p)
    local function part(name, ctas, bytes, needed, zero)
        local count, per = table.unpack(needed)
        return { name = name, bytes = bytes * count * (per == "block" and 1 or ctas), per = per, zero = zero }
    end
    local tiles = p.shares and s.cluster.m * s.cluster.n or p.cluster_size
    return {
        part("arrived", p.cluster_size, 4 * (p.shared_tile and p.consumers or 1) * (p.scatter and 4 or 1),
            p.work.parts.counters, "first"),
        part("partials", tiles, 4 * s.tile.m * s.tile.n, p.work.parts.sums, "never"),
    }
end

-- What the warps of tiles leave for the sums of rows and columns: how many have, and their parts.
local function sums_plan(s, p, list)
    local warps = 4 * (p.shared_tile and p.consumers or 1)          -- of a tile
    local function part(name, words, zero)
        return { name = name, bytes = 4 * words * p.cluster_size, per = "tile", zero = zero }
    end
    for _, row in ipairs { { "row", warps, s.tile.m }, { "column", 1, warps * s.tile.n } } do
        if p.op_sums[row[1]] then
            table.insert(list, 1, part(row[1] .. "_arrived", row[2], "first"))
            list[#list + 1] = part(row[1] .. "_partials", row[3], "never")
        end
    end
end

local function workspace_plan(s, p)
    local list = p.work.parts and parts_plan(s, p) or {}
    if p.op_most then
        table.insert(list, 1, { name = "amax_state", bytes = 8, per = "launch", zero = "first" })
    end
    if p.group_maps then
        list[#list + 1] = { name = "maps", bytes = (p.array and 3 or 2) * 128 * p.groups.most, per = "launch",
            zero = "never" }
    end
    if p.array then
        list[#list + 1] = { name = "listing", bytes = 16 + p.groups.group_bytes * p.groups.most, per = "launch",
            zero = "never" }
    end
    sums_plan(s, p, list)
    for _, operand in ipairs(p.repack and p.repack.operands or {}) do
        local dims = { operand.across:lower(), operand.along:lower() }
        if p.apart then
            dims = { { dim = "m", times = p.apart }, { dim = "k", plus = p.apart - 1 } }
        end
        if p.batched then
            table.insert(dims, 1, "batch")
        end
        list[#list + 1] = { name = operand.name .. "_rows", dtype = operand.dtype, dims = dims,
            stride_bytes_multiple = 128 }
    end
    return #list > 0 and list
end

function plan.plan(s)
    local work = plan.schedule(s)
    local ops = epilogue.resolve(s.epilogue.ops, dtypes[s.problem.d].product or s.problem.d, s.epilogue.packed)
    local operands = epilogue.operands(ops)
    local p = mma_plan(s).plan(s, work, epilogue.gates(s.epilogue.ops), operands)
    p.columns = p.gated and { dim = "n", by = 2 } or "n"          -- of D
    p.work, p.dependent_launch = work, s.dependent_launch or false
    p.prefetch_maps = s.prefetch_maps or false
    p.d, p.a_type, p.b_type = dtypes[s.problem.d], dtypes[s.problem.a], dtypes[s.problem.b]
    p.quantised = s.math == "tcgen05" and s.scales.d and { block = s.scales.d == "1x16" and 16 or 32 }
    -- of 16 bytes, as rows that begin anywhere are copied: bytes whatever they mean
    p.piece = { type = p.a_type.bits == 8 and "uint8_t" or p.a_type.cuda, elements = 128 // p.a_type.bits }
    p.sum = dtypes[p.a_type.sum]                                    -- what an accumulator holds
    if p.mma then
        p.sum_bits = s.math == "wgmma" and p.a_type.sum_bits or nil -- that it keeps, where fp32 holds more
        p.promoted = p.promote_every and p.promote_every * s.tile.k or nil  -- products that it keeps so few bits of
    end
    p.packed = s.epilogue.packed or false
    p.stored = p.d.name == "i32" and p.d or dtypes.fp32             -- and what is stored, after the ops
    p.a_columns, p.b_columns = s.layout.a == "column", s.layout.b == "column"
    p.batched = s.problem.batch ~= nil
    p.problem = problems(p)
    p.array = p.groups and p.groups.array or false                  -- of problems that share nothing
    for _, scales in ipairs(p.scaled or {}) do
        scales.problem = p.problem[scales.operand.name]             -- whose they are, its matrix' too
    end
    plan_ops(s, p, ops, operands)
    p.beyond = beyond(s, p)
    p.tensors = tensor_plan(s, p)
    p.dims = dims(s, p)
    p.group_maps = p.groups and p.groups.along_k and group_maps_plan(s, p)
        or p.array and p.store and array_maps_plan(s, p)
    p.parameters = parameter_plan(s, p)
    p.repack = p.mma and (#(s.repack or {}) > 0 or p.apart) and repack_plan(s, p)
    p.workspace = workspace_plan(s, p)
    p.launch_registers = archs.launch_registers(s.arch, p.threads)
    p.launch = { block = { p.threads, 1, 1 }, cluster = { p.cluster_size, 1, 1 },
        grid = p.alike and "8 ceil(n / 8 tile.n) x ceil(m / tile.m)" or p.work.launch }
    return p
end

-- The section of explain on the instruction.
local function explain_mma(s, p)
    if p.tcgen05 then
        return mma_plan(s).explain(s, p)
    end
    local m, n = p.consumer_rows, p.right.rows
    if p.exchanged then
        m, n = n, m
    end
    local rows = {
        { "an instruction", ("m64n%dk%d"):format(p.right.rows, p.mma.k) },
        { "its 64 rows", p.exchanged and "columns of D" or "rows of D" },
        { "its n", p.exchanged and "rows of D" or "columns of D" },
        { "a warpgroup's part", ("%d rows x %d columns of a tile"):format(m, n) },
    }
    if p.sum_bits then
        local of = p.promoted and ("of %d products, then in fp32"):format(p.promoted) or "of all products"
        rows[#rows + 1] = { "its sums", ("%d bits behind the point, %s"):format(p.sum_bits, of) }
    end
    for _, scales in ipairs(p.scaled or {}) do
        rows[#rows + 1] = { "scales of " .. scales.operand.name:upper(), ("%d x 128, %s[%s], %s"):format(scales.block,
            scales.tensor, table.concat(scales.dims, ", "), scales.staged and "by boxes with the stage"
            or "loaded by threads a step ahead") }
    end
    return { title = "multiplication", rows = rows }
end

-- The section of explain on the kernel before.
local function explain_repack(p)
    local rows = { { "block", ("%d threads, a warp a row"):format(32 * p.repack.rows) } }
    for i, operand in ipairs(p.repack.operands) do
        rows[i + 1] = { operand.name:upper(), "copied to the workspace, in rows that begin at whole 128 bytes"
            .. (p.apart and (", and 1 to %d elements behind"):format(p.apart - 1) or "") }
    end
    return { title = "before, by " .. p.repack.entry, rows = rows }
end

-- The section of explain on how D is written. Sectors of 32 bytes are counted for one store of a warp: 8 rows of 8
-- columns. Where rows begin anywhere, such a piece crosses into one more sector in 3 of 8 cases (fp32: in 3 of 4).
function plan.explain(s, p)
    local rows
    if not p.mma then
        return {}
    elseif p.store and p.store.by_threads then
        rows = { { "by threads", "from staging, whole pieces of 16 bytes, neighbours side by side" },
            { "N", ("a multiple of %d; others need epilogue.store: direct"):format(p.multiples.n) } }
    elseif p.store then
        rows = { { "by TMA", ("boxes of %d x %d, in whole sectors"):format(s.epilogue.tile.m, s.epilogue.tile.n) },
            { "N", ("a multiple of %d; others need epilogue.store: direct"):format(p.multiples.n) } }
    elseif p.tcgen05 then
        rows = { { "from registers", "a warp writes a pair, or an element, in each of 32 rows" },
            { "N", p.elements and "any" or "any even" } }
    elseif p.exchanged or p.elements then
        local piece = p.exchanged and "a warp writes pieces of 8 columns in 4 rows, an element a thread"
            or "a warp writes pieces of 8 columns in 8 rows, pairs or elements"
        rows = { { "from registers", piece }, { "N", "any" } }
    else
        local wide = p.d.bits == 32
        rows = { { "from registers", "a warp writes pieces of 8 columns in 8 rows" },
            { "N of whole sectors", ("a multiple of %d: 8 sectors a store, each %s"):format(wide and 8 or 16,
                wide and "whole" or "half written; the next store has the other half") },
            { "any other even N", ("about %d sectors a store, %s written in part"):format(wide and 14 or 11,
                wide and "most" or "all") } }
    end
    local list = { explain_mma(s, p), { title = "stores of D", rows = rows } }
    list[#list + 1] = p.repack and explain_repack(p) or nil
    return list
end

return plan

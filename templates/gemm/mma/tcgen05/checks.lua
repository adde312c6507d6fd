-- checks.lua: what is legal for kernels on tcgen05, beyond the range of a single knob.

local archs = require "archs"
local dtypes = require "dtypes"
local operands = require "operand/checks"
local scales = require "mma/tcgen05/scales"
local staging = require "epilogue/staging"

local function input_types(s, p, fail)
    local a, b = p.a_type, p.b_type
    scales.check_output(s, p, fail)
    for _, operand in ipairs(p.operands) do
        if operand.spread and operand.row_bytes ~= 128 then
            local type = p[operand.name .. "_type"].name
            fail("swizzle_bits." .. operand.name,
                ("swizzle_bits.%s: boxes of %s have rows of 128 elements, a byte each"):format(operand.name, type), "7")
        end
    end
    if s.scales.a then
        return scales.check(s, p, fail)
    elseif s.scales.b then
        fail("scales.b", "scales.b without scales.a", "both, or scales.a alone, which is B's too then")
    end
    if a.tcgen05 == "i8" and not archs[s.arch].tensor_i8 then
        fail("problem.a", ("problem.a: i8, but %s has no tcgen05.mma of integers"):format(s.arch), "types of floats")
    end
    if not a.tcgen05 or a.tcgen05 ~= b.tcgen05 then
        fail("problem.b", ("problem.a is %s and problem.b is %s"):format(a.name, b.name),
            "types that one kind of tcgen05.mma takes")
    elseif a.tcgen05 == "f16" and a ~= b then
        fail("problem.b", ("problem.b is %s but problem.a is %s"):format(b.name, a.name), "one type for both")
    end
    for _, operand in ipairs(p.operands) do
        local type, knob = dtypes[operand.dtype], "layout." .. operand.name
        if operand.column_major and type.bits ~= 16 then
            fail(knob, ("%s: column, but rows of 8-bit types lie along K here"):format(knob), "row")
        end
    end
end

local function instruction(s, p, fail)
    local step = 16 * s.cta_group
    if s.tile.m ~= 128 then
        fail("tile.m", ("tile.m: %d; a CTA's rows are tensor memory's 128 lanes"):format(s.tile.m), "128")
    end
    if p.gated and s.tile.n % 16 ~= 0 or s.tile.n % step ~= 0 then
        fail("tile.n", ("tile.n: tcgen05.mma has no %d columns"):format(s.tile.n), ("a multiple of %d"):format(step))
    end
    local most = archs[s.arch].tensor_memory_columns
    if p.tensor_memory_columns > most then
        fail("accumulators", ("%d accumulators of %d columns are more than the %d of tensor memory"):format(
            s.accumulators, p.accumulator_columns, most),
            ("accumulators up to %d"):format(most // s.tile.n))
    end
end

local function cluster(s, p, fail)
    if s.cluster.m % s.cta_group ~= 0 then
        fail("cluster.m", ("cluster: %d CTAs below each other, but %d multiply together"):format(s.cluster.m,
            s.cta_group), "cluster.m: a multiple of cta_group")
        return
    end
    local most = archs[s.arch].cluster_most
    if p.cluster_size > most then
        fail("cluster.m", ("cluster: %d CTAs are more than the %d of cudaFuncAttributeNonPortableClusterSizeAllowed")
            :format(p.cluster_size, most), ("cluster.m * cluster.n up to %d"):format(most))
    end
    if p.clustered and not p.work.walks then
        fail(p.paired and "cta_group" or "cluster.m", "clusters need the tile order of the persistent grid",
            "grid: persistent")
    end
    for _, side in ipairs { { "n", p.a }, { "m", p.b } } do
        local operand = side[2]
        if operand.box_rows % 8 ~= 0 or operand.box_rows * operand.peers > (operand.column_major and s.tile.k
            or operand.rows) then
            local across = "tile." .. operand.across:lower()
            fail("cluster." .. side[1], ("cluster.%s: %d CTAs cannot split %s = %d into boxes of whole 8-row groups")
                :format(side[1], s.cluster[side[1]], across, s.tile[operand.across:lower()]),
                ("%s a multiple of %d"):format(across, 8 * s.cluster[side[1]]))
        end
    end
end

local function schedule(s, p, fail)
    if p.work.in_cluster then
        fail("grid", ("grid: %s adds sums up from registers, but tcgen05's lie in tensor memory"):format(s.grid),
            "split_k, stream_k")
    elseif p.work.groups then
        fail("grid", ("grid: %s ends tiles where groups' rows or K do, but tcgen05's are whole"):format(s.grid),
            "tiles, persistent, launch_control, split_k, stream_k")
    end
    if p.work.parts and (p.sum.name == "i32" or p.split_loads or s.epilogue.release == "late") then
        fail("grid", ("grid: %s is for sums of floats that are loaded and awaited together, and given back early")
            :format(s.grid), "epilogue.release: early, store: tma or direct, operands not read between")
    end
    if p.batched and s.epilogue.read.layout == "blocked" then
        fail("problem.batch", "problem.batch: operands in blocks are one problem's", "no batch")
    end
    if s.accumulators > 1 and not p.work.walks then
        fail("accumulators", ("accumulators: %d, but a CTA has one tile"):format(s.accumulators),
            "accumulators: 1, or grid: persistent")
    end
    if s.dependent_launch == "weights" then
        fail("dependent_launch", "dependent_launch: weights, but A and B of a stage are loaded together", "prologue")
    end
end

local function loads(s, p, fail)
    local all = s.tile.n // (p.gated and 2 or 1) // p.sharing
    local columns = p.store and s.epilogue.tile.n or all
    if columns % s.epilogue.load ~= 0 then
        fail("epilogue.load", ("epilogue.load: %d columns do not divide the %d that are stored together"):format(
            s.epilogue.load, columns), "a divisor of " .. columns)
    end
    if p.store then
        staging.check_straight(s, p, fail, 16)
        staging.check(s, p, fail)
        local own = p.store.by_threads or p.sharing > 1
        if s.epilogue.tile.m ~= 32 and (own or s.epilogue.tile.m ~= s.tile.m) then
            fail("epilogue.tile.m", ("epilogue.tile.m: %d; a buffer is a warp's, or of all four"):format(
                s.epilogue.tile.m), own and "32" or ("32, or %d as tile.m"):format(s.tile.m))
        end
        if all % s.epilogue.tile.n ~= 0 then
            fail("epilogue.tile.n", ("epilogue.tile.n: %d does not divide the %d columns of warps that share rows")
                :format(s.epilogue.tile.n, all), "a divisor of " .. all)
        end
    end
end

-- What operands that are read by 16 bytes, and loads apart from their waits, are for.
local function held(s, p, fail)
    if s.epilogue.read.matrix == "tma" or s.epilogue.read.layout == "wrapped" then
        fail("epilogue.read.matrix", "epilogue.read: boxes of operands, and rows for them, are wgmma's",
            "pairs, ldg, cg, cs, cp_async; layout: row, blocked")
    end
    for _, operand in ipairs(p.held) do
        if operand.dtype.bits ~= 16 or p.gated or p.elements then
            fail("epilogue.read.matrix", ("epilogue.read.matrix: %s is for operands of 16 bits, not %s of %s"):format(
                s.epilogue.read.matrix, operand.name, operand.dtype.name),
                "pairs; nor for swiglu and its like, nor store: elements")
        end
    end
    if p.split_loads and p.sum.name == "i32" then
        fail("problem.a", "sums of integers are loaded and awaited together",
            "epilogue.buffers: 1 with store: staged, another epilogue.read.order")
    end
end

return {
    { "input types", check = input_types }, { "instruction", check = instruction }, { "cluster", check = cluster },
    { "schedule", check = schedule }, { "operand boxes", check = operands.boxes }, { "sums' loads", check = loads },
    { "operands of ops", check = held },
    { "shared memory", check = operands.shared_memory },
}

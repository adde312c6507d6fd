-- reads.lua: how operands of ops come to the threads where not each loads its elements when it wants them: those of a
-- row that all rows share ahead of the multiplication, by way of shared memory; those of a matrix by way of D's staging
-- buffers, into which they are copied under the multiplication, or in an order that gives a thread 16 bytes at once.

local dtypes = require "dtypes"
local integers = require "integers"

local reads = {}

-- columns of a matrix whose elements lie in the order in which the four threads of a quad have them
reads.BLOCK = 64

-- whether a matrix can be read so: one for all launches, of pairs in a word, of one value of D
local function readable(operand)
    return operand.kind == "matrix" and not operand.scalar and not operand.doubled and operand.dtype.bits == 16
end

-- Rows of boxes of [rows] that begin anywhere in a matrix' period: those that follow its last stand behind it again.
local function wrap(operand, rows)
    operand.wrapped = rows
    operand.wrapped_rows = operand.period - integers.common_divisor(operand.period, rows) + rows
end

-- How the matrix is read: "tma" and "cp_async" by way of the staging, "blocked" from global memory; nil: as all others.
local function matrix_by(read)
    return read.matrix == "ldg" and "blocked" or read.matrix ~= "pairs" and read.matrix or nil
end

-- Marks those of [operands] that are read so: [ahead], their place among the rows in shared memory, or [by] of the
-- first matrix that can be. Returns { ahead = {operands}, matrix =, by =, rows = of a box, barriers = }.
function reads.plan(s, operands)
    local plan, read = { ahead = {} }, s.epilogue.read
    for _, operand in ipairs(operands) do
        if operand.kind == "row" and read.row == "ahead" then
            operand.ahead = #plan.ahead
            plan.ahead[#plan.ahead + 1] = operand
        elseif readable(operand) and not plan.matrix and operand.period and s.tile.period_rows then
            plan.matrix, plan.by = operand, "rows"
            operand.by = plan.by
            local bytes = s.tile.period_rows * s.tile.n * 2
            plan.periodic = { of = operand.period, rows = s.tile.period_rows, bytes = (bytes + 1023) // 1024 * 1024 }
        elseif readable(operand) and not plan.matrix and matrix_by(read) then
            plan.matrix, plan.by = operand, matrix_by(read)
            operand.by, operand.blocked, operand.hint = plan.by, plan.by == "blocked", read.hint
            if operand.period and plan.by == "tma" and read.layout == "wrapped" then
                wrap(operand, s.epilogue.tile.m)
            end
        end
    end
    plan.tma, plan.cp_async = plan.by == "tma", plan.by == "cp_async"
    return plan
end

-- Ops that work on half of x take it from the op before, which adds what is read ahead: an instruction an element less,
-- and the same bits, since a half is exact.
function reads.halve(ops, packed)
    local add = packed and "x = fma_rn_bf16x2(x, 0x3f003f00, %s)" or "x = __fmaf_rn(0.5f, x, %s)"
    for i = 2, #ops do
        local before, op = ops[i - 1], ops[i]
        local of_half = (packed and op.packed or op.row).of_half
        if of_half and before.row.cuda == "x + y" and before.operand.ahead then
            before.expression = add:format(before.operand.name)
            before.note = "half of x and, as it was left, of " .. before.operand.name
            op.expression = "x = " .. of_half
            before.operand.halved = true
        end
    end
end

-- The shared memory that they need, [consumers] times.
function reads.members(s, p)
    local count, bytes = #p.reads.ahead, s.epilogue.packed and 2 or 4
    return count > 0 and { name = "ahead", bytes = p.consumers * count * s.tile.n * bytes, align = 16,
        doc = "what all rows share of operands, read ahead" } or nil
end

-- The rows of a period that a warpgroup's tile has.
function reads.period_member(s, p)
    local periodic = p.reads.periodic
    return periodic and { name = "operand", bytes = p.consumers * periodic.bytes, align = 1024,
        doc = "a tile's rows of " .. p.reads.matrix.name } or nil
end

-- A CTA's last tile has nobody to hide behind. Where the buffers have half of a tile, the other warpgroup, which has no
-- more to store, lends its own for the other half: [lends].
function reads.barrier(s, p)
    p.reads.lends = p.reads.tma and p.pingpong and s.grid == "persistent" and p.store.count == 2 * s.epilogue.buffers
    local rows = p.consumers + (p.reads.lends and 1 or 0)
    if p.reads.periodic then
        return { name = "operand_full", count = p.consumers, arrivals = 1,
            bytes = p.reads.periodic.rows * s.tile.n * 2, who = "a thread of the warpgroup",
            doc = "the tile's rows of the operand are there" }
    end
    return p.reads.tma and { name = "operand_full", count = rows * s.epilogue.buffers, arrivals = 1,
        bytes = p.store.buffer_bytes, who = "a thread of the warpgroup",
        doc = "the operand's elements are in the staging buffer" } or nil
end

-- A row of blocks is whole.
function reads.align(p)
    if p.reads.periodic then
        p.multiples.m = p.reads.periodic.of
        p.why_multiples.m = "whole periods of " .. p.reads.matrix.name
    end
    if p.reads.by == "blocked" then
        p.multiples.n = reads.BLOCK
        p.why_multiples.n = ("whole blocks of columns of %s"):format(p.reads.matrix.name)
    end
end

local function check_matrix(s, p, fail)
    local read, by = s.epilogue.read, matrix_by(s.epilogue.read)
    if by == "cg" or by == "cs" or by == "blocked" and read.layout ~= "blocked" then
        fail("epilogue.read.matrix", ("epilogue.read.matrix: %s is not how wgmma's threads hold a row"):format(
            read.matrix), "pairs, cp_async, tma, or ldg with layout: blocked")
    elseif read.layout == "blocked" and by ~= "blocked" then
        fail("epilogue.read.layout", "epilogue.read.layout: blocked is for threads that load by themselves",
            "epilogue.read.matrix: ldg")
    elseif read.layout == "wrapped" and by ~= "tma" then
        fail("epilogue.read.layout", "epilogue.read.layout: wrapped is for boxes of rows that begin anew",
            "epilogue.read.matrix: tma, and add")
    elseif read.hint and not by then
        fail("epilogue.read.hint", "epilogue.read.hint: the matrix is read as all others",
            "matrix: ldg, cp_async or tma")
    elseif by and not p.reads.matrix then
        fail("epilogue.read.matrix", "epilogue.read: no op reads a matrix of 16-bit elements",
            "residual or add among epilogue.ops")
    elseif by and by ~= "blocked" and dtypes[s.problem.d].bits ~= 16 then
        fail("epilogue.read.matrix", ("epilogue.read.matrix: %s is by way of D's staging, whose elements have %d bits")
            :format(by, dtypes[s.problem.d].bits), "pairs, or D of 16 bits")
    elseif read.layout == "wrapped" and not p.reads.matrix.wrapped then
        fail("epilogue.read.layout", "epilogue.read.layout: wrapped is for boxes of rows that begin anew",
            "epilogue.read.matrix: tma, and add")
    elseif by == "tma" and not p.reads.matrix.wrapped and (p.reads.matrix.period or 0) % s.epilogue.tile.m ~= 0 then
        fail("epilogue.read.matrix", "epilogue.read.matrix: tma loads no boxes whose rows begin anew",
            "layout: wrapped, or cp_async or pairs")
    elseif by and (p.work.parts or p.in_cluster or p.batched or p.work.groups) then
        fail("epilogue.read.matrix", ("epilogue.read.matrix: %s is for whole tiles of one problem"):format(read.matrix),
            "pairs")
    elseif by == "blocked" and s.epilogue.tile.n % reads.BLOCK ~= 0 then
        fail("epilogue.tile.n", "epilogue.read.layout: blocked wants staging of whole blocks of columns",
            ("a multiple of %d"):format(reads.BLOCK))
    end
end

-- Rows of a tile that lie in several periods: their numbers are no longer one after the other, for those who would ask.
local function check_periodic(s, p, fail)
    local knob = "tile.period_rows"
    if not p.periodic then
        return fail(knob, knob .. ": no op adds rows of 16-bit elements that begin anew",
            "{add: NAME, row_period: N} among epilogue.ops")
    end
    local period, hints = p.periodic.of, s.cache_hint.a or s.epilogue.read.matrix or s.epilogue.read.hint
    local rows = not p.a.column_major and not p.a.repacked and (s.load or "tma") == "tma" and s.cluster.n == 1
    if period % p.periodic.rows ~= 0 then
        fail(knob, ("%s: %d does not divide the %d rows of a period"):format(knob, p.periodic.rows, period),
            "1, 2, 4 or 8 that does")
    elseif s.tile.m // p.periodic.rows * period > 1 << 24 then
        fail(knob, ("%s: a tile of rows of %d periods of %d"):format(knob, s.tile.m // p.periodic.rows, period),
            "a shorter period")
    elseif not rows or s.grid ~= "persistent" or p.shared_tile or p.batched then
        fail(knob, knob .. ": A and D are boxes of rows of many periods, a tile of which is one warpgroup's",
            "grid: persistent, schedule: pingpong, A in rows loaded by TMA and not repacked, cluster.n: 1, no batch")
    elseif p.store.columns % 32 ~= 0 or p.store.n % 32 ~= 0 or p.periodic.rows * p.store.columns % 64 ~= 0 then
        fail(knob, knob .. ": boxes of its rows begin at whole 128 bytes, and 32 columns are read at a time",
            "epilogue.tile.n and swizzle_bits.d of 32 columns, more for one row")
    elseif p.op_wants.row or hints or dtypes[s.problem.d].bits ~= 16 then
        fail(knob, knob .. ": the add is the one op that knows of rows, and reads its own by boxes",
            "D of 16 bits, no other op of rows, no epilogue.read of the matrix, and no cache_hint.a")
    end
end

-- Pairs are packed before the first op, so that all of them must know pairs, and nothing of an element's place.
local function check_packed(s, p, fail)
    for _, op in ipairs(p.ops) do
        local operand = op.operand
        if not op.packed then
            fail("epilogue.packed", ("epilogue.packed: %s is not for pairs"):format(op.row.name),
                "bias, residual, add, relu and gelu")
        elseif operand and not operand.ahead and not operand.by then
            fail("epilogue.packed", ("epilogue.packed: each thread reads %s by itself"):format(operand.name),
                "epilogue.read of its row or matrix")
        end
    end
    if s.problem.d ~= "bf16" or #p.ops == 0 or p.work.parts or p.in_cluster then
        fail("epilogue.packed", "epilogue.packed: pairs are of bf16, behind sums that nobody adds to",
            "problem.d: bf16, with epilogue.ops, and K undivided")
    end
end

function reads.check(s, p, fail)
    if s.tile.period_rows then
        check_periodic(s, p, fail)
    end
    if s.epilogue.packed then
        check_packed(s, p, fail)
    end
    if not s.epilogue.read then
        return
    elseif s.epilogue.read.row == "ahead" and #p.reads.ahead == 0 then
        fail("epilogue.read.row", "epilogue.read.row: no op reads a row that all rows of D share",
            "pairs, or an op such as bias")
    end
    check_matrix(s, p, fail)
end

return reads

-- scales.lua: scales of blocks that tcgen05.mma applies by itself: atoms of 512 bytes, four scales of each of 128 rows,
-- come to shared memory with a stage, and from there to tensor memory, four columns each, ahead of the products.

local dtypes = require "dtypes"
local kinds = require "mma/tcgen05/kinds"

local scales = { ATOM = 512, ROWS = 128, COLUMNS = 4 }

-- elements that have one
function scales.block(s, name)
    return s.scales[name] == "1x16" and 16 or 32
end

-- Those of both operands, a list: `atoms` of 128 rows by `depth` of four blocks a stage.
function scales.plan(s, p)
    local list = {}
    for i, operand in ipairs(s.scales.a and p.operands or {}) do
        local name, block = operand.name, scales.block(s, operand.name)
        local rows = i == 1 and s.tile.m or s.tile.n            -- of B all, also of a pair's half
        local within = rows % scales.ROWS ~= 0                  -- tiles begin in the middle of atoms, too
        local atoms = (rows + (within and 64 or 0) + scales.ROWS - 1) // scales.ROWS
        local depth = math.max(1, s.tile.k // (4 * block))
        local dims = { { dim = operand.extent:lower(), by = scales.ROWS }, { dim = "k", by = 4 * block }, 32, 16 }
        local box = { p.gated and i == 2 and atoms // 2 or atoms, depth, 32, 16 }
        if s.problem.batch then
            table.insert(dims, 1, "batch")
            table.insert(box, 1, 1)
        end
        list[i] = { tensor = name .. "_scales", name = name, extent = operand.extent, block = block, atoms = atoms,
            depth = depth, within = within, bytes = atoms * depth * scales.ATOM, dims = dims, box = box,
            halves = box[1] < atoms and not s.problem.batch,    -- loaded from both halves of N
            first = i == 1 and "item.row" or p.gated and "item.column / 2" or "item.column" }
    end
    return list
end

-- columns of tensor memory that those of a stage take
function scales.columns(p)
    local columns = 0
    for _, staged in ipairs(p.staged_scales) do
        columns = columns + staged.atoms * staged.depth * scales.COLUMNS
    end
    return columns
end

-- Scales of an operand's row that an instruction takes.
function scales.taken(s)
    return kinds.k(s) // scales.block(s, "a")
end

local function types(s, p, fail)
    local a, b, block, packed = p.a_type, p.b_type, scales.block(s, "a"), p.a.packed
    if a.tcgen05 ~= "f8f6f4" or b.tcgen05 ~= a.tcgen05 then
        fail("problem.b", ("scales: of %s and %s"):format(a.name, b.name), "two of e4m3, e5m2, e3m2, e2m3 and e2m1")
    elseif s.scales.b ~= s.scales.a or not packed and block ~= 32 then
        fail("scales.a", ("scales: %s of A, %s of B, in %s and %s"):format(s.scales.a, s.scales.b, a.name, b.name),
            packed and "1x16 for both, or 1x32" or "1x32 for both")
    end
    if s.scales.a == "1x128" or s.scales.type == "fp32" then
        fail("scales.a", ("scales: %s of %s, but tcgen05.mma has none such"):format(s.scales.a, s.scales.type),
            "1x16 or 1x32, of ue8m0 or ue4m3")
    end
    if s.scales.type == "ue4m3" and block ~= 16 then
        fail("scales.type", "scales.type: ue4m3 is for blocks of 16 elements", "ue8m0")
    end
end

-- What D's own want of its staging: whole words of four scales, of rows that lie in one box.
function scales.check_output(s, p, fail)
    local block, d = p.quantised and p.quantised.block, p.d
    if not block then
        if d.stored then
            fail("problem.d", ("problem.d: %s has scales"):format(d.name), "scales.d: 1x16 or 1x32")
        end
        return
    end
    if not d.largest or block == 16 and d.bits ~= 4 then
        fail("scales.d", ("scales.d: %s of %s"):format(s.scales.d, d.name), "1x32 of e4m3, e5m2 or e2m1, 1x16 of e2m1")
    elseif not p.store or p.store.by_threads or s.epilogue.tile.n % (4 * block) ~= 0
        or p.store.boxes > 1 or p.batched then
        fail("scales.d", ("scales.d: words of four scales of %d columns, behind one box of D by TMA, of one problem")
            :format(block), ("epilogue.store: tma, epilogue.tile.n: a multiple of %d, and its row the swizzle's")
            :format(4 * block))
    end
end

function scales.check(s, p, fail)
    types(s, p, fail)
    if s.tile.n % 64 ~= 0 then
        fail("tile.n", ("tile.n: %d, but scales come in halves of atoms, of 64 rows"):format(s.tile.n),
            "64, 128, 192 or 256")
    end
    local taken = math.max(1, math.min(4, scales.taken(s)))     -- none of types that have no scales
    if s.tile.k // scales.block(s, "a") % 4 ~= 0 or s.tile.k % (4 // taken * p.mma.k) ~= 0 then
        fail("tile.k", ("tile.k: %d columns have no whole atoms of four scales"):format(s.tile.k),
            "a multiple of " .. 4 * scales.block(s, "a"))
    end
    if p.a_columns or p.b_columns then
        fail("scales.a", "scales: of rows along K", "layout: row")
    end
    if p.gated and s.tile.n ~= 2 * scales.ROWS then
        fail("tile.n", ("tile.n: %d, but of each half of B come whole atoms of scales, of %d rows"):format(s.tile.n,
            scales.ROWS), "256")
    end
    if p.overlap > 0 and (p.sharing > 1 or p.parts_apart or s.epilogue.read.order == "ahead"
        or s.epilogue.release == "late") then
        fail("accumulators", "accumulators that overlap are given back by part, in an order of their own",
            "accumulators: 1, or four epilogue warps, epilogue.release: early, no operand ahead, one part at a time")
    end
end

return scales

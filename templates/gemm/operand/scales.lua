-- scales.lua: the scales of operands that have one for each block: where they lie, whose they are, how they come to
-- the threads that multiply. The CUDA is in mma/wgmma/scales.cu.in.

local dtypes = require "dtypes"
local integers = require "integers"

local BLOCK = 128 -- of K, and of rows where a block has more than one

-- Those of [operand], `block` rows of it each. A thread has two rows of each 64 of the left operand of wgmma, and two
-- of each 8 of the right one; `span` rows of that surely lie in one block. `halves`: its tile's rows are
-- of two halves of the tensor. Where rows of A begin anywhere, as those of groups do, no box begins, but threads load.
local function scales_of(s, p, work, operand)
    local name, extent = operand.name, operand.extent
    local halves = operand.pair_rows and true or false
    local block, column = s.scales[name] == "1x128" and 1 or BLOCK, s.scales.order[name] == "column"
    local along, across = extent:lower() .. (block > 1 and "_blocks" or ""), "k_blocks"
    local scales = { tensor = name .. "_scales", operand = operand, extent = extent, rows = operand.rows, block = block,
        column = column, dims = column and { across, along } or { along, across },
        type = s.scales.type, dtype = dtypes[s.scales.type == "ue8m0" and "u8" or "fp32"],
        left = operand == p.left, line = extent == "M" and "row" or "column",
        halves = halves, span = integers.common_divisor(halves and operand.pair_rows or operand.rows, BLOCK) }
    scales.first = "item." .. scales.line
    local anywhere = name == "a" and p.clips and not p.groups.counts
    scales.staged = s.scales.load == "tma" and block == 1 and column and not halves and not anywhere
    scales.alignment = scales.staged and 16 or dtypes.bytes(scales.dtype.name)
    scales.box_bytes = 4 * operand.rows
    scales.stage_bytes = (scales.box_bytes + 127) // 128 * 128
    return scales
end

-- Returns those of both operands, as a list and by their names, false if there are none; and those of them that come
-- with a stage.
return function(s, p, work)
    if not s.scales.a or not s.scales.b then
        return false, {}
    end
    local scaled, staged = { dims = { "k" } }, {}
    for i, operand in ipairs(p.operands) do
        local scales = scales_of(s, p, work, operand)
        scaled[i], scaled[operand.name] = scales, scales
        staged[#staged + 1] = scales.staged and scales or nil
        table.insert(scaled.dims, scales.block > 1 and scales.extent:lower() or nil)
    end
    return scaled, staged
end

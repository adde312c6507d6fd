-- operand.lua: A or B on its way into the tensor cores: its boxes, and where they lie in a stage. All that depends on
-- the width of an element follows from the dtype's row; the CUDA is in shared_memory.cu.in and load.cu.in.

local dtypes = require "dtypes"
local swizzle = require "swizzle"

local UNIT = 16 -- bytes: what a matrix descriptor counts in

-- [operand]: { name =, extent = what its rows are to D, "M" or "N", dtype =, rows = and depth = of its tile,
-- pair_rows = at most that lie together in the tensor, if not all, column_major =, swizzle_bits =, peers = CTAs that
-- share the tile, ctas = their bits, whole = one of them may load all of it, hint = for the L2, if any, spread = bits
-- of an element that takes a byte, cut = rows of a box at the tensor's edge, where boxes beyond it are left out }.
-- A row of a box lies along K or, of a column-major operand, along M or N. Adds the operand's type in CUDA, both axes
-- (along a row of a box, across its rows), whether the peers load in turns, for want of slices of whole groups of 8
-- rows for each, what a load brings, a box (box_rows, box_columns, in boxes a stage), bytes and descriptor units of a
-- box's row, stage_bytes, and the descriptor's fields.
return function(operand)
    local rows, columns = operand.rows, operand.depth
    operand.across, operand.along = operand.extent, "K"
    if operand.column_major then
        rows, columns = columns, rows
        operand.across, operand.along = operand.along, operand.across
    end
    local dtype, row_bytes = dtypes[operand.dtype], swizzle.span(operand.swizzle_bits)
    local bits = dtype.bits
    operand.cuda = dtype.cuda
    operand.row_bytes, operand.row_units = row_bytes, row_bytes // UNIT
    operand.turns = operand.whole and operand.peers > 1 and rows % 8 == 0 and rows % (8 * operand.peers) ~= 0
    operand.box_columns, operand.box_rows = row_bytes * 8 // bits, operand.turns and rows or rows // operand.peers
    if operand.pair_rows and not operand.column_major then
        operand.box_rows = math.min(operand.box_rows, operand.pair_rows)
    end
    operand.along_bytes = columns * bits // 8
    operand.boxes = operand.along_bytes // row_bytes
    operand.stage_bytes = rows * operand.along_bytes
    operand.copied_bytes = operand.stage_bytes * (operand.spread or 8) // 8    -- as copies count them
    local descriptor = operand.column_major and swizzle.descriptor_mn or swizzle.descriptor
    operand.descriptor = descriptor(operand.swizzle_bits, rows)
    return operand
end

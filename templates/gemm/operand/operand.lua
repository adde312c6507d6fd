-- operand.lua: A or B on its way into the tensor cores: its boxes, and where they lie in a stage. All that depends on
-- the width of an element follows from the dtype's row; the CUDA is in shared_memory.cu.in and load.cu.in.

local dtypes = require "dtypes"
local swizzle = require "swizzle"

local UNIT = 16 -- bytes: what a matrix descriptor counts in

-- [operand]: { name =, extent = what its rows are to D, "M" or "N", dtype =, rows = and depth = of its tile,
-- swizzle_bits =, peers = CTAs that share the tile, ctas = their bits, hint = for the L2, if any }. Adds its type in
-- CUDA, what a load brings, a box (box_rows, box_columns, in boxes a stage), bytes and descriptor units of a box's row,
-- stage_bytes, and the descriptor's fields.
return function(operand)
    local dtype, row_bytes = dtypes[operand.dtype], swizzle.span(operand.swizzle_bits)
    local bits = dtype.bits
    operand.cuda = dtype.cuda
    operand.row_bytes, operand.row_units = row_bytes, row_bytes // UNIT
    operand.box_columns, operand.box_rows = row_bytes * 8 // bits, operand.rows // operand.peers
    operand.depth_bytes = operand.depth * bits // 8
    operand.boxes = operand.depth_bytes // row_bytes
    operand.stage_bytes = operand.rows * operand.depth_bytes
    operand.descriptor = swizzle.descriptor(operand.swizzle_bits, operand.rows)
    return operand
end

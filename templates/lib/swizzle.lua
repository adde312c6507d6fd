-- swizzle.lua: swizzle spans by their log2, and what TMA and wgmma call them.
-- A span of 2^bits bytes permutes its 16-byte columns by row (PTX ISA 5.5.7).

local swizzle = {}

local modes = { [0] = 0, [5] = 3, [6] = 2, [7] = 1 } -- wgmma descriptor, bits 62 and 63 (PTX ISA 9.7.15.5.1)

-- bytes of one row of a box; without swizzle a wgmma operand has columns of 16 bytes
function swizzle.span(bits)
    return bits == 0 and 16 or 1 << bits
end

function swizzle.bytes(bits)
    return bits == 0 and 0 or 1 << bits
end

-- template arguments of wgmma_descriptor for a K-major operand of [rows] rows
function swizzle.descriptor_arguments(bits, rows)
    if bits == 0 then
        return ("0, 128, %d"):format(rows * 16)
    end
    return ("%d, %d, 0"):format(modes[bits], 8 << bits)
end

-- CUDA expression: what the 16-byte column's byte offset is xored with in row `row` of a swizzled box
function swizzle.of_row(bits)
    local expressions = { [5] = "row / 4 % 2 * 16", [6] = "row / 2 % 4 * 16", [7] = "row % 8 * 16" }
    return expressions[bits] or "0"
end

return swizzle

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

-- fields of the matrix descriptor of a K-major operand of [rows] rows: the mode, and bytes from one group of 8 rows to
-- the next (stride) and, without swizzle, from one 16-byte column to the next (leading)
function swizzle.descriptor(bits, rows)
    if bits == 0 then
        return { mode = 0, stride = 128, leading = rows * 16 }
    end
    return { mode = modes[bits], stride = 8 << bits, leading = 0 }
end

-- The same of an operand whose rows lie along M or N, one for each of [depth] k. Under a swizzle the stride is that of
-- 8 k and the leading bytes lead from one span to the next; without one the two change places, a column being a span.
function swizzle.descriptor_mn(bits, depth)
    if bits == 0 then
        return { mode = 0, stride = depth * 16, leading = 128 }
    end
    return { mode = modes[bits], stride = 8 << bits, leading = depth << bits }
end

-- the log2 of the widest swizzle whose spans divide a row of so many bytes; 0: only none does
function swizzle.widest(row_bytes)
    for _, bits in ipairs { 7, 6, 5 } do
        if row_bytes % (1 << bits) == 0 then
            return bits
        end
    end
    return 0
end

return swizzle

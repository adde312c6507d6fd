-- alignment.lua: what tensors and dimensions must be multiples of, for kernels that load by TMA or by threads.

local dtypes = require "dtypes"

-- What each dimension must be a multiple of, and why: TMA wants rows of whole 16 bytes, of A and B, and of D where it
-- stores them; the direct store writes pairs of columns, or of rows, if operands are exchanged. The rows of a
-- column-major operand lie along M or N.
return function(s, p)
    local d_bits = dtypes[s.problem.d].bits
    -- elements of a row of D that a thread holds together
    p.neighbours = (p.exchanged or p.elements) and 1 or 2
    p.alignment = { a = 16, b = 16, d = p.store and 16 or p.neighbours * d_bits // 8 }
    p.multiples = { m = 1, n = 8 * p.alignment.d // d_bits * (p.gated and 2 or 1), k = 1 }
    p.why_multiples = {
        n = p.store and "rows of D in whole 16 bytes, for TMA" or "pairs of columns, for the direct store",
    }
    if s.math == "tcgen05" and s.scales.d == "1x32" then
        p.multiples.n, p.why_multiples.n = 32 * (p.gated and 2 or 1), "whole blocks of D that have a scale"
    end
    if s.math == "tcgen05" and s.scales.a and p.gated then
        p.multiples.n, p.why_multiples.n = 256, "halves of B that begin with whole atoms of scales"
    end
    if s.math == "tcgen05" and (s.epilogue.read.matrix or "pairs") ~= "pairs" and p.multiples.n % 8 ~= 0 then
        p.multiples.n, p.why_multiples.n = 8, "rows of operands in whole 16 bytes"
    end
    local b = p.scaled and p.scaled.b
    if b and b.halves and b.block > 1 then
        p.multiples.n = math.max(p.multiples.n, 2 * b.span)
        p.why_multiples.n = "halves of B whose rows, as many as a tile loads together, lie in one block"
    end
    for _, operand in ipairs(p.operands) do
        local dim, elements = operand.along:lower(), 128 // dtypes[operand.dtype].bits * (operand.packed or 1)
        if operand.spread then
            p.alignment[operand.name], p.multiples[dim] = 32, 128
            p.why_multiples[dim] = ("elements of %d bits come 128 at a time"):format(operand.spread)
        elseif p.ldg or operand.repacked then
            p.alignment[operand.name] = (dtypes[operand.dtype].bits + 7) // 8
        elseif p.multiples[dim] < elements and not p.apart then
            local which = dim ~= "k" and "column-major " .. operand.name:upper()
                or p.a.along == p.b.along and "A and B" or operand.name:upper()
            p.multiples[dim] = elements
            p.why_multiples[dim] = ("rows of %s in whole 16 bytes, for TMA"):format(which)
        end
    end
end

-- kinds.lua: which kind of tcgen05.mma multiplies two types (PTX ISA 9.7.16.2.1), and what an element takes of shared
-- memory there. All types of 8 bits and less multiply each other, a byte an element: those of 4 and 6 bits stand 16 in
-- 16 bytes, as boxes bring them. Two of E2M1 have kinds of their own, two in a byte, if blocks have scales.

local dtypes = require "dtypes"

local kinds = {}

-- Whether two elements stand in a byte.
function kinds.packed(s)
    return s.scales.a and s.problem.a == "e2m1" and s.problem.b == "e2m1"
end

-- Bits that an element of operand [name] takes.
function kinds.bits(s, name)
    local bits = dtypes[s.problem[name]].bits
    return kinds.packed(s) and bits or math.max(bits, 8)
end

-- Whether those of [name] are brought apart.
function kinds.spreads(s, name)
    return kinds.bits(s, name) ~= dtypes[s.problem[name]].bits
end

-- Products along K of an instruction: 32 bytes.
function kinds.k(s)
    return 256 // kinds.bits(s, "a")
end

-- The kind's name: of A's type, or that which applies scales of so many elements each.
function kinds.name(s)
    if not s.scales.a then
        return dtypes[s.problem.a].tcgen05
    elseif not kinds.packed(s) then
        return "mxf8f6f4"
    end
    return s.scales.a ~= "1x16" and s.scales.type == "ue8m0" and "mxf4" or "mxf4nvf4"
end

-- Its number of the type of [name].
function kinds.type(s, name)
    local row = dtypes[s.problem[name]]
    return kinds.packed(s) and row.packed_type or row.tcgen05_type
end

return kinds

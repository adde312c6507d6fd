-- vectors.lua: the vectors that a thread moves at once, a row each by their bytes: type, how wrappers of loads end, and
-- the fields that are their 32-bit words.

local rows = {
    [16] = { type = "uint4", load = "v4", fields = { ".x", ".y", ".z", ".w" } },
    [8] = { type = "uint2", load = "v2", fields = { ".x", ".y" } },
    [4] = { type = "uint32_t", load = "u32", fields = { "" } },
    [2] = { type = "uint32_t", load = "u16", fields = { "" } },
}

local floats = { "float", "float2", [4] = "float4" }

local vectors = {}

for bytes, row in pairs(rows) do
    row.bytes = bytes
end

-- the row of a vector of so many bytes
function vectors.of_bytes(bytes)
    return rows[bytes] or error(("there is no vector of %s bytes"):format(tostring(bytes)), 2)
end

-- the type of [count] elements of a row of dtypes.lua, whose fields are elements or pairs of them
function vectors.type_of(element, count)
    if element.bits == 32 then
        return floats[count]
    end
    return count == 1 and element.cuda or vectors.of_bytes(count * element.bits // 8).type
end

return vectors

-- smem.lua: shared-memory maps: members laid out one after another, as the struct in the template has them.
-- Explain, the legality checks and the manifest read the same map.

local smem = {}

local function align_up(offset, alignment)
    return (offset + alignment - 1) // alignment * alignment
end

-- [members]: { {name=, bytes=, align=, doc=}, ... }. Returns them with their offsets, and the total in bytes.
function smem.layout(members)
    local offset, widest = 0, 1
    for _, member in ipairs(members) do
        offset = align_up(offset, member.align)
        member.offset = offset
        offset = offset + member.bytes
        widest = math.max(widest, member.align)
    end
    return members, align_up(offset, widest)
end

return smem

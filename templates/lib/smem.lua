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

-- Gives each of [barriers] the offset of the member, one of [laid_out], that has its name.
function smem.place_barriers(barriers, laid_out)
    for _, member in ipairs(laid_out) do
        for _, barrier in ipairs(barriers) do
            barrier.offset = barrier.name == member.name and member.offset or barrier.offset
        end
    end
end

return smem

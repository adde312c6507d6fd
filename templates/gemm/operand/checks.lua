-- checks.lua: what is legal for operands that lie in a ring of stages in shared memory, boxes of a swizzle's spans.

local archs = require "archs"

local checks = {}

function checks.boxes(s, p, fail)
    for _, name in ipairs { "a", "b" } do
        local operand, knob = p[name], "swizzle_bits." .. name
        local along = "tile." .. operand.along:lower()
        if operand.along_bytes < operand.row_bytes then
            fail(knob, ("%s: a row of %d bytes (%s %d) is narrower than the swizzle's %d"):format(knob,
                operand.along_bytes, along, s.tile[operand.along:lower()], operand.row_bytes),
                "a smaller swizzle or a larger " .. along)
        elseif operand.along_bytes % operand.row_bytes ~= 0 then
            fail(knob, ("%s: a row of %d bytes (%s %d) is no multiple of the swizzle's %d"):format(knob,
                operand.along_bytes, along, s.tile[operand.along:lower()], operand.row_bytes),
                "a smaller swizzle or another " .. along)
        end
        if operand.box_rows > 256 then
            fail("tile." .. (name == "a" and "m" or "n"), "a TMA box has at most 256 rows", "up to 256")
        end
    end
end

local function largest_that_fits(s, p)
    local rest = p.smem_bytes - s.stages * (p.a.stage_bytes + p.b.stage_bytes)
    return (archs.shared_memory(s.arch) - rest) // (p.a.stage_bytes + p.b.stage_bytes)
end

function checks.shared_memory(s, p, fail)
    if p.smem_bytes > archs.shared_memory(s.arch) then
        fail("stages", ("shared memory: %d stages and the rest need %d bytes of the %d that a CTA may have"):format(
            s.stages, p.smem_bytes, archs.shared_memory(s.arch)), ("stages up to %d with these tiles"):format(
            math.max(largest_that_fits(s, p), 0)))
    end
end

return checks

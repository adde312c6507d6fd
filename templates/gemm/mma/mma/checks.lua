-- checks.lua: what is legal for warps on mma.sync.

local archs = require "archs"

return {
    { "input types", check = function(s, p, fail)
        if s.problem.a ~= s.problem.b then
            fail("problem.b", ("problem.b is %s but problem.a is %s"):format(s.problem.b, s.problem.a),
                "one type for both: mma multiplies 16-bit floats of one kind")
        end
        if p.a_type.bits ~= 16 then
            fail("math", ("math: mma is for 16-bit floats, but A and B are %s"):format(s.problem.a), "wgmma")
        end
    end },
    { "layout", check = function(s, p, fail)
        for _, operand in ipairs { "a", "b" } do
            if s.layout[operand] == "column" then
                local knob = "layout." .. operand
                fail(knob, knob .. ": column, but pieces of rows along K are streamed", "row; or math: wgmma")
            end
        end
    end },
    { "tile", check = function(s, p, fail)
        if not p.direct and s.tile.n % 16 ~= 0 then
            fail("tile.n", ("tile.n: %d columns of D are the 16 rows of an mma"):format(s.tile.n), "a multiple of 16")
        end
        if s.tile.k < 64 then
            fail("tile.k", ("tile.k: a warp reads %d columns of a row in pieces of 64"):format(s.tile.k), "64 and more")
        end
        if p.rows_at_once == 2 and (s.tile.k < 128 or s.load_bytes < 16) then
            fail("tile.m", ("tile.m: of %d x %d a warp loads 128 columns of two rows at once, 16 bytes a lane"):format(
                s.tile.m, s.tile.n), "tile.k from 128 on and load_bytes: 16; or whole loads of four rows, an even "
                .. "number of A's or B's")
        end
        local held = s.tile.m * s.tile.n // 32
        if p.direct then
            local twice = p.alike and s.tile.m or 0                  -- what is around A's pieces
            held = (s.tile.m + twice + s.tile.n) * s.tile.k // 64
                + s.tile.m * s.tile.n * (p.halves // 2) ^ 2 // 16
        end
        if held + 64 > p.registers[1].registers then
            fail("tile.n", ("tile: a thread holds %d %s, which leaves under 64 of its %d registers for the rest")
                :format(held, p.direct and "registers of operands and sums" or "sums", p.registers[1].registers),
                p.direct and "a smaller tile" or "a smaller tile: each warp sums all of it")
        end
    end },
    { "load", check = function(s, p, fail)
        if p.direct and s.stages > 1 then
            fail("stages", ("stages: %d, but lanes hold one tile of K at a time"):format(s.stages),
                "1; tile.k says how much a lane loads at once")
        end
        if s.load and not p.shifted and not p.direct then
            fail("load", ("load: %s, but warps stream rows by bulk copies"):format(s.load),
                "shifted, registers, or nothing")
        elseif p.shifted and s.dependent_launch == "weights" then
            fail("dependent_launch", "dependent_launch: weights, but load: shifted loads the ends of A with those of B",
                "prologue")
        end
        local small = p.direct and s.load_bytes < 16
        if p.alike and small then
            fail("alike", ("alike: true is for loads of 16 bytes, but load_bytes is %d"):format(s.load_bytes),
                "load_bytes: 16; or no alike")
        end
        if (small or p.alike) and s.dependent_launch then
            local knob = small and "load_bytes" or "alike"
            fail(knob, ("%s: %s by loads that may come before the launch before is over"):format(knob, s[knob]),
                (small and "16" or "no alike") .. "; or no dependent_launch")
        end
        local most = archs[s.arch].cluster
        if p.parts > most then
            fail("splits", ("splits: %d CTAs that divide a tile's K are a cluster"):format(p.parts),
                ("up to %d"):format(most))
        end
        for _, operand in ipairs { "a", "b" } do
            if p.direct and s.cache_hint[operand] then
                local knob = "cache_hint." .. operand
                fail(knob, ("%s: %s, but lanes load %s without one"):format(knob, s.cache_hint[operand],
                    operand:upper()), "none; or no load: registers")
            end
        end
    end },
    { "shared memory", check = function(s, p, fail)
        local most = archs.shared_memory(s.arch)
        if p.smem_bytes > most then
            local stage = p.warps * (p.stage_bytes + 8)
            fail("stages", ("shared memory: %d stages of %d warps need %d bytes of the %d that a CTA may have"):format(
                s.stages, p.warps, p.smem_bytes, most), ("stages up to %d with these tiles and warps"):format(
                math.max((most - (p.smem_bytes - s.stages * stage)) // stage, 0)))
        end
    end },
}

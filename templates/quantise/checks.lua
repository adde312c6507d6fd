-- checks.lua: quantise's legality beyond the range of a single knob.
-- What cannot be known here, such as a dynamic k, the manifest demands at launch.

local archs = require "archs"

return {
    { "scales", doc = "who shares a scale finds it", check = function(s, p, fail)
        if s.mapping == "element" and (s.swiglu or s.scales ~= "1x128") then
            fail("mapping", "mapping: element, but a thread has one block of what is there, no more", "lanes")
        elseif s.scales == "128x128" and p.unroll * s.threads * s.vector ~= 128 * 128 then
            fail("threads", ("threads: %d do not share 128 x 128 in vectors of %d"):format(s.threads, s.vector),
                "a power of two")
        end
    end },
    { "rows", doc = "a CTA has lanes for tile.m rows", check = function(s, p, fail)
        if p.groups and p.groups % s.tile.m ~= 0 then
            fail("tile.m", ("tile.m: %d rows for %d groups of %d lanes"):format(s.tile.m, p.groups, p.lanes),
                ("a divisor of threads * vector / 128, which is %d"):format(p.groups))
        end
    end },
    { "whole vectors", doc = "a row is whole vectors", check = function(s, p, fail)
        if s.mapping == "lanes" and s.problem.k ~= "dynamic" and s.problem.k % s.vector ~= 0 then
            fail("vector", ("vector: rows of %d elements are not whole vectors of %d"):format(s.problem.k, s.vector),
                "a divisor of problem.k")
        end
    end },
    { "residency", doc = "an SM has room for the threads of blocks_per_sm CTAs", check = function(s, p, fail)
        local most = archs[s.arch].sm_threads
        if p.persistent and s.threads * s.blocks_per_sm > most then
            fail("blocks_per_sm", ("blocks_per_sm: %d CTAs of %d threads on an SM"):format(s.blocks_per_sm, s.threads),
                ("up to %d threads"):format(most))
        end
    end },
}

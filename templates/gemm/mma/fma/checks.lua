-- checks.lua: what is legal for the naive kernel.

return {
    { "input types", check = function(s, p, fail)
        if p.sum.name == "i32" and p.b_type ~= p.a_type then
            fail("problem.b", ("problem.b is %s but problem.a is %s, whose sums are integers"):format(s.problem.b,
                s.problem.a), "one type for both, or types of floats")
        end
    end },
    { "threads", check = function(s, p, fail)
        if p.threads > 1024 or p.threads % 32 ~= 0 then
            fail("tile.m",
                ("tile: %d x %d threads are no whole warps of at most 1024 threads"):format(s.tile.m, s.tile.n),
                "tile.m * tile.n up to 1024, a multiple of 32")
        end
    end },
    { "grid", check = function(s, p, fail)
        if p.work.walks then
            fail("math", "math: fma computes a tile a CTA, but the grid is persistent",
                "math: wgmma, or a phase below 4")
        end
    end },
}

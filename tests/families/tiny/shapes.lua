-- What follows from tiny's knobs: threads, and a ring in shared memory where there is one.

local shapes = {}

function shapes.plan(s)
    local staged = s.variant == "staged"
    local bytes = staged and s.stages * s.tile.m * s.tile.n * 4 or 0
    local barrier = { name = "full", count = s.stages, arrivals = 1, bytes = s.tile.m * s.tile.n * 4,
                      who = "thread 0", doc = "the stage has landed" }
    return {
        threads = s.tile.m * s.tile.n,
        smem = staged and { { name = "ring", offset = 0, bytes = bytes, align = 128, doc = "stages" } } or {},
        smem_bytes = bytes,
        barriers = staged and { barrier } or {},
        registers = { { role = "all", warps = s.tile.m * s.tile.n // 32, registers = 32 } },
        launch = { block = { s.tile.m * s.tile.n, 1, 1 }, grid = "ceil(n / threads)" },
    }
end

return shapes

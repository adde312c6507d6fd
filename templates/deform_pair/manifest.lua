-- manifest.lua: what the runtime must know of a deform_pair kernel beyond its plan.
-- The pixels of a batch are fixed by the levels, so a launch with another number of them is refused.

local rows = require "rows"

return function(s, p)
    return rows.manifest("deform_pair", s, p, {
        dims = { { name = "b", value = s.problem.b }, { name = "s", value = p.pixels } }, tensors = p.tensors,
        grid = rows.grid("tiles", { { dim = "b", by = 1 }, { dim = "s", times = p.record_vectors, by = p.tile } }),
        cost = { { unit = "dram_bytes", per = "launch", amount = p.record_bytes * 3 // 2, times = { "b", "s" } },
            { unit = "store_bytes", per = "launch", amount = p.record_bytes, times = { "b", "s" } } },
    })
end

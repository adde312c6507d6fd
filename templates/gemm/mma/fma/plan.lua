-- plan.lua of fma: one thread an element, without tensor cores: what is always right.

local archs = require "archs"
local dtypes = require "dtypes"

local fma = { template = function() return "mma/fma/naive.cu.in" end }

function fma.plan(s)
    local threads = s.tile.m * s.tile.n
    local warps = threads // 32
    return {
        threads = threads, cluster_size = 1, smem = {}, smem_bytes = 0, barriers = {},
        roles = { { name = "all", first_warp = 0, warps = warps } },
        registers = { { role = "all", warps = warps, registers = archs.launch_registers(s.arch, threads) } },
        alignment = { a = dtypes.stored(s.problem.a).bits // 8, b = dtypes.stored(s.problem.b).bits // 8,
            d = dtypes.stored(s.problem.d).bits // 8 },
        multiples = { m = 1, n = 1, k = 1 }, why_multiples = {},
    }
end

return fma

-- blockscaled: gemm of operands whose blocks along K have scales. On Hopper E4M3, one for each 128 of a row of A,
-- and of a row of B or of 128 of them, which threads apply to sums; on Blackwell E2M1 by 16 or 32, or floats of 8, 6
-- and 4 bits beside each other by 32, which the instruction applies to products. All of gemm's axes are its own; what
-- stands here is where it starts from, and its ladders.

local archs = require "archs"

-- [hopper] or [blackwell], as the architecture multiplies
local function either(hopper, blackwell)
    return function(s)
        return archs[s.arch].mma == "tcgen05" and blackwell or hopper
    end
end

-- Two elements in a byte, of which a stage's rows have 128.
local function packed(s)
    return s.problem.a == "e2m1" and s.problem.b == "e2m1"
end

-- gemm's own, whose stages have scales here, too
local blackwell = require "ladder_tcgen05" (nil, 4)

return {
    name = "blockscaled",
    base = "gemm",
    doc = "D[M,N] = sum over blocks of K of a_scales b_scales (A[M,K] B[N,K]^T), A and B in E4M3, then gemm's ops",
    arch = { "sm_90a", "sm_100a", "sm_103a" },
    sets = { ["problem.a"] = either("e4m3", "e2m1"),
             ["tile.k"] = function(s) return packed(s) and 256 or 128 end,
             ["scales.a"] = function(s)
                 return archs[s.arch].mma ~= "tcgen05" and "1x128" or packed(s) and "1x16" or "1x32"
             end,
             ["scales.b"] = function(s) return archs[s.arch].mma ~= "tcgen05" and "128x128" or s.scales.a end },
    phases = {
        [1] = { title = "ring", doc = "a warp fills a ring of stages; two warpgroups multiply, and add up scaled sums",
                sets = { ["math"] = "wgmma", ["tile.m"] = 128, ["tile.n"] = 128, ["stages"] = 6,
                         ["warps.producer.count"] = 4, ["warps.producer.registers"] = 40,
                         ["warps.consumer.count"] = 8, ["warps.consumer.registers"] = 232 } },
        [2] = { title = "persistent", doc = "one CTA an SM walks the tiles in an order that the L2 likes",
                predict = "a tile is loaded while the one before is stored: +10% at K = 4096",
                sets = { ["grid"] = "persistent", ["raster.along"] = "n", ["raster.group"] = 8 } },
        [3] = { title = "TMA store", doc = "stmatrix into swizzled staging, TMA store drained under the next tile",
                predict = "coalesced stores that drain under the next tile: +5%",
                sets = { ["epilogue.store"] = "tma", ["stages"] = 5 } },
        [4] = { title = "clusters", doc = "two CTAs share the tile of B by multicast",
                predict = "three quarters of the bytes from the L2: +3%",
                sets = { ["cluster.m"] = 2 } },
    },
    default_phase = 4,
    ladders = { sm_100a = blackwell, sm_103a = blackwell },
}

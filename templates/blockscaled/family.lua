-- blockscaled: gemm of E4M3 whose blocks have scales, one for each 128 of K of a row of A, and of a row of B or of 128
-- of them. All of gemm's axes are its own; what stands here is where it starts from, and its ladder.

return {
    name = "blockscaled",
    base = "gemm",
    doc = "D[M,N] = sum over blocks of K of a_scales b_scales (A[M,K] B[N,K]^T), A and B in E4M3, then gemm's ops",
    arch = { "sm_90a" },
    sets = { ["problem.a"] = "e4m3", ["scales.a"] = "1x128", ["scales.b"] = "128x128" },
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
}

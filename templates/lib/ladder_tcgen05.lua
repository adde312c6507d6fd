-- ladder_tcgen05.lua: the ladder for GPUs with tensor memory, behind a rung [naive], if there is one. [stages]: what
-- shared memory has room for where each CTA of a pair loads half of B.

return function(naive, stages)
    return {
        [0] = naive,
        [1] = { title = "TMA and tcgen05", doc = "a warp loads a ring of stages, a thread multiplies, four warps store",
                sets = { ["math"] = "tcgen05", ["tile.m"] = 128, ["tile.n"] = 128, ["stages"] = 4 } },
        [2] = { title = "two accumulators", doc = "a CTA an SM walks the tiles: one's sums are stored while the next "
                    .. "is multiplied",
                predict = "the epilogue hides behind the next tile's products",
                sets = { ["grid"] = "persistent", ["accumulators"] = 2, ["tile.n"] = 256 } },
        [3] = { title = "CTA pairs", doc = "two CTAs multiply a tile of twice the rows; each loads half of B's",
                predict = "half the bytes of B in each SM's shared memory, and so a ring of more stages",
                sets = { ["cta_group"] = 2, ["stages"] = stages } },
        [4] = { title = "snake", doc = "every other group of the tile order goes backwards",
                predict = "a group begins with what the one before left in the L2",
                sets = { ["raster.snake"] = true, ["raster.group"] = 4 } },
        [5] = { title = "TMA store", doc = "sums into swizzled staging, TMA store drained under the next",
                predict = "whole sectors written, by bulk copies that nobody waits for",
                sets = { ["epilogue.store"] = "tma" } },
        [6] = { title = "launch control", doc = "a cluster a tile; those that run take over the tiles of those that "
                    .. "have not begun",
                predict = "no SM waits for a slower one at the end: nothing on a GPU that does nothing else",
                sets = { ["grid"] = "launch_control" } },
    }
end

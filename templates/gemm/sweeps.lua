-- What `tmagen tune gemm` tries, a product of values each: what has ever been best at some shape, and its neighbours.
-- Illegal points fall out, so depths and widths that not every tile has room for may stand together.

local pairs_of_ctas = { 1, 2 }

-- two warpgroups on a tile, three on one of 192 rows, and two that take turns
local cooperative = {
    ["phase"] = 6, ["tile.m"] = { 128, 256 }, ["tile.n"] = { 64, 128, 192, 256 }, ["stages"] = { 3, 4, 5, 6 },
    ["cluster.m"] = pairs_of_ctas,
}
local shared_a = { ["phase"] = 6, ["tile.m"] = 256, ["tile.n"] = { 64, 128 }, ["stages"] = 4, ["cluster.n"] = 2 }
local three = {
    ["phase"] = 6, ["tile.m"] = 192, ["tile.n"] = { 64, 128, 192 }, ["stages"] = { 3, 4, 5, 6 },
    ["cluster.m"] = pairs_of_ctas, ["warps.consumer.count"] = 12, ["warps.producer.registers"] = 24,
    ["warps.consumer.registers"] = 160,
}
local pingpong = {
    ["phase"] = 7, ["tile.m"] = { 64, 128 }, ["tile.n"] = { 64, 128, 192, 256 }, ["stages"] = { 4, 5, 6, 8 },
    ["cluster.m"] = pairs_of_ctas,
}
local along_n = {
    ["phase"] = 7, ["tile.m"] = 128, ["tile.n"] = { 128, 192 }, ["stages"] = { 5, 6 }, ["cluster.m"] = pairs_of_ctas,
    ["raster.along"] = "n", ["epilogue.buffers"] = 1,
}
-- widths that a store of 32 columns divides
local odd_widths = {
    ["phase"] = 7, ["tile.m"] = { 64, 128 }, ["tile.n"] = { 96, 160, 224 }, ["stages"] = { 4, 5, 6, 7 },
    ["cluster.m"] = pairs_of_ctas, ["epilogue.tile.n"] = 32, ["epilogue.buffers"] = 1,
    ["swizzle_bits.d"] = 6,
}
local odd_cooperative = {
    ["phase"] = 6, ["tile.m"] = 128, ["tile.n"] = { 160, 224 }, ["stages"] = { 4, 5 }, ["cluster.m"] = pairs_of_ctas,
    ["epilogue.tile.n"] = 32, ["epilogue.buffers"] = 1, ["swizzle_bits.d"] = 6,
}

-- widths that a store of 16 columns divides, for waves that others do not fill
local odder_widths = {
    ["phase"] = 6, ["tile.m"] = 128, ["tile.n"] = { 112, 144, 176, 208 }, ["stages"] = { 5, 6 },
    ["cluster.m"] = pairs_of_ctas, ["cluster.n"] = pairs_of_ctas, ["epilogue.tile.n"] = 16, ["epilogue.buffers"] = 1,
    ["swizzle_bits.d"] = 5,
}

-- few columns in one wave, stored as they lie
local few_columns = {
    ["phase"] = 6, ["tile.m"] = 64, ["tile.n"] = { 72, 104 }, ["stages"] = { 8, 10, 12 }, ["cluster.m"] = { 1, 2, 4 },
    ["warps.consumer.count"] = 4, ["prefetch_maps"] = true, ["epilogue.tile.n"] = { 72, 104 }, ["epilogue.buffers"] = 1,
    ["swizzle_bits.d"] = 0,
}

-- one wave of small tiles that clusters on both sides share: two or four CTAs along each
local by_eight = {
    ["phase"] = 6, ["tile.m"] = 64, ["tile.n"] = { 72, 80, 88, 96, 104 }, ["stages"] = { 10, 12 },
    ["cluster.m"] = { 2, 4 }, ["cluster.n"] = { 2, 4 }, ["warps.consumer.count"] = 4, ["prefetch_maps"] = true,
    ["epilogue.tile.n"] = { 72, 80, 88, 96, 104 }, ["epilogue.buffers"] = 1, ["swizzle_bits.d"] = 0,
}
local some_rows_by_eight = {
    ["phase"] = 6, ["exchange"] = true, ["tile.m"] = { 72, 88, 104 }, ["tile.n"] = 64, ["stages"] = { 9, 11 },
    ["cluster.m"] = { 2, 4 }, ["cluster.n"] = { 2, 4 }, ["warps.consumer.count"] = 4, ["prefetch_maps"] = true,
    ["epilogue.buffers"] = 1,
}
local wide_by_eight = {
    ["phase"] = 6, ["tile.m"] = 128, ["tile.n"] = { 96, 104, 112 }, ["stages"] = { 6, 7 },
    ["cluster.m"] = { 2, 4 }, ["cluster.n"] = { 2, 4 }, ["prefetch_maps"] = true,
    ["epilogue.tile.n"] = { 96, 104, 112 }, ["epilogue.buffers"] = 1, ["swizzle_bits.d"] = 0,
}
local split_by_eight = {
    ["phase"] = 6, ["grid"] = "split_k", ["tile.m"] = 64, ["tile.n"] = { 72, 80, 96 }, ["stages"] = 12,
    ["cluster.m"] = { 2, 4 }, ["cluster.n"] = { 2, 4 }, ["warps.consumer.count"] = 4, ["prefetch_maps"] = true,
    ["epilogue.store"] = "direct",
}

-- one wave of narrow tiles that a row of CTAs shares
local in_rows = {
    ["phase"] = 6, ["exchange"] = true, ["tile.m"] = { 16, 24, 40, 48, 80, 160 }, ["tile.n"] = { 64, 128, 192 },
    ["stages"] = { 6, 10 }, ["cluster.m"] = 1, ["cluster.n"] = 4, ["prefetch_maps"] = true,
    ["epilogue.buffers"] = 1,
}

-- one wave of tiles as large as it wants them, which pairs of CTAs share along either side
local in_pairs = {
    ["phase"] = 6, ["exchange"] = true, ["tile.m"] = { 88, 136, 160, 168, 176, 184, 208 }, ["tile.n"] = { 128, 192 },
    ["stages"] = { 4, 5 }, ["cluster.m"] = pairs_of_ctas, ["cluster.n"] = pairs_of_ctas, ["prefetch_maps"] = true,
    ["epilogue.buffers"] = 1,
}
local wide_in_pairs = {
    ["phase"] = 6, ["tile.m"] = { 128, 192 }, ["tile.n"] = { 176, 200, 208, 224 }, ["stages"] = { 4, 5 },
    ["cluster.m"] = pairs_of_ctas, ["cluster.n"] = pairs_of_ctas, ["prefetch_maps"] = true,
    ["epilogue.store"] = "direct",
}

-- operands exchanged: few rows
local few_rows = {
    ["phase"] = 6, ["exchange"] = true, ["tile.m"] = { 8, 16, 32, 64 }, ["tile.n"] = { 64, 128 }, ["tile.k"] = 128,
    ["stages"] = { 5, 7, 9 }, ["warps.consumer.count"] = { 4, 8 },
}
local few_rows_in_turns = {
    ["phase"] = 7, ["exchange"] = true, ["tile.m"] = { 8, 16, 24, 32, 40, 48, 64, 80, 96 }, ["tile.n"] = 64,
    ["tile.k"] = { 64, 128 }, ["stages"] = { 6, 8, 10 },
}
local some_rows = {
    ["phase"] = 6, ["exchange"] = true, ["tile.m"] = { 40, 64, 72, 80, 88, 96, 104, 112, 120, 128, 136, 144, 160, 192 },
    ["tile.n"] = 128, ["stages"] = { 5, 6, 8 }, ["cluster.m"] = { 1, 2, 4 }, ["epilogue.buffers"] = 1,
}
local more_rows = {
    ["phase"] = 6, ["exchange"] = true, ["tile.m"] = { 160, 176, 200, 224, 240 }, ["tile.n"] = 128,
    ["stages"] = { 4, 5 }, ["cluster.m"] = pairs_of_ctas, ["epilogue.buffers"] = 1,
}
local some_rows_in_turns = {
    ["phase"] = 7, ["exchange"] = true, ["tile.m"] = { 64, 80, 96, 112, 128, 144, 160 }, ["tile.n"] = 128,
    ["stages"] = { 5, 6, 7 },
}
local some_rows_narrow = {
    ["phase"] = 6, ["exchange"] = true, ["tile.m"] = { 88, 96, 104, 112, 128 }, ["tile.n"] = 64,
    ["stages"] = { 7, 9 }, ["cluster.m"] = { 1, 2, 4 }, ["warps.consumer.count"] = 4,
}
local some_rows_wide = {
    ["phase"] = 6, ["exchange"] = true, ["tile.m"] = { 96, 112, 128, 144, 160 }, ["tile.n"] = 256,
    ["stages"] = { 3, 4 }, ["cluster.m"] = pairs_of_ctas,
}

-- several small CTAs an SM, each of one tile
local function tiles(shape)
    local sweep = {
        ["phase"] = 6, ["exchange"] = true, ["grid"] = "tiles", ["prefetch_maps"] = true, ["cluster.m"] = 1,
        ["warps.producer.registers"] = 24, ["warps.consumer.count"] = 4, ["tile.n"] = 64, ["tile.k"] = 64,
    }
    for knob, values in pairs(shape) do
        sweep[knob] = values
    end
    return sweep
end
local tiles_of_few_rows = tiles { ["tile.m"] = { 8, 16, 24 }, ["tile.k"] = 128, ["stages"] = { 4, 6, 8 },
                                  ["warps.consumer.registers"] = 72 }
local tiles_of_some_rows = tiles { ["tile.m"] = { 32, 40, 48, 64 }, ["stages"] = { 4, 6 }, ["tile.k"] = { 64, 128 },
                                   ["warps.consumer.registers"] = 88 }
local tiles_of_more_rows = tiles { ["tile.m"] = { 80, 96, 128 }, ["stages"] = { 4, 5 }, ["epilogue.buffers"] = 1,
                                   ["warps.consumer.registers"] = 120 }
local wide_tiles = tiles { ["tile.m"] = { 32, 64, 80, 96 }, ["tile.n"] = 128, ["stages"] = { 3, 5 },
                           ["epilogue.buffers"] = 1, ["warps.consumer.count"] = 8, ["warps.consumer.registers"] = 80 }

-- fewer tiles than SMs, or some more than full waves of them; into how many parts a launch says
local split = {
    ["phase"] = 6, ["grid"] = "split_k", ["tile.m"] = 128, ["tile.n"] = { 64, 128, 192 },
    ["stages"] = { 4, 6 },
}
local split_few_rows = {
    ["phase"] = 6, ["exchange"] = true, ["grid"] = "split_k", ["tile.m"] = { 8, 16, 32, 64, 96 },
    ["tile.n"] = { 64, 128 }, ["tile.k"] = { 64, 128 }, ["stages"] = { 5, 10 }, ["warps.consumer.count"] = { 4, 8 },
}
local split_some_rows = {
    ["phase"] = 6, ["exchange"] = true, ["grid"] = "split_k", ["tile.m"] = { 96, 128, 160 }, ["tile.n"] = 128,
    ["stages"] = { 5, 7 },
}
-- few tiles and a long K: what the L2 delivers is the limit, and clusters halve or quarter it
local split_in_clusters = {
    ["phase"] = 6, ["exchange"] = true, ["grid"] = "split_k", ["tile.m"] = { 80, 96, 112, 144, 160 },
    ["tile.n"] = 128, ["stages"] = { 6, 8 }, ["cluster.m"] = { 2, 4 }, ["cluster.n"] = pairs_of_ctas,
    ["epilogue.buffers"] = 1,
}
local split_narrow_in_clusters = {
    ["phase"] = 6, ["exchange"] = true, ["grid"] = "split_k", ["tile.m"] = { 48, 72, 112 }, ["tile.n"] = 64,
    ["stages"] = { 8, 12 }, ["cluster.m"] = { 2, 4 }, ["cluster.n"] = pairs_of_ctas, ["epilogue.buffers"] = 1,
    ["warps.consumer.count"] = 4,
}
-- small tiles in clusters of eight, and each CTA alone in an order in which neighbours share A
local split_narrow_by_eight = {
    ["phase"] = 6, ["exchange"] = true, ["grid"] = "split_k", ["tile.m"] = { 56, 88, 96, 104 }, ["tile.n"] = 64,
    ["stages"] = { 10, 11 }, ["cluster.m"] = { 2, 4 }, ["cluster.n"] = { 2, 4 }, ["warps.consumer.count"] = 4,
    ["prefetch_maps"] = true, ["epilogue.store"] = "direct",
}
local split_alone = {
    ["phase"] = 6, ["exchange"] = true, ["grid"] = "split_k", ["tile.m"] = { 112, 136 }, ["tile.n"] = { 64, 128 },
    ["stages"] = { 6, 9 }, ["cluster.m"] = 1, ["raster.along"] = "n", ["warps.consumer.count"] = { 4, 8 },
    ["prefetch_maps"] = true, ["epilogue.store"] = "direct",
}
local in_cluster = {
    ["phase"] = 6, ["exchange"] = true, ["grid"] = "cluster_k", ["splits"] = { 2, 4 }, ["tile.m"] = { 8, 16, 32 },
    ["tile.n"] = { 64, 128 }, ["tile.k"] = 128, ["stages"] = { 5, 7 }, ["warps.consumer.count"] = { 4, 8 },
}
-- the same, where parts are many: each CTA adds up its share
local shares = {
    ["phase"] = 6, ["grid"] = "shares_k", ["tile.m"] = 64, ["tile.n"] = { 48, 72, 104, 136 },
    ["stages"] = { 8, 12 }, ["cluster.m"] = pairs_of_ctas, ["cluster.n"] = pairs_of_ctas, ["cluster.k"] = { 2, 4 },
    ["warps.consumer.count"] = 4, ["epilogue.store"] = "direct",
}
local wide_shares = {
    ["phase"] = 6, ["grid"] = "shares_k", ["tile.m"] = 128, ["tile.n"] = { 72, 104 }, ["stages"] = { 6, 8 },
    ["cluster.n"] = pairs_of_ctas, ["cluster.k"] = { 2, 4 }, ["epilogue.store"] = "direct",
}
local shares_of_some_rows = {
    ["phase"] = 6, ["exchange"] = true, ["grid"] = "shares_k", ["tile.m"] = { 48, 88, 104, 112 }, ["tile.n"] = 128,
    ["stages"] = 6, ["cluster.m"] = pairs_of_ctas, ["cluster.n"] = pairs_of_ctas, ["cluster.k"] = 2,
    ["epilogue.store"] = "direct",
}
local narrow_shares_of_some_rows = {
    ["phase"] = 6, ["exchange"] = true, ["grid"] = "shares_k", ["tile.m"] = { 48, 88 }, ["tile.n"] = 64,
    ["stages"] = 10, ["cluster.m"] = pairs_of_ctas, ["cluster.k"] = { 2, 4 }, ["warps.consumer.count"] = 4,
    ["epilogue.store"] = "direct",
}
local streamed = {
    ["phase"] = 7, ["grid"] = "stream_k", ["tile.m"] = { 64, 128 }, ["tile.n"] = { 128, 192 }, ["stages"] = { 4, 5 },
    ["cluster.m"] = pairs_of_ctas,
}
local streamed_few_rows = {
    ["phase"] = 6, ["exchange"] = true, ["grid"] = "stream_k", ["tile.m"] = { 32, 64, 96 }, ["tile.n"] = { 64, 128 },
    ["tile.k"] = { 64, 128 }, ["stages"] = 5, ["warps.consumer.count"] = { 4, 8 },
}

return { cooperative, shared_a, three, pingpong, along_n, odd_widths, odd_cooperative, odder_widths, few_columns,
         by_eight, some_rows_by_eight, wide_by_eight, split_by_eight, in_rows, in_pairs, wide_in_pairs, few_rows,
         few_rows_in_turns, some_rows, more_rows, some_rows_in_turns, some_rows_narrow, some_rows_wide,
         tiles_of_few_rows, tiles_of_some_rows, tiles_of_more_rows, wide_tiles, split, split_few_rows,
         split_some_rows, split_in_clusters, split_narrow_in_clusters, split_narrow_by_eight, split_alone, in_cluster,
         shares, wide_shares, shares_of_some_rows, narrow_shares_of_some_rows, streamed, streamed_few_rows }

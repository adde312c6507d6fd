-- What `tmagen tune gemm` tries, a product of values each: what has ever been best at some shape, and its neighbours.
-- Illegal points fall out, so depths and widths that not every tile has room for may stand together.

local pairs_of_ctas = { 1, 2 }

-- two warpgroups on a tile, three on one of 192 rows, and two that take turns
local cooperative = {
    ["phase"] = 6, ["tile.m"] = { 128, 256 }, ["tile.n"] = { 64, 128, 192, 256 }, ["stages"] = { 3, 4, 5, 6 },
    ["cluster.m"] = pairs_of_ctas,
}
local three = {
    ["phase"] = 6, ["tile.m"] = 192, ["tile.n"] = { 64, 128, 192 }, ["stages"] = { 3, 4, 5, 6 },
    ["cluster.m"] = pairs_of_ctas, ["warps.consumer.count"] = 12, ["warps.producer.registers"] = 24,
    ["warps.consumer.registers"] = 160,
}
local pingpong = {
    ["phase"] = 7, ["tile.m"] = { 64, 128 }, ["tile.n"] = { 64, 128, 192, 256 }, ["stages"] = { 4, 5, 6, 8 },
    ["cluster.m"] = pairs_of_ctas,
}
-- widths that a store of 32 columns divides
local odd_widths = {
    ["phase"] = 7, ["tile.m"] = { 64, 128 }, ["tile.n"] = { 96, 160, 224 }, ["stages"] = { 4, 5, 6, 8 },
    ["cluster.m"] = pairs_of_ctas, ["epilogue.tile.n"] = 32, ["epilogue.buffers"] = 1,
    ["swizzle_bits.d"] = 6,
}

-- operands exchanged: few rows
local few_rows = {
    ["phase"] = 6, ["exchange"] = true, ["tile.m"] = { 8, 16, 32, 64 }, ["tile.n"] = { 64, 128 }, ["tile.k"] = 128,
    ["stages"] = { 5, 7, 9 }, ["warps.consumer.count"] = { 4, 8 },
}
local some_rows = {
    ["phase"] = 6, ["exchange"] = true, ["tile.m"] = { 64, 88, 96, 128, 136, 160, 192 }, ["tile.n"] = 128,
    ["stages"] = { 4, 5, 6 }, ["cluster.m"] = pairs_of_ctas, ["cluster.n"] = pairs_of_ctas,
}

-- fewer tiles than SMs, or some more than full waves of them; into how many parts a launch says
local split = {
    ["phase"] = 6, ["grid"] = "split_k", ["tile.m"] = 128, ["tile.n"] = { 64, 128, 192 },
    ["stages"] = { 4, 6 },
}
local split_few_rows = {
    ["phase"] = 6, ["exchange"] = true, ["grid"] = "split_k", ["tile.m"] = { 8, 16, 32, 64, 96 },
    ["tile.n"] = { 64, 128 }, ["tile.k"] = 128, ["stages"] = { 5, 9 }, ["warps.consumer.count"] = { 4, 8 },
}
local in_cluster = {
    ["phase"] = 6, ["exchange"] = true, ["grid"] = "cluster_k", ["splits"] = { 2, 4 }, ["tile.m"] = { 8, 16, 32 },
    ["tile.n"] = { 64, 128 }, ["tile.k"] = 128, ["stages"] = { 5, 7 }, ["warps.consumer.count"] = { 4, 8 },
}
local streamed = {
    ["phase"] = 7, ["grid"] = "stream_k", ["tile.m"] = { 64, 128 }, ["tile.n"] = { 128, 192 }, ["stages"] = { 4, 5 },
    ["cluster.m"] = pairs_of_ctas,
}
local streamed_few_rows = {
    ["phase"] = 6, ["exchange"] = true, ["grid"] = "stream_k", ["tile.m"] = { 32, 64, 96 }, ["tile.n"] = { 64, 128 },
    ["tile.k"] = { 64, 128 }, ["stages"] = 5, ["warps.consumer.count"] = { 4, 8 },
}

return { cooperative, three, pingpong, odd_widths, few_rows, some_rows, split, split_few_rows, in_cluster, streamed,
         streamed_few_rows }

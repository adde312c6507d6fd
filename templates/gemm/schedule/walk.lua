-- walk.lua: what a walk over tiles counts with, as CUDA: a CTA's tiles, or those of a cluster, which are one to it.
-- `m`, `n`: rows and columns of one; `ctas`: divides blockIdx and gridDim; `place` and `own_place`: Work's parameter
-- and its initialiser, of where the CTA stands in its cluster.

local ALONE = { m = "TILE_M", n = "TILE_N", ctas = "", place = "", own_place = "" }
local CLUSTERED = { m = "TILE_M * CLUSTER_M", n = "TILE_N * CLUSTER_N", ctas = " / CLUSTER_SIZE", place = ", Cta cta",
    own_place = " cta(cta)," }

return function(plan)
    return (plan.clustered or plan.placed) and CLUSTERED or ALONE
end

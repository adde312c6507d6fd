-- walk.lua: what a walk over tiles counts with, as CUDA: a CTA's tiles, or those of a cluster, which are one to it.
-- `m`, `n`: rows and columns of one; `ctas`: divides blockIdx and gridDim; `place` and `own_place`: Work's parameter
-- and its initialiser, of where the CTA stands in its cluster.

local ALONE = { m = "TILE_M", n = "TILE_N", ctas = "", place = "", own_place = "" }
local CLUSTERED = { m = "TILE_M * CLUSTER_M", n = "TILE_N * CLUSTER_N", ctas = " / CLUSTER_SIZE", place = ", Cta cta",
    own_place = " cta(cta)," }

return function(plan)
    local walk = (plan.clustered or plan.placed) and CLUSTERED or ALONE
    if not plan.periodic then
        return walk
    end
    return setmetatable({ rows = plan.clustered and "ceil_div(tile_rows(m), CLUSTER_M)" or "tile_rows(m)" },
        { __index = walk })
end

-- arguments.lua: what a Work is made of, in the order of its constructor: the sizes as this kernel walks them, what its
-- schedule takes besides, and where the CTA stands in its cluster. [whole]: all lanes of a warp walk together.

return function(plan, whole)
    local list = { plan.apart and ("m, %ss(n), k + %d"):format(plan.part, plan.apart - 1) or "m, n, k" }
    if plan.work.parts and plan.work.parts.takes_splits then
        list[2] = "splits"
    elseif plan.batched then
        list[2] = "batch"
    elseif plan.groups then
        list[plan.array and 1 or 2] = "smem.groups, smem.group_count"
    end
    if plan.work.asks then
        list[#list + 1] = "smem, " .. (whole and "true" or "false")
    end
    list[#list + 1] = (plan.clustered or plan.placed) and "cta" or nil
    return table.concat(list, ", ")
end

-- groups.lua: what follows from a schedule that lays several problems into one launch, their sizes on the device.

-- [groups]: that field of the schedule's row. Adds most, the groups that a CTA has room to list: whole warps of them.
return function(s, groups)
    local count = s.problem.groups
    local most = count == "dynamic" and s.most_groups or (count + 31) // 32 * 32
    return { tensor = groups.tensor, counts = groups.counts or false, of = groups.of, most = most }
end

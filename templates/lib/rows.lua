-- rows.lua: the lists of a manifest that every family writes the same way: parameters, barriers, roles.
-- They come from the plan's own tables, so that explain, the template and the runtime agree.

local rows = {}

local function map(items, row_of)
    local list = {}
    for i, item in ipairs(items) do
        list[i] = json.object(row_of(item))
    end
    return json.array(list)
end

local parameter_keys = { "kind", "tensor", "dim", "axis", "type", "swizzle_bytes" }

-- [parameters]: { {declaration=, row={kind=, ...}}, ... } in the order of the kernel's own
function rows.parameters(parameters)
    return map(parameters, function(parameter)
        local row, fields = parameter.row, {}
        for _, key in ipairs(parameter_keys) do
            fields[#fields + 1] = row[key] ~= nil and { key, row[key] } or nil
        end
        fields[#fields + 1] = row.box and { "box", json.array(row.box) } or nil
        return fields
    end)
end

function rows.barriers(barriers)
    return map(barriers, function(barrier)
        return { { "name", barrier.name }, { "offset", barrier.offset }, { "count", barrier.count },
            { "arrivals", barrier.arrivals }, { "bytes", barrier.bytes } }
    end)
end

function rows.roles(roles)
    return map(roles, function(role)
        return { { "name", role.name }, { "first_warp", role.first_warp }, { "warps", role.warps } }
    end)
end

return rows

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

local parameter_keys = { "kind", "tensor", "dim", "index", "axis", "type", "swizzle_bytes", "l2_promotion",
    "interleave", "fill", "default" }
local parameter_lists = { "box", "element_strides" }

-- [parameters]: { {declaration=, row={kind=, ...}}, ... } in the order of the kernel's own
function rows.parameters(parameters)
    return map(parameters, function(parameter)
        local row, fields = parameter.row, {}
        for _, key in ipairs(parameter_keys) do
            fields[#fields + 1] = row[key] ~= nil and { key, row[key] } or nil
        end
        for _, key in ipairs(parameter_lists) do
            fields[#fields + 1] = row[key] and { key, json.array(row[key]) } or nil
        end
        fields[#fields + 1] = row.kind == "scalar" and { "name", row.name } or nil
        return fields
    end)
end

local INT_MAX = (1 << 31) - 1

-- The largest size that, rounded up to whole [step]s, is still an int: kernels compute with rounded sizes.
function rows.largest(step)
    return INT_MAX // step * step
end

-- [dims]: { {name=, value=, multiple_of=, most=}, ... }. value: a number or "dynamic"; most: the largest that the
-- kernel's arithmetic allows, where that is not any int.
function rows.dims(dims)
    return map(dims, function(dim)
        local dynamic, multiple = dim.value == "dynamic" or dim.value == nil, dim.multiple_of or 1
        local most = (dim.most or INT_MAX) // multiple * multiple
        return { { "name", dim.name }, { "multiple_of", multiple > 1 and multiple or nil },
            { "value", not dynamic and dim.value or nil }, { "most", dynamic and most < INT_MAX and most or nil } }
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

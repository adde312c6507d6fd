-- rows.lua: what every family's manifest writes the same way: the document, and its lists.
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

-- [tensors]: { {name=, dtype=, dims = {"m", 64, ...}, access = "read" | "write" | "read_write", alignment=,
-- stride_bytes_multiple=}, ... }, the last two in bytes, where they are not an element's
function rows.tensors(tensors)
    return map(tensors, function(tensor)
        return { { "name", tensor.name }, { "dtype", tensor.dtype }, { "dims", json.array(tensor.dims) },
            { "access", tensor.access }, { "alignment", tensor.alignment },
            { "stride_bytes_multiple", tensor.stride_bytes_multiple } }
    end)
end

local tile_keys = { "dim", "times", "plus", "by", "axis" }

-- [rule]: "tiles", a CTA a tile, or "persistent", as many as fit; [tiles]: { {dim=, by=, axis=}, ... }, factors of the
-- number of tiles; [more]: other members, such as { blocks_per_sm = 1 }
function rows.grid(rule, tiles, more)
    local fields = { { "rule", rule }, { "tiles", map(tiles, function(tile)
        local list = {}
        for _, key in ipairs(tile_keys) do
            list[#list + 1] = tile[key] ~= nil and { key, tile[key] } or nil
        end
        return list
    end) } }
    for key, value in pairs(more or {}) do
        fields[#fields + 1] = { key, value }
    end
    return json.object(fields)
end

-- The whole document of a kernel of [family], from its settings and its plan: launch = {block=, cluster=}, smem_bytes,
-- parameters, barriers and roles, each where there is any. [own]: {dims=, tensors=, grid=, workspace=, reference=}, the
-- first two as lists, the others as JSON; a grid that is not given is one CTA for each of the first dim.
function rows.manifest(family, s, p, own)
    local launch, dims = p.launch or {}, own.dims or { { name = "one", value = 1 } }
    return json.object {
        { "tmagen_manifest", 1 }, { "name", s.name }, { "family", family }, { "entry", s.name }, { "arch", s.arch },
        { "source", s.name .. ".cu" },
        { "block", json.array(launch.block or { 1, 1, 1 }) }, { "cluster", json.array(launch.cluster or { 1, 1, 1 }) },
        { "shared_memory", p.smem_bytes or 0 },
        { "dims", rows.dims(dims) }, { "tensors", rows.tensors(own.tensors or {}) },
        { "grid", own.grid or rows.grid("tiles", { { dim = dims[1].name, by = 1 } }) },
        { "params", rows.parameters(p.parameters or {}) },
        { "workspace", own.workspace or json.object { { "rule", "none" } } },
        { "barriers", rows.barriers(p.barriers or {}) }, { "roles", rows.roles(p.roles or {}) },
        { "reference", own.reference },
    }
end

return rows

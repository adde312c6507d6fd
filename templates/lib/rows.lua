-- rows.lua: the manifest of a kernel, version 2, from the plan's own tables, so that explain, the template and the
-- runtime agree. A family says what is its own; runtime/README.md explains every field.

local rows = {}

-- Ends with an error where [row], of [what], has a field that is none of the words [known].
local function check_fields(row, known, what)
    for name in pairs(row) do
        if not known[name] then
            local words = {}
            for word in pairs(known) do
                words[#words + 1] = word
            end
            error(("%s: is no field of %s: %s"):format(tostring(name), what, table.concat(words, ", ")), 0)
        end
    end
end

local function set_of(words)
    local set = {}
    for word in words:gmatch("%S+") do
        set[word] = true
    end
    return set
end

local OWN = set_of "dims tensors grid workspace before ops cost varies_with dependent_launch reference"
local DIM, TILE = set_of "name value multiple_of most ceil", set_of "dim times plus by count axis"
local TENSOR = set_of "name dtype dims access alignment stride_bytes_multiple tells_of"
local PART = set_of "name bytes per zero dtype dims stride_bytes_multiple"
local COST = set_of "unit per amount times tensor ahead overlaps scatters"
local MORE, SPLIT = set_of "blocks_per_tile blocks_per_sm max_blocks max_tiles splits", set_of "default most"
local SIZE = set_of "dim times plus by"

-- An object of those fields of [row] that [keys] lists, in that order. A table among them is a list.
local function object(row, keys)
    local fields = {}
    for _, key in ipairs(keys) do
        local value = row[key]
        if type(value) == "table" and not getmetatable(value) then
            value = json.array(value)
        end
        fields[#fields + 1] = value ~= nil and { key, value } or nil
    end
    return json.object(fields)
end

local function objects(items, keys)
    local list = {}
    for i, item in ipairs(items or {}) do
        list[i] = object(item, keys)
    end
    return json.array(list)
end

local PARAMETER = { "kind", "tensor", "dim", "part", "index", "axis", "type", "swizzle_bytes", "l2_promotion",
    "interleave", "fill", "default", "rows_apart", "period", "spread", "box", "element_strides" }
local DECLARED = set_of(table.concat(PARAMETER, " ") .. " name cuda restrict")

-- [parameters]: { {declaration=, row={kind=, ...}}, ... } in the order of the kernel's own
function rows.parameters(parameters)
    local list = {}
    for i, parameter in ipairs(parameters) do
        check_fields(parameter.row, DECLARED, "a parameter")
        list[i] = object(parameter.row, PARAMETER)
        if parameter.row.kind == "scalar" then
            table.insert(list[i], { "name", parameter.row.name })
        end
    end
    return json.array(list)
end

local INT_MAX = (1 << 31) - 1

-- The largest size that, rounded up to whole [step]s, is still an int: kernels compute with rounded sizes.
function rows.largest(step)
    return INT_MAX // step * step
end

local EXTENT = { "dim", "times", "plus", "by" }

-- a number, a dim's name, or {dim=, times=, plus=, by=}: (plus + times * dim) / by, rounded up
local function extent(value)
    if type(value) ~= "table" then
        return value
    end
    check_fields(value, SIZE, "an extent")
    return object(value, EXTENT)
end

local function extents(values)
    local list = {}
    for i, value in ipairs(values) do
        list[i] = extent(value)
    end
    return json.array(list)
end

-- [dims]: { {name=, value=, multiple_of=, most=}, ... }. value: a number or "dynamic"; most: the largest that the
-- kernel's arithmetic allows, where that is not any int. Or {name=, ceil={dim=, times=, plus=, by=}}: it follows.
function rows.dims(dims)
    local list = {}
    for i, dim in ipairs(dims) do
        check_fields(dim, DIM, "a dim")
        local dynamic, multiple = dim.value == "dynamic" or dim.value == nil, dim.multiple_of or 1
        local most = (dim.most or INT_MAX) // multiple * multiple
        list[i] = json.object { { "name", dim.name }, { "multiple_of", multiple > 1 and multiple or nil },
            { "value", not dynamic and dim.value or nil }, { "ceil", dim.ceil and extent(dim.ceil) },
            { "most", dynamic and not dim.ceil and most < INT_MAX and most or nil } }
    end
    return json.array(list)
end

-- [tensors]: { {name=, dtype=, dims = {"m", 64, ...}, access = "read" | "write" | "read_write", alignment=,
-- stride_bytes_multiple=}, ... }, the last two in bytes, where they are not an element's
function rows.tensors(tensors)
    local list = {}
    for i, tensor in ipairs(tensors) do
        check_fields(tensor, TENSOR, "a tensor")
        list[i] = json.object { { "name", tensor.name }, { "dtype", tensor.dtype }, { "dims", extents(tensor.dims) },
            { "access", tensor.access }, { "alignment", tensor.alignment },
            { "stride_bytes_multiple", tensor.stride_bytes_multiple }, { "tells_of", tensor.tells_of } }
    end
    return json.array(list)
end

local GRID = { "rule", "tiles", "blocks_per_tile", "blocks_per_sm", "max_blocks", "max_tiles", "splits" }
local SPLITS = { "default", "most" }

-- [rule]: "tiles", a CTA a tile, or "persistent", as many as fit; [tiles]: { {dim=, by=, axis=}, ... } or {count=,
-- axis=} among them, factors of the number of tiles; [more]: other members, such as { blocks_per_sm = 1 }
function rows.grid(rule, tiles, more)
    for _, tile in ipairs(tiles) do
        check_fields(tile, TILE, "a grid's tiles")
    end
    check_fields(more or {}, MORE, "a grid")
    check_fields(more and more.splits or {}, SPLIT, "a grid's splits")
    local grid = { rule = rule, tiles = objects(tiles, { "dim", "times", "plus", "by", "count", "axis" }) }
    for key, value in pairs(more or {}) do
        grid[key] = key == "splits" and object(value, SPLITS) or value
    end
    return object(grid, GRID)
end

-- [cost]: { {unit=, per=, amount=, times={extent, ...}, tensor=, ahead=, overlaps=, scatters=}, ... }
local function cost_rows(cost)
    local list = {}
    for i, row in ipairs(cost) do
        check_fields(row, COST, "a cost")
        list[i] = json.object { { "unit", row.unit }, { "per", row.per }, { "amount", row.amount },
            { "times", row.times and extents(row.times) }, { "tensor", row.tensor }, { "ahead", row.ahead },
            { "overlaps", row.overlaps or nil }, { "scatters", row.scatters or nil } }
    end
    return json.array(list)
end

-- [ops]: { {op=, tensors={...}, scalars={...}, values={ {name, number}, ... }}, ... }
local function op_rows(ops)
    local list = {}
    for i, op in ipairs(ops) do
        list[i] = json.object { { "op", op.op }, { "tensors", op.tensors and json.array(op.tensors) },
            { "scalars", op.scalars and json.array(op.scalars) }, { "values", op.values and json.object(op.values) } }
    end
    return json.array(list)
end

-- [parts]: { {name=, bytes=, per=, zero=} or, for a matrix, {name=, dtype=, dims=, stride_bytes_multiple=}, ... }
local function workspace_rows(parts)
    local list = {}
    for i, part in ipairs(parts) do
        check_fields(part, PART, "a part of the workspace")
        list[i] = object(part, part.dtype and { "name", "dtype" } or { "name", "bytes", "per", "zero" })
        if part.dtype then
            table.insert(list[i], { "dims", extents(part.dims) })
            table.insert(list[i], { "stride_bytes_multiple", part.stride_bytes_multiple })
        end
    end
    return json.array(list)
end

-- [kernels]: { {entry=, block=, cluster=, shared_memory=, grid=, parameters=, cost=}, ... }
local function before_rows(kernels)
    local list = {}
    for i, kernel in ipairs(kernels) do
        list[i] = object(kernel, { "entry", "block", "cluster", "shared_memory", "grid" })
        table.insert(list[i], { "params", rows.parameters(kernel.parameters) })
        table.insert(list[i], kernel.cost and { "cost", cost_rows(kernel.cost) } or nil)
    end
    return json.array(list)
end

-- The whole document of a kernel of [family], from its settings and its plan: launch = {block=, cluster=}, smem_bytes,
-- parameters, barriers and roles, each where there is any. [own]: dims, tensors, workspace, ops and cost as lists,
-- varies_with as a list of words, dependent_launch if the kernel waits by griddepcontrol, before: the kernels of the
-- source that run before it, grid and reference as JSON; a grid that is not given is one CTA for each of the first dim.
function rows.manifest(family, s, p, own)
    check_fields(own, OWN, "a manifest")
    local launch, dims = p.launch or {}, own.dims or { { name = "one", value = 1 } }
    return json.object {
        { "tmagen_manifest", 2 }, { "name", s.name }, { "family", family }, { "entry", s.name }, { "arch", s.arch },
        { "source", s.name .. ".cu" },
        { "block", json.array(launch.block or { 1, 1, 1 }) }, { "cluster", json.array(launch.cluster or { 1, 1, 1 }) },
        { "shared_memory", p.smem_bytes or 0 },
        { "dims", rows.dims(dims) }, { "tensors", rows.tensors(own.tensors or {}) },
        { "grid", own.grid or rows.grid("tiles", { { dim = dims[1].name, by = 1 } }) },
        { "params", rows.parameters(p.parameters or {}) },
        { "workspace", own.workspace and workspace_rows(own.workspace) },
        { "before", own.before and before_rows(own.before) or nil },
        { "ops", own.ops and #own.ops > 0 and op_rows(own.ops) or nil },
        { "cost", own.cost and cost_rows(own.cost) },
        { "varies_with", own.varies_with and json.array(own.varies_with) },
        { "dependent_launch", own.dependent_launch or nil },
        { "barriers", objects(p.barriers, { "name", "offset", "count", "arrivals", "bytes" }) },
        { "roles", objects(p.roles, { "name", "first_warp", "warps" }) },
        { "reference", own.reference },
    }
end

return rows

-- parameters.lua: a kernel's parameters, once: what the manifest says of each, and its declaration, which follows.
-- A plan builds the list from its tensors' rows; rows.parameters writes it, parameters.signature declares it.

local cuda = require "cuda"
local dtypes = require "dtypes"

local parameters = {}

local VALUE_TYPES = { i32 = "int", u32 = "uint32_t", i64 = "int64_t", u64 = "uint64_t", f32 = "float", f64 = "double" }

local function tensor_of(tensors, name)
    for _, tensor in ipairs(tensors) do
        if tensor.name == name then
            return tensor
        end
    end
    error(("a parameter names the tensor '%s', which is not there"):format(tostring(name)), 0)
end

local declare = {}

function declare.tensor_map(row)
    return "const __grid_constant__ TensorMap " .. (row.name or row.tensor .. "_map")
end

-- [row].restrict: nothing else that the kernel writes overlaps the tensor
function declare.pointer(row, tensors)
    local tensor = tensor_of(tensors, row.tensor)
    return (tensor.access == "read" and "const " or "") .. dtypes[tensor.dtype].cuda
        .. (row.restrict and " *__restrict__ " or " *") .. (row.name or row.tensor)
end

function declare.stride(row)
    return VALUE_TYPES[row.type] .. " " .. (row.name or row.tensor .. "_stride")
end

function declare.dim(row)
    return VALUE_TYPES[row.type] .. " " .. (row.name or row.dim)
end

function declare.tiles(row)
    return VALUE_TYPES[row.type] .. " " .. (row.name or "tiles")
end

-- [row].cuda: the type of what the workspace holds
function declare.workspace(row)
    return (row.cuda or "void") .. " *" .. (row.name or "workspace")
end

function declare.scalar(row)
    return VALUE_TYPES[row.type] .. " " .. row.name
end

-- [rows]: { {kind = "pointer", tensor = "a"}, ... } in the order of the kernel's own; [tensors]: { {name =, dtype =,
-- access =}, ... } as the manifest has them. A row's `name` stands in the source where the usual one would not do.
-- Returns { {declaration =, row =}, ... }, which rows.parameters takes.
function parameters.list(tensors, rows)
    local list = {}
    for i, row in ipairs(rows) do
        local writer = declare[row.kind] or error(("'%s' is no kind of parameter"):format(tostring(row.kind)), 0)
        list[i] = { declaration = writer(row, tensors), row = row }
    end
    return list
end

-- rows of those of [names] that [problem] leaves dynamic
function parameters.dims(problem, names)
    local rows = {}
    for _, name in ipairs(names) do
        rows[#rows + 1] = problem[name] == "dynamic" and { kind = "dim", dim = name, type = "i32" } or nil
    end
    return rows
end

-- `name(declaration, ...) {`, wrapped, for a line of its own in a template: ${parameters.signature(name, plan.parameters)}
function parameters.signature(name, list)
    local declarations = {}
    for i, parameter in ipairs(list) do
        declarations[i] = parameter.declaration
    end
    return cuda.list(name, declarations, " {")
end

return parameters

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

-- [row].rows_apart: eight maps, of rows eight apart, or sixteen
local function map_type(row)
    return not row.rows_apart and "TensorMap" or row.rows_apart == 16 and "TensorMaps16" or "TensorMaps"
end

function declare.tensor_map(row)
    local plural = row.rows_apart and "s" or ""
    return ("const __grid_constant__ %s %s"):format(map_type(row), row.name or row.tensor .. "_map" .. plural)
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

-- [row].part of the workspace; [row].cuda: the type of what it holds
function declare.workspace(row)
    return (row.cuda or "void") .. " *" .. (row.name or row.part)
end

function declare.splits(row)
    return VALUE_TYPES[row.type] .. " " .. (row.name or "splits")
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

-- `name(declaration, ...) {`, wrapped, for a line of its own: ${parameters.signature(name, plan.parameters)}
function parameters.signature(name, list)
    local declarations = {}
    for i, parameter in ipairs(list) do
        declarations[i] = parameter.declaration
    end
    return cuda.list(name, declarations, " {")
end

-- What a value of the type takes, and how source may call it.
local VALUES = {
    i32 = { "int", "int32_t", "signed" }, u32 = { "unsigned", "uint32_t", "unsigned int" },
    i64 = { "int64_t", "long", "long long" }, u64 = { "uint64_t", "unsigned long", "unsigned long long", "size_t" },
    f32 = { "float" }, f64 = { "double" },
}

local QUALIFIERS = { const = true, volatile = true, __restrict__ = true, __grid_constant__ = true }

-- The type of a declaration without its name and qualifiers: "float *", "int".
local function type_of(declaration)
    local words = {}
    for word in declaration:gsub("%[%d*%]", ""):gmatch("[%w_:]+") do
        words[#words + 1] = not QUALIFIERS[word] and word or nil
    end
    words[#words] = nil                                             -- the name
    return table.concat(words, " ") .. (declaration:find("*", 1, true) and " *" or "")
end

local function contains(list, value)
    for _, item in ipairs(list) do
        if item == value then
            return true
        end
    end
end

-- Why a declaration is not what the manifest's [row] says, which would be [...]; nil: it is.
local function misfit(row, declaration)
    local type = type_of(declaration)
    if row.kind == "tensor_map" then
        local wanted = map_type(row)
        if type ~= wanted or not declaration:find("__grid_constant__", 1, true) then
            return "const __grid_constant__ " .. wanted
        end
    elseif row.kind == "pointer" or row.kind == "workspace" then
        return not type:find("*", 1, true) and "a pointer" or nil
    elseif not contains(VALUES[row.type] or {}, type) then
        return (VALUES[row.type] or { "a type that there is" })[1]
    end
end

-- Holds the parameters that the source declares, a text without its parentheses, against the manifest's rows.
-- Returns a message, and what would be right; nil: they fit.
function parameters.check(declared, rows)
    local list = {}
    for declaration in declared:gsub("//[^\n]*", ""):gsub("%s+", " "):gmatch("[^,]+") do
        list[#list + 1] = declaration:match("^%s*(.-)%s*$")
    end
    if #list == 1 and (list[1] == "" or list[1] == "void") then
        list = {}
    end
    if #list ~= #rows then
        return ("the source declares %d parameters, the manifest has %d"):format(#list, #rows), "as many"
    end
    for i, row in ipairs(rows) do
        local legal = misfit(row, list[i])
        if legal then
            return ("parameter %d is a %s of the manifest, and '%s' in the source"):format(i, row.kind, list[i]), legal
        end
    end
end

return parameters

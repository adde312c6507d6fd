-- What a family says of its reference, as the manifest's "reference": rows that verify and bench read.
-- Held to their form here, so that a family's author learns of a mistake at gen.

local host = require "host"
local json = require "json"
local values = require "values"

local reference = {}

local function is_list(value, of)
    if type(value) ~= "table" then return false end
    for _, item in ipairs(value) do
        if not of(item) then return false end
    end
    return true
end

local function is_text(value) return type(value) == "string" end
local function is_whole(value) return math.type(value) == "integer" and value > 0 end
local function is_factor(value) return type(value) == "number" or is_text(value) end
local function is_shapes(value, given)
    return is_list(value, function(shape) return is_list(shape, is_whole) and #shape == #given.dims end)
end
local function is_shape(value, given)                             -- and perhaps what is drawn: "48x64/local"
    local sizes = is_text(value) and (value .. "/"):match("^(%d[%dx]*)/")
    return sizes and select(2, sizes:gsub("%d+", "")) == #given.dims
end
local function is_products(value)
    return is_list(value, function(factors) return is_list(factors, is_factor) end)
end

local function words(value) return table.concat(value, " ") end
local function shapes(value)                                        -- "1x1 128x64": as typical, one behind the other
    local list = {}
    for i, shape in ipairs(value) do list[i] = table.concat(shape, "x") end
    return words(list)
end
local function rows(value)
    local list = {}
    for i, row in ipairs(value) do list[i] = json.array(row) end
    return json.array(list)
end

-- The members of a table by name, those of its tables too; without names they are a list.
local function tree(value)
    if type(value) ~= "table" then return value end
    local names, members = {}, {}
    for i, item in ipairs(value) do members[i] = tree(item) end
    for name in pairs(value) do names[#names + 1] = type(name) == "string" and name or nil end
    if #names == 0 then return json.array(members) end
    table.sort(names)
    for i, name in ipairs(names) do members[i] = { name, tree(value[name]) } end
    return json.object(members)
end

-- The words for what is drawn, in a shape or a table of scalars.
local function drawn(value)
    if is_text(value) then return { value:match("/(.*)") } end
    local list = {}
    for _, scalar in pairs(value) do
        for word in pairs(type(scalar) == "table" and scalar or {}) do
            list[#list + 1] = word ~= "usual" and tostring(word) or nil
        end
    end
    table.sort(list)
    return list
end

-- A field: its name, what it must be, how that reads, and how the manifest writes it; of: what each word in it names,
-- a dim or a tensor of the manifest, or one of the inputs; by: what gives those words, where they are not all.
local FIELDS = {
    { "dims", function(v) return is_list(v, is_text) and #v > 0 end, "a list of names of dims", words, needed = true,
      of = "dims" },
    { "typical", is_shape, "a shape, as \"4096x4096x4096\", of as many numbers as dims", nil,
      of = "inputs", by = drawn },
    { "small", is_shapes, "a list of shapes, each a list of as many numbers as dims", shapes, needed = true },
    { "full", is_shapes, "a list of shapes, each a list of as many numbers as dims", shapes, needed = true },
    { "waves", is_shapes, "a list of shapes, each a list of as many numbers as dims", shapes },
    { "scalars", function(v) return type(v) == "table" end, "a table of scalars: {usual =, and by a word of inputs}",
      tree, of = "inputs", by = drawn },
    { "inputs", function(v) return is_list(v, is_text) end, "a list of words", words },
    { "verified", function(v) return is_list(v, is_text) end, "a list of words, of inputs", words, of = "inputs" },
    { "draws", function(v) return is_list(v, is_text) end, "a list of names of tensors", words, of = "tensors" },
    { "leaves", function(v) return is_list(v, is_text) end, "a list of names of tensors", words, of = "tensors" },
    { "addresses", function(v) return is_list(v, is_text) end,
      "a list of names of tensors: one whose rows begin with addresses of the others, drawn as offsets", words,
      of = "tensors" },
    { "flops", is_products, "a list of products, each a list of numbers and dims", rows, of = "dims" },
    { "bytes", is_products, "a list of products, each a list of numbers and dims", rows, of = "dims" },
    { "l1_bytes", is_products, "a list of products, each a list of numbers and dims", rows, of = "dims" },
    { "cost", is_products, "a list of products, each a list of numbers and dims", rows, of = "dims" },
    { "matrix", function(v) return type(v) == "boolean" end, "true or false" },
    { "product", function(v) return type(v) == "table" and is_text(v.a) and is_text(v.b) end,
      "a table of names of tensors: a, b, and maybe bias", tree },
    { "peer", is_text, "the name of a peer: \"cublaslt\"" },
    { "values", function(v) return type(v) == "table" end, "a table of numbers, words and lists of them", tree },
}

local IN = { dims = "the manifest's dims", tensors = "the manifest's tensors", inputs = "its inputs" }

-- The first word in [value], lists of them too, that is none of [names].
local function other(value, names)
    if is_text(value) then return not names[value] and value or nil end
    for _, item in ipairs(type(value) == "table" and value or {}) do
        local found = other(item, names)
        if found then return found end
    end
end

-- The rows of [given], what the family says; its mistakes are those of the file [path]. [names_of]: the manifest's
-- dims and tensors, sets of their names.
function reference.rows(given, path, names_of)
    local function fault(message, legal)
        host.error(path, "reference: " .. message, legal)
        host.stop()
    end
    local members, known, names = {}, {}, {}
    if type(given) ~= "table" then fault("must be a table, or a function that returns one") end
    for i, field in ipairs(FIELDS) do known[field[1]], names[i] = true, field[1] end
    for name in pairs(given) do
        if not known[name] then fault(tostring(name) .. ": is no field of a reference", values.list(names)) end
    end
    names_of.inputs = {}
    for _, word in ipairs(type(given.inputs) == "table" and given.inputs or {}) do names_of.inputs[word] = true end
    for _, field in ipairs(FIELDS) do
        local name, check, wanted, write = table.unpack(field)
        local value = given[name]
        if value == nil and field.needed then fault(name .. " is missing: " .. wanted) end
        if value ~= nil and not check(value, given) then fault(name .. ": must be " .. wanted) end
        local said = value ~= nil and field.by and field.by(value) or value
        local stranger = field.of and other(said, names_of[field.of])
        if stranger then
            local legal = {}
            for word in pairs(names_of[field.of]) do legal[#legal + 1] = word end
            legal = #legal > 0 and values.list(legal) or "none"
            fault(("%s: %s is none of %s"):format(name, stranger, IN[field.of]), legal)
        end
        if value ~= nil then members[#members + 1] = { name, write and write(value) or value } end
    end
    return json.object(members)
end

return reference

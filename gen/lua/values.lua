-- The types of knobs: what each accepts, and how that is said in errors and documentation.
-- One row a type; a value is what YAML means by a scalar, or an array of such.

local values = {}

local function list(items, last)
    local words = {}
    for i, item in ipairs(items) do words[i] = tostring(item) end
    if #words < 2 then return words[1] or "nothing" end
    return table.concat(words, ", ", 1, #words - 1) .. " " .. (last or "or") .. " " .. words[#words]
end

local function contains(items, value)
    for _, item in ipairs(items) do
        if item == value then return true end
    end
    return false
end

-- a map in a list: { name =, value =, order = its other keys, parameters = their values }
local function show_call(call)
    local parts = { call.name .. ": " .. values.show(call.value) }
    for _, key in ipairs(call.order) do parts[#parts + 1] = key .. ": " .. values.show(call.parameters[key]) end
    return "{" .. table.concat(parts, ", ") .. "}"
end

-- [value] as a spec would write it
function values.show(value)
    if type(value) ~= "table" then return tostring(value) end
    if value.order then return show_call(value) end
    local parts = {}
    for i, item in ipairs(value) do parts[i] = values.show(item) end
    return "[" .. table.concat(parts, ", ") .. "]"
end

local show = values.show

-- [value] where it is at fault: a text that reads like another type is in quotes
local function told(value)
    local text = show(value)
    if type(value) == "string" and (tonumber(value) or value == "true" or value == "false" or value == "") then
        return '"' .. text .. '"'
    end
    return text
end

local function range(knob)
    if not knob.max then return "at least " .. knob.min end
    return knob.min and knob.min .. ".." .. knob.max or "at most " .. knob.max
end

local function not_in_range(knob, value)
    return value .. " is not " .. (knob.min and knob.max and "in " or "") .. range(knob)
end

local function out_of_range(knob, value)
    return (knob.min and value < knob.min) or (knob.max and value > knob.max)
end

local function check_int(knob, value)
    if math.type(value) ~= "integer" then return told(value) .. " is no integer" end
    if knob.values and not contains(knob.values, value) then
        return value .. " is not " .. list(knob.values)
    end
    if out_of_range(knob, value) then return not_in_range(knob, value) end
    local step = knob.step or 1
    if (value - (knob.min or 0)) % step ~= 0 then
        return not_in_range(knob, value) .. " in steps of " .. step
    end
end

local function legal_int(knob)
    local unit = knob.unit and " " .. knob.unit or ""
    if knob.values then return list(knob.values) .. unit end
    if not knob.min and not knob.max then return "an integer" .. unit end
    local step = (knob.step or 1) > 1 and ", in steps of " .. knob.step or ""
    return range(knob) .. unit .. step
end

-- every item of the array [value] by check(item); the message and the number of the first that fails
local function check_items(value, check)
    for i, item in ipairs(value) do
        local message = check(item)
        if message then return message, i end
    end
end

-- the row of [knob].of for a call, a word or a map whose first key is the row's name
local function row_of(knob, call)
    local name = type(call) == "table" and call.name or call
    for _, row in ipairs(knob.of) do
        if row.name == name then return row end
    end
end

local function takes_name(row) return row.operand ~= nil and row.operand.name == true end
local function takes_value(row) return takes_name(row) or row.numbers ~= nil end

-- how a spec writes the numbers of a call of [row]: one, or a list
local function form_of_numbers(row)
    local names = {}
    for i, number in ipairs(row.numbers) do names[i] = number.name:upper() end
    return #names == 1 and names[1] or "[" .. table.concat(names, ", ") .. "]"
end

-- how a spec writes a call of [row]
local function form(row)
    local value = row.numbers and form_of_numbers(row) or "NAME"
    local parts = { takes_value(row) and row.name .. ": " .. value or row.name }
    for _, parameter in ipairs(row.parameters or {}) do
        parts[#parts + 1] = parameter.name .. ": " .. range(parameter)
    end
    return (#parts > 1 or takes_value(row)) and "{" .. table.concat(parts, ", ") .. "}" or row.name
end

local function check_parameters(row, call)
    local known = {}
    for _, parameter in ipairs(row.parameters or {}) do
        known[parameter.name] = true
        local value = call.parameters[parameter.name]
        if value == nil then return row.name .. ": " .. parameter.name .. " is missing" end
        local message = check_int(parameter, value)
        if message then return row.name .. ": " .. parameter.name .. ": " .. message end
    end
    for _, key in ipairs(call.order) do
        if not known[key] then return row.name .. " has no " .. key end
    end
end

-- Numbers that [held], a type with a name, a least and a most magnitude, can hold; in rising order, the first above the
-- row's [above].
local function check_numbers(row, value, held)
    local given, least = type(value) == "table" and value or { value }, row.numbers.above or -math.huge
    if #given ~= #row.numbers then return row.name .. ": " .. told(value) .. " is not " .. form_of_numbers(row) end
    for _, number in ipairs(given) do
        if not math.type(number) then return row.name .. ": " .. told(number) .. " is no number" end
        if not (math.abs(number) <= held.most) or number ~= 0 and math.abs(number) < held.least then
            return row.name .. ": " .. told(number) .. " is no number of " .. held.name
        end
        if number <= least then return row.name .. ": " .. told(number) .. " is not above " .. told(least) end
        least = number
    end
end

local function check_call(row, call, held)
    if type(call) ~= "table" then
        return form(row) ~= row.name and row.name .. " is incomplete" or nil
    end
    if not takes_value(row) then return row.name .. " takes no value" end
    local message
    if row.numbers then
        message = check_numbers(row, call.value, held)
    elseif type(call.value) ~= "string" then
        message = row.name .. ": " .. told(call.value) .. " is no name"
    end
    return message or check_parameters(row, call)
end

local types = {
    int = { check = check_int, legal = legal_int },
    number = {
        check = function(knob, value)
            if not math.type(value) then return told(value) .. " is no number" end
            if out_of_range(knob, value) then return not_in_range(knob, value) end
        end,
        legal = function(knob)
            return (knob.min or knob.max) and range(knob) or "a number"
        end,
    },
    bool = {
        check = function(_, value)
            if type(value) ~= "boolean" then return told(value) .. " is neither true nor false" end
        end,
        legal = function() return "true or false" end,
    },
    enum = {
        check = function(knob, value)
            if not contains(knob.values, value) then return told(value) .. " is not known" end
        end,
        legal = function(knob) return list(knob.values) end,
    },
    dim = {
        check = function(knob, value)
            if value == "dynamic" then return end
            if math.type(value) ~= "integer" or value < 1 or value > 0x7fffffff then
                return told(value) .. " is no dimension"
            end
            if value % (knob.step or 1) ~= 0 then
                return value .. " is no multiple of " .. knob.step
            end
        end,
        legal = function(knob)
            if knob.step then return "dynamic or a multiple of " .. knob.step end
            return "dynamic or a positive integer"
        end,
    },
    list = {
        is_list = true,
        check = function(knob, value)
            local seen = {}
            return check_items(value, function(item)
                if not contains(knob.of, item) then return told(item) .. " is not known" end
                if seen[item] and not knob.repeats then return told(item) .. " is there twice" end
                seen[item] = true
            end)
        end,
        legal = function(knob) return "a list of " .. list(knob.of) end,
    },
    -- names of rows of [knob].of, with what each wants: `bias`, `{add: NAME, row_period: 196}`; [knob].held_in can hold
    -- its numbers
    calls = {
        is_list = true,
        check = function(knob, value)
            local seen = {}
            return check_items(value, function(call)
                local row = row_of(knob, call)
                if not row then return told(call) .. " is not known" end
                if seen[row] and not takes_value(row) then return row.name .. " is there twice" end
                seen[row] = true
                return check_call(row, call, knob.held_in)
            end)
        end,
        legal = function(knob)
            local forms = {}
            for i, row in ipairs(knob.of) do forms[i] = form(row) end
            return "a list of " .. list(forms)
        end,
    },
    ints = {
        is_list = true,
        check = function(knob, value)
            if knob.length and #value ~= knob.length then
                return string.format("%d values where %d are due", #value, knob.length)
            end
            return check_items(value, function(item) return check_int(knob, item) end)
        end,
        legal = function(knob)
            return "a list of " .. (knob.length and knob.length .. " times " or "") .. legal_int(knob)
        end,
    },
    int_pairs = {
        is_list = true,
        of_lists = true,
        check = function(knob, value)
            return check_items(value, function(item)
                if type(item) ~= "table" or #item ~= 2 then return told(item) .. " is no pair" end
                return check_int(knob, item[1]) or check_int(knob, item[2])
            end)
        end,
        legal = function(knob) return "a list of pairs [" .. legal_int(knob) .. "]" end,
    },
}

values.types = types

-- true where a list is the knob's own value; else a list is a sweep
function values.is_list(knob) return types[knob.type].is_list or false end

-- true where the list of the knob holds lists
function values.of_lists(knob) return types[knob.type].of_lists or false end

function values.legal(knob) return types[knob.type].legal(knob) end

-- why [value] is not legal for the knob, and for lists the number of the item at fault; nil: it is
function values.check(knob, value)
    if value == nil then return "there is no value" end
    if (type(value) == "table") ~= values.is_list(knob) then
        return told(value) .. (values.is_list(knob) and " is no list" or " is a list")
    end
    return types[knob.type].check(knob, value)
end

local function call_of_map(node)
    local call = { name = node.keys[1] and node.keys[1].text or "{}", order = {}, parameters = {} }
    for i, key in ipairs(node.keys) do
        local value = values.of_node(node.items[i])
        if value == nil then value = node.items[i].kind == "map" and "a map" or "null" end
        if i == 1 then
            call.value = value
        else
            call.order[i - 1], call.parameters[key.text] = key.text, value
        end
    end
    return call
end

-- the value that a node of the spec means; nil for null, and for a map that is no item of a list
function values.of_node(node)
    if node.kind == "scalar" then return node.value end
    if node.kind == "map" then return nil end
    local value = {}
    for i, item in ipairs(node.items) do
        if item.kind == "map" then
            value[i] = call_of_map(item)
        else
            value[i] = values.of_node(item)
            if value[i] == nil then value[i] = "null" end
        end
    end
    return value
end

values.list = list
return values

-- The sweeps that a family is tuned over: its own `tune`, else what its table of knobs offers.

local host = require "host"
local families = require "family"
local header = require "header"
local values = require "values"

local tune = {}

-- The rows of a sweep in the order of the knobs.
local function rows_of(fam, sets)
    local rows = {}
    for _, knob in ipairs(fam.knobs) do
        local value = sets[knob[1]]
        if value ~= nil then rows[#rows + 1] = { path = knob[1], value = value } end
    end
    return rows
end

-- The values of a knob that are worth trying where nobody said which: all that it lists, or powers of two.
local function values_of(knob)
    if knob.type == "bool" then return { "true", "false" } end
    if knob.values then return knob.values end
    local list, value = {}, knob.type == "int" and knob.min and math.max(knob.min, knob.step or 1)
    while value and value <= (knob.max or value) and #list < 8 do
        if not values.check(knob, value) then list[#list + 1] = value end
        value = value * 2
    end
    return list
end

-- Whether a knob says what is computed, or what is checked, and not how.
local function is_given(knob)
    return knob[1]:match("^problem%.") or knob[1]:match("^budget%.") or knob[1] == "arch" or values.is_list(knob)
end

-- One knob at a time on the ladder's default rung, and the rungs themselves.
local function from_knobs(fam)
    local sweeps = {}
    for _, knob in ipairs(fam.knobs) do
        local list = is_given(knob) and {} or values_of(knob)
        if #list > 1 then sweeps[#sweeps + 1] = { [knob[1]] = list } end
    end
    return sweeps
end

-- The sweeps of the family [name], a spec of one line each.
function tune.sweeps(name)
    local fam = families.load(name, true)
    if not fam then families.refuse(nil, name) return "" end
    local lines = {}
    for _, sets in ipairs(fam.definition.tune or from_knobs(fam)) do
        lines[#lines + 1] = header.spec(name, rows_of(fam, sets)) .. "\n"
    end
    if #lines == 0 then host.error(fam.path, name .. ": has no knob to tune") end
    return table.concat(lines)
end

return tune

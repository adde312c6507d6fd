-- Lists where the schema wants one value: the file stands for all combinations of them.
-- Each combination is a point, with a name that says what is special about it.

local host = require "host"
local schema = require "schema"
local values = require "values"

local sweep = {}

local POINTS_MAX = 4096

-- True where [node] gives several values to the knob.
local function is_axis(knob, node)
    if not node or node.kind ~= "list" then return false end
    if not values.is_list(knob) then return true end
    local first = node.items[1]
    if values.of_lists(knob) then first = first and first.kind == "list" and first.items[1] end
    return first and first.kind == "list" or false
end

-- The sweep's axes in the order of the knobs: {knob=, node=, label=}. Reports lists without values.
function sweep.axes(fam, tree)
    local axes, seen = {}, {}
    for _, knob in ipairs(fam.knobs) do
        local node = schema.find(tree, knob[1])
        if is_axis(knob, node) then
            if #node.items == 0 then host.error(node, knob[1] .. ": no values", values.legal(knob)) end
            local word = knob[1]:match("[^.]+$")
            axes[#axes + 1] = { knob = knob, node = node, label = word }
            seen[word] = (seen[word] or 0) + 1
        end
    end
    for _, axis in ipairs(axes) do
        if seen[axis.label] > 1 then axis.label = axis.knob[1]:gsub("%.", "_") end
    end
    return axes
end

-- Reports values that are legal at no point. Returns whether all are legal at some.
function sweep.check(axes)
    local good = true
    for _, axis in ipairs(axes) do
        for _, item in ipairs(axis.node.items) do
            if schema.read(axis.knob, item, host.error) == nil then good = false end
        end
    end
    return good
end

-- The number of points; 0 after an error.
function sweep.count(axes)
    local count = 1
    for _, axis in ipairs(axes) do count = count * #axis.node.items end
    if count <= POINTS_MAX then return count end
    host.error(axes[1].node, string.format("the sweep has %d points", count), "at most " .. POINTS_MAX)
    return 0
end

local function plain(value)
    local text = values.show(value):gsub("[%[%] ]", ""):gsub("[^%w]+", "_")
    return text == "" and "none" or text
end

-- Point [number] from 1: the nodes by path, the suffix of its name ("_stages4"), and how it reads
-- ("stages: 4"). The last axis turns fastest.
function sweep.point(axes, number)
    local picked, suffix, text, rest = {}, "", {}, number - 1
    for i = #axes, 1, -1 do
        local axis = axes[i]
        local item = axis.node.items[rest % #axis.node.items + 1]
        rest = rest // #axis.node.items
        local value = values.of_node(item)
        picked[axis.knob[1]] = item
        suffix = "_" .. axis.label .. plain(value) .. suffix
        table.insert(text, 1, axis.knob[1] .. ": " .. values.show(value))
    end
    return picked, suffix, table.concat(text, ", ")
end

return sweep

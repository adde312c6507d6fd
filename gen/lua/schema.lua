-- Holds a spec against a family's table of knobs and gives every knob its value and its origin.
-- All errors are reported before it gives up, so a user corrects a spec once.

local host = require "host"
local values = require "values"
local family = require "family"

local schema = {}

-- The item and the key's node of [key] in a map; the first of that name.
local function get(map, key)
    if not map or map.kind ~= "map" then return end
    if not map.numbers then
        map.numbers = {}
        for i, node in ipairs(map.keys) do map.numbers[node.text] = map.numbers[node.text] or i end
    end
    local i = map.numbers[key]
    if i then return map.items[i], map.keys[i] end
end
schema.get = get

-- The words of a path, which are asked for again and again.
local split = setmetatable({}, { __index = function(known, path)
    local words = {}
    local from, dot = 1, path:find(".", 1, true)
    while dot do
        words[#words + 1] = path:sub(from, dot - 1)
        from, dot = dot + 1, path:find(".", dot + 1, true)
    end
    words[#words + 1] = path:sub(from)
    known[path] = words
    return words
end })

function schema.words(path) return split[path] end

-- The node at [path], or nil; then the deepest node that is on the way to it.
local function find(tree, path)
    local node, nearest = tree, nil
    for _, word in ipairs(split[path]) do
        local key
        node, key = get(node, word)
        nearest = key or nearest
        if not node then return nil, nearest end
    end
    return node, nearest
end
schema.find = find

-- Where an error about [path] shows: its value, what is nearest above it, else phase or kernel.
function schema.place(tree, path)
    local node, nearest = find(tree, path or "")
    if path and node and node.kind ~= "map" then return node end
    return nearest or (get(tree, "phase")) or (get(tree, "kernel")) or tree
end

-- Words that could stand in the map at [prefix] ("" or "tile.").
local function words_below(fam, prefix)
    local words, seen = {}, {}
    local function add(word)
        if not seen[word] then words[#words + 1] = word end
        seen[word] = true
    end
    if prefix == "" then
        for word in pairs(family.RESERVED) do add(word) end
    end
    for _, knob in ipairs(fam.knobs) do
        if knob[1]:sub(1, #prefix) == prefix then add(knob[1]:sub(#prefix + 1):match("^[^.]+")) end
    end
    return words
end

local function unknown_key(fam, prefix, key, report)
    local words = words_below(fam, prefix)
    local nearest = host.nearest(key.text, words)
    local hint = nearest and "; did you mean " .. nearest .. "?" or ""
    report(key, prefix .. key.text .. ": unknown key" .. hint, values.list(words))
end

-- Reports keys that no knob has, and maps where values are due or the other way round.
local function check_shape(fam, map, prefix, report)
    for i, key in ipairs(map.keys) do
        local path, value = prefix .. key.text, map.items[i]
        if fam.groups[path] and value.kind == "map" then
            check_shape(fam, value, path .. ".", report)
        elseif fam.groups[path] then
            report(value, path .. ": must be a map", values.list(words_below(fam, path .. "."), "and"))
        elseif fam.by_path[path] and value.kind == "map" then
            report(value, path .. ": must not be a map", values.legal(fam.by_path[path]))
        elseif not fam.by_path[path] and not (prefix == "" and family.RESERVED[path]) then
            unknown_key(fam, prefix, key, report)
        end
    end
end

-- Returns false where anything was reported.
function schema.check_shape(fam, tree, report)
    local good = true
    check_shape(fam, tree, "", function(...)
        good = false
        report(...)
    end)
    return good
end

-- Reports at [node] why its value is not legal. Returns the value where it is.
function schema.read(knob, node, report)
    local value = values.of_node(node)
    local message, item = values.check(knob, value)
    if not message then return value end
    report(item and node.items[item] or node, knob[1] .. ": " .. message, values.legal(knob))
end

local function put(settings, path, value)
    local at, words = settings, split[path]
    for i = 1, #words - 1 do
        at[words[i]] = at[words[i]] or {}
        at = at[words[i]]
    end
    at[words[#words]] = value
end

-- The value of the knob [path] in settings.
function schema.value(settings, path)
    for _, word in ipairs(split[path]) do settings = settings and settings[word] end
    return settings
end

-- The values that the ladder gives up to the phase of [settings], by path, and the rungs that did.
local function from_phases(fam, settings)
    local sets, rungs = {}, {}
    local phases = settings.phase and fam.ladder(settings.arch)
    for number = 0, phases and settings.phase or -1 do
        local rung = phases[number]
        for path, value in pairs(rung and rung.sets or {}) do sets[path], rungs[path] = value, number end
    end
    return sets, rungs
end

local function from_default(knob, settings, report)
    local value = knob.default
    if type(value) == "function" then value = value(settings) end
    if value == nil then
        if not knob.optional then report(nil, knob[1] .. ": must be given", values.legal(knob)) end
        return nil, { kind = "unset" }
    end
    local message = values.check(knob, value)
    if message then report(nil, knob[1] .. ": is not given, and by default " .. message, values.legal(knob)) end
    return value, { kind = "default" }
end

local function from_node(knob, node, report)
    local value = schema.read(knob, node, report)
    return value, { kind = node.origin, file = node.file, line = node.line }
end

-- Reports a rung that the ladder for the spec's GPU does not have.
local function check_rung(fam, settings, node, report)
    local phases = node and fam.ladder(settings.arch)
    if not phases or phases[settings.phase] then return end
    report(node, ("phase: the ladder for %s has no rung %d"):format(settings.arch, settings.phase),
        values.list(family.rungs(phases)))
end

-- Reports knobs that the spec sets although they mean nothing with the others as they are.
local function check_meaning(fam, settings, nodes, report)
    for _, knob in ipairs(fam.knobs) do
        local node = nodes[knob[1]]
        if node and knob.when and not knob.when(settings) then
            report(node, knob[1] .. ": has no meaning here", "where " .. knob.when_doc)
        end
    end
end

-- Resolves every knob: the spec, else the ladder, else the default, which may read the knobs before.
-- [picked] has the nodes that stand for a sweep's lists, by path. report(node, message, legal) takes
-- the errors. Returns the settings as nested tables, and the origin of each by path.
function schema.resolve(fam, tree, picked, report)
    local settings, origins, nodes, failed = {}, {}, {}, false
    local sets, rungs
    local function reporting(...)
        failed = true
        report(...)
    end
    for _, knob in ipairs(fam.knobs) do
        local path, value, origin = knob[1], nil, nil
        local node = picked[path] or find(tree, path)
        nodes[path] = node
        if node and node.kind ~= "map" then value, origin = from_node(knob, node, reporting) end
        if settings.phase and not sets then sets, rungs = from_phases(fam, settings) end
        if value == nil and sets and sets[path] ~= nil then
            value, origin = sets[path], { kind = "phase", phase = rungs[path] }
        end
        if value == nil then
            value, origin = from_default(knob, settings, function(_, message, legal)
                reporting(schema.place(tree, path), message, legal)
            end)
        end
        put(settings, path, value)
        origins[path] = origin
    end
    settings.budget = settings.budget or {}
    if not failed then
        check_rung(fam, settings, nodes.phase, report)
        check_meaning(fam, settings, nodes, report)
    end
    return settings, origins
end

return schema

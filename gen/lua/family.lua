-- Loads a family and holds its table to the form that all stages rely on.
-- A mistake in a family is found here, by its author, and not as a crash in some user's spec.

local host = require "host"
local values = require "values"

local family = {}

-- Keys of a spec that are no knobs.
family.RESERVED = { kernel = true, base = true, name = true }

-- Names of a template that are no settings.
local TAKEN = { plan = true, name = true }

-- The ladder of [definition] for [arch]: its own, where it has one.
local function ladder(definition, arch)
    return definition.ladders and definition.ladders[arch] or definition.phases
end

-- The numbers of a ladder's rungs, rising.
function family.rungs(phases)
    local numbers = {}
    for number in pairs(phases or {}) do numbers[#numbers + 1] = number end
    table.sort(numbers)
    return numbers
end

-- The rung that a spec for [arch] has where it says none.
local function default_phase(definition, arch)
    local phases = ladder(definition, arch)
    local numbers = family.rungs(phases)
    return phases == definition.phases and definition.default_phase or numbers[#numbers]
end

local function phase_knob(definition)
    local all = {}
    for _, arch in ipairs(definition.arch) do
        for number in pairs(ladder(definition, arch)) do all[number] = true end
    end
    local default = default_phase(definition)
    if definition.ladders then default = function(s) return default_phase(definition, s.arch) end end
    return { "phase", type = "int", values = family.rungs(all), default = default,
             doc = "rung of the ladder; sets the default of every knob below" }
end

local function arch_knob(definition)
    return { "arch", type = "enum", values = definition.arch, doc = "GPU that the kernel is for" }
end

local function all_knobs(definition)
    local knobs = { arch_knob(definition) }
    if definition.phases then knobs[#knobs + 1] = phase_knob(definition) end
    for _, knob in ipairs(definition.knobs) do knobs[#knobs + 1] = knob end
    for _, knob in ipairs(host.library("resources").knobs) do knobs[#knobs + 1] = knob end
    return knobs
end

-- The tables that look-ups by path need: knob by path, and the paths that lie above knobs.
local function index(knobs, fault)
    local by_path, groups = {}, {}
    for number, knob in ipairs(knobs) do
        local path = knob[1]
        if type(path) ~= "string" then fault("knob " .. number .. " has no path") end
        local dot = path:find(".", 1, true)
        if TAKEN[path:sub(1, (dot or 0) - 1)] then fault(path .. ": templates know something else by that name") end
        if by_path[path] or family.RESERVED[path] then fault(path .. ": is there already", path) end
        by_path[path] = knob
        while dot do
            groups[path:sub(1, dot - 1)] = true
            dot = path:find(".", dot + 1, true)
        end
    end
    for path in pairs(groups) do
        if by_path[path] then fault(path .. ": is a knob and holds knobs") end
    end
    return by_path, groups
end

-- What a family's table, a knob and a check may say; true: must. A word that is not here is a mistake.
local FIELDS = { name = true, doc = true, arch = true, template = true, knobs = true, plan = true, manifest = true,
                 checks = false, phases = false, ladders = false, default_phase = false, explain = false,
                 reference = false, tune = false }
local KNOB_FIELDS = { [1] = true, type = true, doc = true, values = false, min = false, max = false, step = false,
                      default = false, unit = false, when = false, when_doc = false, optional = false, of = false,
                      repeats = false, length = false, held_in = false }
local CHECK_FIELDS = { [1] = true, doc = false, check = true }

local function names_of(fields)
    local names = {}
    for name in pairs(fields) do names[#names + 1] = type(name) == "string" and name or nil end
    return names
end

-- Faults a word of [table] that is none of [fields]; [of] says whose.
local function check_fields(fields, table, of, fault)
    if not host.has_others(table, fields) then return end
    for name in pairs(table) do
        if fields[name] == nil then
            local names = names_of(fields)
            local nearest = type(name) == "string" and host.nearest(name, names)
            local hint = nearest and "; did you mean " .. nearest .. "?" or ""
            fault(("%s: is no field of %s%s"):format(tostring(name), of, hint), name, values.list(names))
        end
    end
end

local function check_checks(checks, fault)
    for i, check in ipairs(checks) do
        local name = type(check) == "table" and check[1] or i
        if type(check) ~= "table" or type(check.check) ~= "function" then
            fault(("check %s: has no function check"):format(name), name)
        end
        check_fields(CHECK_FIELDS, check, "a check", fault)
    end
end

-- What gives the checks of settings, or all of them without any, which a family may have a function for.
local function checks_of(definition, fault)
    local given = definition.checks or {}
    if type(given) ~= "function" then
        check_checks(given, fault)
        return function() return given end
    end
    return function(settings)
        local checks = given(settings)
        check_checks(checks, fault)
        return checks
    end
end

local function check_knob(knob, faults)
    local path = knob[1]
    local function fault(message, word, legal) faults(message, word or path, legal) end
    check_fields(KNOB_FIELDS, knob, "a knob", fault)
    if not values.types[knob.type] then
        fault(path .. ": has no known type", nil, values.list(names_of(values.types)))
    end
    if knob.type == "enum" and not knob.values then fault(path .. ": an enum needs values") end
    if knob.type == "list" and not knob.of then fault(path .. ": a list needs of") end
    if knob.type == "calls" and not (knob.of and knob.held_in) then fault(path .. ": calls need of and held_in") end
    if type(knob.doc) ~= "string" then fault(path .. ": has no doc") end
    if knob.when and not knob.when_doc then fault(path .. ": when needs a when_doc") end
    local default = knob.default
    if default == nil or type(default) == "function" then return end
    local message = values.check(knob, default)
    if message then fault(path .. ": default " .. message) end
end

-- What a rung of the ladder may say, and by what type; title must be there, sets are values of knobs by path.
local PHASE_FIELDS = { title = "string", doc = "string", predict = "string", sets = "table" }

local function check_phase_fields(number, phase, fault)
    if type(phase) ~= "table" then fault("phase " .. number .. ": must be a table") end
    check_fields(PHASE_FIELDS, phase, "a phase", fault)
    if phase.title == nil then fault("phase " .. number .. ": has no title") end
    for field, value in pairs(phase) do
        local due = PHASE_FIELDS[field]
        if type(value) ~= due then fault(("phase %d: %s: must be a %s"):format(number, field, due)) end
    end
end

local function check_phases(phases, by_path, fault)
    for number, phase in pairs(phases or {}) do
        if math.type(number) ~= "integer" then fault("phases are numbered") end
        check_phase_fields(number, phase, fault)
        for path, value in pairs(phase.sets or {}) do
            local knob = by_path[path]
            local message = knob and values.check(knob, value) or (not knob and "is no knob")
            if message then fault(string.format("phase %d: %s: %s", number, path, message), path) end
        end
    end
end

-- Holds the architectures of a family to the rows of lib/archs.lua.
local function check_archs(names, fault)
    local archs, known = host.library "archs", {}
    if type(names) ~= "table" then fault("arch: must be a list", "arch") end
    for _, name in ipairs(names) do
        if type(rawget(archs, name)) ~= "table" then
            for other, row in pairs(archs) do known[#known + 1] = type(row) == "table" and other or nil end
            fault(("arch: %s is no row of lib/archs.lua"):format(tostring(name)), name, values.list(known))
        end
    end
end

-- Holds the sweeps that a family is tuned over to its knobs: values, or lists of them, by path.
local function check_tune(definition, by_path, fault)
    if type(definition.tune) == "function" then definition.tune = definition.tune() end
    for number, sets in ipairs(definition.tune or {}) do
        if type(sets) ~= "table" then fault("tune " .. number .. ": must be a table", "tune") end
        for path, given in pairs(sets) do
            local knob = by_path[path]
            if not knob then fault(("tune %d: %s: is no knob"):format(number, path), path) end
            local list = type(given) == "table" and not values.is_list(knob) and given or { given }
            for _, value in ipairs(list) do
                local message = values.check(knob, value)
                if message then fault(("tune %d: %s: %s"):format(number, path, message), path) end
            end
        end
    end
end

-- What a family that has a base may say: it is that one, with other defaults, and with another ladder if it says so.
local BASED_FIELDS = { name = true, doc = true, base = true, sets = true, arch = false, phases = false,
                       default_phase = false, ladders = false, tune = false }

-- The definition of [base], changed by what [own] says.
local function based(own, base, fault)
    check_fields(BASED_FIELDS, own, "a family with a base", fault)
    local definition, sets = {}, own.sets
    if type(sets) ~= "table" then fault("sets: must be a table", "sets") end
    for field, value in pairs(base) do definition[field] = value end
    definition.tune, definition.ladders, definition.knobs = nil, nil, {}
    for field, value in pairs(own) do definition[field] = FIELDS[field] ~= nil and value or nil end
    local known = {}
    for i, knob in ipairs(base.knobs) do
        local path, copy = knob[1], {}
        for field, value in pairs(knob) do copy[field] = value end
        known[path] = true
        if sets[path] ~= nil then copy.default = sets[path] end
        definition.knobs[i] = copy
    end
    for path in pairs(sets) do
        if not known[path] then fault(("sets: %s: is no knob"):format(tostring(path)), path) end
    end
    return definition
end

local function faulter(path)
    return function(message, word, legal)
        host.error({ path = path, word = type(word) == "string" and word or "" }, message, legal)
        host.stop()
    end
end

local function check(definition, path, with_all)
    local fault = faulter(path)
    if type(definition) ~= "table" then fault("must return a table") end
    check_fields(FIELDS, definition, "a family", fault)
    for field, must in pairs(FIELDS) do
        if must and definition[field] == nil then fault(field .. " is missing") end
    end
    check_archs(definition.arch, fault)
    local checks = checks_of(definition, fault)
    local knobs = all_knobs(definition)
    local by_path, groups = index(knobs, fault)
    for _, knob in ipairs(knobs) do
        if with_all then check_knob(knob, fault) end
        if knob.default == nil and knob.type == "enum" and not knob.optional then knob.default = knob.values[1] end
    end
    if with_all then
        check_phases(definition.phases, by_path, fault)
        for _, phases in pairs(definition.ladders or {}) do check_phases(phases, by_path, fault) end
        check_tune(definition, by_path, fault)
    end
    return { definition = definition, name = definition.name, knobs = knobs, by_path = by_path, groups = groups,
             checks = checks, phases = definition.phases, path = path,
             ladder = function(arch) return ladder(definition, arch) end }
end

local loaded = {}

-- The family [name], or nil where there is none. Knobs, rungs and sweeps of the program's own are many, and held to
-- their form only where somebody asks for them [with_all].
function family.load(name, with_all)
    if loaded[name] then return loaded[name] end
    local definition, own = host.family(name)
    if definition == nil then return nil end
    local path, home = "templates/" .. name .. "/family.lua", nil
    if type(definition) == "table" and definition.base ~= nil then
        home = definition.base
        local fault = faulter(path)
        local base = type(home) == "string" and home ~= name and host.family(home) or nil
        if type(base) ~= "table" or base.base then
            fault("base: is no family that has its own templates", "base", "the name of one")
        end
        definition = based(definition, base, fault)
    end
    loaded[name] = check(definition, path, with_all or not own)
    if definition.name ~= name then
        faulter(path)(("name: %s, but the folder is called %s"):format(tostring(definition.name), name), "name", name)
    end
    loaded[name].home = home or name                            -- the folder of its templates and reference
    return loaded[name]
end

-- The family whose templates the family [name] has: its base, or itself.
function family.home_of(name)
    return family.load(name).home
end

-- Reports at [node], or nowhere, that there is no family [name], and which there are.
function family.refuse(node, name)
    local names = host.families()
    local nearest = host.nearest(name, names)
    local hint = nearest and "; did you mean " .. nearest .. "?" or ""
    host.error(node, (node and "kernel: " or "") .. "there is no family " .. name .. hint, values.list(names))
end

return family

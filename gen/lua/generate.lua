-- From a spec's tree to kernels: schema, plan, checks, template, manifest, in that order.
-- C opens a spec, asks for its points one by one, each within limits of its own, and closes it.

local host = require "host"
local family = require "family"
local schema = require "schema"
local sweep = require "sweep"
local values = require "values"
local header = require "header"
local json = require "json"
local reference = require "reference"
local resources = host.library "resources"

local generate = {}

-- The spec at work: fam, tree, options {stem=, spec=, table=, sets=, explain=, strict=, quiet=, faulty=}, name, axes,
-- legal, first_errors.
local open

local function find_family(tree)
    local node = schema.get(tree, "kernel")
    if not node then
        host.error(tree, "kernel: is missing; it names the family", values.list(host.families()))
        host.stop()
    end
    local name = node.kind == "scalar" and node.text or "?"
    local fam = family.load(name)
    if fam then return fam end
    family.refuse(node, name)
    host.stop()
end

-- The identifier that name: gives, else the spec's stem.
local function identifier(tree, stem)
    local node = schema.get(tree, "name")
    local text = node and node.kind == "scalar" and node.text or ""
    if #text <= 128 and text:match("^[%a_][%w_]*$") then return text end
    if node then host.error(node, "name: must be an identifier", "letters, digits and _, at most 128") end
    local name = stem:gsub("[^%w_]", "_")
    return name:match("^%d") and "_" .. name or name
end

-- The kernel's name: what name: says, else the spec's stem, as an identifier that source may use.
local function base_name(tree, stem)
    local name, node = identifier(tree, stem), schema.get(tree, "name")
    if not host.library("words").reserved[name] then return name end
    host.error(node or tree, "a kernel cannot be called " .. name .. ": the language keeps the word",
        "name: another identifier")
    return name
end

-- How an error says where the value at fault comes from, if not from the spec.
local ORIGINS = { phase = " (%s from phase %d)", default = " (%s by default)" }

-- What the family's check calls: fail(path, message, legal).
local function failer(settings, origins, report)
    return function(path, message, legal)
        local origin = path and origins[path]
        local from = origin and ORIGINS[origin.kind]
        if from then message = message .. from:format(values.show(schema.value(settings, path)), origin.phase) end
        report(schema.place(open.tree, path), message, legal)
    end
end

local function plan_of(settings)
    local plan = open.fam.definition.plan(settings)
    if type(plan) == "table" then return plan end
    host.error(open.fam.path, "plan: must return a table, not " .. type(plan))
    host.stop()
end

-- Settings and plan of a point; nil where any check reported an error.
local function settle(picked, name, report)
    local fam, failed = open.fam, false
    local function reporting(...)
        failed = true
        report(...)
    end
    local settings, origins = schema.resolve(fam, open.tree, picked, reporting)
    if failed then return nil end
    settings.name = name
    local plan = plan_of(settings)
    local fail = failer(settings, origins, reporting)
    for _, check in ipairs(fam.checks(settings)) do check.check(settings, plan, fail) end
    resources.check(settings, plan, fail)
    if not failed then return settings, plan, origins end
end

-- Reports what else is wrong with a spec that has errors: illegal values, and, unless it is a sweep,
-- whose points may be illegal, combinations of values.
local function report_rest()
    local picked = sweep.point(open.axes, 1)
    if #open.axes > 0 then
        schema.resolve(open.fam, open.tree, picked, host.error)
    else
        settle(picked, open.name, host.error)
    end
end

-- Opens a spec and returns the number of its points; 0 after errors.
function generate.open(tree, options)
    local fam = find_family(tree)
    open = { fam = fam, tree = tree, options = options, legal = 0 }
    open.name = base_name(tree, options.stem)
    local good = schema.check_shape(fam, tree, host.error) and not options.faulty
    open.axes = sweep.axes(fam, tree)
    local count = sweep.count(open.axes)
    if sweep.check(open.axes) and good or count == 0 then return count end
    report_rest()
    return 0
end

local function resolved_rows(fam, settings, origins)
    local rows = {}
    for _, knob in ipairs(fam.knobs) do
        local value = schema.value(settings, knob[1])
        local meant = not knob.when or knob.when(settings)
        if value ~= nil and meant then
            rows[#rows + 1] = { path = knob[1], value = value, origin = origins[knob[1]], knob = knob }
        end
    end
    return rows
end

local function template_of(fam, settings)
    local template = fam.definition.template
    if type(template) == "function" then template = template(settings) end
    return template
end

-- The rows of the manifest's list [name], each as a table of its members.
local function list_of(document, name)
    local list = {}
    for _, member in ipairs(document) do
        for _, row in ipairs(member[1] == name and type(member[2]) == "table" and member[2] or {}) do
            local fields = {}
            for _, pair in ipairs(row) do fields[pair[1]] = pair[2] end
            list[#list + 1] = fields
        end
    end
    return list
end

-- The names of the rows of the manifest's list [name], a set.
local function names_of(document, name)
    local names = {}
    for _, row in ipairs(list_of(document, name)) do
        if type(row.name) == "string" then names[row.name] = true end
    end
    return names
end

-- The family's manifest, with the rows of its reference, the budget of the spec and the [digest] of the source that it
-- is for, behind its name.
local function complete(document, v, digest)
    local given, settings = open.fam.definition.reference, v.settings
    if type(given) == "function" then given = given(settings, v.plan) end
    if given ~= nil then
        local names = { dims = names_of(document, "dims"), tensors = names_of(document, "tensors") }
        document[#document + 1] = { "reference", reference.rows(given, open.fam.path, names) }
    end
    for i, member in ipairs(document) do
        if member[1] == "source" then table.insert(document, i + 1, { "source_sha256", digest }) break end
    end
    local budget = resources.budget(settings)
    if budget then document[#document + 1] = { "budget", budget } end
end

-- Reports where the function [entry] of the source takes something else than [document] passes; [where] names that.
local function check_function(v, entry, document, where)
    local declared = host.arguments_of(v.kernel, entry)
    if not declared then return end
    local message, legal = host.library("parameters").check(declared, list_of(document, "params"))
    if message then host.error(open.fam.path, "manifest: " .. where .. ": " .. message, legal) end
end

-- The same for the kernel [v] and those before it.
local function check_parameters(v, document)
    check_function(v, v.name, document, "params")
    for _, member in ipairs(document) do
        for i, kernel in ipairs(member[1] == "before" and type(member[2]) == "table" and member[2] or {}) do
            local entry = kernel[1] and kernel[1][2]
            if type(entry) == "string" then check_function(v, entry, kernel, ("before[%d].params"):format(i - 1)) end
        end
    end
end

-- The scalar below [node] whose text is [text], or nil.
local function scalar_of(node, text)
    if node.kind == "scalar" then return node.text == text and node or nil end
    for _, item in ipairs(node.items or {}) do
        local found = scalar_of(item, text)
        if found then return found end
    end
end

-- Reports a tensor that is called as a function of the kernel is.
local function check_tensors(v, document)
    local names = names_of(document, "tensors")
    local functions = host.functions_among(v.kernel, names)
    for name in pairs(names) do
        if functions[name] then
            host.error(scalar_of(open.tree, name) or open.fam.path,
                "a tensor cannot be called " .. name .. ": a function of the kernel is", "another name")
        end
    end
end

-- The text of the manifest of [v], which generate.point() gave; SHA-256 [digest] of its source, in hexadecimal.
function generate.manifest(v, digest)
    local document = open.fam.definition.manifest(v.settings, v.plan)
    if type(document) == "table" then
        check_parameters(v, document)
        check_tensors(v, document)
        complete(document, v, digest)
    end
    return json.encode(document, open.fam.path)
end

-- What a template sees: the settings under the paths of their knobs, name, and plan.
local function environment(settings, plan)
    local values = {}
    for name, value in pairs(settings) do values[name] = value end
    values.plan = plan
    return host.environment(values)
end

local function build(v, settings, plan)
    v.settings, v.plan = settings, plan
    v.kernel = host.expand(v.folder, v.template, environment(settings, plan))
    v.header = header.text(v)
    v.knobs = header.spec(v.asked, v.resolved)
    v.resources = resources.rows(plan)
    v.threads = resources.threads(plan)
    v.shared_memory = resources.shared_memory(plan)
    v.phase = open.fam.phases and settings.phase
    v.budget = settings.budget
    if open.options.explain then v.explain = require("explain").spec(open.fam, v, settings, plan) end
    return v
end

-- Takes the errors of a point of a sweep: the first shows why the point is left out.
local function point_reporter(errors)
    return function(node, message, legal) errors[#errors + 1] = { node, message, legal } end
end

local function skip(errors, text)
    open.first_errors = open.first_errors or errors
    if open.options.strict then
        for _, e in ipairs(errors) do host.error(e[1], e[2] .. " (at " .. text .. ")", e[3]) end
    elseif not open.options.quiet then
        host.note(errors[1][1], "left out " .. text .. ": " .. errors[1][2])
    end
end

-- The kernel of point [number], or nil where that is illegal.
function generate.point(number)
    local picked, suffix, text = sweep.point(open.axes, number)
    local swept, errors = #open.axes > 0, {}
    local name = open.name .. suffix
    local settings, plan, origins = settle(picked, name, swept and point_reporter(errors) or host.error)
    if not settings then
        if swept then skip(errors, text) end
        return nil
    end
    open.legal = open.legal + 1
    return build({
        name = name, family = open.fam.home, asked = open.fam.name, arch = settings.arch,
        spec = open.options.spec, sets = open.options.sets,
        table = open.options.table,
        point = text, folder = "templates/" .. open.fam.home, template = template_of(open.fam, settings),
        resolved = resolved_rows(open.fam, settings, origins),
    }, settings, plan)
end

-- Reports a sweep that has no legal point.
function generate.close()
    if open.legal > 0 or not open.first_errors or open.options.strict or open.options.quiet then return end
    for _, e in ipairs(open.first_errors) do host.error(e[1], e[2], e[3]) end
    host.error(open.axes[1].node, "no point of the sweep is legal")
end

return generate

-- What `tmagen explain` prints: of a spec, every value and why it is so; of a family, what can be said.
-- It reads the table that validates and the plan that generates, so it cannot tell anything else.

local host = require "host"
local families = require "family"
local values = require "values"

local explain = {}

local WIDTH = 100

-- The width of a text in characters.
local function width(text) return select(2, text:gsub("[^\128-\191]", "")) end

-- Appends rows of cells to [out], in columns two spaces apart.
local function columns(out, rows)
    local widths = {}
    for _, row in ipairs(rows) do
        for i, cell in ipairs(row) do widths[i] = math.max(widths[i] or 0, width(tostring(cell))) end
    end
    for _, row in ipairs(rows) do
        local line = "  "
        for i, cell in ipairs(row) do
            local text = tostring(cell)
            line = line .. text .. string.rep(" ", i < #row and widths[i] - width(text) + 2 or 0)
        end
        out[#out + 1] = line:gsub("%s+$", "")
    end
end

local function section(out, title, rows)
    if #rows == 0 then return end
    out[#out + 1] = ""
    out[#out + 1] = title
    columns(out, rows)
end

-- [text] in lines that start with [indent].
local function wrap(out, text, indent)
    local line = indent
    for word in text:gmatch("%S+") do
        if #line + #word > WIDTH and #line > #indent then
            out[#out + 1] = line:gsub("%s+$", "")
            line = indent
        end
        line = line .. word .. " "
    end
    out[#out + 1] = line:gsub("%s+$", "")
end

-- Where a value came from, in words.
local function source(origin)
    if origin.kind == "phase" then return "phase " .. origin.phase end
    if origin.kind == "default" then return "default" end
    if origin.kind == "set" then return "--set" end
    return (origin.kind == "base" and "base " or "") .. origin.file .. ":" .. origin.line
end

local function knob_rows(resolved)
    local rows = {}
    for _, row in ipairs(resolved) do
        rows[#rows + 1] = { row.path, values.show(row.value), row.knob.unit or "", source(row.origin) }
    end
    return rows
end

-- The text for variant [v] of a spec, resolved to settings and plan [p].
function explain.spec(fam, v, settings, p)
    local out = { v.name .. ": " .. fam.definition.doc, "template " .. v.folder .. "/" .. v.template }
    if v.point ~= "" then out[#out + 1] = "at " .. v.point .. " of the sweep" end
    local rung = settings.phase and fam.ladder(settings.arch)[settings.phase]
    if rung then wrap(out, string.format("phase %d, %s: %s", settings.phase, rung.title, rung.doc or ""), "") end
    section(out, "knobs", knob_rows(v.resolved))
    local resources = host.library "resources"
    for _, part in ipairs(resources.sections(p, settings.arch)) do section(out, part.title, part.rows) end
    local more = fam.definition.explain
    for _, part in ipairs(more and more(settings, p) or {}) do section(out, part.title, part.rows) end
    return table.concat(out, "\n") .. "\n"
end

local function default_text(knob)
    if knob.default == nil then return knob.optional and "none" or "must be given" end
    if type(knob.default) == "function" then return "computed" end
    return values.show(knob.default)
end

local function describe_knob(out, knob)
    out[#out + 1] = ""
    out[#out + 1] = string.format("  %s: %s (default %s)", knob[1], values.legal(knob), default_text(knob))
    wrap(out, knob.doc .. (knob.when_doc and "; only where " .. knob.when_doc or ""), "      ")
end

local function describe_rung(out, knobs, number, rung)
    out[#out + 1] = ""
    wrap(out, string.format("%d %s: %s", number, rung.title, rung.doc or ""), "  ")
    local sets = {}
    for _, knob in ipairs(knobs) do
        local value = rung.sets and rung.sets[knob[1]]
        if value ~= nil then sets[#sets + 1] = knob[1] .. ": " .. values.show(value) end
    end
    if #sets > 0 then wrap(out, "sets " .. table.concat(sets, ", "), "      ") end
    if rung.predict then wrap(out, "predicted: " .. rung.predict, "      ") end
end

local function describe_ladder(out, knobs, phases, whose)
    out[#out + 1] = ("ladder%s: each rung keeps what those below it set"):format(whose)
    for _, number in ipairs(families.rungs(phases)) do describe_rung(out, knobs, number, phases[number]) end
end

-- The text for the family [name].
function explain.family(name)
    local fam = families.load(name, true)
    if not fam then families.refuse(nil, name) return "" end
    local out = { fam.name .. ": " .. fam.definition.doc, "", "knobs" }
    for _, knob in ipairs(fam.knobs) do describe_knob(out, knob) end
    out[#out + 1] = ""
    if fam.phases then describe_ladder(out, fam.knobs, fam.phases, "") end
    for arch, phases in pairs(fam.definition.ladders or {}) do
        out[#out + 1] = ""
        describe_ladder(out, fam.knobs, phases, " for " .. arch)
    end
    local rows = {}
    for _, check in ipairs(fam.checks()) do rows[#rows + 1] = { check[1], check.doc or "" } end
    section(out, "checks", rows)
    return table.concat(out, "\n") .. "\n"
end

return explain

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

local function smem_rows(p)
    local rows = {}
    for _, part in ipairs(p.smem or {}) do
        rows[#rows + 1] = { part.name, part.offset .. ".." .. part.offset + part.bytes - 1, part.bytes .. " bytes",
                            part.align and "aligned to " .. part.align or "", part.doc or "" }
    end
    if #rows > 0 then rows[#rows + 1] = { "", "", p.smem_bytes .. " bytes in all" } end
    return rows
end

local function barrier_rows(p)
    local rows = {}
    for _, b in ipairs(p.barriers or {}) do
        rows[#rows + 1] = { b.name, b.count .. " of them", b.arrivals .. " arrivals", (b.bytes or 0) .. " bytes",
                            b.who and "from " .. b.who or "", b.doc or "" }
    end
    return rows
end

local function register_rows(p)
    local rows, total = {}, 0
    for _, r in ipairs(p.registers or {}) do
        local all = r.warps * 32 * r.registers
        total = total + all
        rows[#rows + 1] = { r.role, r.warps .. " warps", r.registers .. " a thread", all .. " in all" }
    end
    if #rows > 1 then rows[#rows + 1] = { "", "", "", total .. " of 65536" } end
    return rows
end

local function launch_rows(p)
    local launch = p.launch or {}
    local rows = {}
    for _, name in ipairs { "block", "cluster" } do
        if launch[name] then rows[#rows + 1] = { name, table.concat(launch[name], " x ") } end
    end
    if launch.grid then rows[#rows + 1] = { "grid", launch.grid } end
    rows[#rows + 1] = { "dynamic shared memory", (p.smem_bytes or 0) .. " bytes" }
    return rows
end

-- The text for variant [v] of a spec, resolved to settings and plan [p].
function explain.spec(fam, v, settings, p)
    local out = { v.name .. ": " .. fam.definition.doc, "template " .. v.folder .. "/" .. v.template }
    if v.point ~= "" then out[#out + 1] = "at " .. v.point .. " of the sweep" end
    local rung = fam.phases and fam.phases[settings.phase]
    if rung then wrap(out, string.format("phase %d, %s: %s", settings.phase, rung.title, rung.doc or ""), "") end
    section(out, "knobs", knob_rows(v.resolved))
    section(out, "shared memory", smem_rows(p))
    section(out, "barriers", barrier_rows(p))
    section(out, "registers", register_rows(p))
    section(out, "launch", launch_rows(p))
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

-- The text for the family [name].
function explain.family(name)
    local fam = families.load(name)
    if not fam then host.error(nil, "there is no family " .. name, values.list(host.families())) return "" end
    local out = { fam.name .. ": " .. fam.definition.doc, "", "knobs" }
    for _, knob in ipairs(fam.knobs) do describe_knob(out, knob) end
    out[#out + 1] = ""
    if fam.phases then out[#out + 1] = "ladder: each rung keeps what those below it set" end
    for number, rung in pairs(fam.phases or {}) do describe_rung(out, fam.knobs, number, rung) end
    local rows = {}
    for _, check in ipairs(fam.checks) do rows[#rows + 1] = { check[1], check.doc or "" } end
    section(out, "checks", rows)
    return table.concat(out, "\n") .. "\n"
end

return explain

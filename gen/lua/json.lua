-- JSON with a stable order of keys, laid out to be read in a diff: what fits on a line is on one.
-- Families build manifests with json.object{ {"key", value}, ... } and json.array{ ... }.

local host = require "host"

local json = {}

local WIDTH = 120

-- stands for null, which a table cannot hold
json.null = setmetatable({}, { __tostring = function() return "null" end })

local object_tag, array_tag = { json = "object" }, { json = "array" }

-- The object with these pairs {key, value} in this order. A pair whose value is nil is left out.
function json.object(pairs_in_order) return setmetatable(pairs_in_order, object_tag) end

function json.array(items) return setmetatable(items, array_tag) end

local ESCAPES = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t" }

local quoted = setmetatable({}, { __index = function(known, text)
    known[text] = '"' .. text:gsub('[%c"\\]', function(c)
        return ESCAPES[c] or string.format("\\u%04x", c:byte())
    end) .. '"'
    return known[text]
end })

local function number(value, fault)
    if math.type(value) == "integer" then return tostring(value) end
    if value ~= value or value == math.huge or value == -math.huge then fault("a number that is not finite") end
    local text = string.format("%.15g", value)
    if tonumber(text) ~= value then text = string.format("%.17g", value) end
    return text:find("[.e]") and text or text .. ".0"
end

-- The text of [value], and whether that is one line; [used] is how much of the line is taken before it.
local function encode(value, indent, depth, used, fault)
    local kind = type(value)
    if kind == "string" then return quoted[value], true end
    if kind == "number" then return number(value, fault), true end
    if kind == "boolean" then return tostring(value), true end
    if value == json.null then return "null", true end
    if kind ~= "table" then fault(kind .. " where JSON is due") end
    if depth > 32 then fault("JSON nested too deeply") end
    local object, inner = getmetatable(value) == object_tag, indent .. "  "
    local open, close = object and "{" or "[", object and "}" or "]"
    local parts, length, short = {}, 0, depth > 0
    for _, item in ipairs(value) do
        local before = object and quoted[item[1]] .. ": " or ""
        if object then item = item[2] end
        if item ~= nil then
            local text, one_line = encode(item, inner, depth + 1, #before, fault)
            parts[#parts + 1] = object and before .. text or text
            length, short = length + #before + #text + 2, short and one_line
        end
    end
    if short and #indent + used + math.max(length, 2) <= WIDTH then
        return open .. table.concat(parts, ", ") .. close, true
    end
    return open .. "\n" .. inner .. table.concat(parts, ",\n" .. inner) .. "\n" .. indent .. close, false
end

-- The text of a document, with a newline at its end. What cannot be JSON is an error of the file [path].
function json.encode(value, path)
    local text = encode(value, "", 0, 0, function(message)
        host.error(path, "manifest: " .. message)
        host.stop()
    end)
    return text .. "\n"
end

return json

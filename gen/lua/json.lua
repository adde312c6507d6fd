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

local function quote(text)
    return '"' .. text:gsub('[%c"\\]', function(c)
        return ESCAPES[c] or string.format("\\u%04x", c:byte())
    end) .. '"'
end

local function number(value, fault)
    if math.type(value) == "integer" then return tostring(value) end
    if value ~= value or value == math.huge or value == -math.huge then fault("a number that is not finite") end
    local text = string.format("%.15g", value)
    if tonumber(text) ~= value then text = string.format("%.17g", value) end
    return text:find("[.e]") and text or text .. ".0"
end

local encode

-- The encoded members of a table and the brackets around them.
local function members(value, indent, depth, fault)
    local parts = {}
    if getmetatable(value) == object_tag then
        for _, pair in ipairs(value) do
            if pair[2] ~= nil then
                local text = quote(pair[1]) .. ": "
                parts[#parts + 1] = text .. encode(pair[2], indent, depth, #text, fault)
            end
        end
        return parts, "{", "}"
    end
    for _, item in ipairs(value) do parts[#parts + 1] = encode(item, indent, depth, 0, fault) end
    return parts, "[", "]"
end

-- [used] is how much of the line is taken before the value.
function encode(value, indent, depth, used, fault)
    local kind = type(value)
    if value == json.null then return "null" end
    if kind == "string" then return quote(value) end
    if kind == "number" then return number(value, fault) end
    if kind == "boolean" then return tostring(value) end
    if kind ~= "table" then fault(kind .. " where JSON is due") end
    if depth > 32 then fault("JSON nested too deeply") end
    local inner = indent .. "  "
    local parts, open, close = members(value, inner, depth + 1, fault)
    local line = open .. table.concat(parts, ", ") .. close
    if depth > 0 and #indent + used + #line <= WIDTH and not line:find("\n") then return line end
    return open .. "\n" .. inner .. table.concat(parts, ",\n" .. inner) .. "\n" .. indent .. close
end

-- The text of a document, with a newline at its end. What cannot be JSON is an error of the file [path].
function json.encode(value, path)
    return encode(value, "", 0, 0, function(message)
        host.error(path, "manifest: " .. message)
        host.stop()
    end) .. "\n"
end

return json

-- JSON with a stable order of keys, laid out to be read in a diff: what fits on a line is on one.
-- Families build manifests with json.object{ {"key", value}, ... } and json.array{ ... }.

local host = require "host"

local json = {}

-- stands for null, which a table cannot hold
json.null = setmetatable({}, { __tostring = function() return "null" end })

local object_tag, array_tag = { json = "object" }, { json = "array" }

-- The object with these pairs {key, value} in this order. A pair whose value is nil is left out.
function json.object(pairs_in_order) return setmetatable(pairs_in_order, object_tag) end

function json.array(items) return setmetatable(items, array_tag) end

-- The text of a document, with a newline at its end. What cannot be JSON is an error of the file [path].
function json.encode(value, path)
    return host.json(value, object_tag, json.null, function(message)
        host.error(path, "manifest: " .. message)
        host.stop()
    end) .. "\n"
end

return json

-- cuda.lua: pieces of CUDA text that are lists: parameters and arguments, wrapped as a person would.
-- Templates take the result by ${...} on a line of its own, which keeps the indentation.

local cuda = {}

local WIDTH, HEAD = 100, 60

-- `head(item, item, ...)tail`, broken before an item that would pass column 100; items align behind the parenthesis,
-- or stand below a head of over 60 columns. [indent]: columns that the template's own indentation takes.
function cuda.list(head, items, tail, indent)
    local align = (" "):rep(#head < HEAD and #head + 1 or 8)
    local lines = { head .. "(", #head >= HEAD and align or nil }
    for i, item in ipairs(items) do
        local text = item .. (i < #items and "," or ")" .. tail)
        local line = lines[#lines]
        local separator = (i == 1 or line == align) and "" or " "
        if i > 1 and (indent or 0) + #line + #separator + #text > WIDTH then
            lines[#lines + 1] = align .. text
        else
            lines[#lines] = line .. separator .. text
        end
    end
    return table.concat(lines, "\n")
end

-- [text], a list, on lines of at most [width] columns, broken behind commas; all but the first begin with [align]
function cuda.wrapped(text, width, align)
    local lines, line = {}, ""
    for piece in text:gmatch("[^,]+,?") do
        if line ~= "" and #line + #piece > width then
            lines[#lines + 1] = line
            line, piece = align, piece:gsub("^ ", "")
        end
        line = line .. piece
    end
    lines[#lines + 1] = line
    return table.concat(lines, "\n")
end

-- a literal of type float that is [value] to the last bit
function cuda.float(value)
    local digits = ("%.9g"):format(value)
    return digits .. (digits:find("[.e]") and "f" or ".0f")
end

-- ` + value`, or nothing for zero
function cuda.plus(value)
    return value ~= 0 and " + " .. value or ""
end

return cuda

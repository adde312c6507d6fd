-- expression.lua: what is wrong with a text that expression.h is to evaluate, which could only say NaN of it. By the
-- same steps as there: operators wait for what binds more tightly.

local expression = { functions = { "fabs", "sqrt", "exp", "tanh", "erf" } }

local DEPTH = 24                                              -- EXPRESSION_DEPTH

-- how tightly an operator binds, as in C, and how many operands it makes one of; "n" is a minus before its operand
local RANK = { ["("] = 0, ["?"] = 1, [":"] = 2, ["<"] = 3, [">"] = 3, ["<="] = 3, [">="] = 3,
    ["+"] = 4, ["-"] = 4, ["*"] = 5, ["/"] = 5, n = 6 }

-- What is wrong with the form of [text], whose words and numbers are known to be legal; nil: nothing.
function expression.fault(text)
    local at, waiting, values = 1, {}, 0

    local function take(pattern)
        local found, behind = text:match("^(" .. pattern .. ") *()", at)
        at = behind or at
        return found
    end

    -- the operator that waits once all that bind as tightly as [rank] have their operands
    local function waits(rank)
        while #waiting > 0 and RANK[waiting[#waiting]] >= math.max(rank, 2) do
            local op = table.remove(waiting)
            values = values - (op == ":" and 2 or op == "n" and 0 or 1)
        end
        return waiting[#waiting]
    end

    -- what opens a parenthesis or is a minus, before an operand
    local function take_before()
        for _, name in ipairs(expression.functions) do
            if take(name .. "%(") then return "(" end
        end
        return take("%(") or take("%-") and "n"
    end

    local function take_operand()
        for _, name in ipairs(expression.functions) do
            if text:match("^" .. name .. "%f[^%w_]", at) then return nil end
        end
        return take("0x[%x.]*p%-?%d+") or take("%d[%w.]*") or take("[%a_][%w_]*")
    end

    local function missing(what)
        return ("%s is missing %s"):format(what, at > #text and "at the end" or ('before "%s"'):format(text:sub(at)))
    end

    while true do
        local before = take_before()
        while before do
            waiting[#waiting + 1] = before
            before = take_before()
        end
        if not take_operand() then return missing("an operand") end
        values = values + 1
        if #waiting > DEPTH or values > DEPTH then return ("more than %d operators wait for others"):format(DEPTH) end
        while take("%)") do
            local opened = waits(1)
            if opened == "?" then return 'a "?" without its ":"' end
            if not opened then return 'a ")" without its "("' end
            table.remove(waiting)
        end
        if at > #text then break end
        local op = take("[<>]=?") or take("[-+*/?:]")
        if not op then return missing("an operator") end
        waits(op == "?" and 3 or RANK[op])
        if op == ":" and table.remove(waiting) ~= "?" then return 'a ":" without its "?"' end
        waiting[#waiting + 1] = op
    end
    local left = waits(1)
    return left == "(" and 'a "(" without its ")"' or left == "?" and 'a "?" without its ":"' or nil
end

return expression

-- integers.lua: what plans ask of whole numbers.

local integers = {}

function integers.common_divisor(a, b)
    return b == 0 and a or integers.common_divisor(b, a % b)
end

return integers

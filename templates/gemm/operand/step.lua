-- step.lua: where step i of a stage along K lies in an operand, as CUDA: in the one box, else in its own or in a part
-- of it, by what steps.cu.in declares; of columns, in rows of their own.

return function(operand)
    if operand.column_major then
        return ("i * MMA_K * %s_ROW_UNITS"):format(operand.name:upper())
    end
    return operand.boxes > 1 and operand.name .. "_step" or "i * MMA_UNITS"
end

-- epilogue.lua: what a spec's list of ops comes to: rows of ops.lua with their operands and parameters filled in.

local dtypes = require "dtypes"
local rows = require "epilogue/ops"

local epilogue = { rows = rows }

local by_name = {}
for _, row in ipairs(rows) do
    by_name[row.name] = row
end

-- The operand of an op: `rows` is "m", "one" or a number.
local function operand_of(row, call, dtype)
    local rows_of = row.operand.rows
    return {
        name = row.operand.name == true and call.value or row.operand.name,
        rows = rows_of, scalar = row.scalar, dtype = dtypes[dtype],
        period = type(call) == "table" and call.parameters[rows_of],
    }
end

-- [calls]: the knob's value, a word or { name =, value =, parameters = } each; operands are of type [dtype].
function epilogue.resolve(calls, dtype)
    local ops = {}
    for i, call in ipairs(calls) do
        local row = by_name[type(call) == "table" and call.name or call]
        local operand = row.operand and operand_of(row, call, dtype)
        local expression = operand and row.cuda:gsub("%f[%w_]y%f[^%w_]", operand.name) or row.cuda
        local scalar = row.scalar and { name = row.scalar, rows = "scalar" }
        ops[i] = { row = row, operand = operand, scalar = scalar, expression = expression }
    end
    return ops
end

-- the operands of [ops], tensors and scalars, in their order
function epilogue.operands(ops)
    local list = {}
    for _, op in ipairs(ops) do
        list[#list + 1] = op.operand
        list[#list + 1] = op.scalar or nil
    end
    return list
end

-- their docs in one line, for the knob
function epilogue.doc()
    local docs = {}
    for i, row in ipairs(rows) do
        docs[i] = row.name .. ": " .. row.doc
    end
    return table.concat(docs, "; ")
end

return epilogue

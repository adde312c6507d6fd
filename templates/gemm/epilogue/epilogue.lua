-- epilogue.lua: what a spec's list of ops comes to: rows of ops.lua with their operands, numbers and parameters filled
-- in.

local cuda = require "cuda"
local dtypes = require "dtypes"

local epilogue = { rows = {} }

local MUST = { "name", "doc", "cuda", "reference" }    -- strings
local FIELDS = { name = "string", doc = "string", cuda = "string", reference = "string", gates = "boolean",
    of_half = "string", writes = "string", most = "boolean", sums = "string", operand = "table", scalar = "string",
    numbers = "table", parameters = "table", error = "string", linear = "boolean" }

local OPERAND = { name = true, rows = true, columns = true, dtype = true }

local OWN = "epilogue/own"                              -- what a user's folder may have

local by_name = {}

-- Ends with what is wrong with row [i] of [file].
local function fault(file, i, row, message, ...)
    error(("%s.lua: row %d (%s): %s"):format(file, i, tostring(row.name), message:format(...)), 0)
end

-- Holds row [i]'s operand to what ops.lua says of one.
local function check_operand(file, i, row)
    local operand, legal = row.operand, { m = true, one = true }
    for _, parameter in ipairs(row.parameters or {}) do
        legal[parameter.name] = true
    end
    for field in pairs(operand) do
        if not OPERAND[field] then fault(file, i, row, "operand.%s is no field of an operand", field) end
    end
    local name, columns = operand.name, operand.columns or "one"
    if name ~= true and type(name) ~= "string" then fault(file, i, row, "operand.name is neither a string nor true") end
    if not legal[operand.rows or 1] then fault(file, i, row, "operand.rows is neither m, one nor a parameter") end
    if columns ~= "one" then fault(file, i, row, "operand.columns is not one") end
end

-- Holds the words and numbers of row [i]'s text [field] to those that lib/expression.h knows and the row's own.
local function check_words(file, i, row, field)
    local form, known = require "expression", { x = true, y = true }        -- for rows of one's own alone
    for _, name in ipairs(form.functions) do
        known[name] = true
    end
    for _, number in ipairs(row.numbers or {}) do
        known[number.name or 1] = true
    end
    local text = row[field] or ""
    for number, behind in text:gmatch("(%.?%f[%w_]%d[%w.]*)(.?)") do
        local hex = number:match("^0x[%da-f]*%.?[%da-f]*p?%d*$")
        if not (hex or number:match("^%d+%.?%d*$")) or number:sub(-1) == "p" and behind ~= "-" then
            fault(file, i, row, "%s: %s is no number such as 12.5 or 0x1p-11", field, number)
        end
    end
    for word in text:gsub("%f[%w_]%d[%w.]*", ""):gmatch("[%a_][%w_]*") do
        if not known[word] then
            fault(file, i, row, "%s: %s is none of x, y, its numbers, fabs, sqrt, exp, tanh and erf", field, word)
        end
    end
    local wrong = row[field] and form.fault(text)
    if wrong then
        fault(file, i, row, "%s: %s; legal is C of x, y, numbers, + - * /, comparisons with ? :, and functions", field,
              wrong)
    end
end

-- Adds the rows of [file]; each is held to the fields that ops.lua explains.
local function add_rows(file)
    for i, row in ipairs(require(file)) do
        for j = 1, #MUST do
            if type(row[MUST[j]]) ~= "string" then fault(file, i, row, "%s is no string", MUST[j]) end
        end
        for field, value in pairs(row) do
            local kind = FIELDS[field]
            if type(value) ~= kind then fault(file, i, row, "%s is no %s", field, kind or "field of an op") end
        end
        if not row.name:match("^[a-z][a-z0-9_]*$") then fault(file, i, row, "a name is of a-z, 0-9 and _") end
        if #row.reference >= 160 then fault(file, i, row, "reference has more than 159 characters") end
        if by_name[row.name] then fault(file, i, row, "another op has this name") end
        if file == OWN then                                         -- the others are right, and many
            if row.operand then check_operand(file, i, row) end
            check_words(file, i, row, "reference")
            check_words(file, i, row, "error")
        end
        by_name[row.name] = row
        epilogue.rows[#epilogue.rows + 1] = row
    end
end

add_rows("epilogue/ops")
add_rows(OWN)

-- what an operand is to the elements of D, by its rows and columns; "matrix" may repeat, and "scalar" is a launch's
local function kind_of(operand)
    if operand.columns == "one" then
        return operand.rows == "one" and "single" or "column"
    end
    return operand.rows == "one" and "row" or "matrix"
end

-- the operand of an op, of [dtype] where its row does not say which
local function operand_of(row, call, dtype)
    local rows_of = row.operand.rows
    return {
        name = row.operand.name == true and call.value or row.operand.name,
        kind = kind_of(row.operand), strided = kind_of(row.operand) == "matrix",
        rows = rows_of, scalar = row.scalar, dtype = dtypes[row.operand.dtype or dtype],
        period = type(call) == "table" and call.parameters[rows_of],
    }
end

-- [text] with [word] replaced by [by]
local function replaced(text, word, by)
    return (text:gsub("%f[%w_]" .. word .. "%f[^%w_]", (by:gsub("%%", "%%%%"))))
end

-- The CUDA of an op and its reference, with the spec's [numbers], as fp32 has them, in place of their names.
local function expressions_of(row, numbers, operand, packed)
    local source, reference, error = row.cuda, row.reference, row.error
    if packed then
        source, error = packed.cuda, packed.error or error
    end
    if operand then
        source = replaced(source, "y", operand.name)
    end
    for i, number in ipairs(row.numbers or {}) do
        local single = ("%a"):format(string.unpack("<f", string.pack("<f", numbers[i]))):gsub("+", "")
        source = replaced(source, number.name, cuda.float(numbers[i]))
        reference = replaced(reference, number.name, single)
        error = error and replaced(error, number.name, single)
    end
    return source, reference, error
end

-- [calls]: the knob's value, a word or { name =, value =, parameters = } each; operands are of type [dtype]. [packed]:
-- on pairs.
function epilogue.resolve(calls, dtype, packed)
    local ops, gate, known = {}, nil, packed and require("epilogue/packed") or {}
    for i, call in ipairs(calls) do
        local row = by_name[type(call) == "table" and call.name or call]
        local operand = row.operand and operand_of(row, call, dtype)
        local numbers = row.numbers and (type(call.value) == "table" and call.value or { call.value })
        local expression, reference, error = expressions_of(row, numbers, operand, known[row.name])
        local scalar = row.scalar and { name = row.scalar, kind = "scalar" }
        local matrix = not row.most and not row.sums
        local kind = row.sums and "sums" or row.most and "most" or "output"
        local output = row.writes and { name = row.writes, kind = kind, sums = row.sums, most = row.most,
            written = true, strided = matrix, dtype = dtypes[matrix and dtype or "fp32"] }
        expression = row.writes and ("%s = x"):format(row.writes) or "x = " .. expression
        ops[i] = { row = row, operand = operand, scalar = scalar, output = output, expression = expression,
                   reference = reference, error = error or "0", numbers = numbers, packed = known[row.name] }
        gate = row.gates and i or gate
    end
    for i = 1, gate and gate - 1 or 0 do
        ops[i].doubled = true                                       -- applied to both values of a pair
        for _, operand in ipairs(epilogue.operands { ops[i] }) do
            operand.doubled = true
        end
    end
    return ops
end

-- Whether [calls] has an op that makes one of two values: D has half of the product's columns then.
function epilogue.gates(calls)
    for _, call in ipairs(calls) do
        if type(call) == "string" and by_name[call].gates then
            return true
        end
    end
    return false
end

-- the operands of [ops], tensors and scalars, and what they write, in their order
function epilogue.operands(ops)
    local list = {}
    for _, op in ipairs(ops) do
        list[#list + 1] = op.operand
        list[#list + 1] = op.scalar or nil
        list[#list + 1] = op.output or nil
    end
    return list
end

-- those of [operands] that each thread reads, or writes, when it comes to an element; reads.lua has the others
function epilogue.direct(operands)
    local list = {}
    for _, operand in ipairs(operands) do
        list[#list + 1] = not operand.ahead and not operand.by and operand or nil
    end
    return list
end

-- Whether an item has operands of its own: of its problem, or that end with its group's rows.
function epilogue.own(plan)
    local own = plan.clips and plan.op_wants.row
    for _, operand in ipairs(plan.op_direct) do
        own = own or operand.problem
    end
    return own
end

-- Those of [ops] that can be read by 16 bytes, ahead of where they are wanted.
function epilogue.held(ops)
    local list = {}
    for _, op in ipairs(ops) do
        if op.operand and op.operand.kind == "matrix" and not op.operand.scalar and not op.doubled then
            list[#list + 1] = op.operand
        end
    end
    return list
end

-- The types of operands by their kind, { row = {...}, column =, matrix =, single = }, and `pairs`, those of which
-- neighbours in a row are read together; `output`, of what is written.
function epilogue.types(operands)
    local types = { row = {}, column = {}, matrix = {}, single = {}, output = {}, most = {}, sums = {}, pairs = {} }
    local function note(list, dtype)
        list[#list + 1] = not list[dtype] and dtype or nil
        list[dtype] = true
    end
    for _, operand in ipairs(operands) do
        if operand.dtype then
            note(types[operand.kind], operand.dtype)
            note((operand.kind == "row" or operand.kind == "matrix") and types.pairs or {}, operand.dtype)
        end
    end
    return types
end

-- What ops must know of an element beside its value, as arguments behind others: [row] and [column] are its place,
-- [of_rows] and [of_columns] that of its sums in a thread's totals.
function epilogue.place(plan, row, column, of_rows, of_columns)
    local list = #plan.op_direct > #plan.held and { "operands" } or {}
    list[#list + 1] = #plan.held > 0 and "held" or nil
    list[#list + 1] = plan.apply_wants.row and row or nil
    list[#list + 1] = plan.apply_wants.column and column or nil
    list[#list + 1] = plan.op_most and "most" or nil
    list[#list + 1] = plan.op_sums.row and of_rows or nil
    list[#list + 1] = plan.op_sums.column and of_columns or nil
    return #list > 0 and ", " .. table.concat(list, ", ") or ""
end

-- the same, where a function declares them, and of what is read ahead the piece's elements
function epilogue.parameters(plan)
    local text = epilogue.place(plan, "int first_row", "int first_column", "float *of_rows", "float *of_columns")
    text = text:gsub("operands", "const Operands &operands"):gsub("held", "const Held &held")
    return text:gsub(", most%f[^%w_]", ", uint32_t &most")
        .. (#plan.reads.ahead > 0 and ", const %s *ahead" or ""):format(plan.packed and "bf16" or "float")
        .. (plan.reads.matrix and ", const uint32_t *pairs" or "")
end

-- The values of operands, as arguments behind others: of those of both of a pair, if [doubled], those of the side
-- [name]. [suffixes] of values by the kind of their operand.
local function arguments(plan, doubled, side, suffixes)
    local list = {}
    for _, operand in ipairs(plan.op_operands) do
        local name, suffix = operand.name, suffixes[operand.kind]
        if operand.doubled ~= doubled then
            goto next
        elseif operand.kind == "scalar" or operand.kind == "single" then
            name = "operands." .. name
        elseif suffix then
            name = side .. name .. suffix
        end
        list[#list + 1] = ", " .. name
        ::next::
    end
    return table.concat(list)
end

-- An element of D: what the ops make of [x] or, of pairs, of [x] and [y].
function epilogue.applied(plan, x, y, suffixes)
    local after = arguments(plan, nil, "", suffixes)
    if not plan.gated then
        return ("apply(%s%s)"):format(x, after)
    end
    if plan.ops[1].doubled then
        x = ("apply_before(%s%s)"):format(x, arguments(plan, true, "", suffixes))
        y = ("apply_before(%s%s)"):format(y, arguments(plan, true, "second_", suffixes))
    end
    return ("apply(%s, %s%s)"):format(x, y, after)
end

-- What [operand], of that [kind], is read for: an element of D or, before a pair is one value, the first and the
-- second of it; their names, and what they are further along N. None for one of another kind.
function epilogue.sides(operand, kind)
    local first, second = { name = operand.name, place = "" },
        { name = "second_" .. operand.name, place = " + operands.n" }
    return operand.kind ~= kind and {} or operand.doubled and { first, second } or { first }
end

-- The sides of what the ops write, of any kind.
function epilogue.written(operand)
    return operand.written and epilogue.sides(operand, operand.kind) or {}
end

-- their docs in one line, for the knob
function epilogue.doc()
    local docs = {}
    for i, row in ipairs(epilogue.rows) do
        docs[i] = row.name .. ": " .. row.doc
    end
    return table.concat(docs, "; ")
end

return epilogue

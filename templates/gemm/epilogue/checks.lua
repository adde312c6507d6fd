-- checks.lua: what is legal for the list of ops: names of operands become names in the source.

local words = require "words"

local TAKEN = [[
    a b d m n k x y row column item work ring smem warp warpgroup cta operands bf16 fp16 a_map b_map d_map a_operand
    b_operand dynamic_smem inside release pair half first_row first_column most word pairs ahead source
]]

local function is_taken(name)
    return words.reserved[name] or words.among(TAKEN, name)
end

return function(s, p, fail)
    local seen, gates, of_rows = {}, 0, 0
    if p.op_most and (not p.mma or p.batched or p.work.groups) then
        fail("epilogue.ops", "epilogue.ops: amax is of one problem, and of kernels whose warps say when they are done",
            "math: wgmma, without problem.batch")
    end
    if p.op_sums.any and (not p.mma or p.tcgen05 or p.producers == 0 or p.exchanged or p.gated or p.batched
        or p.work.groups) then
        fail("epilogue.ops", "epilogue.ops: sums of rows and columns are of one problem, whose tiles have D's rows",
            "math: wgmma with producer warps, without exchange, gated ops and problem.batch")
    end
    for _, op in ipairs(p.ops) do
        gates = gates + (op.row.gates and 1 or 0)
        of_rows = of_rows + (op.row.sums == "row" and 1 or 0)
        if op.row.gates and not p.mma or gates > 1 then
            fail("epilogue.ops", ("epilogue.ops: %s makes one value of two"):format(op.row.name),
                gates > 1 and "one op of its kind" or "math: wgmma")
        end
    end
    if of_rows > 1 then
        fail("epilogue.ops", "epilogue.ops: row_sums and row_amax, but a thread has one total of a row", "one of them")
    end
    for _, operand in ipairs(p.op_operands) do
        local name = operand.name
        if is_taken(name) or not name:match("^[a-z][a-z0-9_]*$") or #name > 64 then
            fail("epilogue.ops", ("epilogue.ops: %s cannot be the name of a tensor"):format(name),
                "a word of a-z, 0-9 and _ that the kernel has no other use for")
        elseif seen[name] then
            fail("epilogue.ops", ("epilogue.ops: two ops have a tensor %s"):format(name), "a name for each")
        end
        seen[name] = true
    end
end

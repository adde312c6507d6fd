-- checks.lua: gemm's legality beyond the range of a single knob; every broken rule is reported in one run.
-- What one kind of multiplication wants stands beside it, in mma/NAME/checks.lua.

local archs = require "archs"
local ops = require "epilogue/checks"

local list = {
    { "fixed dimensions", check = function(s, p, fail)
        for _, dim in ipairs { "m", "n", "k" } do
            local value, multiple = s.problem[dim], p.multiples[dim]
            if value ~= "dynamic" and value % multiple ~= 0 then
                fail("problem." .. dim, ("problem.%s: %d is no multiple of %d: %s"):format(dim, value, multiple,
                    p.why_multiples[dim]), ("a multiple of %d"):format(multiple))
            end
        end
    end },
    { "batch", check = function(s, p, fail)
        if not p.batched then
            return
        end
        local hints = p.mma and (s.cache_hint.a or s.cache_hint.b)
        if s.math == "fma" or not p.work.batches or p.gated or hints or p.sum.name == "i32" then
            fail("problem.batch", "problem.batch is for tensor cores, floats, whole tiles, no hints for the L2 with "
                .. "wgmma or tcgen05, and ops without a gate", "no batch, or such a kernel")
        end
    end },
    { "integers", check = function(s, p, fail)
        if s.problem.d == "i32" and (p.sum.name ~= "i32" or #p.ops > 0) then
            fail("problem.d", "problem.d: i32 is for the sums of i8 as they are", "a type of floats")
        end
    end },
    { "warps", check = function(s, p, fail)
        local count = s.warps.consumer.count
        if s.math ~= "mma" and (count < 4 or count == 10 or count == 16) then
            fail("warps.consumer.count", ("%d warps that multiply are for mma"):format(count), "4, 8, 12")
        end
    end },
    { "low tiles", check = function(s, p, fail)
        if s.load ~= "registers" and s.tile.m % 8 ~= 0 then
            fail("tile.m", ("tile.m: %d is no multiple of 8"):format(s.tile.m), "a multiple of 8; or load: registers")
        end
    end },
    { "epilogue ops", check = ops },
}

-- whether the tensor cores that `math` names are another GPU's
local function foreign(s)
    return (s.math == "wgmma" or s.math == "tcgen05") and s.math ~= archs[s.arch].mma
end

list[#list + 1] = { "GPU", check = function(s, p, fail)
    for _, name in ipairs { "a", "b" } do
        local row = p[name .. "_type"]
        if row.stored and s.math ~= "tcgen05" and (name == "a" or row ~= p.a_type) then
            fail("problem." .. name, ("problem.%s: %s is for tcgen05"):format(name, s.problem[name]),
                "types of 8 or 16 bits")
        end
    end
    if p.d.stored and s.math ~= "tcgen05" then
        fail("problem.d", ("problem.d: %s is for tcgen05"):format(s.problem.d), "types of 8 bits or more")
    end
    if s.epilogue.store == "staged" and s.math ~= "tcgen05" then
        fail("epilogue.store", "epilogue.store: staged is of tcgen05's epilogue", "tma, direct or elements")
    end
    if foreign(s) then
        fail("math", ("math: %s is not for %s"):format(s.math, s.arch),
            ("%s, mma or fma"):format(archs[s.arch].mma))
    elseif p.work.asks and s.math ~= "tcgen05" then
        fail("grid", ("grid: %s is of tcgen05's kernels"):format(s.grid), "tiles or persistent")
    end
end }

-- Those of a kernel are read where it is made; without one, those of every kind.
return function(s)
    local rules = table.move(list, 1, #list, 1, {})
    for _, math in ipairs(not s and { "fma", "mma", "wgmma", "tcgen05" } or foreign(s) and {} or { s.math }) do
        local own = require("mma/" .. math .. "/checks")
        table.move(own, 1, #own, #rules + 1, rules)
    end
    return rules
end

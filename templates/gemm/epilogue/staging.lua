-- staging.lua: staging of D, where it is stored by TMA: a buffer, the boxes in it, and what is legal for them.

local dtypes = require "dtypes"
local swizzle = require "swizzle"

local staging = {}

-- [m], [n]: the rows and columns of D that those who share the buffers store of a tile
function staging.plan(s, m, n)
    local tile = s.epilogue.tile
    local bytes = dtypes.bytes(s.problem.d, tile.n)
    local row_bytes = s.swizzle_bits.d == 0 and bytes or swizzle.span(s.swizzle_bits.d)
    return {
        m = tile.m, n = tile.n, row_bytes = row_bytes, columns = row_bytes * 8 // dtypes.stored(s.problem.d).bits,
        boxes = bytes // row_bytes, buffer_bytes = tile.m * bytes,
        count = m // tile.m * (n // tile.n),
    }
end

-- What holds for any staging: whole spans of the swizzle, and buffers that take turns.
function staging.check(s, p, fail)
    local row = dtypes.bytes(s.problem.d, s.epilogue.tile.n)
    if s.swizzle_bits.d > 0 and row % (1 << s.swizzle_bits.d) ~= 0 then
        fail("swizzle_bits.d", ("swizzle_bits.d: a staging row of %d bytes is no multiple of the swizzle's %d"):format(
            row, 1 << s.swizzle_bits.d), "a smaller swizzle or a wider epilogue.tile.n")
    end
    if p.store.count % s.epilogue.buffers ~= 0 then
        fail("epilogue.buffers", ("epilogue.buffers: %d do not divide the %d stores of a %s"):format(
            s.epilogue.buffers, p.store.count, s.math == "wgmma" and "warpgroup's tile" or "tile"),
            "a divisor of " .. p.store.count)
    end
end

-- Staging of whole blocks of rows, of [step] columns and more.
function staging.check_straight(s, p, fail, step)
    local columns, doc = s.tile.n, "tile.n"
    if p.gated then
        columns, doc = columns // 2, "half of tile.n"
    end
    if columns % s.epilogue.tile.n ~= 0 or s.epilogue.tile.n % step ~= 0 then
        fail("epilogue.tile.n", ("epilogue.tile.n: %d is no multiple of %d that divides %s = %d"):format(
            s.epilogue.tile.n, step, doc, columns), ("a divisor of %s that is a multiple of %d"):format(doc, step))
    end
end

return staging

-- levels.lua: the table of feature levels that deformable attention's families share: where each lies among the rows of
-- a batch, what is legal of it, and how a manifest writes it. `problem.levels` holds height and width of each.

local levels = {}

-- Each level's { height, width, pitch, rows, first }, where it begins, in pixels of a batch; and their number in all.
-- With `problem.padded` a border one pixel wide is stored around each level.
function levels.layout(s)
    local border = s.problem.padded and 1 or 0
    local list, first = {}, 0
    for i, size in ipairs(s.problem.levels) do
        local height, width = size[1], size[2]
        local pitch, rows = width + 2 * border, height + 2 * border
        list[i] = { height = height, width = width, pitch = pitch, rows = rows, first = first }
        first = first + pitch * rows
    end
    return list, first
end

-- a family's check of the table itself
function levels.check(s, p, fail)
    for i, size in ipairs(s.problem.levels) do
        if size[1] < 1 or size[2] < 1 or size[1] > 16384 or size[2] > 16384 then
            fail("problem.levels", ("problem.levels: level %d is %d x %d"):format(i, size[1], size[2]),
                "1..16384 rows and columns")
        end
    end
    if #s.problem.levels < 1 or #s.problem.levels > 8 then
        fail("problem.levels", ("problem.levels: %d levels"):format(#s.problem.levels), "1..8 levels")
    end
end

-- a family's check that a batch of [what], p.pixels of p.record_bytes, can be addressed
function levels.offsets(what)
    return function(s, p, fail)
        if p.pixels * p.record_bytes >= 1 << 31 then
            fail("problem.levels", ("problem.levels: a batch of %s takes %d bytes, offsets have 31 bits"):format(
                what, p.pixels * p.record_bytes), "smaller or fewer levels")
        end
    end
end

-- the table as the manifest's reference has it
function levels.row(s)
    local list = {}
    for i, size in ipairs(s.problem.levels) do
        list[i] = json.array(size)
    end
    return json.array(list)
end

return levels

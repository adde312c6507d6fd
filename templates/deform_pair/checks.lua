-- checks.lua: deform_pair's legality beyond the range of a single knob; every broken rule is reported in one run.
-- What cannot be known here, such as the number of batches, the manifest demands at launch.

local function level_table(s, p, fail)
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

local function offsets(s, p, fail)
    if p.pixels * p.record_bytes >= 1 << 31 then
        fail("problem.levels", ("problem.levels: a batch of pairs takes %d bytes, offsets have 31 bits"):format(
            p.pixels * p.record_bytes), "smaller or fewer levels")
    end
end

return {
    { "levels", doc = "1 to 8 levels, each with pixels", check = level_table },
    { "offsets", doc = "offsets within a batch have 31 bits", check = offsets },
}

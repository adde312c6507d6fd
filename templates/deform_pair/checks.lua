-- checks.lua: deform_pair's legality beyond the range of a single knob; every broken rule is reported in one run.
-- What cannot be known here, such as the number of batches, the manifest demands at launch.

local levels = require "levels"

return {
    { "levels", doc = "1 to 8 levels, each with pixels", check = levels.check },
    { "offsets", doc = "offsets within a batch have 31 bits", check = levels.offsets("pairs") },
}

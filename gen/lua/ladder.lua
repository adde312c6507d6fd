-- What `tmagen ladder` must know of a family: its rungs, in order, in words.
-- The same table sets the knobs, so that what is recorded is what was generated.

local families = require "family"

local ladder = {}

-- The rungs of the family [name]: a list of {number=, title=, doc=, predict=}; nil after an error.
function ladder.rungs(name)
    local fam = families.load(name)
    if not fam then families.refuse(nil, name) return nil end
    local rungs = {}
    for i, number in ipairs(families.rungs(fam.phases)) do
        local phase = fam.phases[number]
        rungs[i] = { number = number, title = phase.title, doc = phase.doc or "", predict = phase.predict or "" }
    end
    return rungs
end

return ladder

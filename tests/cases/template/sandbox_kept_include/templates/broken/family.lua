-- Calls the template's include when the template is long done.
local kept = {}
return {
    name = "broken", doc = "", arch = { "sm_90a" }, knobs = {}, template = "keeps.cu.in",
    plan = function() return { kept = kept } end,
    manifest = function() kept.include("part.cu.in") end,
}

return {
    name = "knob_field", doc = "", arch = { "sm_90a" }, template = "t.cu.in",
    knobs = { { "stages", type = "int", minimum = 2, doc = "" } },
    plan = function() return {} end, manifest = function() end,
}

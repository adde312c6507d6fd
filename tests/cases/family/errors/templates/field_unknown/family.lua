return {
    name = "field_unknown", doc = "", arch = { "sm_90a" }, template = "t.cu.in", knobs = {},
    plan = function() return {} end, manifest = function() end,
    chekcs = {},
}

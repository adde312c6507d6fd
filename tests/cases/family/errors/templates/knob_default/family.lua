local function none() return {} end
return { name = "knob_default", doc = "", arch = { "sm_90a" }, template = "t.cu.in", knobs = { { "a", type = "int", max = 4, default = 5, doc = "" } }, plan = none,
    manifest = function() return json.object {} end,
     }

local function none() return {} end
return { name = "knob_steps", doc = "", arch = { "sm_90a" }, template = "t.cu.in",
    knobs = { { "odd", type = "int", min = 1, max = 9, step = 2, default = 1, doc = "" } }, plan = none,
    manifest = function() return json.object {} end,
     }

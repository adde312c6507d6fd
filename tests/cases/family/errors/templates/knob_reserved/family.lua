local function none() return {} end
return { name = "knob_reserved", doc = "", arch = { "sm_90a" }, template = "t.cu.in", knobs = { { "base", type = "int", doc = "" } }, plan = none,
    manifest = function() return json.object {} end,
     }

local function none() return {} end
return { name = "knob_when", doc = "", arch = { "sm_90a" }, template = "t.cu.in", knobs = { { "a", type = "int", when = none, doc = "" } }, plan = none,
    manifest = function() return json.object {} end,
     }

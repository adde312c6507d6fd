local function none() return {} end
return { name = "knob_twice", doc = "", arch = { "sm_90a" }, template = "t.cu.in", knobs = { { "a", type = "int", doc = "" }, { "a", type = "int", doc = "" } }, plan = none,
    manifest = function() return json.object {} end,
     }

local function none() return {} end
return { name = "knob_enum", doc = "", arch = { "sm_90a" }, template = "t.cu.in", knobs = { { "a", type = "enum", doc = "" } }, plan = none,
    manifest = function() return json.object {} end,
     }

local function none() return {} end
return { name = "knob_no_type", doc = "", arch = { "sm_90a" }, template = "t.cu.in", knobs = { { "a", type = "integer", doc = "" } }, plan = none,
    manifest = function() return json.object {} end,
     }

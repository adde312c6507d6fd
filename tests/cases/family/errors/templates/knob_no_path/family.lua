local function none() return {} end
return { name = "knob_no_path", doc = "", arch = { "sm_90a" }, template = "t.cu.in", knobs = { { type = "int", doc = "" } }, plan = none,
    manifest = function() return json.object {} end,
     }

local function none() return {} end
return { name = "knob_required", doc = "", arch = { "sm_90a" }, template = "t.cu.in", knobs = { { "group.a", type = "int", min = 1, doc = "" } }, plan = none,
    manifest = function() return json.object {} end,
     }

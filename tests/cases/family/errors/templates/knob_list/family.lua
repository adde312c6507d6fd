local function none() return {} end
return { name = "knob_list", doc = "", arch = { "sm_90a" }, template = "t.cu.in", knobs = { { "a", type = "list", doc = "" } }, plan = none,
    manifest = function() return json.object {} end,
     }

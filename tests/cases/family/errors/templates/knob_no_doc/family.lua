local function none() return {} end
return { name = "knob_no_doc", doc = "", arch = { "sm_90a" }, template = "t.cu.in", knobs = { { "a", type = "int" } }, plan = none,
    manifest = function() return json.object {} end,
     }

local function none() return {} end
return { name = "template_outside", doc = "", arch = { "sm_90a" }, template = "../knob_enum/t.cu.in", knobs = {}, plan = none,
    manifest = function() return json.object {} end,
     }

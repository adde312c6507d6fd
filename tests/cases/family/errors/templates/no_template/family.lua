local function none() return {} end
return { name = "no_template", doc = "", arch = { "sm_90a" }, template = "t.cu.in", knobs = {}, plan = none,
    manifest = function() return json.object {} end,
     }

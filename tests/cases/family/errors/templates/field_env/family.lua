local function none() return {} end
return { name = "field_env", doc = "", arch = { "sm_90a" }, template = "t.cu.in", knobs = {}, plan = none, env = none,
    manifest = function() return json.object {} end,
     }

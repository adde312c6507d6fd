local function none() return {} end
return { name = "env_nil", doc = "", arch = { "sm_90a" }, template = "t.cu.in", knobs = {}, plan = none, env = function() end,
    manifest = function() return json.object {} end,
     }

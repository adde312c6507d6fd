local function none() return {} end
return { name = "plan_nil", doc = "", arch = { "sm_90a" }, template = "t.cu.in", knobs = {}, plan = function() end,
    manifest = function() return json.object {} end,
     }

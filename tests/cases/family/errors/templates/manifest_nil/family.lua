local function none() return {} end
return { name = "manifest_nil", doc = "", arch = { "sm_90a" }, template = "t.cu.in", knobs = {}, plan = none,
    manifest = function() return nil end,
     }

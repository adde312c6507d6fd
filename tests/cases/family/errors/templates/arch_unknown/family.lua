local function none() return {} end
return { name = "arch_unknown", doc = "", arch = { "sm_90a", "sm_91" }, template = "t.cu.in", knobs = {}, plan = none,
         manifest = none }

local function none() return {} end
return { name = "another", doc = "", arch = { "sm_90a" }, template = "t.cu.in", knobs = {}, plan = none,
         manifest = none }

local function none() return {} end
return { name = "plan_crash", doc = "", arch = { "sm_90a" }, template = "t.cu.in", knobs = {}, plan = function(s) return s.a.b end,
    manifest = function() return json.object {} end,
    checks = {} }

local function none() return {} end
return { name = "check_crash", doc = "", arch = { "sm_90a" }, template = "t.cu.in", knobs = {}, plan = none,
    manifest = function() return json.object {} end,
    checks = { { "c", check = function(s, p, fail) fail("a" .. p) end } } }

local function none() return {} end
return { name = "check_nowhere", doc = "", arch = { "sm_90a" }, template = "t.cu.in", knobs = {}, plan = none,
    manifest = function() return json.object {} end,
    checks = { { "c", check = function(s, p, fail) fail("no.such.knob", "is bad") fail(nil, "is bad too") end } } }

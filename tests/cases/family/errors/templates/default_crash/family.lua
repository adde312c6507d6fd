local function none() return {} end
return { name = "default_crash", doc = "", arch = { "sm_90a" }, template = "t.cu.in", knobs = { { "a", type = "int", default = function(s) return s.b.c end, doc = "" } }, plan = none,
    manifest = function() return json.object {} end,
     }

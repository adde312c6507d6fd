local function none() return {} end
return { name = "phase_predict", doc = "", arch = { "sm_90a" }, template = "t.cu.in", knobs = { { "a", type = "int", max = 4, default = 1, doc = "" } }, plan = none,
    manifest = function() return json.object {} end,
    phases = { [0] = { title = "", predict = 5 } } }

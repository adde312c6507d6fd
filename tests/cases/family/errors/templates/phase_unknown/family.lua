local function none() return {} end
return { name = "phase_unknown", doc = "", arch = { "sm_90a" }, template = "t.cu.in", knobs = {}, plan = none,
    manifest = function() return json.object {} end,
    phases = { [0] = { title = "", sets = { stagse = 4 } } } }

local function none() return {} end
return { name = "manifest_cycle", doc = "", arch = { "sm_90a" }, template = "t.cu.in", knobs = {}, plan = none,
    manifest = function() local t = {} t[1] = t return json.object { { "f", t } } end,
     }

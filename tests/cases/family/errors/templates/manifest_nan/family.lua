local function none() return {} end
return { name = "manifest_nan", doc = "", arch = { "sm_90a" }, template = "t.cu.in", knobs = {}, plan = none,
    manifest = function() return json.object { { "f", 0 / 0 } } end,
     }

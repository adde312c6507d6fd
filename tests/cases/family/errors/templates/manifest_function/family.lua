local function none() return {} end
return { name = "manifest_function", doc = "", arch = { "sm_90a" }, template = "t.cu.in", knobs = {}, plan = none,
    manifest = function() return json.object { { "f", none } } end,
     }

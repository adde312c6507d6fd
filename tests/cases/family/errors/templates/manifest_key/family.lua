local function none() return {} end
return { name = "manifest_key", doc = "", arch = { "sm_90a" }, template = "t.cu.in", knobs = {}, plan = none,
    manifest = function() return json.object { { "f", json.array { 1, json.object { { "g", 2 }, { 7, 3 } } } } } end,
     }

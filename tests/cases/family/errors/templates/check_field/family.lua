return {
    name = "check_field", doc = "", arch = { "sm_90a" }, template = "t.cu.in", knobs = {},
    plan = function() return {} end, manifest = function() end,
    checks = { { "threads", cheks = function() end } },
}

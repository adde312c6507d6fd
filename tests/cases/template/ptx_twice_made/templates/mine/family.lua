return {
    name = "mine", doc = "", arch = { "sm_90a" }, template = "kernel.cu.in", knobs = {},
    plan = function() return {} end,
    manifest = function(s, p) return require("rows").manifest("x", s, p, {}) end,
}

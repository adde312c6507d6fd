return {
    name = "mine", doc = "", arch = { "sm_90a" }, template = function(s) return s.variant .. ".cu.in" end,
    knobs = { { "variant", type = "enum", values = { "plain", "hidden", "harmless" }, doc = "how it is written" } },
    plan = function() return {} end,
    manifest = function(s, p) return require("rows").manifest("x", s, p, {}) end,
}

local own = require "own"
local widths = require "work/widths"

return {
    name = "mine", doc = "", arch = { "sm_90a" }, template = "kernel.cu.in",
    knobs = {
        { "tile.m", type = "int", min = 1, default = 8, doc = "rows" },
        { "math", type = "enum", values = { "fma" }, doc = "shadows Lua's own" },
    },
    plan = function(s) return { threads = widths.threads(s), own = own } end,
    manifest = function(s, p) return require("rows").manifest("mine", s, p, {}) end,
}

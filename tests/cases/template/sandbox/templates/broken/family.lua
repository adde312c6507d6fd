-- Its template is the one that the spec names.
return {
    name = "broken", doc = "templates with a mistake each", arch = { "sm_90a" },
    knobs = { { "template", type = "enum", values = { "randomseed", "xpcall", "loadfile", "warn", "print", "collectgarbage", "endless", "endless_text", "memory", "rep", "rep_doubling", "large_output", "recursion", "io", "os", "load", "pcall", "coroutine", "debug", "random", "next", "globals", "dofile", "finaliser", "address", "address_of_table", "concatenated_table", "require_path", "require_missing", "require_host", "metatable", "environment", "dump", "long_line", "control", "rubout", "forged", "null_keys" }, doc = "the file" } },
    template = function(s) return s.template .. ".cu.in" end,
    plan = function(s) return { items = { 1, 2 }, fails = function() return nil + 1 end } end,
    manifest = function(s, p) return require("rows").manifest("x", s, p, {}) end,
}

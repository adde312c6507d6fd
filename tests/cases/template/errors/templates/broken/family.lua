-- Its template is the one that the spec names.
return {
    name = "broken", doc = "templates with a mistake each", arch = { "sm_90a" },
    knobs = { { "template", type = "enum", values = { "undefined", "undefined_directive", "nil_value", "bool_value", "table_value", "function_value", "infinity", "unclosed", "empty", "comment_inside", "open_string", "open_long_string", "no_end", "extra_end", "no_then", "not_indented", "tab", "global", "assertion", "inside_function", "bad_expression", "missing_partial", "outside_partial", "endless_partial", "broken_partial" }, doc = "the file" },
        { "number", type = "int", default = 4, doc = "" }, { "tile_m", type = "int", default = 64, doc = "" },
        { "yes", type = "bool", default = true, doc = "" } },
    template = function(s) return s.template .. ".cu.in" end,
    plan = function(s)
        return { infinite = math.huge, items = { 1, 2 },
            fails = function() return nil + 1 end }
    end,
    manifest = function(s, p) return require("rows").manifest("x", s, p, {}) end,
}

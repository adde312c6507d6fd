-- Its template is the one that the spec names.
return {
    name = "broken", doc = "templates with a mistake each", arch = { "sm_90a" },
    knobs = { { "template", type = "enum", values = { "all" }, doc = "the file" },
        { "number", type = "int", default = 4, doc = "" }, { "tile_m", type = "int", default = 64, doc = "" },
        { "yes", type = "bool", default = true, doc = "" },
        { "text", type = "enum", values = { "text" }, doc = "" } },
    template = function(s) return s.template .. ".cu.in" end,
    plan = function(s)
        return { fraction = 0.1, whole = 2.0, tiny = 1e-7, items = { 1, 2 }, empty = "", lines = "one;\ntwo;\n\nthree;\n" }
    end,
    manifest = function(s, p) return require("rows").manifest("x", s, p, {}) end,
}

-- Its template is the one that the spec names.
return {
    name = "broken", doc = "templates with a mistake each", arch = { "sm_90a" },
    knobs = { { "template", type = "enum", values = { "pattern" }, doc = "the file" } },
    template = function(s) return s.template .. ".cu.in" end,
    plan = function(s) return {} end,
    manifest = function(s, p) return json.object { { "name", s.name } } end,
}

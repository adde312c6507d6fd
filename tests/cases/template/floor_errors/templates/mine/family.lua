return {
    name = "mine", doc = "", arch = { "sm_90a" },
    template = function(s) return s.variant .. ".cu.in" end,
    knobs = { { "variant", type = "enum", values = { "absolute", "above", "hidden", "linked", "module" }, doc = "how it goes wrong" } },
    plan = function() return {} end,
    manifest = function() return json.object {} end,
}

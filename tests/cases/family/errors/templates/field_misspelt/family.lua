return { name = "field_misspelt", doc = "", arhc = { "sm_90a" }, template = "t.cu.in", knobs = {} }

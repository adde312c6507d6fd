return { name = "base_unknown", doc = "", base = "gem", sets = {} }

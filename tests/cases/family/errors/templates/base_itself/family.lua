return { name = "base_itself", doc = "", base = "base_itself", sets = {} }

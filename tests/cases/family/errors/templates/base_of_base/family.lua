return { name = "base_of_base", doc = "", base = "blockscaled", sets = {} }

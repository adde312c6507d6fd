return { name = "base_field", doc = "", base = "gemm", sets = {}, knobs = {} }

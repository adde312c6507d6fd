return { name = "base_value", doc = "", base = "gemm", sets = { ["tile.m"] = 3 } }

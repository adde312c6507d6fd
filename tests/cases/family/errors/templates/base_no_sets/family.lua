return { name = "base_no_sets", doc = "", base = "gemm" }

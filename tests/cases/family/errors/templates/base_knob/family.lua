return { name = "base_knob", doc = "", base = "gemm", sets = { ["tile.x"] = 3 } }

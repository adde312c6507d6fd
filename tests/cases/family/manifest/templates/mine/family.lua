-- Its manifest, its parameters, or its own table are wrong, as the spec says.
local parameters = require "parameters"
local rows = require "rows"

local tensors = {
    { name = "x", dtype = "fp32", dims = { "n" }, access = "read" },
    { name = "y", dtype = "fp32", dims = { "n" }, access = "write" },
}
local heads = {
    refused = "float *y, int n", few = "const float *x", value = "float *y, float n", pointer = "float y, int n",
    long = "float *y, int64_t n", fits = "float *__restrict__ y,\n    const int n",
}

return {
    name = "mine", doc = "y = x", arch = { "sm_90a" }, template = "kernel.cu.in",
    knobs = { { "fault", type = "enum", values = { "fits", "refused", "few", "value", "pointer", "long" }, doc = "what" } },
    plan = function(s)
        return { head = heads[s.fault], parameters = parameters.list(tensors, { { kind = "pointer", tensor = "y" },
            { kind = "dim", dim = "n", type = "i32" } }) }
    end,
    manifest = function(s, p)
        return rows.manifest("mine", s, p, { dims = { { name = "n" } }, tensors = tensors,
            grid = rows.grid(s.fault == "refused" and "tile" or "tiles", { { dim = "n", by = 32 } }) })
    end,
}

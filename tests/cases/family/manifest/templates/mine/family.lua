-- Its manifest, its parameters, or its own table are wrong, as the spec says.
local parameters = require "parameters"
local rows = require "rows"

local tensors = {
    { name = "x", dtype = "fp32", dims = { "n" }, access = "read" },
    { name = "y", dtype = "fp32", dims = { "n" }, access = "write" },
}
-- words that nothing knows: each is a row of its own
local odd = {
    dims = { dims = { { name = "n", valeu = 7 } } }, tensors = { tensors = { { name = "y", dtypes = "fp32" } } },
    grid = {}, more = { more = { block_per_sm = 1 } }, splits = { more = { splits = { mots = 2 } } },
    extent = { tensors = { { name = "y", dtype = "fp32", dims = { { dim = "n", tims = 2 } } } } },
    cost = { cost = { { unit = "flops", amuont = 1 } } },
}
local heads = {
    refused = "float *y, int n", few = "const float *x", value = "float *y, float n", pointer = "float y, int n",
    long = "float *y, int64_t n", fits = "float *__restrict__ y,\n    const int n",
}

return {
    name = "mine", doc = "y = x", arch = { "sm_90a" }, template = "kernel.cu.in",
    knobs = { { "fault", type = "enum", values = { "fits", "refused", "few", "value", "pointer", "long",
        "dims", "tensors", "grid", "cost", "parameters", "dim", "factor", "tensor", "shape",
        "typical", "more", "splits", "extent", "drawn", "verified", "scalar", "none" }, doc = "what" } },
    plan = function(s)
        return { head = heads[s.fault] or heads.fits, parameters = parameters.list(tensors, {
            { kind = "pointer", tensor = "y", sizzle_bytes = s.fault == "parameters" and 128 or nil },
            { kind = "dim", dim = "n", type = "i32" } }) }
    end,
    manifest = function(s, p)
        local own = odd[s.fault] or {}
        return rows.manifest("mine", s, p, { dims = own.dims or { { name = "n" } }, tensors = own.tensors or tensors,
            grid = rows.grid(s.fault == "refused" and "tile" or "tiles",
                { { dim = "n", [s.fault == "grid" and "bye" or "by"] = 32 } }, own.more), cost = own.cost })
    end,
    reference = function(s)
        local strange = s.fault == "verified" or s.fault == "none"
        return { inputs = s.fault ~= "none" and { "special", "exact" } or nil, verified = strange and { "exact", "edge" } or nil,
            scalars = s.fault == "scalar" and { y = { usual = 1, edge = 2 } } or nil,
            dims = { s.fault == "dim" and "q" or "n" }, small = { { 1, s.fault == "shape" and 2 or nil } },
            full = { { 1 } }, typical = s.fault == "typical" and "1x1" or s.fault == "drawn" and "1/edge" or s.fault ~= "none" and "1/special" or nil,
            flops = { { 2, s.fault == "factor" and "m" or "n" } }, draws = { s.fault == "tensor" and "z" or "x" } }
    end,
}

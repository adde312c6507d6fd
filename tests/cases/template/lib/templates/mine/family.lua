local archs = require "archs"
local parameters = require "parameters"
local rows = require "rows"

local tensors = {
    { name = "a", dtype = "bf16", dims = { "m", "n" }, access = "read", alignment = 16, stride_bytes_multiple = 16 },
    { name = "b", dtype = "fp16", dims = { "n" }, access = "read" },
    { name = "out", dtype = "fp32", dims = { "m", "n" }, access = "write" },
}

return {
    name = "mine", doc = "", arch = { "sm_90a" }, template = "kernel.cu.in",
    knobs = {
        { "problem.m", type = "dim", default = "dynamic", doc = "rows" },
        { "problem.n", type = "dim", default = 64, doc = "columns" },
    },
    plan = function(s)
        local list = {
            { kind = "tensor_map", tensor = "a", box = { 64, 64 }, swizzle_bytes = 128 },
            { kind = "pointer", tensor = "b", restrict = true }, { kind = "pointer", tensor = "out" },
            { kind = "stride", tensor = "out", axis = 0, type = "i64" },
            { kind = "workspace", part = "counter", cuda = "uint32_t" },
            { kind = "scalar", name = "alpha", type = "f32" },
        }
        for _, row in ipairs(parameters.dims(s.problem, { "m", "n" })) do list[#list + 1] = row end
        return { parameters = parameters.list(tensors, list), limit = archs.sm_90a.shared_memory,
            registers_each = archs.launch_registers(s.arch, 384), shared = archs.shared_memory(s.arch, 2) }
    end,
    manifest = function(s, p)
        return rows.manifest("mine", s, p, { dims = { { name = "m" }, { name = "n", value = 64 } }, tensors = tensors,
            workspace = { { name = "counter", bytes = 4, zero = "launch" } } })
    end,
}

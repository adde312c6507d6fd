-- manifest.lua: what the runtime must know of a gemm kernel: tensors, parameters, grid, barriers.
-- The only thing that the runtime ever reads of it; version 1 of the manifest.

local rows = require "rows"

-- What a tile ends beyond must be an int too, and so must a group of the tile order.
local function dims(s, p)
    local wgmma, list = p.mma ~= nil, {}
    for i, name in ipairs { "m", "n", "k" } do
        local step = s.tile[name] * (name ~= "k" and wgmma and s.cluster[name] or 1)
        local most = (name ~= "k" or wgmma) and rows.largest(math.max(step, s.raster.group)) // step * step
        list[i] = { name = name, value = s.problem[name], multiple_of = p.multiples[name], most = most or nil }
    end
    for _, operand in ipairs(p.op_operands) do
        list[#list + 1] = operand.period and { name = operand.name .. "_rows", value = operand.period } or nil
    end
    return rows.dims(list)
end

local function tensors(p)
    local list = {}
    for i, tensor in ipairs(p.tensors) do
        list[i] = json.object {
            { "name", tensor.name }, { "dtype", tensor.dtype }, { "dims", json.array(tensor.dims) },
            { "access", tensor.access }, { "alignment", tensor.alignment },
            { "stride_bytes_multiple", tensor.alignment } }
    end
    return json.array(list)
end

-- what the reference must know of the ops: their names and parameters
local function ops(p)
    local list = {}
    for i, op in ipairs(p.ops) do
        list[i] = op.row.name
    end
    return json.array(list)
end

return function(s, p)
    return json.object {
        { "tmagen_manifest", 1 }, { "name", s.name }, { "family", "gemm" }, { "entry", s.name }, { "arch", s.arch },
        { "source", s.name .. ".cu" },
        { "block", json.array(p.launch.block) }, { "cluster", json.array(p.launch.cluster) },
        { "shared_memory", p.smem_bytes },
        { "dims", dims(s, p) }, { "tensors", tensors(p) }, { "grid", p.work.grid(s) },
        { "params", rows.parameters(p.parameters) },
        { "workspace", json.object { { "rule", "none" } } },
        { "barriers", rows.barriers(p.barriers) }, { "roles", rows.roles(p.roles) },
        { "reference", json.object { { "name", "gemm" }, { "ops", ops(p) } } },
    }
end

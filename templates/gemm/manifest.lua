-- manifest.lua: what the runtime must know of a gemm kernel: tensors, parameters, grid, barriers.
-- The only thing that the runtime ever reads of it; version 1 of the manifest.

local rows = require "rows"

local bytes_of = { bf16 = 2, fp16 = 2, fp32 = 4 }

-- What a tile ends beyond must be an int too, and so must a group of the tile order.
local function dims(s, p)
    local wgmma, list = s.math == "wgmma", {}
    for i, name in ipairs { "m", "n", "k" } do
        local step = s.tile[name] * (name ~= "k" and wgmma and s.cluster[name] or 1)
        local most = (name ~= "k" or wgmma) and rows.largest(math.max(step, s.raster.group)) // step * step
        list[i] = { name = name, value = s.problem[name], multiple_of = p.multiples[name], most = most or nil }
    end
    return rows.dims(list)
end

-- [alignment] of the pointer and [stride] between rows, in bytes: 16 where TMA reads or writes the tensor
local function tensor(name, dtype, dim_names, access, alignment, stride)
    return json.object { { "name", name }, { "dtype", dtype }, { "dims", json.array(dim_names) },
        { "access", access }, { "alignment", alignment }, { "stride_bytes_multiple", stride } }
end

local function tensors(s, p)
    local d_bytes = bytes_of[s.problem.d]
    local input = s.math == "fma" and 2 or 16
    local output = s.math == "fma" and d_bytes or p.store and 16 or 2 * d_bytes
    local list = {
        tensor("a", s.problem.a, { "m", "k" }, "read", input, input),
        tensor("b", s.problem.b, { "n", "k" }, "read", input, input),
    }
    if p.bias then
        list[#list + 1] = tensor("bias", s.problem.d, { "n" }, "read", d_bytes, d_bytes)
    end
    list[#list + 1] = tensor("d", s.problem.d, { "m", "n" }, "write", output, output)
    return json.array(list)
end

local function grid(s)
    if s.grid == "persistent" then
        return json.object { { "rule", "persistent" }, { "tiles", json.array {
            json.object { { "dim", "m" }, { "by", s.tile.m * s.cluster.m } },
            json.object { { "dim", "n" }, { "by", s.tile.n * s.cluster.n } } } },
            { "blocks_per_tile", s.cluster.m * s.cluster.n }, { "blocks_per_sm", 1 } }
    end
    return json.object { { "rule", "tiles" }, { "tiles", json.array {
        json.object { { "dim", "n" }, { "by", s.tile.n }, { "axis", 0 } },
        json.object { { "dim", "m" }, { "by", s.tile.m }, { "axis", 1 } } } } }
end

return function(s, p)
    return json.object {
        { "tmagen_manifest", 1 }, { "name", s.name }, { "family", "gemm" }, { "entry", s.name }, { "arch", s.arch },
        { "source", s.name .. ".cu" },
        { "block", json.array(p.launch.block) }, { "cluster", json.array(p.launch.cluster) },
        { "shared_memory", p.smem_bytes },
        { "dims", dims(s, p) }, { "tensors", tensors(s, p) }, { "grid", grid(s) }, { "params", rows.parameters(p.parameters) },
        { "workspace", json.object { { "rule", "none" } } },
        { "barriers", rows.barriers(p.barriers) }, { "roles", rows.roles(p.roles) },
        { "reference", json.object { { "name", "gemm" }, { "ops", json.array(s.epilogue.ops) } } },
    }
end

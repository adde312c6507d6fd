-- manifest.lua: what the runtime must know of a resample kernel: tensors, parameters, grid, barriers.
-- The only thing that the runtime ever reads of it; version 1 of the manifest. Tensors have no gaps.

local rows = require "rows"

local STEP = 1 << 16 -- no loop over features or times steps further

local function dims(s, p)
    local multiple = s.problem.d == "dynamic" and not p.scalar_path and s.vector or 1
    return rows.dims {
        { name = "b", value = s.problem.b }, { name = "s", value = s.problem.s, most = rows.largest(STEP) },
        { name = "t", value = s.problem.t, most = rows.largest(p.targets) },
        { name = "d", value = s.problem.d, multiple_of = multiple, most = rows.largest(STEP) } }
end

local function tensor(name, dtype, dim_names, access, alignment, stride)
    return json.object { { "name", name }, { "dtype", dtype }, { "dims", json.array(dim_names) },
        { "access", access }, { "alignment", alignment }, { "stride_bytes_multiple", stride } }
end

-- A kernel for any d looks at the alignment itself, and takes elements one by one where it is too small.
local function tensors(s, p)
    local dtype = s.problem.dtype
    local alignment = p.scalar_path and p.bytes or p.vector_bytes
    return json.array {
        tensor("source", dtype, { "b", "s", "d" }, "read", alignment, p.bytes),
        tensor("source_times", "fp32", { "b", "s" }, "read", 4, 4),
        tensor("target_times", "fp32", { "b", "t" }, "read", 4, 4),
        tensor("out", dtype, { "b", "t", "d" }, "write", alignment, p.bytes),
    }
end

local function grid(s, p)
    local tiles = {}
    for i, factor in ipairs(p.grid) do
        tiles[i] = json.object { { "dim", factor[1] }, { "by", factor[2] } }
    end
    local fields = { { "rule", p.persistent and "persistent" or "tiles" }, { "tiles", json.array(tiles) } }
    if p.persistent then
        fields[3] = { "blocks_per_sm", s.blocks_per_sm }
    end
    return json.object(fields)
end

return function(s, p)
    return json.object {
        { "tmagen_manifest", 1 }, { "name", s.name }, { "family", "resample" }, { "entry", s.name }, { "arch", s.arch },
        { "source", s.name .. ".cu" },
        { "block", json.array(p.launch.block) }, { "cluster", json.array(p.launch.cluster) },
        { "shared_memory", p.smem_bytes },
        { "dims", dims(s, p) }, { "tensors", tensors(s, p) }, { "grid", grid(s, p) }, { "params", rows.parameters(p.parameters) },
        { "workspace", json.object { { "rule", "none" } } },
        { "barriers", rows.barriers(p.barriers) },
        { "roles", json.array { json.object { { "name", "all" }, { "first_warp", 0 }, { "warps", p.warps } } } },
        { "reference", json.object { { "name", "resample" } } },
    }
end

-- manifest.lua: what the runtime must know of a deform_attn kernel: tensors, parameters, grid, barriers.
-- The rows of value are fixed by the levels, so a launch with another number of them is refused.

local levels = require "levels"
local rows = require "rows"

local STEP = 1 << 16 -- no loop over the items of a batch steps further, but from one CTA's to the next's

local function dims(s, p)
    local step = math.max(STEP, (s.queries_per_block or 1) * s.problem.heads)
    return rows.dims { { name = "b", value = s.problem.b }, { name = "s", value = p.pixels },
        { name = "q", value = s.problem.q, most = rows.largest(step) // s.problem.heads } }
end

-- [stride]: bytes that every row is a multiple of
local function tensor(name, dtype, dim_list, access, stride)
    return json.object { { "name", name }, { "dtype", dtype }, { "dims", json.array(dim_list) }, { "access", access },
        { "alignment", 16 }, { "stride_bytes_multiple", stride } }
end

local function tensors(s, p)
    local dtype, points = s.problem.dtype, s.problem.heads * p.points_of_item
    return json.array {
        tensor("value", dtype, { "b", "s", p.record_bytes // p.bytes }, "read", 16),
        tensor("locations", dtype, { "b", "q", 2 * points }, "read", 2 * p.bytes),
        tensor("weights", dtype, { "b", "q", points }, "read", p.bytes),
        tensor("out", dtype, { "b", "q", s.problem.heads * s.problem.channels }, "write", 16),
    }
end

local function grid(s, p)
    local tiles = {}
    for i, factor in ipairs(p.grid) do
        local fields = { { "dim", factor[1] } }
        fields[#fields + 1] = factor[3] and { "times", factor[3] }
        fields[#fields + 1] = { "by", factor[2] }
        tiles[i] = json.object(fields)
    end
    local fields = { { "rule", p.persistent and "persistent" or "tiles" }, { "tiles", json.array(tiles) } }
    if p.persistent then
        fields[3] = { "blocks_per_sm", s.blocks_per_sm }
    end
    if s.schedule == "dynamic" then -- the counter of groups has 32 bits, half of them for draws behind the end
        local groups_of_tile = math.max(p.warps, (s.problem.heads + p.items - 1) // p.items)
        fields[4] = { "max_tiles", (1 << 31) // groups_of_tile }
    end
    return json.object(fields)
end

return function(s, p)
    local workspace = s.schedule == "dynamic" and json.object { { "rule", "bytes" }, { "bytes", 4 }, { "zeroed", true } }
        or json.object { { "rule", "none" } }
    local reference = { { "name", "deform_attn" }, { "heads", s.problem.heads }, { "channels", s.problem.channels },
        { "points", s.problem.points }, { "padded", s.problem.padded }, { "levels", levels.row(s) },
        { "packed", s.math == "packed" } }
    reference[#reference + 1] = p.paired and { "paired", true } or nil
    return json.object {
        { "tmagen_manifest", 1 }, { "name", s.name }, { "family", "deform_attn" }, { "entry", s.name }, { "arch", s.arch },
        { "source", s.name .. ".cu" },
        { "block", json.array(p.launch.block) }, { "cluster", json.array(p.launch.cluster) },
        { "shared_memory", p.smem_bytes },
        { "dims", dims(s, p) }, { "tensors", tensors(s, p) }, { "grid", grid(s, p) }, { "params", rows.parameters(p.parameters) },
        { "workspace", workspace }, { "barriers", rows.barriers(p.barriers) }, { "roles", rows.roles(p.roles) },
        { "reference", json.object(reference) },
    }
end

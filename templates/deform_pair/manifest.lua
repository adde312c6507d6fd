-- manifest.lua: what the runtime must know of a deform_pair kernel: tensors, parameters, grid.
-- The pixels of a batch are fixed by the levels, so a launch with another number of them is refused.

local levels = require "levels"
local rows = require "rows"

local function dims(s, p)
    return rows.dims { { name = "b", value = s.problem.b }, { name = "s", value = p.pixels } }
end

-- rows of [bytes], 16-byte aligned
local function tensor(s, p, name, bytes, access)
    return json.object { { "name", name }, { "dtype", s.problem.dtype },
        { "dims", json.array { "b", "s", bytes // p.bytes } }, { "access", access }, { "alignment", 16 },
        { "stride_bytes_multiple", 16 } }
end

local function pointer(name)
    return json.object { { "kind", "pointer" }, { "tensor", name } }
end

return function(s, p)
    return json.object {
        { "tmagen_manifest", 1 }, { "name", s.name }, { "family", "deform_pair" }, { "entry", s.name }, { "arch", s.arch },
        { "source", s.name .. ".cu" },
        { "block", json.array(p.launch.block) }, { "cluster", json.array(p.launch.cluster) }, { "shared_memory", 0 },
        { "dims", dims(s, p) },
        { "tensors", json.array { tensor(s, p, "value", p.record_bytes // 2, "read"),
            tensor(s, p, "pairs", p.record_bytes, "write") } },
        { "grid", json.object { { "rule", "tiles" }, { "tiles", json.array {
            json.object { { "dim", "b" }, { "by", 1 } },
            json.object { { "dim", "s" }, { "times", p.record_vectors }, { "by", p.tile } } } } } },
        { "params", json.array { pointer("value"), pointer("pairs") } },
        { "workspace", json.object { { "rule", "none" } } }, { "barriers", json.array {} },
        { "roles", rows.roles(p.roles) },
        { "reference", json.object { { "name", "deform_pair" }, { "heads", s.problem.heads },
            { "channels", s.problem.channels }, { "padded", s.problem.padded }, { "levels", levels.row(s) } } },
    }
end

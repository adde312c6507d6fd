-- plan.lua: what follows from deform_pair's knobs: levels, vectors, launch.
-- Pure functions of the resolved spec; the manifest, explain and the template read the same values.

local archs = require "archs"
local dtypes = require "dtypes"
local levels = require "levels"
local parameters = require "parameters"

local plan = {}

-- Where rows of pixels end: { first, stop, pitch } of each level, neighbours whose rows are a pixel long as one; and
-- the pixels of a batch.
local function row_ends(s)
    local list, pixels = levels.layout(s)
    local ends = {}
    for _, level in ipairs(list) do
        local last = ends[#ends]
        if not last or last.pitch > 1 or level.pitch > 1 then
            last = { first = level.first, pitch = level.pitch }
            ends[#ends + 1] = last
        end
        last.stop = level.first + level.pitch * level.rows
    end
    return ends, pixels
end

-- a tensor as the manifest has it: rows of [bytes], 16-byte aligned
local function tensor(s, p, name, bytes, access)
    return { name = name, dtype = s.problem.dtype, dims = { "b", "s", bytes // p.bytes }, access = access,
        alignment = 16, stride_bytes_multiple = 16 }
end

function plan.plan(s)
    local p = { warps = s.threads // 32, element = dtypes[s.problem.dtype], bytes = dtypes.bytes(s.problem.dtype) }
    p.row_ends, p.pixels = row_ends(s)
    p.vectors = s.problem.channels * p.bytes // 16                        -- of a head
    p.record_vectors = 2 * s.problem.heads * p.vectors
    p.record_bytes = 16 * p.record_vectors
    p.tile = s.threads * s.unroll
    p.smem, p.smem_bytes, p.barriers = {}, 0, {}
    p.roles = { { name = "all", first_warp = 0, warps = p.warps } }
    p.registers = { { role = "all", warps = p.warps, registers = archs.launch_registers(s.arch, s.threads) } }
    p.tensors = { tensor(s, p, "value", p.record_bytes // 2, "read"), tensor(s, p, "pairs", p.record_bytes, "write") }
    p.parameters = parameters.list(p.tensors, { { kind = "pointer", tensor = "value" },
        { kind = "pointer", tensor = "pairs" } })
    p.launch = { block = { s.threads, 1, 1 }, cluster = { 1, 1, 1 },
        grid = ("b x ceil(%d s / %d)"):format(p.record_vectors, p.tile) }
    return p
end

return plan

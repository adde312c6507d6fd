-- plan.lua: what follows from deform_pair's knobs: levels, vectors, launch, and the template's names.
-- Pure functions of the resolved spec; the manifest, explain and the template read the same values.

local cuda = require "cuda"
local levels = require "levels"

local plan = {}

local element_bytes = { bf16 = 2, fp16 = 2, fp32 = 4 }
local cuda_types = { bf16 = "bf16", fp16 = "fp16", fp32 = "float" }

-- of each level the pixel that ends it and the CUDA text that says whether a pixel of it ends a row; pixels of a batch
local function row_ends(s)
    local list, pixels = levels.layout(s)
    for _, level in ipairs(list) do
        local place = level.first > 0 and ("(pixel - %d)"):format(level.first) or "pixel"
        level.stop = level.first + level.pitch * level.rows
        level.ends_row = level.pitch == 1 and "true" or ("%s %% %d == %d"):format(place, level.pitch, level.pitch - 1)
    end
    return list, pixels
end

function plan.plan(s)
    local p = { warps = s.threads // 32, bytes = element_bytes[s.problem.dtype] }
    p.levels, p.pixels = row_ends(s)
    p.vectors = s.problem.channels * p.bytes // 16                        -- of a head
    p.record_vectors = 2 * s.problem.heads * p.vectors
    p.record_bytes = 16 * p.record_vectors
    p.tile = s.threads * s.unroll
    p.smem, p.smem_bytes, p.barriers = {}, 0, {}
    p.roles = { { name = "all", first_warp = 0, warps = p.warps } }
    p.registers = { { role = "all", warps = p.warps, registers = math.min(65536 // s.threads // 8 * 8, 255) } }
    p.launch = { block = { s.threads, 1, 1 }, cluster = { 1, 1, 1 }, dynamic_smem = 0,
        grid = ("b x ceil(%d s / %d)"):format(p.record_vectors, p.tile) }
    return p
end

-- the template's globals
function plan.env(s, p)
    local type = cuda_types[s.problem.dtype]
    return {
        name = s.name, threads = s.threads, unroll = s.unroll, heads = s.problem.heads, vectors = p.vectors,
        pixels = p.pixels, levels = p.levels,
        kernel_signature = cuda.list(s.name, { "const " .. type .. " *value", type .. " *pairs" }, " {"),
        store = s.store_hint == "streaming" and "__stcs(to + %s, %s);" or "to[%s] = %s;",
    }
end

return plan

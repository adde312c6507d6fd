-- plan.lua of mma: warps that multiply from registers by mma.sync, for few rows of A: each streams rows of B through a
-- ring of its own, by bulk copies, or its lanes load their registers; nobody waits for another before the end.

local archs = require "archs"
local dtypes = require "dtypes"
local smem = require "smem"

-- bytes between the rows of a stage, so that eight lanes' 16 bytes lie in different banks; room for a shift, too
local PAD = 16

local mma = {
    template = function(s) return s.load == "registers" and "mma/mma/registers.cu.in" or "mma/mma/stream.cu.in" end,
}

local function barrier_plan(s, p)
    if p.direct then
        return {}
    end
    return { { name = "full", count = p.warps * s.stages, arrivals = p.shifted and 32 or 1,
        bytes = (s.tile.m + s.tile.n) * (p.shifted and p.row_bytes or p.depth_bytes),
        who = p.shifted and "each lane of the warp" or "a lane of the warp",
        doc = "the stage's bytes have landed; fewer at the edges" } }
end

local function smem_plan(s, p)
    local sums = { name = "sums", bytes = p.warps * s.tile.m * p.sums_pitch * 4, align = 4,
        doc = "each warp's part of the tile" }
    if p.direct then
        return smem.layout { sums }
    end
    return smem.layout {
        { name = "stages", bytes = p.warps * s.stages * p.stage_bytes, align = 16,
          doc = "rows of B, then of A, a ring a warp" },
        sums,
        { name = "full", bytes = 8 * p.warps * s.stages, align = 8, doc = p.barriers[1].doc },
    }
end

function mma.plan(s)
    local a = dtypes[s.problem.a]
    local p = { warps = s.warps.consumer.count, cluster_size = 1, d_bytes = dtypes.stored(s.problem.d).bits // 8 }
    p.threads, p.shifted, p.direct = p.warps * 32, s.load == "shifted", s.load == "registers"
    p.multiply = ("mma_m16n8k16_%s"):format(a.wgmma)
    p.depth_bytes = dtypes.bytes(a.name, s.tile.k)
    p.row_bytes = p.depth_bytes + PAD
    p.stage_bytes = (s.tile.m + s.tile.n) * p.row_bytes
    p.sums_pitch = s.tile.n + 4                                 -- in floats: lanes of a store lie in different banks
    p.barriers = barrier_plan(s, p)
    p.smem, p.smem_bytes = smem_plan(s, p)
    for _, barrier in ipairs(p.barriers) do
        barrier.offset = p.smem[#p.smem].offset
    end
    p.roles = { { name = "all", first_warp = 0, warps = p.warps } }
    p.registers = { { role = "all", warps = p.warps, registers = archs.launch_registers(s.arch, p.threads) } }
    local bytes = p.shifted and a.bits // 8 or 16
    p.alignment = { a = bytes, b = bytes, d = p.d_bytes }
    p.multiples = { m = 1, n = 1, k = bytes * 8 // a.bits }
    p.why_multiples = { k = "rows of A and B in whole 16 bytes, for bulk copies" }
    return p
end

return mma

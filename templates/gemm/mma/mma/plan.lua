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
        return p.parts == 1 and {} or { { name = "parts_full", count = 1, arrivals = 1,
            bytes = (p.parts - 1) * s.tile.m * s.tile.n * 4, who = "thread 0 of the cluster's first CTA",
            doc = "the other CTAs' sums have come" } }
    end
    return { { name = "full", count = p.warps * s.stages, arrivals = p.shifted and 32 or 1,
        bytes = (s.tile.m + s.tile.n) * (p.shifted and p.row_bytes or p.depth_bytes),
        who = p.shifted and "each lane of the warp" or "a lane of the warp",
        doc = "the stage's bytes have landed; fewer at the edges" } }
end

local function smem_plan(s, p)
    local sums = { name = "sums", bytes = p.warps * s.tile.m * p.sums_pitch * 4, align = 8,
        doc = "each warp's part of the tile" }
    if p.direct then
        local full = p.barriers[1]
        return smem.layout { sums, full and { name = "parts", bytes = full.bytes, align = 4,
            doc = "those of the cluster's other CTAs" }, full and { name = "parts_full", bytes = 8, align = 8,
            doc = full.doc } }
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
    local p = { warps = s.warps.consumer.count, d_bytes = dtypes.stored(s.problem.d).bits // 8 }
    p.threads, p.shifted, p.direct = p.warps * 32, s.load == "shifted", s.load == "registers"
    p.parts = p.direct and s.splits or 1                        -- CTAs of a cluster that divide K
    p.alike = s.alike and 8 or false                            -- rows of B that many apart begin alike
    if p.direct then
        local fours = s.tile.m % 4 == 0 and (s.tile.m % 8 == 0 or s.tile.n % 8 == 0)
        p.rows_at_once = fours and 4 or 2                       -- of an operand, by a warp
        p.halves = 8 // p.rows_at_once                          -- or quarters, of which lanes hold products of two
    end
    p.left, p.right = "a", "b"                                  -- of an instruction: its 16 rows, its 8 columns
    local odd = p.direct and s.tile.m // p.rows_at_once % 2 == 1    -- and are two loads
    if s.tile.m > s.tile.n and s.tile.n % 8 == 0 or odd then    -- rows want moves
        p.left, p.right = "b", "a"
    end
    p.cluster_size = p.parts
    p.multiply = ("mma_m16n8k16_%s"):format(a.wgmma)
    p.depth_bytes = dtypes.bytes(a.name, s.tile.k)
    p.row_bytes = p.depth_bytes + PAD
    p.stage_bytes = (s.tile.m + s.tile.n) * p.row_bytes
    -- in floats: lanes of a store lie in different banks
    p.sums_pitch = p.direct and p.halves * s.tile.n + (s.tile.n % 8 == 0 and 8 or 0) or s.tile.n + 4
    p.barriers = barrier_plan(s, p)
    p.smem, p.smem_bytes = smem_plan(s, p)
    for _, barrier in ipairs(p.barriers) do
        barrier.offset = p.smem[#p.smem].offset
    end
    p.roles = { { name = "all", first_warp = 0, warps = p.warps } }
    p.registers = { { role = "all", warps = p.warps, registers = archs.launch_registers(s.arch, p.threads) } }
    local bytes = (p.shifted or p.alike) and a.bits // 8 or p.direct and s.load_bytes or 16
    -- what lanes hold of a step and of sums, and three quarters more to work on it: H200's cubins have 49 to 126
    p.lane_registers = p.direct and
        ((s.tile.m + s.tile.n) * p.depth_bytes // 128 + s.tile.m * s.tile.n // 32) * 7 // 4 or nil
    p.alignment = { a = bytes, b = bytes, d = p.d_bytes }
    p.multiples = { m = 1, n = 1, k = bytes * 8 // a.bits }
    p.why_multiples = { k = "rows of A and B in whole pieces, as they are loaded" }
    return p
end

return mma

-- plan.lua of tcgen05, for sm_100a: a thread multiplies from shared into tensor memory, from which warps of the
-- epilogue load the sums, a row a thread. A warp loads operands by TMA; a pair of CTAs may multiply together.

local alignment = require "operand/alignment"
local archs = require "archs"
local dtypes = require "dtypes"
local epilogue = require "epilogue/epilogue"
local kinds = require "mma/tcgen05/kinds"
local operand = require "operand/operand"
local scales = require "mma/tcgen05/scales"
local smem = require "smem"
local staging = require "epilogue/staging"

local LEAST_COLUMNS = 32                                        -- of an allocation, a power of two (PTX ISA 9.7.16.7)

local ANSWER_BYTES = 16                                         -- of clusterlaunchcontrol.try_cancel

local tcgen05 = { template = function() return "mma/tcgen05/pipelined.cu.in" end }

-- The instruction: the rows and columns of a tile, or of a pair's, and 32 bytes of K (PTX ISA 9.7.16.2.1).
local function instruction(s)
    return { m = s.tile.m * s.cta_group, n = s.tile.n, k = kinds.k(s), bytes = 32, kind = kinds.name(s),
        a_type = kinds.type(s, "a"), b_type = kinds.type(s, "b") }
end

-- Columns of tensor memory: those of each accumulator begin at a multiple of the least that can be had, scales behind
-- them. Where two of 256 columns and scales are too many, the accumulators overlap, `overlap` columns of each, which
-- are stored first: those of the first tile from its last ones on.
local function plan_columns(s, p)
    local each, all = (s.tile.n + LEAST_COLUMNS - 1) // LEAST_COLUMNS * LEAST_COLUMNS, LEAST_COLUMNS
    local most, wanted = archs[s.arch].tensor_memory_columns, each * s.accumulators + scales.columns(p)
    p.overlap = 0
    if s.accumulators == 2 and #p.staged_scales > 0 and wanted > most then
        p.overlap = wanted - most
        wanted, each = most, each - p.overlap
    end
    while all < wanted do
        all = all * 2
    end
    p.accumulator_columns, p.tensor_memory_columns = each, all
    p.scales_column = wanted - scales.columns(p)
    p.empties = p.overlap > 0 and 1 or s.accumulators           -- barriers that say so
end

-- How many CTAs share an operand's tile, and which: of A those beside each other, of B those below each other, or every
-- other of them, as pairs have halves. CTA (m, n) of a cluster has rank m + cluster.m * n. In the plan: those of the
-- first row, of CTAs or pairs, and of the first column.
local function plan_sharing(s, p)
    local a, b = 0, 0
    for n = 0, s.cluster.n - 1 do
        a = a | 1 << s.cluster.m * n
    end
    for m = 0, s.cluster.m - 1, s.cta_group do
        b = b | 1 << m
    end
    p.beside, p.below = p.paired and a * 3 or a, (1 << s.cluster.m) - 1
    return { a = { peers = s.cluster.n, ctas = a }, b = { peers = math.max(1, s.cluster.m // s.cta_group), ctas = b } }
end

local function barrier_plan(s, p)
    local list = {
        { name = "full", count = s.stages, arrivals = 1, bytes = p.copied_bytes * s.cta_group,
          who = "the loading thread",
          doc = p.paired and "the stage's bytes have landed in both CTAs" or "the stage's bytes have landed" },
        { name = "empty", count = s.stages, arrivals = s.cluster.n + s.cluster.m // s.cta_group - 1, bytes = 0,
          who = p.several and "the commits of what reads the CTA's part of the stage"
              or "the commit of what reads the stage",
          doc = "the stage may be filled again" },
        { name = "accumulator_full", count = s.accumulators, arrivals = 1, bytes = 0,
          who = "the commit of a tile's products", doc = "the sums are complete" },
        { name = "accumulator_empty", count = p.empties, arrivals = p.epilogue_warps * s.cta_group, bytes = 0,
          who = p.paired and "each epilogue warp of both CTAs" or "each epilogue warp",
          doc = "the sums have been loaded" },
    }
    if p.answers then
        list[#list + 1] = { name = "answer_full", count = p.answers, arrivals = 1, bytes = ANSWER_BYTES,
            who = "the loading thread", doc = "it is known which tile comes next" }
        list[#list + 1] = { name = "answer_empty", count = p.answers, arrivals = p.answer_readers, bytes = 0,
            who = "the cluster's threads that load or multiply, and epilogue warps", doc = "all of them know it" }
    end
    return list
end

-- members in the order of the template's struct SharedMemory
local function smem_plan(s, p)
    local members = {
        { name = "a", bytes = s.stages * p.a.stage_bytes, align = 1024, doc = "tiles of A, a stage each" },
        { name = "b", bytes = s.stages * p.b.stage_bytes, align = 8 * p.b.row_bytes,
          doc = p.paired and "halves of tiles of B, a stage each" or "tiles of B, a stage each" },
    }
    for _, staged in ipairs(p.staged_scales) do
        members[#members + 1] = { name = staged.tensor, bytes = s.stages * staged.bytes, align = 512,
            doc = "their scales, a stage each" }
    end
    if p.store then
        members[#members + 1] = { name = "store", align = 1024, doc = "staging of D",
            bytes = s.epilogue.buffers * p.store.buffer_bytes * (p.store.own and p.epilogue_warps or 1) }
    end
    if s.epilogue.read.matrix == "cp_async" then
        local count = #epilogue.held(epilogue.resolve(s.epilogue.ops, "bf16"))
        members[#members + 1] = { name = "held", bytes = p.epilogue_warps * count * p.part_columns * 32 * 2, align = 16,
            doc = "operands of ops, a part of a tile" }
    end
    if p.answers then
        members[#members + 1] = { name = "answer", bytes = ANSWER_BYTES * p.answers, align = 16,
            doc = "which tiles come next" }
    end
    for _, barrier in ipairs(p.barriers) do
        members[#members + 1] = { name = barrier.name, bytes = 8 * barrier.count, align = 8, doc = barrier.doc }
    end
    members[#members + 1] = { name = "tensor_memory", bytes = 4, align = 4, doc = "where the accumulators begin" }
    local laid_out, total = smem.layout(members)
    smem.place_barriers(p.barriers, laid_out)
    return laid_out, total
end

function tcgen05.plan(s, work, gated)
    local p = {
        gated = gated, tcgen05 = true, paired = s.cta_group == 2, epilogue_warps = s.epilogue.warps,
        producers = 1, consumers = 1,
        cluster_size = s.cluster.m * s.cluster.n, clustered = s.cluster.m * s.cluster.n > 1,
        exchanged = false, pingpong = false, shared_tile = false, elements = s.epilogue.store == "elements",
    }
    p.several = p.cluster_size > s.cta_group                    -- of a cluster that multiply, by CTAs or pairs
    p.threads = (p.epilogue_warps + 2) * 32
    if work.asks then
        p.answers = s.accumulators + 2                          -- loads are a tile ahead of products, those of stores
        p.answer_readers = p.cluster_size * (p.epilogue_warps + 1) + p.cluster_size // s.cta_group
    end
    p.pair_rows = gated and s.tile.n // 2                       -- of B, whose pairs' others lie behind them
    local sharing = plan_sharing(s, p)
    local function of(name, extent, rows)
        local type, packed = dtypes[s.problem[name]], kinds.bits(s, name) < 8
        return operand { name = name, extent = extent:upper(), dtype = type.stored or type.name, rows = rows,
            depth = packed and s.tile.k // 2 or s.tile.k, packed = packed and 2,
            spread = kinds.spreads(s, name) and type.bits,
            column_major = s.layout[name] == "column", swizzle_bits = s.swizzle_bits[name],
            peers = sharing[name].peers, ctas = sharing[name].ctas,
            hint = s.cache_hint[name], pair_rows = name == "b" and not p.paired and p.pair_rows }
    end
    p.a, p.b = of("a", "m", s.tile.m), of("b", "n", s.tile.n // s.cta_group)
    p.operands = { p.a, p.b }
    p.left, p.right = p.a, p.b
    p.stage_bytes, p.copied_bytes = p.a.stage_bytes + p.b.stage_bytes, p.a.copied_bytes + p.b.copied_bytes
    p.staged_scales = scales.plan(s, p)
    for _, staged in ipairs(p.staged_scales) do
        p.stage_bytes, p.copied_bytes = p.stage_bytes + staged.bytes, p.copied_bytes + staged.bytes
    end
    p.spread = p.a.spread or p.b.spread                         -- bits of elements that take a byte
    p.mma = instruction(s)
    plan_columns(s, p)
    local columns = gated and s.tile.n // 2 or s.tile.n
    p.sharing = (p.epilogue_warps + 3) // 4                     -- warps that share rows, and divide columns
    p.store = (s.epilogue.store == "tma" or s.epilogue.store == "staged")
        and staging.plan(s, s.epilogue.tile.m, columns // p.sharing)
    if p.store then
        p.store.own = s.epilogue.tile.m == 32                   -- buffers of a warp's
        p.store.by_threads = s.epilogue.store == "staged"
    end
    p.stagger = (s.epilogue.stagger or 0) > 0
    p.part_columns = p.store and s.epilogue.tile.n or s.epilogue.load    -- that are stored together
    p.parts_apart = p.store and p.store.by_threads and s.epilogue.buffers > 1    -- one's load hides another's store
    p.split_loads = p.parts_apart or s.epilogue.read.order == "between"
    p.barriers = barrier_plan(s, p)
    p.smem, p.smem_bytes = smem_plan(s, p)
    p.roles = {
        { name = "epilogue", first_warp = 0, warps = p.epilogue_warps },
        { name = "load", first_warp = p.epilogue_warps, warps = 1 },
        { name = "mma", first_warp = p.epilogue_warps + 1, warps = 1 },
    }
    p.registers = { { role = "all", warps = p.epilogue_warps + 2,
        registers = archs.launch_registers(s.arch, p.threads) } }
    alignment(s, p)
    return p
end

-- The section of explain on the instruction.
function tcgen05.explain(s, p)
    local rows = {
        { "an instruction", ("m%dn%dk%d, kind::%s"):format(p.mma.m, p.mma.n, p.mma.k, p.mma.kind) },
        { "by", p.paired and "a thread of the pair's first CTA; each has 128 rows of the sums" or "a thread" },
        { "tensor memory", ("%d accumulators, in %d of %d columns"):format(s.accumulators, p.tensor_memory_columns,
            archs[s.arch].tensor_memory_columns) },
        { "loaded by", ("%d warps, a row a thread, %d columns at a time"):format(p.epilogue_warps, s.epilogue.load) },
    }
    return { title = "multiplication", rows = rows }
end

return tcgen05

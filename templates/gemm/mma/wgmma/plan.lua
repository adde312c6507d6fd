-- plan.lua of wgmma, for sm_90a: warpgroups that multiply from shared memory into registers, operands by TMA.
-- Another architecture's tensor cores are a folder beside this one: plan, checks and templates.

local archs = require "archs"
local dtypes = require "dtypes"
local smem = require "smem"
local alignment = require "operand/alignment"
local operand = require "operand/operand"
local reads = require "epilogue/reads"
local scales = require "operand/scales"
local staging = require "epilogue/staging"
local groups = require "schedule/groups"

local wgmma = {}

function wgmma.template(s)
    return s.warps.producer.count == 0 and "mma/wgmma/single.cu.in" or "mma/wgmma/pipelined.cu.in"
end

-- The instruction: 64 rows, 32 bytes of K (PTX ISA 9.7.15); its n is the tile's, of D's columns or, exchanged, rows.
-- Its name says the type of both operands, or where they differ first that of the 64 rows.
local function instruction(p)
    local left, right = dtypes[p.left.dtype], dtypes[p.right.dtype]
    local types = left == right and left.wgmma or ("%s_%s"):format(left.wgmma, right.wgmma)
    return { m = 64, k = left.mma_k, types = types, bytes = 32 }
end

-- How far apart rows are that lie whole 16 bytes apart, whatever K is: of elements of 16 bits, and of 8.
wgmma.APART = { eighths = 8, sixteenths = 16 }

local function contains(list, value)
    for _, item in ipairs(list) do
        if item == value then
            return true
        end
    end
    return false
end

-- A is shared by the CTAs beside each other, B by those below each other; CTA (m, n) of a cluster has rank
-- m + cluster.m * n.
local function plan_operands(s, pair_rows)
    local beside = 0
    for n = 0, s.cluster.n - 1 do
        beside = beside | 1 << (s.cluster.m * n)
    end
    local function of(name, extent, peers, ctas)
        local pairs_of_rows = name == "b" and pair_rows
        return operand { name = name, extent = extent:upper(), dtype = s.problem[name], rows = s.tile[extent],
            depth = s.tile.k, pair_rows = pairs_of_rows,
            column_major = s.layout[name] == "column", swizzle_bits = s.swizzle_bits[name],
            peers = peers, ctas = ctas, hint = s.cache_hint[name],
            whole = not pairs_of_rows, cut = s.box_rows[name],
            repacked = contains(s.repack or {}, name) or name == "a" and wgmma.APART[s.load] ~= nil }
    end
    return of("a", "m", s.cluster.n, beside), of("b", "n", s.cluster.m, (1 << s.cluster.m) - 1)
end

-- The operands that boxes of few rows bring where a tile is ragged: names in small and in capitals, the tensor's rows
-- [m] and the tile's [M], and which part of an item says where its tile begins. False where there are none.
local function cut_operands(p)
    local list = {}
    for _, operand in ipairs(p.operands) do
        list[#list + 1] = operand.cut and { x = operand.name, X = operand.name:upper(), m = operand.extent:lower(),
            M = operand.extent, begins = operand.name == "a" and "row" or "column" } or nil
    end
    return #list > 0 and list
end

local function barrier_plan(s, p)
    local stage_bytes = p.a.stage_bytes + p.b.stage_bytes
    for _, staged in ipairs(p.staged_scales) do
        stage_bytes = stage_bytes + staged.box_bytes
    end
    if p.producers == 0 then
        return { { name = "full", count = 1, arrivals = 1, bytes = stage_bytes, who = "thread 0",
            doc = "the stage's bytes have landed" } }
    end
    local barriers = {
        p.ldg and { name = "full", count = s.stages, arrivals = p.producers * 4, bytes = 0, who = "each producer warp",
            doc = "the stage is written" }
        or { name = "full", count = s.stages, arrivals = 1, bytes = stage_bytes, who = "producer thread",
          doc = "the stage's bytes have landed" },
        { name = "empty", count = s.stages, arrivals = p.empty_arrivals, bytes = 0,
          who = p.clustered and "each warp that reads the stage, in every CTA that it is multicast to"
              or "each warp that reads the stage",
          doc = "the stage may be filled again" },
    }
    if p.in_cluster then
        barriers[3] = { name = "sums_full", count = p.consumers, arrivals = 1,
            bytes = (p.in_cluster - 1) * p.part_bytes, who = "a thread of the warpgroup",
            doc = "the other CTAs' parts have come" }
        barriers[4] = { name = "sums_empty", count = p.consumers, arrivals = 1, bytes = 0,
            who = "a thread of the first CTA's warpgroup", doc = "the part has been added" }
        if p.shares then
            barriers[4].arrivals, barriers[4].who = p.in_cluster - 1, "a thread of each other CTA's warpgroup"
        end
    end
    if p.pingpong then
        barriers[#barriers + 1] = { name = "order", count = p.consumers, arrivals = 1, bytes = 0,
            who = "the other warpgroup", doc = "the tensor cores are this warpgroup's" }
    end
    barriers[#barriers + 1] = reads.barrier(s, p)
    return barriers
end

-- members in the order of the template's struct SharedMemory
local function smem_plan(s, p)
    local members = {
        { name = "a", bytes = s.stages * p.a.stage_bytes, align = 1024, doc = "tiles of A, a stage each" },
        { name = "b", bytes = s.stages * p.b.stage_bytes, align = 8 * p.b.row_bytes, doc = "tiles of B, a stage each" },
    }
    for _, staged in ipairs(p.staged_scales) do
        members[#members + 1] = { name = staged.tensor, bytes = s.stages * staged.stage_bytes, align = 128,
            doc = "their scales, a stage each" }
    end
    if p.store then
        members[#members + 1] = { name = "store", align = 1024, doc = "staging of D",
            bytes = p.consumers * s.epilogue.buffers * p.store.buffer_bytes }
    end
    if p.in_cluster then
        members[#members + 1] = { name = "sums", align = 16, doc = "the other CTAs' parts of a tile",
            bytes = p.consumers * (p.in_cluster - 1) * p.part_bytes }
    end
    members[#members + 1] = reads.members(s, p)
    members[#members + 1] = reads.period_member(s, p)
    if p.groups then
        members[#members + 1] = { name = "groups", bytes = p.groups.group_bytes * p.groups.most, align = 8,
            doc = "those that have rows" }
        members[#members + 1] = { name = "group_count", bytes = 4, align = 4, doc = "and how many" }
    end
    for _, barrier in ipairs(p.barriers) do
        members[#members + 1] = { name = barrier.name, bytes = 8 * barrier.count, align = 8, doc = barrier.doc }
    end
    local laid_out, total = smem.layout(members)
    smem.place_barriers(p.barriers, laid_out)
    return laid_out, total
end

local function role_plan(s, p)
    local consumer_warps = s.warps.consumer.count
    if p.producers == 0 then
        return { { name = "consumer", first_warp = 0, warps = consumer_warps } },
            { { role = "all", warps = consumer_warps, registers = archs.launch_registers(s.arch, p.threads) } }
    end
    return {
        { name = "consumer", first_warp = 0, warps = consumer_warps },
        { name = "producer", first_warp = consumer_warps, warps = s.warps.producer.count },
    }, {
        { role = "consumer", warps = consumer_warps, registers = s.warps.consumer.registers },
        { role = "producer", warps = s.warps.producer.count, registers = s.warps.producer.registers },
    }
end

-- Loads by the producers' threads: pieces of 16 bytes that a thread copies of each operand, in so many parts of a stage
-- that no more than 8 of them are under way at once.
local function plan_ldg(p)
    local pieces = {}
    for i, operand in ipairs(p.operands) do
        pieces[i] = operand.stage_bytes // 16 // (p.producers * 128)
    end
    local parts = 1
    while (pieces[1] + pieces[2]) // parts > 8 do
        parts = parts * 2
    end
    for i, operand in ipairs(p.operands) do
        operand.pieces = pieces[i] // parts
    end
    return { parts = parts }
end

-- A share of a tile among CTAs of a cluster, in eight columns of D, or exchanged rows: whole stores, as even as they
-- go.
local function share(s, p)
    local whole = s.epilogue.store ~= "tma" and 1 or s.epilogue.tile[p.exchanged and "m" or "n"] // 8
    local stores = p.right.rows // 8 // whole
    return (stores + s.cluster.k - 1) // s.cluster.k * whole
end

-- Parts of a tile whose sums a thread has under way at once while it adds them up: what its registers hold beside the
-- sum and 32 others.
local function parts_ahead(p)
    local each = p.part_bytes // 128 // 4
    return math.max(1, math.min((p.registers[1].registers - 32) // each - 1, 16))
end

-- The parts and vectors of a share that a thread has under way at once while it adds them up: as many as do not spill.
local function loads_ahead(s, p)
    local registers = archs.launch_registers(s.arch, p.threads)
    local sums = p.part_bytes // 128 // 4
    local loads = math.min((registers - 88) // 4, 176 - sums, sums > 52 and 20 or 25)
    local parts = math.max(1, math.min(loads // 4, 5))
    return parts, math.max(1, math.min(loads // parts, 5))
end

function wgmma.plan(s, work, gated, operands)
    local p = {
        gated = gated,
        producers = s.warps.producer.count // 4, consumers = math.max(s.warps.consumer.count // 4, 1),
        cluster_size = s.cluster.m * s.cluster.n, clustered = s.cluster.m * s.cluster.n > 1,
        pingpong = s.schedule == "pingpong",
    }
    p.groups = work.groups and groups.plan(s, work.groups)
    p.clips = p.groups and not p.groups.along_k and not p.groups.array  -- D's rows, where a group's end
    -- the CTAs of a cluster that have parts of one tile
    p.in_cluster = work.in_cluster and (work.shares and s.cluster.k or s.splits) or false
    if p.in_cluster then
        p.cluster_size = p.cluster_size * p.in_cluster
    end
    p.threads = (p.producers + p.consumers) * 128
    p.exchanged, p.elements = s.exchange or false, s.epilogue.store == "elements"
    p.shared_tile = p.consumers > 1 and not p.pingpong          -- the consumer warpgroups share each tile
    -- rows of B whose pairs' others lie behind them in a stage: half of those that a warpgroup multiplies
    p.pair_rows = gated and s.tile.n // 2 // (p.exchanged and p.shared_tile and p.consumers or 1)
    p.a, p.b = plan_operands(s, p.pair_rows)
    p.operands = { p.a, p.b }
    p.cut = cut_operands(p)
    p.left, p.right = p.a, p.b                                  -- of wgmma, whose 64 rows are the left's
    if p.exchanged then
        p.left, p.right = p.b, p.a
    end
    p.mma = instruction(p)
    p.scaled, p.staged_scales = scales(s, p, work)
    p.promote_every = p.scaled and 1 or s.promote_every or false
    p.consumer_rows = p.shared_tile and p.left.rows // p.consumers or p.left.rows
    p.blocks = p.consumer_rows // p.mma.m                       -- of the accumulator
    p.part_bytes = p.consumer_rows * p.right.rows * 4           -- of a warpgroup's sums
    p.shares = work.shares and share(s, p)                      -- lines of a tile that a CTA of its cluster stores
    if p.shares then
        p.part_bytes = p.consumer_rows * 8 * p.shares * 4
    end
    p.readers = p.pingpong and 4 or s.warps.consumer.count      -- warps that read a stage
    p.placed = p.clustered or work.shares or false              -- CTAs know where in their cluster they are
    -- A cluster's CTA stays until its stages have been given back: from then on no peer addresses it. Parts of a tile
    -- in a cluster pass through shared memory without: they end together.
    p.drains = p.clustered and not p.in_cluster
    p.releases_by_place = p.clustered and (work.shares or s.cluster.m > 1 and s.cluster.n > 1)
    p.empty_arrivals = p.readers * (s.cluster.m + s.cluster.n - 1)
    local m, n = p.consumer_rows, p.right.rows                  -- of D that a warpgroup stores
    if p.exchanged then
        m, n = n, m
    end
    p.store = s.epilogue.store == "tma" and staging.plan(s, m, gated and n // 2 or n)
    p.direct = "epilogue/store_direct" .. (p.exchanged and "_exchanged" or "") .. ".cu.in"  -- without shared memory
    p.apart = wgmma.APART[s.load] or false                      -- rows of B that lie together in a tile
    p.part = p.apart and s.load:sub(1, -2)                      -- what they are of B's: an eighth
    p.ldg = s.load == "ldg" and p.producers > 0 and plan_ldg(p)
    p.reads = reads.plan(s, operands)
    p.periodic = p.reads.periodic or false
    -- staging buffers are awaited while the last products are under way, where the wait is for nothing else
    p.awaits_early = p.store and s.mma_in_flight > 0 and not p.promote_every and not work.parts and not p.in_cluster
        and not p.reads.tma and not p.reads.cp_async and #p.reads.ahead == 0
    p.barriers = barrier_plan(s, p)
    p.smem, p.smem_bytes = smem_plan(s, p)
    p.roles, p.registers = role_plan(s, p)
    p.scatter = work.parts and s.epilogue.reduce == "scatter" or false  -- parts of a tile add up a share of it each
    if p.scatter then
        p.parts_ahead, p.vectors_ahead = loads_ahead(s, p)
    elseif work.parts and not p.shares then
        p.parts_ahead = parts_ahead(p)
    end
    alignment(s, p)
    reads.align(p)
    return p
end

return wgmma

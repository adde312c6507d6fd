-- checks.lua: what is legal for kernels on wgmma, beyond the range of a single knob.
-- The compiler and the GPU report these badly, late, or by hanging.

local APART = require("mma/wgmma/plan").APART
local archs = require "archs"
local dtypes = require "dtypes"
local operands = require "operand/checks"
local reads = require "epilogue/reads"
local staging = require "epilogue/staging"

local wgmma = { ["operand boxes"] = operands.boxes, ["shared memory"] = operands.shared_memory }

wgmma["input types"] = function(s, p, fail)
    local a, b = p.a_type, p.b_type
    if a ~= b and not (a.sum_bits and b.sum_bits) then
        fail("problem.b", ("problem.b is %s but problem.a is %s"):format(b.name, a.name),
            "one type for both, or e4m3 and e5m2, which wgmma mixes")
    end
    for _, operand in ipairs(p.operands) do
        local type, knob = dtypes[operand.dtype], "layout." .. operand.name
        if operand.column_major and type.bits ~= 16 then
            fail(knob, ("%s: column, but of %s wgmma reads rows along K alone"):format(knob, type.name),
                "row; or a type of 16 bits")
        end
    end
end

wgmma["scales"] = function(s, p, fail)
    local a, b = s.scales.a, s.scales.b
    for _, name in ipairs { "a", "b" } do
        if s.scales[name] and not s.scales[name]:match("x128$") or s.scales.type == "ue4m3" then
            return fail("scales." .. name, ("scales.%s: %s, but wgmma's sums are scaled, of 128 along K"):format(name,
                s.scales[name]), "1x128, by fp32 or ue8m0")
        end
    end
    if not a and not b then
        return
    elseif not p.scaled then
        local given, other = a and "a" or "b", a and "b" or "a"
        fail("scales." .. given, ("scales.%s without scales.%s"):format(given, other),
            "both: {a: 1x128, b: 128x128}, or 1x128 for each")
    elseif s.tile.k ~= 128 then
        fail("tile.k", ("tile.k: %d, but scales are of 128 along K"):format(s.tile.k), "128")
    elseif s.promote_every and s.promote_every ~= 1 then
        fail("promote_every", ("promote_every: %d, but each step's sum has scales of its own"):format(s.promote_every),
            "1, or nothing")
    elseif s.problem.batch then
        fail("problem.batch", "problem.batch, but scales of blocks are of one problem", "no batch")
    elseif p.staged_scales[1] and s.dependent_launch == "weights" then
        fail("scales.load", "scales.load: tma, but dependent_launch: weights loads A and B apart", "ldg")
    end
end

wgmma["sums"] = function(s, p, fail)
    if p.promote_every and p.producers == 0 then
        fail("promote_every", "promote_every and scales need producer warps", "warps.producer.count: 4")
    end
    if p.sum.name == "i32" and (p.work.parts or p.in_cluster) then
        fail("grid", ("grid: %s adds up parts of K in fp32, but sums of %s are integers"):format(s.grid, p.a_type.name),
            "tiles or persistent")
    end
    if p.scatter and s.epilogue.store ~= "direct" then
        fail("epilogue.reduce", ("epilogue.reduce: scatter stores pairs from registers, not by epilogue.store: %s")
            :format(s.epilogue.store), "last; or epilogue.store: direct")
    elseif p.scatter and #s.epilogue.ops > 0 then
        fail("epilogue.reduce", "epilogue.reduce: scatter has no epilogue.ops", "last; or no ops")
    end
    local n = p.right.rows
    if p.sum.name == "i32" and n > 32 and n % 16 ~= 0 then
        fail("tile." .. p.right.extent:lower(), ("wgmma multiplies no %d columns of %s"):format(n, p.a_type.name),
            "8, 16, 24, 32, and from there on a multiple of 16")
    end
end

-- The 64 rows of a wgmma are rows of D or, where operands are exchanged, its columns.
wgmma["rows of a warpgroup"] = function(s, p, fail)
    local knob, lines, other = "tile.m", "rows", "; or exchange: true, for which tile.m is wgmma's N"
    if p.exchanged then
        knob, lines, other = "tile.n", "columns", ""
    end
    local tile, sharing = p.left.rows, p.shared_tile and p.consumers or 1
    if tile < 64 then
        fail(knob, ("%s: %d is less than the 64 rows of a wgmma"):format(knob, tile), "64, 128, 192, 256" .. other)
    elseif tile % (64 * sharing) ~= 0 then
        fail(knob, ("%s: %d %s do not divide into wgmma rows of 64 for %d consumer warpgroups"):format(knob, tile,
            lines, p.consumers), ("a multiple of %d%s"):format(64 * sharing, other))
    end
end

wgmma["accumulators"] = function(s, p, fail)
    local held = p.blocks * p.right.rows // 2 * (p.promote_every and 2 or 1)
    for _, scales in ipairs(p.scaled or {}) do
        local each = not scales.left and scales.block == 1 and scales.rows // 4 or 0
        held = held + each * (scales.staged and 1 or 2)             -- those of the next step too
    end
    local registers = p.registers[1].registers
    if held + 24 > registers then
        fail("tile.n",
            ("a consumer thread holds %d accumulators, which leaves under 24 of its %d registers for the rest"):format(
                held, registers), p.promote_every and "a smaller tile, more consumer warps, or no promote_every"
                or "a smaller tile, or more consumer warps")
    end
end

wgmma["producer and stages"] = function(s, p, fail)
    if p.producers == 0 and s.stages > 1 then
        fail("stages", ("stages: %d without producer warps: nobody would fill them ahead"):format(s.stages),
            "stages: 1, or warps.producer.count: 4")
    end
    if p.producers == 0 and p.consumers > 1 then
        fail("warps.consumer.count", "two consumer warpgroups need producer warps", "4, or warps.producer.count: 4")
    end
    if s.mma_in_flight >= s.stages and s.mma_in_flight > 0 then
        fail("mma_in_flight", "mma_in_flight: 1 keeps the only stage while it waits for it to be filled: a deadlock",
            "mma_in_flight: 0, or stages: 2 and more")
    end
    if p.producers == 0 and (p.work.walks or s.epilogue.store == "tma") then
        local knob = p.work.walks and "grid" or "epilogue.store"
        fail(knob, knob .. " needs producer warps", "warps.producer.count: 4")
    end
end

wgmma["registers of the roles"] = function(s, p, fail)
    if p.producers == 0 then
        return
    end
    local wanted = 128 * (p.producers * s.warps.producer.registers + p.consumers * s.warps.consumer.registers)
    local pool = p.launch_registers * p.threads
    if wanted > pool then
        local most = (pool // 128 - p.producers * s.warps.producer.registers) // p.consumers // 8 * 8
        fail("warps.consumer.registers",
            ("setmaxnreg asks for %d registers of the %d that %d threads are launched with"):format(
                wanted, pool, p.threads), ("warps.consumer.registers up to %d"):format(most))
    end
end

wgmma["cluster"] = function(s, p, fail)
    local portable = archs[s.arch].cluster
    if p.cluster_size > portable and (p.shares or not p.in_cluster) then
        fail("cluster.m", ("cluster: %d CTAs are more than the portable limit of %d"):format(p.cluster_size, portable),
            ("cluster.m * cluster.n%s up to %d"):format(p.shares and " * cluster.k" or "", portable))
    end
    if p.cluster_size > 1 and (not p.work.walks or p.producers == 0) then
        fail("cluster.m", "a cluster needs the tile order of the persistent grid", "grid: persistent")
    end
    if p.shares and p.pingpong then
        fail("schedule", "shares_k: pingpong alternates tiles, but a cluster's sums meet one tile at a time",
            "cooperative")
    elseif p.shares and (p.op_most or p.op_sums.any or p.gated or p.scaled or #p.ops > 0 and not p.store
        and p.exchanged) then
        fail("grid", "grid: shares_k has a part of a tile, for ops of elements alone, and not exchanged ones that are "
            .. "stored from registers", "split_k")
    elseif p.shares and p.shares * 8 >= p.right.rows then
        fail("grid", "grid: shares_k: one CTA would have all of a tile's sums, and the others would not wait for it",
            "a wider tile, or smaller epilogue.tile")
    elseif p.shares and p.store and s.epilogue.buffers > 1 then
        fail("epilogue.buffers", "epilogue.buffers: a share may begin at any of several", "1")
    elseif p.in_cluster and not p.shares and (s.splits < 2 or s.splits > 8 or p.clustered) then
        fail("splits", ("splits: %d parts of a tile, one a CTA, in a cluster of %d"):format(s.splits, p.cluster_size),
            "splits: 2 to 8, and cluster: {m: 1, n: 1}")
    end
    for _, side in ipairs { { "n", p.a }, { "m", p.b } } do
        local across = side[2].across:lower()
        local knob, tile = "cluster." .. side[1], "tile." .. across
        local peers, rows = s.cluster[side[1]], s.tile[across]
        if rows % (8 * peers) ~= 0 and not side[2].turns then
            fail(knob,
                ("%s: %d CTAs cannot split %s = %d into boxes of whole 8-row groups"):format(knob, peers, tile, rows),
                ("%s a multiple of %d"):format(tile, 8 * peers))
        end
    end
end

wgmma["ping-pong"] = function(s, p, fail)
    if p.pingpong and (p.consumers ~= 2 or not p.work.walks) then
        fail("schedule", "pingpong alternates two consumer warpgroups over the tiles of a persistent grid",
            "warps.consumer.count: 8 and grid: persistent")
    end
end

-- Staging holds whole blocks of the accumulator: of its 8 columns one, where those are whole 16 bytes, or pairs, as
-- which matrices are read.
local function staging_straight(s, p, fail)
    staging.check_straight(s, p, fail, (p.d.bits < 16 or p.packed or p.reads.matrix) and 16 or 8)
    if p.consumer_rows % s.epilogue.tile.m ~= 0 or s.epilogue.tile.m % 64 ~= 0 then
        fail("epilogue.tile.m", ("epilogue.tile.m: %d does not divide a warpgroup's %d rows"):format(
            s.epilogue.tile.m, p.consumer_rows), "64")
    end
end

local function staging_exchanged(s, p, fail)
    if s.tile.m % s.epilogue.tile.m ~= 0 then
        fail("epilogue.tile.m", ("epilogue.tile.m: %d does not divide tile.m = %d"):format(s.epilogue.tile.m, s.tile.m),
            "a divisor of tile.m that is a multiple of 8")
    end
    local columns = p.consumer_rows // (p.gated and 2 or 1)
    if columns % s.epilogue.tile.n ~= 0 or s.epilogue.tile.n % 64 ~= 0 then
        fail("epilogue.tile.n", ("epilogue.tile.n: %d is no multiple of 64 that divides a warpgroup's %d columns")
            :format(s.epilogue.tile.n, columns), "64")
    end
end

wgmma["staging"] = function(s, p, fail)
    if not p.store then
        return
    end
    if p.exchanged then
        staging_exchanged(s, p, fail)
    else
        staging_straight(s, p, fail)
    end
    staging.check(s, p, fail)
end

wgmma["operands read ahead"] = reads.check

wgmma["loads by threads"] = function(s, p, fail)
    if s.load == "registers" then
        fail("load", "load: registers is for warps on mma.sync, whose operands are registers", "nothing; or math: mma")
    end
    if s.load == "shifted" then
        fail("load", "load: shifted is for pieces of rows that warps stream", "tma or ldg, or math: mma")
    end
    if s.load ~= "ldg" then
        if p.producers > 1 then
            fail("warps.producer.count", "one thread of the producers issues all TMA loads", "4, or load: ldg")
        end
        return
    end
    if p.producers == 0 or p.clustered or s.cache_hint.a or s.cache_hint.b or s.prefetch_maps or p.work.groups then
        fail("load", "load: ldg is for producer warps, without clusters, groups of problems, hints for the L2 and maps",
            "warps.producer.count: 4 or 8, cluster: {m: 1, n: 1}, neither cache_hint nor prefetch_maps")
        return
    end
    for _, operand in ipairs(p.operands) do
        local threads = p.ldg.parts * p.producers * 128
        if operand.stage_bytes // 16 % threads ~= 0 then
            fail("tile." .. operand.extent:lower(),
                ("the %d pieces of 16 bytes of a stage of %s are no multiple of the %d loaded at once"):format(
                    operand.stage_bytes // 16, operand.name:upper(), threads), "another tile, or fewer producer warps")
        end
    end
    if p.a_type.bits ~= 16 then
        fail("load", ("load: ldg shifts elements of 16 bits, but A and B are %s"):format(p.a_type.name),
            "tma, with repack: [a, b] for rows that begin anywhere")
    end
    local needed = 8 * (p.a.pieces + p.b.pieces) + 24
    if s.warps.producer.registers < needed then
        fail("warps.producer.registers",
            ("a producer has %d pieces under way, in eight registers each until they have come"):format(
                p.a.pieces + p.b.pieces), ("at least %d"):format((needed + 7) // 8 * 8))
    end
end

-- What loads rows that begin anywhere, of elements of so many bits; nil where nothing does.
local function load_apart(bits)
    for load, apart in pairs(APART) do
        if apart * bits == 128 then
            return load
        end
    end
end

wgmma["rows apart"] = function(s, p, fail)
    if not p.apart then
        return
    end
    local bits = 128 // p.apart
    if p.scaled then
        fail("load", ("load: %s shifts K, but blocks of 128 along it have scales"):format(s.load),
            "tma, with repack: [a, b] for rows that begin anywhere")
    elseif not p.exchanged or p.store or #p.ops > 0 then
        fail("load", ("load: %s computes every %s column of D at a time, which exchanged stores can undo"):format(
            s.load, p.part), "exchange: true, epilogue: {store: direct} without ops, or "
            .. (bits == 16 and "ldg" or "tma, with repack: [a, b]"))
    elseif p.producers ~= 1 or p.clustered or not p.work.walks or p.work.parts or p.in_cluster or p.work.groups
        or s.problem.batch or #(s.repack or {}) > 0 or s.cache_hint.a or s.cache_hint.b or s.prefetch_maps then
        fail("load", ("load: %s is for a producer that walks whole tiles, without clusters, parts, batches, repack, "
            .. "cache_hint and prefetch_maps"):format(s.load), "tma, or none of those")
    elseif p.a.column_major or p.b.column_major or p.a_type.bits ~= bits or p.b_type.bits ~= bits
        or s.swizzle_bits.a ~= 7 or s.swizzle_bits.b ~= 7 then
        fail("load", ("load: %s wants elements of %d bits in rows along K, swizzled over 128 bytes"):format(
            s.load, bits), p.a_type.bits ~= bits and load_apart(p.a_type.bits) or p.a_type.bits == 16 and "ldg"
            or "tma, with repack: [a, b] for rows that begin anywhere")
    end
end

wgmma["dependent launch"] = function(s, p, fail)
    if s.dependent_launch == "weights" and p.ldg then
        fail("dependent_launch", "dependent_launch: weights, but load: ldg loads A and B of a stage together",
            "prologue")
    elseif s.dependent_launch == "weights" and p.b.repacked then
        fail("dependent_launch", "dependent_launch: weights, but B is copied by the kernel before", "prologue")
    end
end

-- Rows of shared memory that nothing is loaded into hold what an earlier tile left: sums of rows or columns of D that
-- nobody stores, if each is looked at by itself.
wgmma["boxes inside"] = function(s, p, fail)
    if not p.cut then
        return
    end
    for _, operand in ipairs(p.operands) do
        local rows, knob = operand.rows, "box_rows." .. operand.name
        if operand.cut and operand.column_major then
            fail(knob, ("%s: rows of a box of a column-major %s lie along K"):format(knob, operand.name:upper()),
                "no " .. knob)
        elseif operand.cut and rows % operand.cut ~= 0 then
            fail(knob, ("%s: %d does not divide a tile's %d"):format(knob, operand.cut, rows),
                ("a divisor of tile.%s that is a multiple of 8"):format(operand.extent:lower()))
        elseif operand.cut and operand.peers > 1 then
            fail(knob, knob .. " is for a tile that one CTA loads for itself", "no " .. knob
                .. (", or cluster.%s: 1"):format(operand.name == "a" and "n" or "m"))
        end
    end
    if p.apart or p.gated or p.groups or p.periodic or p.scaled or p.op_most or p.op_sums.any
        or s.dependent_launch == "weights" then
        local knob = p.a.cut and "box_rows.a" or "box_rows.b"
        fail(knob, knob .. " is for whole tiles of one problem, and epilogues that look at each element of D by itself",
            "no eighths, sixteenths, gates, groups, period_rows, scales, amax, sums and dependent_launch: weights")
    end
end

wgmma["pairs of columns"] = function(s, p, fail)
    if not p.gated then
        return
    end
    if p.ldg then
        fail("load", "load: ldg, but pairs of columns of the product want boxes of both halves of B", "load: tma")
    end
    local rows = p.exchanged and 64 or p.b.column_major and p.b.box_columns or 8
    local slice = s.tile.n // (p.b.column_major and 1 or s.cluster.m)
    if p.pair_rows % rows ~= 0 or math.max(slice, p.pair_rows) % math.min(slice, p.pair_rows) ~= 0 then
        fail("tile.n", ("tile.n: %d columns are no pairs of %d, in each CTA's slice, for every consumer warpgroup")
            :format(s.tile.n, rows), "another tile.n")
    end
end

wgmma["groups"] = function(s, p, fail)
    if not p.groups then
        return
    end
    if p.repack or s.cache_hint.a or s.cache_hint.b or s.dependent_launch == "weights" then
        fail("grid", ("grid: %s: neither repack, cache_hint nor dependent_launch: weights knows groups"):format(
            s.grid), "none of them")
    end
    if p.groups.along_k and (not p.a_columns or not p.b_columns or s.prefetch_maps) then
        fail("grid", "grid: grouped_k wants A[k, m] and B[k, n], of whose maps each group has its own",
            "layout: {a: column, b: column}, and no prefetch_maps")
    end
    if p.array and (not p.store or #p.op_operands > 0 or p.gated or p.scaled or p.a_columns or p.b_columns
        or s.prefetch_maps or s.problem.m ~= "dynamic" or s.problem.n ~= "dynamic" or s.problem.k ~= "dynamic") then
        fail("grid", "grid: array: each problem has maps and sizes of its own, of which operands of ops, scales, "
            .. "column-major operands and stores by threads know none",
            "epilogue: {store: tma}, ops without operands; neither layout, prefetch_maps nor problem.m, n and k")
    end
    if p.scaled and p.groups.along_k then
        fail("grid", "grid: grouped_k, but blocks of 128 along K do not end where its parts do", "grouped or masked")
    end
    if s.layout.a == "column" and p.clips and not p.groups.counts then
        fail("layout.a", "layout.a: column, but TMA loads no columns from where groups begin, which is anywhere",
            "row, or grid: masked")
    end
end

local order = { "pairs of columns", "input types", "scales", "sums", "rows of a warpgroup", "accumulators",
    "producer and stages", "registers of the roles", "operand boxes", "cluster", "ping-pong", "staging",
    "operands read ahead", "dependent launch", "loads by threads", "boxes inside",
    "rows apart", "groups", "shared memory" }

local list = {}
for i, name in ipairs(order) do
    list[i] = { name, check = wgmma[name] }
end
return list

-- gemm: D[M,N] = A[M,K] B[N,K]^T on Hopper and Blackwell, A and B row- or column-major, fp32 sums. Knobs, ladders and
-- legality.
-- The knob table is the one source of validation, defaults, `tmagen explain gemm` and the error messages.

local plan = require "plan"
local manifest = require "manifest"
local checks = require "checks"
local archs = require "archs"
local dtypes = require "dtypes"
local epilogue = require "epilogue/epilogue"
local schedules = require "schedule/schedules"
local swizzle = require "swizzle"

-- what wgmma multiplies, and what pairs of accumulators can be packed into
local input_types, output_types = dtypes.with("sum"), dtypes.with("pack_pair")
table.insert(output_types, "e2m1")                                  -- of blocks that have scales

local cache_hints = { "evict_first", "evict_last" }

-- the names of [rows], which are the values of a knob, and what they mean
local function names_of(rows)
    local names, docs = {}, {}
    for i, row in ipairs(rows) do
        names[i], docs[i] = row.name, row.name .. ": " .. row.doc
    end
    return names, table.concat(docs, "; ")
end

local grids, grid_doc = names_of(schedules)

-- Where a knob means anything, and how that reads: whoever sets it elsewhere has something else in mind.
local function warpgroups(s)
    return s.math == "wgmma"
end

local function tensor_memory(s)
    return s.math == "tcgen05"
end

local function tensor_cores(s)
    return warpgroups(s) or tensor_memory(s)
end

-- Operands come to shared memory in a ring of stages.
local function staged(s)
    return s.math ~= "fma"
end

-- Warps that load, or stream, and multiply too.
local function loads(s)
    return staged(s) and not tensor_memory(s)
end

-- Lanes load what they multiply, and CTAs of a cluster may divide K.
local function by_lanes(s)
    return s.math == "mma" and s.load == "registers"
end

local function producers(s)
    return warpgroups(s) and s.warps.producer.count > 0
end

local function maps(s)
    return producers(s) and s.load ~= "ldg"
end

local function by_maps(s)
    return maps(s) or tensor_memory(s)
end

-- Loads run ahead of the multiplication, by producer warps or by each warp itself.
local function ahead(s)
    return s.math == "mma" or producers(s) or tensor_memory(s)
end

-- wgmma's sums have fewer bits than fp32 holds.
local function keeps_few_bits(s)
    return warpgroups(s) and dtypes[s.problem.a].sum_bits ~= nil
end

-- Epilogues that can read operands ahead: their staging lies as their accumulators do, a value each.
local function reading(s)
    return s.math == "wgmma" and s.epilogue.store == "tma" and s.warps.producer.count > 0 and not s.exchange
        and not epilogue.gates(s.epilogue.ops)
end

-- Blocks of the operands may have scales: threads apply them to sums, or tcgen05.mma to products.
local function takes_scales(s)
    return keeps_few_bits(s) or tensor_memory(s)
end

local function scaled(s)
    return takes_scales(s) and (s.scales.a or s.scales.b) ~= nil
end

local function promoted(s)
    return warpgroups(s) and scaled(s)
end

-- Scales that boxes can bring with a stage: those of rows beside each other, in fp32.
local function staged_scales(s)
    local function fit(operand)
        return s.scales[operand] == "1x128" and s.scales.order[operand] == "column"
    end
    return promoted(s) and s.scales.type == "fp32" and (fit("a") or fit("b"))
end

local function persistent(s)
    return plan.schedule(s).walks or false
end

local function adding(s)
    return s.grid == "split_k" and s.math == "wgmma"
end

local function splitting(s)
    local schedule = plan.schedule(s)
    return schedule.parts ~= nil or schedule.in_cluster or by_lanes(s)
end

local function sharing(s)
    return plan.schedule(s).shares or false
end

local function grouped(s)
    return plan.schedule(s).groups ~= nil
end

local function staging(s)
    return tensor_cores(s) and (s.epilogue.store == "tma" or s.epilogue.store == "staged")
end

-- A warp of the epilogue fills staging buffers of its own: where warps share rows, or store them themselves.
local function own_staging(s)
    return s.epilogue.warps > 4 or s.epilogue.store == "staged"
end

-- Operands of ops are read by pieces of 16 bytes.
local function held(s)
    return tensor_memory(s) and (s.epilogue.read.matrix or "pairs") ~= "pairs"
end

local function reading_matrix(s)
    return reading(s) or tensor_memory(s)
end

local function reading_layout(s)
    return reading(s) or held(s)
end

-- D^T = B A^T: the rows of the multiplication are columns of D.
local function exchanged(s)
    return warpgroups(s) and s.exchange
end

-- Rows of a staging buffer of an exchanged kernel: what divides the tile, up to 64; all of the tile where that would be
-- few, since each further store takes some 80 ns.
local function staging_rows(s)
    local rows = math.min(s.tile.m, 64)
    while s.tile.m % rows ~= 0 do
        rows = rows - 8
    end
    return rows < 24 and s.tile.m or rows
end

-- Columns of D that a tile makes: half of its own where two make one.
local function columns_of_d(s)
    return s.tile.n // (epilogue.gates(s.epilogue.ops) and 2 or 1)
end

-- Warpgroups that multiply; fewer than four warps, which mma may have, count as one.
local function consumer_groups(s)
    return math.max(s.warps.consumer.count // 4, 1)
end

-- Columns of one: 64, or as many as a row of 128 bytes takes, if they divide what a warpgroup stores.
local function staging_columns(s)
    local consumers = exchanged(s) and s.schedule ~= "pingpong" and consumer_groups(s) or 1
    local columns = math.min(math.max(64, 1024 // dtypes[s.problem.d].bits), 128)
    return columns_of_d(s) // consumers % columns == 0 and columns or 64
end

-- The widest swizzle of its rows.
local function staging_swizzle(s)
    return swizzle.widest(dtypes.bytes(s.problem.d, s.epilogue.tile.n))
end

-- Two for a warpgroup to write in turn, if its stores divide by two, and are not those of a tile's share.
local function staging_buffers(s)
    if sharing(s) then
        return 1
    end
    local consumers = s.schedule == "pingpong" and 1 or consumer_groups(s)
    local rows = tensor_memory(s) and 1 or s.tile.m // s.epilogue.tile.m
    local sharing = tensor_memory(s) and (s.epilogue.warps + 3) // 4 or consumers
    local stores = rows * (columns_of_d(s) // s.epilogue.tile.n) // sharing
    return stores % 2 == 0 and 2 or 1
end

-- CTAs below each other: a pair, where they multiply together.
local function pair(s)
    return tensor_memory(s) and s.cta_group or 1
end

-- The swizzle of an operand: 128 bytes, or of a column-major one what divides its row of a tile.
local function widest_swizzle(operand, extent)
    return function(s)
        local columns = s.layout[operand] == "column"
        return columns and swizzle.widest(dtypes.bytes(s.problem[operand], s.tile[extent])) or 7
    end
end

local WARPGROUPS, TENSOR_MEMORY, TENSOR_CORES = "math is wgmma", "math is tcgen05", "math is wgmma or tcgen05"
local STAGED, LOADS = "math is mma, wgmma or tcgen05", "math is mma or wgmma"
local PRODUCERS, MAPS = "there are producer warps", "there are producer warps, and load is not ldg"
local BY_MAPS, AHEAD = MAPS .. ", or math is tcgen05", "there are producer warps, or math is mma or tcgen05"
local PERSISTENT = "grid is not tiles"
local SCATTERED = 88 * 64       -- elements of a tile from which on scattering is faster on an H200
local ADDING = "grid is split_k, of wgmma"
local SPLITTING = "grid is split_k, stream_k, cluster_k or shares_k, or load is registers"
local STAGING, HELD = "epilogue.store is tma or staged", "math is tcgen05, and epilogue.read.matrix not pairs"
local READING = "math is wgmma, epilogue.store is tma, and there are producers, without exchange and gated ops"
local READING_MATRIX, READING_LAYOUT = "math is tcgen05; or " .. READING, HELD .. "; or " .. READING
local GROUPED = "grid is grouped, grouped_k, masked or array"
local TAKES_SCALES = "math is tcgen05, or wgmma, and A and B are e4m3 or e5m2"
local FEW_BITS = "math is wgmma, and A and B are e4m3 or e5m2"
local SCALED, PROMOTED = "scales.a and scales.b are given", "math is wgmma, and scales.a and scales.b are given"

local knobs = {
    { "problem.a", type = "enum", values = input_types, default = "bf16", doc = "element type of A" },
    { "problem.b", type = "enum", values = input_types, default = function(s) return s.problem.a end,
      doc = "element type of B: that of A, but that e4m3 and e5m2 multiply each other too; with tcgen05 e2m1, e3m2 "
          .. "and e2m3, which lie 2 in a byte or 4 in 3 bytes of rows of whole 128" },
    { "problem.d", type = "enum", values = output_types,
      default = function(s) return dtypes[s.problem.a].product or s.problem.a end,
      doc = "element type of D, and of what the epilogue reads where that has 16 bits or more; else bf16" },
    { "problem.m", type = "dim", default = "dynamic",
      doc = "rows of A and D, any number; a multiple of 8 where A is column-major and loaded by TMA" },
    { "problem.n", type = "dim", default = "dynamic",
      doc = "rows of B, columns of D: a multiple of 16 bytes of D with store: tma, of 2 elements with "
          .. "direct; of 8 where B is column-major and loaded by TMA" },
    { "problem.k", type = "dim", default = "dynamic",
      doc = "columns of A and B, whole 16 bytes: a multiple of 8, of 16 for types of 8 bits; any number with "
          .. "load: ldg, or where both are column-major" },
    { "problem.batch", type = "dim", optional = true,
      doc = "problems of that size side by side: a, b, d, and c and residual, have it as their first dimension, with a "
          .. "stride of its own; other operands of ops are for all. Without: one problem" },
    { "math", type = "enum", values = { "fma", "mma", "wgmma", "tcgen05" },
      default = function(s) return archs[s.arch].mma end,
      doc = "fma: one thread an element; mma: warps that stream B through rings of their own, for few rows; wgmma: "
          .. "warpgroups on the tensor cores, operands by TMA; tcgen05: a thread does that, sums in tensor memory" },
    { "layout.a", type = "enum", values = { "row", "column" }, optional = true,
      doc = "row, or nothing: A[m, k], whose rows lie along K; column: A[k, m], whose rows lie along M" },
    { "layout.b", type = "enum", values = { "row", "column" }, optional = true,
      doc = "row, or nothing: B[n, k], whose rows lie along K; column: B[k, n], whose rows lie along N" },
    { "load", type = "enum", values = { "tma", "eighths", "sixteenths", "ldg", "shifted", "registers" },
      optional = true, when = loads, when_doc = LOADS,
      doc = "tma, or nothing: boxes, of rows of whole 16 bytes; for any k and strides eighths: boxes of each eighth "
          .. "row of B, of bytes sixteenths, and A copied before as they want it; for any addresses too ldg: "
          .. "the producers' threads load pieces and shift; with mma shifted: bulk copies of the whole 16 bytes "
          .. "around; registers: nothing is staged, lanes load what they multiply" },
    { "load_bytes", type = "int", values = { 2, 4, 8, 16 }, default = 16, unit = "bytes", when = by_lanes,
      when_doc = "load is registers",
      doc = "that a lane loads at once: rows of A and B begin at multiples of it, and k has whole ones" },
    { "alike", type = "bool", optional = true, when = by_lanes, when_doc = "load is registers",
      doc = "true: for any k, strides and addresses: a tile's columns are a multiple of 8 apart, so that their rows of "
          .. "B begin at the same place of 16 bytes; lanes load whole 16 bytes, of A those around, and shift A" },
    { "repack", type = "list", of = { "a", "b" }, optional = true, when = maps, when_doc = MAPS,
      doc = "operands that a kernel before copies to the workspace, in rows that begin at whole 128 bytes: for any k, "
          .. "strides and addresses of theirs, of 16 bits or 8" },
    { "box_rows.a", type = "int", min = 8, max = 128, step = 8, unit = "rows", optional = true, when = maps,
      when_doc = MAPS,
      doc = "rows of A that a box brings where a tile ends beyond A's last: boxes that lie wholly beyond are left out. "
          .. "Without: one box with all rows, where TMA writes zeros" },
    { "box_rows.b", type = "int", min = 8, max = 128, step = 8, unit = "rows", optional = true, when = maps,
      when_doc = MAPS, doc = "the same of B" },
    { "exchange", type = "bool", optional = true, when = warpgroups, when_doc = WARPGROUPS,
      doc = "true: wgmma multiplies B by A, so that its 64 rows are columns of D, and tile.m may be as small as 8" },
    { "tile.m", type = "int", min = 2, max = 256, step = 2, default = 128, unit = "rows",
      doc = "rows of D that one CTA computes at a time; 64 a wgmma, or with exchange its N; a multiple of 8, but "
          .. "that lanes that load registers take any even number" },
    { "tile.n", type = "int", min = 4, max = 256, step = 4, default = 128, unit = "columns",
      doc = "columns of D that one CTA computes at a time; the N of wgmma, or with exchange 64 a wgmma" },
    { "tile.k", type = "int", values = { 16, 32, 64, 128, 256, 512 }, unit = "columns",
      default = function(s) return 1024 // math.max(dtypes[s.problem.a].bits, 8) end,
      when = staged, when_doc = STAGED,
      doc = "columns of A and B in one stage; 128 bytes of them if nobody says" },
    { "stages", type = "int", min = 1, max = 16, default = 1, unit = "stages",
      when = staged, when_doc = STAGED,
      doc = "depth of the ring between the producer and the consumers; with mma of each warp's ring" },
    { "mma_in_flight", type = "int", values = { 0, 1 }, default = function(s) return s.stages > 1 and 1 or 0 end,
      when = warpgroups, when_doc = WARPGROUPS,
      doc = "k steps whose wgmma may still run while the next are issued; 1 releases a stage one step late" },
    { "promote_every", type = "int", min = 1, max = 64, unit = "k steps", optional = true, when = keeps_few_bits,
      when_doc = FEW_BITS,
      doc = "after so many, wgmma's sums, of few bits, are added to others in fp32; without, never, the fastest" },
    { "scales.a", type = "enum", values = { "1x128", "1x32", "1x16" }, optional = true, when = takes_scales,
      when_doc = TAKES_SCALES,
      doc = "a scale for each so many rows and elements along K, in the tensor a_scales. 128, of wgmma: sums of 128 "
          .. "products times both operands' scales are added up in fp32. 32 and 16, of tcgen05, which applies them: in "
          .. "atoms of 512 bytes, a_scales[m / 128, k / block / 4, m % 32, m / 32 % 4 * 4 + k / block % 4]" },
    { "scales.b", type = "enum", values = { "1x128", "128x128", "1x32", "1x16" }, optional = true,
      when = takes_scales, when_doc = TAKES_SCALES,
      default = function(s) return tensor_memory(s) and s.scales.a or nil end,
      doc = "the same of B, in b_scales; 128x128: for each 128 rows" },
    { "scales.d", type = "enum", values = { "1x32", "1x16" }, optional = true, when = tensor_memory,
      when_doc = TENSOR_MEMORY, default = function(s) return s.problem.d == "e2m1" and "1x16" or nil end,
      doc = "D is quantised: of each so many columns of a row the scale, of the largest magnitude, goes to d_scales, "
          .. "in atoms as a_scales of the next GEMM; 1x32: ue8m0, rounded up; 1x16, of e2m1: e4m3 without a sign" },
    { "scales.type", type = "enum", values = { "fp32", "ue8m0", "ue4m3" }, when = scaled, when_doc = SCALED,
      default = function(s) return s.scales.a == "1x16" and "ue4m3" or tensor_memory(s) and "ue8m0" or "fp32" end,
      doc = "ue8m0: bytes, 2^(byte - 127) each, 255 being NaN; ue4m3: e4m3 without a sign, for blocks of 16" },
    { "scales.order.a", type = "enum", values = { "row", "column" }, default = "row", when = promoted,
      when_doc = PROMOTED, doc = "row: a_scales[m, k / 128]; column: a_scales[k / 128, m]" },
    { "scales.order.b", type = "enum", values = { "row", "column" }, default = "row", when = promoted,
      when_doc = PROMOTED, doc = "row: b_scales[n, k / 128] or [n / 128, k / 128]; column: the other way round" },
    { "scales.load", type = "enum", values = { "ldg", "tma" }, default = "ldg", when = staged_scales,
      when_doc = "scales 1x128 of fp32 stand in order: column",
      doc = "ldg: threads load their scales a step ahead, from any address; tma: boxes with the stage, where rows of "
          .. "scales begin at whole 16 bytes" },
    { "schedule", type = "enum", values = { "cooperative", "pingpong" }, default = "cooperative",
      when = warpgroups, when_doc = WARPGROUPS,
      doc = "cooperative: the consumer warpgroups share a tile; pingpong: two alternate whole tiles, "
          .. "one multiplying while the other stores" },
    { "grid", type = "enum", values = grids, default = "tiles",
      when = tensor_cores, when_doc = TENSOR_CORES, doc = grid_doc },
    { "problem.groups", type = "dim", default = "dynamic", when = grouped, when_doc = GROUPED,
      doc = "problems in one launch, whose sizes the device knows" },
    { "most_groups", type = "int", min = 32, max = 1024, step = 32, default = 256, unit = "groups",
      when = function(s) return grouped(s) and s.problem.groups == "dynamic" end,
      when_doc = GROUPED .. ", and problem.groups is dynamic", doc = "of a launch; a CTA has room to list so many" },
    { "splits", type = "int", min = 1, max = 64, unit = "parts", when = splitting, when_doc = SPLITTING,
      default = function(s) return by_lanes(s) and 1 or s.grid == "stream_k" and 8 or 2 end,
      doc = "of each tile's K, where a launch does not say; for stream_k at most, on average; for cluster_k, and with "
          .. "load: registers, always, by CTAs of a cluster" },
    { "raster.along", type = "enum", values = { "m", "n" }, default = "m",
      when = persistent, when_doc = PERSISTENT,
      doc = "what a group of the tile order spans: m, rows of tiles; n, columns of tiles; without clusters neighbours "
          .. "share an SM pair, where what both load at a time is asked of the L2 once: m, B; n, A" },
    { "raster.snake", type = "bool", optional = true, when = persistent, when_doc = PERSISTENT,
      doc = "true: every other group is walked backwards, so that it begins where the one before ended" },
    { "raster.group", type = "int", min = 1, max = 64, default = 8, unit = "tiles",
      when = persistent, when_doc = PERSISTENT,
      doc = "tiles (clusters, where there are any) that a group spans; without clusters about as many in each where "
          .. "all tiles run at once, and where there are fewer across than that, all across before the next" },
    { "cta_group", type = "int", values = { 1, 2 }, default = 1, unit = "CTAs",
      when = tensor_memory, when_doc = TENSOR_MEMORY,
      doc = "CTAs below each other that multiply together; of a pair each loads its rows of A and half of B's tile" },
    { "accumulators", type = "int", min = 1, max = 4, default = 1, unit = "tiles",
      when = tensor_memory, when_doc = TENSOR_MEMORY,
      doc = "tiles of sums that tensor memory has room for; with two, one is stored while the next is multiplied" },
    { "cluster.m", type = "int", values = { 1, 2, 4, 8 }, default = pair, unit = "CTAs",
      when = tensor_cores, when_doc = TENSOR_CORES,
      doc = "CTAs below each other that share, by multicast, the tile of B; of pairs each half of it" },
    { "cluster.n", type = "int", values = { 1, 2, 4, 8 }, default = 1, unit = "CTAs",
      when = tensor_cores, when_doc = TENSOR_CORES,
      doc = "CTAs beside each other that share, by multicast, the tile of A" },
    { "cluster.k", type = "int", values = { 2, 3, 4, 5, 6, 7, 8 }, default = 4, unit = "CTAs", when = sharing,
      when_doc = "grid is shares_k", doc = "CTAs that divide K, and share the sums and the stores of the tile" },
    { "tile.period_rows", type = "int", values = { 1, 2, 4, 8 }, optional = true, when = reading, when_doc = READING,
      doc = "rows that follow each other in a tile, whose others are the same ones of other periods of a row-periodic "
          .. "add, which then has only so many rows for a tile: the threads of 8 rows have them in registers. M is "
          .. "whole periods" },
    { "warps.producer.count", type = "int", values = { 0, 4, 8 }, default = 0, unit = "warps",
      when = warpgroups, when_doc = WARPGROUPS,
      doc = "warps that load; 0: the consumers issue their own TMA loads" },
    { "warps.producer.registers", type = "int", min = 24, max = 240, step = 8, default = 40, unit = "a thread",
      when = producers, when_doc = PRODUCERS,
      doc = "registers that the producer keeps (setmaxnreg)" },
    { "warps.consumer.count", type = "int", values = { 1, 2, 4, 8, 10, 12, 16 }, default = 4,
      unit = "warps", when = loads, when_doc = LOADS,
      doc = "warps that multiply and store, in warpgroups of 4; with mma they divide K: 1 or 2 for 64 to 512 columns" },
    { "warps.consumer.registers", type = "int", min = 24, max = 240, step = 8, default = 232, unit = "a thread",
      when = producers, when_doc = PRODUCERS,
      doc = "registers that a consumer takes (setmaxnreg)" },
    { "swizzle_bits.a", type = "int", values = { 0, 5, 6, 7 }, default = widest_swizzle("a", "m"),
      unit = "log2 of bytes",
      when = tensor_cores, when_doc = TENSOR_CORES,
      doc = "span of A's swizzle in shared memory: 7 = 128 bytes, 6 = 64, 5 = 32, 0 = none" },
    { "swizzle_bits.b", type = "int", values = { 0, 5, 6, 7 }, default = widest_swizzle("b", "n"),
      unit = "log2 of bytes",
      when = tensor_cores, when_doc = TENSOR_CORES,
      doc = "the same for B" },
    { "l2_promotion.a", type = "int", values = { 0, 64, 128, 256 }, default = 128, unit = "bytes",
      when = staged, when_doc = STAGED,
      doc = "what the L2 fetches from memory for a miss of A's boxes; rows that begin within lines lose by 256" },
    { "l2_promotion.b", type = "int", values = { 0, 64, 128, 256 }, default = 128, unit = "bytes",
      when = staged, when_doc = STAGED, doc = "the same for B" },
    { "cache_hint.a", type = "enum", values = cache_hints, optional = true,
      when = staged, when_doc = STAGED,
      doc = "what A's lines are to the L2: the first to leave it, or the last; without, as all others" },
    { "cache_hint.b", type = "enum", values = cache_hints, optional = true,
      when = staged, when_doc = STAGED,
      doc = "the same for B" },
    { "dependent_launch", type = "enum", values = { "prologue", "weights" }, optional = true,
      when = ahead, when_doc = AHEAD,
      doc = "the kernel may start before the stream's last launch is over: prologue, and touch no tensor until it is; "
          .. "weights, but B, which that launch must not write" },
    { "prefetch_maps", type = "bool", optional = true, when = by_maps, when_doc = BY_MAPS,
      doc = "true: the tensor maps are asked for before all else, rather than with the first load" },
    { "epilogue.ops", type = "calls", of = epilogue.rows, held_in = dtypes.fp32, default = {},
      doc = "applied in fp32 before rounding, in this order; " .. epilogue.doc() },
    { "epilogue.store", type = "enum", values = { "direct", "elements", "staged", "tma" }, default = "direct",
      when = tensor_cores, when_doc = TENSOR_CORES,
      doc = "direct: pairs from registers; elements: one by one where pairs do not fit, any n, strides and addresses; "
          .. "tma: into swizzled staging, bulk store drained late; staged, of tcgen05: the same, stored by threads" },
    { "epilogue.reduce", type = "enum", values = { "last", "scatter" }, when = adding, when_doc = ADDING,
      default = function(s)
          local long = s.tile.m * s.tile.n >= SCATTERED
          return adding(s) and s.epilogue.store == "direct" and #s.epilogue.ops == 0 and long and "scatter" or "last"
      end,
      doc = "who adds up the parts of a tile's K: whoever comes last; or, up to 16, each a share that it stores from "
          .. "registers (epilogue.store: direct, no ops), if all come together: the default of tiles from 88 x 64 on" },
    { "epilogue.warps", type = "int", values = { 4, 5, 8 }, default = 4, unit = "warps",
      when = tensor_memory, when_doc = TENSOR_MEMORY,
      doc = "warps that load sums and store; those beyond four share the rows of the first, and their columns" },
    { "epilogue.release", type = "enum", values = { "early", "late" }, default = "early",
      when = tensor_memory, when_doc = TENSOR_MEMORY,
      doc = "when an accumulator is given back: early, once its sums are loaded; late, once they are stored" },
    { "epilogue.stagger", type = "int", min = 0, max = 1000, unit = "clocks", optional = true,
      when = tensor_memory, when_doc = TENSOR_MEMORY,
      doc = "that each warp begins a tile later than the one before, so that they meet less at what they share" },
    { "unroll.epilogue", type = "int", values = { 1, 2, 4 }, default = 1, unit = "parts",
      when = tensor_memory, when_doc = TENSOR_MEMORY, doc = "parts of a tile that a warp stores in a row of code" },
    { "unroll.mma", type = "int", min = 1, max = 8, unit = "steps", optional = true,
      when = tensor_memory, when_doc = TENSOR_MEMORY, doc = "k steps of the multiplying thread's loop, the same" },
    { "unroll.load", type = "int", min = 1, max = 8, unit = "steps", optional = true,
      when = tensor_memory, when_doc = TENSOR_MEMORY, doc = "k steps of the loading thread's loop, the same" },
    { "unroll.instructions", type = "int", min = 1, max = 16, unit = "instructions", optional = true,
      when = tensor_memory, when_doc = TENSOR_MEMORY, doc = "of a k step, the same; all of them if nobody says" },
    { "epilogue.load", type = "int", values = { 8, 16, 32, 64, 128 }, default = 32, unit = "columns",
      when = tensor_memory, when_doc = TENSOR_MEMORY,
      doc = "columns of sums that a warp loads from tensor memory at a time" },
    { "epilogue.tile.m", type = "int", min = 8, max = 256, step = 8, unit = "rows",
      default = function(s)
          if s.tile.m % 8 ~= 0 then
              return 64                             -- a check says what is wrong with tile.m
          elseif tensor_memory(s) then
              return own_staging(s) and 32 or s.tile.m
          end
          return exchanged(s) and staging_rows(s) or 64
      end,
      when = staging, when_doc = STAGING,
      doc = "rows of a staging buffer: 64, or with exchange what divides tile.m up to 64, and tile.m where that is "
          .. "less than 24; of tcgen05 tile.m, which the warps fill together, or 32, a warp's own" },
    { "epilogue.tile.n", type = "int", min = 8, max = 256, step = 8, default = staging_columns, unit = "columns",
      when = staging, when_doc = STAGING,
      doc = "columns of a staging buffer: a multiple of 64 with exchange, else of 8, or of 16 for D of 8 bits and "
          .. "where matrices are read by way of it" },
    { "swizzle_bits.d", type = "int", values = { 0, 5, 6, 7 }, unit = "log2 of bytes",
      default = staging_swizzle, when = staging, when_doc = STAGING,
      doc = "the same for D's staging buffers" },
    { "epilogue.buffers", type = "int", min = 1, max = 4, unit = "buffers",
      default = staging_buffers,
      when = staging, when_doc = STAGING,
      doc = "staging buffers of a warpgroup, written in turn" },
    { "epilogue.read.row", type = "enum", values = { "pairs", "ahead" }, optional = true, when = reading,
      when_doc = READING,
      doc = "how a row that all rows share (bias, scale_n) comes to the threads: pairs, or nothing: where ops want "
          .. "them; ahead: before the multiplication, an element a thread, by shared memory" },
    { "epilogue.read.matrix", type = "enum", values = { "pairs", "ldg", "cg", "cs", "cp_async", "tma" },
      optional = true, when = reading_matrix, when_doc = READING_MATRIX,
      doc = "how matrices of 16 bits (residual, add) do, of wgmma the first: pairs, or nothing: the same; 16 bytes "
          .. "at a time: ldg, through L1, cg, not through it, cs, to be used once; cp_async, to shared memory; tma, "
          .. "boxes there. cg and cs are tcgen05's, tma is wgmma's" },
    { "epilogue.read.layout", type = "enum", values = { "row", "blocked", "wrapped" }, optional = true,
      when = reading_layout, when_doc = READING_LAYOUT,
      doc = "of them: row, or nothing: as all others; blocked: where a thread's elements lie together, of tcgen05 "
          .. "NAME[m / 32, n / 32, m % 32, n % 32], of wgmma, with ldg, each 64 columns in the order in which four "
          .. "threads hold them: column 8 i + 2 t + j at place 16 t + 2 i + j; wrapped: the first rows of those that "
          .. "begin anew stand behind the last too, so that each box of tma is whole" },
    { "epilogue.read.order", type = "enum", values = { "after", "between", "before", "ahead" }, default = "after",
      when = held, when_doc = HELD,
      doc = "when they are asked for: after the sums are there; between their load and the wait for it; before that; "
          .. "ahead: while the part before is stored, the first before the tile's sums are complete" },
    { "epilogue.read.hint", type = "enum", values = cache_hints, optional = true, when = reading,
      when_doc = READING, doc = "what that matrix' lines are to the L2, where it is not read as all others" },
    { "epilogue.packed", type = "bool", optional = true, when = reading, when_doc = READING,
      doc = "sums are rounded to bf16 before the ops, which then are two elements an instruction and round each time, "
          .. "as kernels one after the other would; operands are read ahead, by epilogue.read" },
}

local phases = {
    [0] = { title = "naive", doc = "one thread computes one element in fp32",
            sets = { ["math"] = "fma", ["tile.m"] = 16, ["tile.n"] = 16 } },
    [1] = { title = "TMA and wgmma", doc = "one warpgroup loads one stage by TMA and multiplies it, in turns",
            predict = "tensor cores instead of fp32 lanes: over 100 times",
            sets = { ["math"] = "wgmma", ["tile.m"] = 128, ["tile.n"] = 128, ["stages"] = 1 } },
    [2] = { title = "ring", doc = "a producer warp fills a ring of stages ahead of the consumers; setmaxnreg",
            predict = "the loads hide behind the multiplication: +15%",
            sets = { ["stages"] = 4, ["warps.producer.count"] = 4, ["warps.producer.registers"] = 40,
                     ["warps.consumer.registers"] = 232 } },
    [3] = { title = "two consumers", doc = "two consumer warpgroups share a tile of twice the width",
            predict = "fewer bytes of shared memory read a product, and two warpgroups hide each other's latency: +15%",
            sets = { ["warps.consumer.count"] = 8, ["tile.n"] = 256 } },
    [4] = { title = "persistent", doc = "one CTA an SM walks the tiles in an order that the L2 likes",
            predict = "no tail of launches, and tiles that meet in L2: +3%",
            sets = { ["grid"] = "persistent", ["raster.along"] = "m", ["raster.group"] = 8 } },
    [5] = { title = "clusters", doc = "two CTAs share the tile of B by multicast",
            predict = "half the L2 reads of B: +2%, or the same at less power",
            sets = { ["cluster.m"] = 2, ["raster.group"] = 4 } },
    [6] = { title = "TMA store", doc = "stmatrix into swizzled staging, TMA store drained under the next tile",
            predict = "coalesced stores that drain under the next tile: +8%",
            -- the clusters of rung 5 lost: its knobs go back
            sets = { ["cluster.m"] = 1, ["raster.group"] = 8,
                     ["epilogue.store"] = "tma" } },
    [7] = { title = "ping-pong", doc = "two warpgroups alternate tiles: one multiplies while the other stores",
            predict = "the epilogue hides behind the other tile's products: +3% at K = 4096",
            sets = { ["schedule"] = "pingpong", ["tile.n"] = 128, ["stages"] = 6 } },
}

-- The ladder for GPUs with tensor memory.
local blackwell = require "ladder_tcgen05" (phases[0], 6)

return {
    name = "gemm",
    doc = "D[M,N] = A[M,K] B[N,K]^T, then the ops of the epilogue; A and B row- or column-major, fp32 sums",
    template = plan.template,
    arch = { "sm_90a", "sm_100a", "sm_103a" },
    knobs = knobs,
    phases = phases,
    default_phase = 6,
    ladders = { sm_100a = blackwell, sm_103a = blackwell },
    checks = checks,
    plan = plan.plan,
    manifest = manifest,
    reference = require "reference/shapes",
    tune = function() return require "sweeps" end,
    explain = plan.explain,
}

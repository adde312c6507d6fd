-- deform_attn: multi-scale deformable attention: each query's head sums bilinear samples of all levels of value.
-- The knobs and the ladder. The gather's wavefronts of L1 are the roof, so each rung spares them or keeps them coming.

local plan = require "plan"
local manifest = require "manifest"
local checks = require "checks"

local function gathers(s) return s.mapping == "gather" end
local function has_roles(s) return s.mapping == "roles" end
local function has_lanes(s) return s.mapping ~= "plain" end
local function has_vector_lanes(s) return has_lanes(s) and s.math ~= "mma" end
local function is_plain(s) return s.mapping == "plain" end
local function is_persistent(s) return s.mapping == "gather" and s.schedule == "persistent" end

local knobs = {
    { "problem.dtype", type = "enum", values = { "fp16", "bf16", "fp32" }, default = "fp16",
      doc = "element type of locations, weights and out" },
    { "problem.value", type = "enum", values = { "fp16", "bf16", "fp32", "e4m3", "e5m2" },
      default = function(s) return s.problem.dtype end,
      doc = "element type of value: that of the others or, of a gather, one of 8 bits, whose scale the weights bring" },
    { "problem.b", type = "dim", default = "dynamic", doc = "batches" },
    { "problem.q", type = "dim", default = "dynamic", doc = "queries of a batch, any number" },
    { "problem.heads", type = "int", min = 1, max = 64, default = 1, unit = "heads", doc = "heads of a query" },
    { "problem.channels", type = "int", min = 8, max = 256, step = 8, default = 32, unit = "channels",
      doc = "channels of a head" },
    { "problem.points", type = "int", min = 1, max = 16, default = 8, unit = "points", doc = "points of a level" },
    { "problem.padded", type = "bool", default = true,
      doc = "true: value stores each level with a border of zeros one pixel wide; false: the pixels alone" },
    { "problem.levels", type = "int_pairs", default = { { 92, 160 }, { 46, 80 }, { 23, 40 }, { 12, 20 } },
      doc = "height and width of each level, without its border" },
    { "mapping", type = "enum", values = { "plain", "roles", "gather" }, default = "gather",
      doc = "plain: a thread a vector of channels, all by itself; roles: producer warps bring pixels into shared "
          .. "memory, consumer warps sum them; gather: the lanes of a query share its metadata and load themselves" },
    { "vector", type = "int", values = { 1, 2, 4, 8, 16 }, default = plan.widest_vector, unit = "elements",
      when = is_plain, when_doc = "mapping is plain (lanes move 16 bytes)",
      doc = "channels that a thread moves at once: 4, 8 or 16 bytes" },
    { "value_layout", type = "enum", values = { "given", "paired" }, default = "given",
      doc = "paired: value stores each pixel with its right neighbour, as deform_pair makes it, so that both columns "
          .. "of a point are neighbours in memory" },
    { "threads", type = "int", min = 32, max = 1024, step = 32, default = 256, unit = "threads",
      doc = "threads of a CTA" },
    { "warps.producer", type = "int", min = 1, max = 8, default = 2, unit = "warps", when = has_roles,
      when_doc = "mapping is roles", doc = "warps that bring pixels; the others sum them" },
    { "load", type = "enum", values = { "ldg", "cp_async", "tma" }, default = "tma", when = has_roles,
      when_doc = "mapping is roles (a gather loads by ldg)",
      doc = "how pixels come: through registers, by asynchronous 16-byte copies, or as boxes of two pixels" },
    { "metadata", type = "enum", values = { "lane", "smem", "shuffle" }, default = "smem", when = has_roles,
      when_doc = "mapping is roles (a gather shuffles)",
      doc = "a point's weights: computed by every lane, by the producer into shared memory, or by a lane for "
          .. "its item's" },
    { "queries_per_warp", type = "int", values = { 1, 2, 4, 8, 16 }, default = 8, unit = "queries", when = has_roles,
      when_doc = "mapping is roles", doc = "queries of a consumer between its stores" },
    { "stages", type = "int", min = 1, max = 6, default = 1, unit = "stages", when = has_roles,
      when_doc = "mapping is roles", doc = "levels that the producers may be ahead, of every consumer's queries" },
    { "barrier_scope", type = "enum", values = { "warp", "block" }, default = "warp", when = has_roles,
      when_doc = "mapping is roles", doc = "warp: barriers of each consumer; block: one pair a stage for all of them" },
    { "descriptor_prefetch", type = "bool", default = false,
      when = function(s) return s.mapping == "roles" and s.load == "tma" end, when_doc = "load is tma",
      doc = "the descriptor is fetched before its first use" },
    { "math", type = "enum", values = { "fp32", "packed", "mma" }, default = "fp32",
      when = gathers, when_doc = "mapping is gather",
      doc = "fp32: weights and sums in fp32; packed: pairs of 16-bit floats, widened to fp32 every half_points; "
          .. "mma: a head of 32 bytes and its weights as fp16 operands of tensor cores, sums in fp32" },
    { "half_points", type = "int", values = { 1, 2, 4, 8, 16 }, default = 8, unit = "points",
      when = function(s) return s.mapping == "gather" and s.math == "packed" end, when_doc = "math is packed",
      doc = "points whose products are summed in 16-bit floats before fp32 takes them" },
    { "lanes", type = "int", values = { 1, 2, 4, 8, 16, 32 }, default = plan.default_lanes, unit = "lanes",
      when = has_vector_lanes, when_doc = "mapping is roles or gather, math not mma (a lane a vector of a corner)",
      doc = "lanes of a query's head, 16 bytes of channels each at a time" },
    { "unroll", type = "int", values = { 1, 2, 4, 8, 16 }, default = plan.default_unroll, unit = "points",
      when = function(s) return s.mapping ~= "roles" end, when_doc = "mapping is plain or gather",
      doc = "points whose loads are issued together" },
    { "schedule", type = "enum", values = { "static", "persistent", "dynamic" }, default = "static",
      when = has_lanes, when_doc = "mapping is roles or gather",
      doc = "static: a CTA a tile of queries; persistent: a CTA a few long ranges of neighbouring queries; "
          .. "dynamic: warps draw groups of queries from a counter" },
    { "queries_per_block", type = "int", min = 1, max = 4096, default = 64, unit = "queries",
      when = function(s) return s.mapping == "roles" or s.mapping == "gather" and s.schedule == "static" end,
      when_doc = "schedule is static or mapping is roles", doc = "queries of a CTA at a time" },
    { "blocks_per_sm", type = "int", min = 1, max = 32, unit = "CTAs", when = has_lanes,
      default = function(s) return s.mapping == "roles" and 1 or math.max(1024 // s.threads, 1) end,
      when_doc = "mapping is roles or gather",
      doc = "CTAs that an SM shall hold: bounds the registers, and is the grid of a persistent schedule" },
    { "rounds", type = "int", min = 1, max = 64, default = 1, unit = "ranges",
      when = is_persistent, when_doc = "schedule is persistent",
      doc = "ranges of a CTA: more keep fewer batches in L2 at a time, fewer reuse more of L1" },
    { "groups_per_draw", type = "int", min = 1, max = 256, default = 4, unit = "groups",
      when = function(s) return s.mapping == "gather" and s.schedule == "dynamic" end, when_doc = "schedule is dynamic",
      doc = "warps' worth of queries that a warp draws at once" },
    { "resident_levels", type = "int", min = 0, max = 8, default = plan.default_resident, unit = "levels",
      when = is_persistent, when_doc = "schedule is persistent",
      doc = "last levels that a CTA keeps in shared memory: hits for certain, and no tags to look up" },
    { "query_order", type = "enum", values = { "raster", "strips" }, default = "raster",
      when = gathers, when_doc = "mapping is gather",
      doc = "strips: where the queries are the stored pixels, they are taken in strips of about 32 columns" },
    { "level_prefetch", type = "int", min = 0, max = 2, default = 0, unit = "steps",
      when = function(s) return gathers(s) and s.math ~= "mma" end,
      when_doc = "mapping is gather (roles have stages), math is not mma",
      doc = "steps of `unroll` points whose loads are issued before the sums of the step at work" },
    { "prefetch", type = "enum", values = { "none", "ldcg", "cp_async" }, default = "none",
      when = gathers, when_doc = "mapping is gather",
      doc = "the next queries' locations and weights are loaded early: ldcg into registers, cp_async into shared "
          .. "memory" },
}

local phases = {
    [0] = { title = "plain", doc = "a thread loads, weighs and stores 16 bytes of channels of a query",
            sets = { ["mapping"] = "plain", ["threads"] = 256 } },
    [1] = { title = "roles", doc = "two producer warps of eight bring pixels by TMA, the others sum them",
            predict = "TMA passes L1 by and reads every corner from L2, 8 GB: several times slower",
            sets = { ["mapping"] = "roles", ["load"] = "tma", ["warps.producer"] = 2, ["metadata"] = "lane",
                     ["queries_per_warp"] = 2, ["queries_per_block"] = 96 } },
    [2] = { title = "metadata", doc = "the producers compute the weights, once, into shared memory",
            predict = "arithmetic that every lane repeated is done once: faster",
            sets = { ["metadata"] = "smem" } },
    [3] = { title = "four queries", doc = "a consumer sums four queries at a time",
            predict = "more boxes under way for each barrier: faster",
            sets = { ["queries_per_warp"] = 4 } },
    [4] = { title = "two stages", doc = "the next level's pixels come while this level is summed",
            predict = "copies hide behind sums: faster, if the CTAs that no longer fit did not hide them already",
            sets = { ["stages"] = 2 } },
    [5] = { title = "ratio", doc = "four producer warps for four consumer warps, one stage again",
            predict = "twice the issuers of boxes: faster if their issue is the limit",
            sets = { ["warps.producer"] = 4, ["stages"] = 1 } },
    [6] = { title = "shuffles", doc = "no producers: a query's lanes locate its points, pass them on by shuffles and "
            .. "load through L1",
            predict = "L1 serves the corners again, without collisions of banks: below rung 0",
            sets = { ["mapping"] = "gather", ["queries_per_block"] = 64 } },
    [7] = { title = "prefetch", doc = "the next queries' locations and weights are loaded early",
            predict = "the latency of one load in 1900 instructions: -2%",
            sets = { ["prefetch"] = "ldcg" } },
    [8] = { title = "packed math", doc = "weights and products as pairs of halves; no early loads",
            predict = "half the instructions, two words to shuffle instead of five: -15%",
            sets = { ["math"] = "packed", ["prefetch"] = "none" } },
    [9] = { title = "persistent", doc = "a CTA an SM walks one long range of queries in strips, the small levels in "
            .. "shared memory",
            predict = "L1 keeps what neighbouring queries share, and half of the points need no tags: -10%",
            sets = { ["schedule"] = "persistent", ["threads"] = 512, ["blocks_per_sm"] = 1, ["rounds"] = 1,
                     ["query_order"] = "strips" } },
    [10] = { title = "loads ahead", doc = "the next points' loads are issued before the sums of these",
            predict = "a few %, nothing where the compiler overlaps already",
            sets = { ["level_prefetch"] = 1 } },
}

-- The queries that a CTA takes at a time.
local function tile_of(p)
    for _, factor in ipairs(p.grid) do
        if factor[1] == "q" and not factor[3] then return factor[2] end
    end
    return 64
end

-- What verify and bench must know beside reference.c. Shapes are one query, a few less and more than a warp's and a
-- CTA's, queries that are the pixels, and more.
local function reference(s, p)
    local pixels, q = p.pixels, tile_of(p)
    local row, samples = s.problem.heads * s.problem.channels, #s.problem.levels * s.problem.points
    return {
        dims = { "b", "s", "q" }, typical = "48x20522x20522/local", inputs = { "local", "uniform", "special" },
        draws = { "value", "locations", "weights" },
        flops = { { 8 * samples * row, "b", "q" } }, cost = { { 60 * samples } },
        -- the four pixels of every point, each read once by the lanes that share a query's head; corners outside of
        -- their level count, though a kernel may leave them out: few are, where bench draws
        l1_bytes = { { 4 * samples * row * p.value_bytes, "b", "q" } },
        values = { heads = s.problem.heads, channels = s.problem.channels, points = s.problem.points,
                   padded = s.problem.padded, levels = s.problem.levels, packed = p.packed_math,
                   paired = p.paired and true or false, mma = p.mma or nil, compact = p.compact or nil },
        small = { { 1, pixels, 1 }, { 2, pixels, 9 } },
        waves = p.persistent and { { 3, pixels, 4 * q + 5 } } or {},    -- a CTA's range spans batches
        full = { { 1, pixels, 1 }, { 1, pixels, 7 }, { 3, pixels, math.max(q - 1, 1) }, { 2, pixels, q + 1 },
                 { 5, pixels, 33 }, { 1, pixels, pixels }, { 3, pixels, 4097 }, { 2, pixels, 3 * q + 5 },
                 { 17, pixels, 300 }, { 4, pixels, 17821 } },
    }
end

return {
    name = "deform_attn",
    doc = "out[b,q,head] = sum over levels and points of weight * value sampled bilinearly at the location",
    template = function(s) return s.mapping .. ".cu.in" end,
    arch = { "sm_90a" },
    knobs = knobs,
    phases = phases,
    default_phase = 9,
    checks = checks,
    plan = plan.plan,
    manifest = manifest,
    reference = reference,
    tune = {
        { ["phase"] = { 6, 8 }, ["threads"] = { 128, 256, 512 }, ["queries_per_block"] = { 32, 64, 128 },
          ["unroll"] = { 2, 4, 8 } },
        { ["phase"] = { 9, 10 }, ["threads"] = { 256, 512, 1024 }, ["unroll"] = { 2, 4, 8 } },
    },
}

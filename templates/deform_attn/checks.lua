-- checks.lua: deform_attn's legality beyond the range of a single knob; every broken rule is reported in one run.
-- What cannot be known here, such as the number of queries, the manifest demands at launch.

local archs = require "archs"
local levels = require "levels"

local function vectors(s, p, fail)
    if p.head_bytes % 16 ~= 0 then
        fail("problem.channels", ("problem.channels: %d of %s are no whole 16 bytes"):format(s.problem.channels,
            s.problem.value), p.value_bytes == 1 and "a multiple of 16" or "a multiple of 8")
    elseif s.lanes and p.vectors % s.lanes ~= 0 then
        fail("lanes", ("lanes: %d do not divide the %d vectors of a head"):format(s.lanes, p.vectors),
            "a power of two that divides " .. p.vectors)
    end
    local bytes = p.vector_bytes
    if bytes < 4 or bytes > 16 then
        fail("vector", ("vector: %d of %s are %d bytes"):format(p.vector, s.problem.value, bytes),
            s.problem.dtype == "fp32" and "1, 2 or 4" or "2, 4 or 8")
    end
end

local function values(s, p, fail)
    if p.value_bytes > 1 and s.problem.value ~= s.problem.dtype then
        fail("problem.value", ("problem.value: %s, where the other tensors are %s"):format(s.problem.value,
            s.problem.dtype), s.problem.dtype .. ", e4m3 or e5m2")
    elseif p.value_bytes == 1 and (s.mapping ~= "gather" or p.bytes ~= 2) then
        fail("problem.value", ("problem.value: %s takes mapping gather and a problem.dtype of 16 bits"):format(
            s.problem.value), s.problem.dtype)
    end
end

local function packed(s, p, fail)
    if p.value_bytes == 1 and p.packed_math and s.problem.dtype ~= "fp16" then
        fail("math", ("math: packed makes halves of %s, and weights are %s"):format(s.problem.value, s.problem.dtype),
            "fp32")
    end
    if p.packed_math and s.problem.dtype == "fp32" then
        fail("math", "math: packed needs 16-bit elements", "fp32")
    end
end

local function mma(s, p, fail)
    if not p.mma then
        return
    end
    if p.head_bytes ~= 32 or p.value_bytes ~= 1 or s.problem.dtype ~= "fp16" then
        fail("math", ("math: mma takes heads of 32 values of 8 bits, and fp16 beside them, not %d of %s and %s"):format(
            s.problem.channels, s.problem.value, s.problem.dtype), "packed or fp32")
    elseif s.prefetch == "cp_async" then
        fail("prefetch", "prefetch: cp_async, but lanes of math: mma locate from registers", "none or ldcg")
    elseif p.paired then
        fail("value_layout", "value_layout: each lane of math: mma loads a corner, and pairs hold two", "given")
    elseif s.problem.points % 2 ~= 0 or p.points_of_item % 8 ~= 0 then
        fail("math", ("math: mma locates two points of a level a lane, eight of a head at once, not %d of %d"):format(
            s.problem.points, p.points_of_item), "packed or fp32")
    elseif s.unroll % 2 ~= 0 then
        fail("unroll", ("unroll: %d, and an mma takes two points"):format(s.unroll), "2, 4 or 8")
    end
end

local function unroll(s, p, fail)
    if s.unroll and s.problem.points % s.unroll ~= 0 then
        if s.mapping == "gather" then
            fail("unroll", ("unroll: %d does not divide the %d points of a level"):format(s.unroll, s.problem.points),
                "a divisor of problem.points")
        end
    elseif s.mapping == "gather" and p.lanes * p.chunk % s.unroll ~= 0 then
        fail("unroll", ("unroll: %d points are not within one share of %d lanes"):format(s.unroll, p.lanes),
            "up to " .. p.lanes * p.chunk)
    end
end

local function resident(s, p, fail)
    if p.resident > #s.problem.levels then
        fail("resident_levels", ("resident_levels: %d of %d levels"):format(p.resident, #s.problem.levels),
            "up to " .. #s.problem.levels)
    elseif p.smem_bytes > archs.shared_memory(s.arch, s.blocks_per_sm) then
        local knob = s.mapping == "roles" and "stages" or "resident_levels"
        fail(knob, ("shared memory: %d bytes a CTA, of %d with %d on an SM"):format(p.smem_bytes,
            archs.shared_memory(s.arch, s.blocks_per_sm), s.blocks_per_sm or 1),
            s.mapping == "roles" and "fewer stages, queries_per_warp or consumers" or "fewer resident levels")
    end
end

local function threads(s, p, fail)
    local most = archs[s.arch].sm_threads
    if s.threads * (s.blocks_per_sm or 1) > most then
        fail("blocks_per_sm", ("blocks_per_sm: %d CTAs of %d threads exceed the %d threads of an SM"):format(
            s.blocks_per_sm, s.threads, most), "up to " .. most // s.threads)
    end
end

local function tiles(s, p, fail)
    if s.schedule == "static" and s.mapping == "gather" and s.queries_per_block * s.problem.heads % p.items ~= 0 then
        fail("queries_per_block", ("queries_per_block: %d queries of %d heads are no whole groups of %d items"):format(
            s.queries_per_block, s.problem.heads, p.items), "a multiple of " .. p.items)
    end
end

local function copies(s, p, fail)
    if s.mapping == "gather" and s.prefetch == "cp_async" and p.chunk * p.bytes < 4 then
        fail("prefetch", "prefetch: cp_async copies at least 4 bytes, a chunk's weights have 2", "none or ldcg")
    end
end

local function producers(s, p, fail)
    if s.mapping == "roles" and p.consumers < 1 then
        fail("warps.producer", ("warps.producer: %d of %d warps leave no consumer"):format(p.producers, p.warps),
            "up to " .. p.warps - 1)
    end
end

local function draws(s, p, fail)
    if s.mapping == "roles" and s.schedule == "dynamic" then
        fail("schedule", "schedule: dynamic draws groups of items for the warps of a gather, roles have none",
            "static or persistent; or mapping: gather")
    end
end

local function boxes(s, p, fail)
    if s.mapping == "roles" and s.load == "tma" and p.pixels < 2 then
        fail("load", "load: tma boxes two pixels, value has one", "ldg or cp_async")
    end
end

local function layout(s, p, fail)
    if s.mapping == "roles" and p.paired then
        fail("value_layout", "value_layout: paired is for lanes that load both columns themselves; producers bring "
            .. "pixels of the given layout", "given; or mapping: plain or gather")
    end
end

return {
    { "producers", check = producers },
    { "draws", check = draws },
    { "boxes", check = boxes },
    { "copies", check = copies },
    { "levels", check = levels.check },
    { "value layout", check = layout },
    { "offsets", check = levels.offsets("value") },
    { "values", check = values },
    { "vectors", check = vectors },
    { "packed math", check = packed },
    { "mma", check = mma },
    { "unroll", check = unroll },
    { "shared memory", check = resident },
    { "threads", check = threads },
    { "tiles", check = tiles },
}

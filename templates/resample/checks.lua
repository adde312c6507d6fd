-- checks.lua: resample's legality beyond the range of a single knob; every broken rule is reported in one run.
-- What cannot be known here, such as the alignment of a pointer, the manifest demands at launch.

local archs = require "archs"

local function vector_divides(s, p, fail)
    if s.vector * p.bytes > 16 then
        fail("vector", ("vector: %d elements of %s are more than the 16 bytes of an access"):format(s.vector,
            s.problem.dtype), "up to " .. 16 // p.bytes)
    elseif s.problem.d ~= "dynamic" and s.problem.d % s.vector ~= 0 then
        fail("vector", ("vector: %d does not divide problem.d = %d"):format(s.vector, s.problem.d),
            "a divisor of problem.d")
    end
    if s.mapping == "element" and s.vector > 1 then
        fail("vector", "vector: with mapping element a thread has one element", "1")
    end
end

local function targets_fit_lanes(s, p, fail)
    if s.mapping == "lanes" and s.targets_per_warp > 32 then
        fail("targets_per_warp", "targets_per_warp: with mapping lanes each lane searches for one target", "1..32")
    end
end

local function reuse_is_serial(s, p, fail)
    if s.mapping == "lanes" and s.reuse and s.unroll > 1 then
        fail("unroll", "unroll: with reuse a lane knows only at each target whether it must load", "1")
    end
end

local function copies_are_aligned(s, p, fail)
    local row = s.problem.d ~= "dynamic" and s.problem.d * p.bytes
    if p.bulk_load and (p.vector_bytes < 16 or row and row % 16 ~= 0) then
        fail("load", "load: tma_bulk copies whole 16 bytes only: rows and vectors must be made of such",
            "ldg; or cp_async, where vectors have 4 bytes or more")
    end
    if s.mapping == "tile" and s.load == "cp_async" and p.vector_bytes < 4 then
        fail("load", ("load: cp_async copies 4, 8 or 16 bytes, a vector has %d"):format(p.vector_bytes), "ldg")
    end
    if p.bulk_store and s.load == "cp_async" then
        fail("store", "store: bulk with load: cp_async is not written: a ring for each of both", "direct")
    end
    if p.bulk_store and p.vector_bytes < 16 then
        fail("store", "store: bulk copies whole 16 bytes only: vectors must have as many", "direct")
    end
end

local function threads_fit(s, p, fail)
    local arch = archs[s.arch]
    local most = arch.sm_threads // s.threads
    if s.mapping ~= "element" and s.blocks_per_sm > most then
        fail("blocks_per_sm", ("blocks_per_sm: an SM holds %d threads, which is %d CTAs of %d"):format(arch.sm_threads,
            most, s.threads),
            "up to " .. most)
    end
end

local function memory_fits(s, p, fail)
    local limit = archs.shared_memory(s.arch, s.blocks_per_sm) // 16 * 16
    if p.smem_bytes > limit then
        fail(p.bulk_load and "window" or s.mapping == "lanes" and "cached_times" or "targets_per_warp",
            ("shared memory: a CTA needs %d bytes of the %d that %d CTAs an SM leave it"):format(p.smem_bytes, limit,
                s.blocks_per_sm), "fewer targets_per_warp, cached_times or blocks_per_sm, or a smaller window")
    end
end

return {
    { "vector", doc = "a vector is at most 16 bytes and divides a fixed d", check = vector_divides },
    { "targets of a warp", doc = "mapping lanes has one target a lane", check = targets_fit_lanes },
    { "reuse", doc = "reuse goes target by target", check = reuse_is_serial },
    { "asynchronous copies", doc = "copies move whole aligned pieces", check = copies_are_aligned },
    { "threads of an SM", doc = "blocks_per_sm CTAs fit the threads of an SM", check = threads_fit },
    { "shared memory", doc = "blocks_per_sm CTAs fit the shared memory of an SM", check = memory_fits },
}

-- checks.lua: gemm's legality beyond the range of a single knob; every broken rule is reported in one run.
-- The compiler and the GPU report these badly, late, or by hanging.

local smem = require "smem"

local function largest_that_fits(s, p)
    local rest = p.smem_bytes - s.stages * (p.a.stage_bytes + p.b.stage_bytes)
    return (smem.LIMIT - rest) // (p.a.stage_bytes + p.b.stage_bytes)
end

-- checks of kernels that use the tensor cores
local wgmma = {}

wgmma["input types"] = function(s, p, fail)
    if s.problem.a ~= s.problem.b then
        fail("problem.b", ("problem.b is %s but problem.a is %s"):format(s.problem.b, s.problem.a),
            "one type for both: wgmma multiplies 16-bit floats of one kind")
    end
end

wgmma["rows of a warpgroup"] = function(s, p, fail)
    if s.tile.m < 64 then
        fail("tile.m", ("tile.m: %d is less than the 64 rows of a wgmma"):format(s.tile.m), "64, 128, 192, 256")
    elseif p.rows_per_warpgroup % 64 ~= 0 then
        fail("tile.m", ("tile.m: %d rows do not divide into wgmma rows of 64 for %d consumer warpgroups"):format(
            s.tile.m, p.consumers), ("a multiple of %d"):format(64 * p.consumers))
    end
end

wgmma["accumulators"] = function(s, p, fail)
    local sums = p.blocks * s.tile.n // 2
    local registers = p.producers > 0 and s.warps.consumer.registers or p.launch_registers
    if sums + 24 > registers then
        fail("tile.n", ("a consumer thread holds %d sums, which leaves under 24 of its %d registers for the rest")
            :format(sums, registers), "a smaller tile, or more consumer warps")
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
    if p.producers == 0 and (s.grid == "persistent" or s.epilogue.store == "tma") then
        local knob = s.grid == "persistent" and "grid" or "epilogue.store"
        fail(knob, knob .. " needs producer warps", "warps.producer.count: 4")
    end
end

wgmma["registers of the roles"] = function(s, p, fail)
    if p.producers == 0 then
        return
    end
    local wanted = 128 * (s.warps.producer.registers + p.consumers * s.warps.consumer.registers)
    local pool = p.launch_registers * p.threads
    if wanted > pool then
        fail("warps.consumer.registers", ("setmaxnreg asks for %d registers of the %d that %d threads are launched with")
            :format(wanted, pool, p.threads),
            ("warps.consumer.registers up to %d"):format((pool // 128 - s.warps.producer.registers) // p.consumers // 8 * 8))
    end
end

wgmma["operand boxes"] = function(s, p, fail)
    for _, name in ipairs { "a", "b" } do
        local operand, knob = p[name], "swizzle_bits." .. name
        if s.tile.k * 2 % operand.span ~= 0 then
            fail(knob, ("%s: a row of %d bytes (tile.k %d) is narrower than the swizzle's %d"):format(knob,
                s.tile.k * 2, s.tile.k, operand.span), "a smaller swizzle or a larger tile.k")
        end
        if operand.load_rows > 256 then
            fail("tile." .. (name == "a" and "m" or "n"), "a TMA box has at most 256 rows", "up to 256")
        end
    end
end

wgmma["cluster"] = function(s, p, fail)
    if p.cluster_size > 8 then
        fail("cluster.m", ("cluster: %d CTAs are more than the portable limit of 8"):format(p.cluster_size),
            "cluster.m * cluster.n up to 8")
    end
    if p.cluster_size > 1 and (s.grid ~= "persistent" or p.producers == 0) then
        fail("cluster.m", "a cluster needs the tile order of the persistent grid", "grid: persistent")
    end
    for _, side in ipairs { { "cluster.n", "tile.m", s.cluster.n, s.tile.m }, { "cluster.m", "tile.n", s.cluster.m, s.tile.n } } do
        local knob, tile, peers, rows = side[1], side[2], side[3], side[4]
        if rows % (8 * peers) ~= 0 then
            fail(knob, ("%s: %d CTAs cannot split %s = %d into boxes of whole 8-row groups"):format(knob, peers, tile, rows),
                ("%s a multiple of %d"):format(tile, 8 * peers))
        end
    end
end

wgmma["ping-pong"] = function(s, p, fail)
    if p.pingpong and (p.consumers ~= 2 or s.grid ~= "persistent") then
        fail("schedule", "pingpong alternates two consumer warpgroups over the tiles of a persistent grid",
            "warps.consumer.count: 8 and grid: persistent")
    end
end

wgmma["staging"] = function(s, p, fail)
    if not p.store then
        return
    end
    local bytes = s.problem.d == "fp32" and 4 or 2
    local row = s.epilogue.tile.n * bytes
    if s.tile.n % s.epilogue.tile.n ~= 0 or s.epilogue.tile.n % 16 ~= 0 then
        fail("epilogue.tile.n", ("epilogue.tile.n: %d is no multiple of 16 that divides tile.n = %d"):format(
            s.epilogue.tile.n, s.tile.n), "a divisor of tile.n that is a multiple of 16")
    end
    if p.rows_per_warpgroup % s.epilogue.tile.m ~= 0 then
        fail("epilogue.tile.m", ("epilogue.tile.m: %d does not divide a warpgroup's %d rows"):format(
            s.epilogue.tile.m, p.rows_per_warpgroup), "64")
    end
    if s.swizzle_bits.d > 0 and row % (1 << s.swizzle_bits.d) ~= 0 then
        fail("swizzle_bits.d", ("swizzle_bits.d: a staging row of %d bytes is no multiple of the swizzle's %d"):format(
            row, 1 << s.swizzle_bits.d), "a smaller swizzle or a wider epilogue.tile.n")
    end
    if p.store.count % s.epilogue.buffers ~= 0 then
        fail("epilogue.buffers", ("epilogue.buffers: %d do not divide the %d stores of a warpgroup's tile"):format(
            s.epilogue.buffers, p.store.count), "a divisor of " .. p.store.count)
    end
end

wgmma["shared memory"] = function(s, p, fail)
    if p.smem_bytes > smem.LIMIT then
        fail("stages", ("shared memory: %d stages and the rest need %d bytes of the %d that a CTA may have"):format(
            s.stages, p.smem_bytes, smem.LIMIT), ("stages up to %d with these tiles"):format(
            math.max(largest_that_fits(s, p), 0)))
    end
end

local order = { "input types", "rows of a warpgroup", "accumulators", "producer and stages", "registers of the roles",
    "operand boxes", "cluster", "ping-pong", "staging", "shared memory" }

local list = {
    { "threads of the naive kernel", check = function(s, p, fail)
        if s.math == "fma" and (p.threads > 1024 or p.threads % 32 ~= 0) then
            fail("tile.m", ("tile: %d x %d threads are no whole warps of at most 1024 threads"):format(s.tile.m, s.tile.n),
                "tile.m * tile.n up to 1024, a multiple of 32")
        end
    end },
    { "grid of the naive kernel", check = function(s, p, fail)
        if s.math == "fma" and s.grid == "persistent" then
            fail("math", "math: fma computes a tile a CTA, but the grid is persistent", "math: wgmma, or a phase below 4")
        end
    end },
    { "fixed dimensions", check = function(s, p, fail)
        local n_multiple = s.epilogue.store == "tma" and (s.problem.d == "fp32" and 4 or 8) or 2
        for _, rule in ipairs { { "n", n_multiple }, { "k", 8 } } do
            local dim, multiple = rule[1], rule[2]
            local value = s.problem[dim]
            if s.math == "wgmma" and value ~= "dynamic" and value % multiple ~= 0 then
                fail("problem." .. dim, ("problem.%s: %d is no multiple of %d, as 16-byte strides want"):format(dim,
                    value, multiple), ("a multiple of %d"):format(multiple))
            end
        end
    end },
}

for _, name in ipairs(order) do
    list[#list + 1] = { name, check = function(s, p, fail)
        if s.math == "wgmma" then
            wgmma[name](s, p, fail)
        end
    end }
end

return list

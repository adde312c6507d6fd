-- archs.lua: the architectures, a row each: limits that plans and checks compute with, and what the hardware can.
-- CUDA programming guide, technical specifications per compute capability; runtime/ has its own table for C.

local archs = {
    sm_80 = { sms = 108, shared_memory = 166912, sm_shared_memory = 167936, sm_threads = 2048, sm_ctas = 32 },
    sm_86 = { sms = 84, shared_memory = 101376, sm_shared_memory = 102400, sm_threads = 1536, sm_ctas = 16 },
    sm_87 = { sms = 16, shared_memory = 166912, sm_shared_memory = 167936, sm_threads = 1536, sm_ctas = 16 },
    sm_89 = { sms = 142, shared_memory = 101376, sm_shared_memory = 102400, sm_threads = 1536, sm_ctas = 24 },
    sm_90 = {
        sms = 132, shared_memory = 232448, sm_shared_memory = 233472, sm_threads = 2048, sm_ctas = 32, cluster = 8,
        tma = true,
    },
    sm_90a = {
        sms = 132,                                                  -- of the product that defaults are tuned for
        shared_memory = 232448, sm_shared_memory = 233472,          -- bytes: of a CTA, of an SM
        sm_threads = 2048, sm_ctas = 32,
        cluster = 8,                                                -- CTAs of a cluster that every GPU has room for
        tma = true, mma = "wgmma",
    },
    sm_100a = {
        sms = 148, shared_memory = 232448, sm_shared_memory = 233472, sm_threads = 2048, sm_ctas = 32, cluster = 8,
        cluster_most = 16,                                          -- what a kernel may ask of GPUs that have the room
        tma = true, mma = "tcgen05", tensor_memory_columns = 512, tensor_i8 = true,
    },
    sm_103a = {
        sms = 148, shared_memory = 232448, sm_shared_memory = 233472, sm_threads = 2048, sm_ctas = 32, cluster = 8,
        cluster_most = 16, tma = true, mma = "tcgen05", tensor_memory_columns = 512,
    },
    sm_120a = {
        sms = 188, shared_memory = 101376, sm_shared_memory = 102400, sm_threads = 1536, sm_ctas = 24, tma = true,
    },
}

for name, arch in pairs(archs) do
    arch.name = name
    arch.registers = 65536                                          -- of an SM
    arch.threads, arch.warp = 1024, 32                              -- of a CTA, of a warp
    arch.reserved_shared_memory = 1024                              -- bytes of each CTA that the system takes
end

-- Registers a thread that a launch can give where [ctas] CTAs of [threads] threads share an SM.
function archs.launch_registers(name, threads, ctas)
    return math.min(archs[name].registers // (threads * (ctas or 1)) // 8 * 8, 255)
end

-- CTAs of that many threads, registers a thread and bytes of shared memory that an SM holds at once.
function archs.resident_ctas(name, threads, registers, shared_memory)
    local arch = archs[name]
    local warp_registers = (registers * arch.warp + 255) // 256 * 256
    return math.max(1, math.min(arch.sm_ctas, arch.sm_threads // threads,
        arch.registers // (warp_registers * threads // arch.warp),
        arch.sm_shared_memory // (shared_memory + arch.reserved_shared_memory)))
end

-- Bytes of shared memory that a CTA may have where [ctas] of them share an SM.
function archs.shared_memory(name, ctas)
    local arch = archs[name]
    return math.min(arch.shared_memory, arch.sm_shared_memory // (ctas or 1) - arch.reserved_shared_memory)
end

return setmetatable(archs, { __index = function(_, name)
    error(("'%s' is no row of archs.lua"):format(tostring(name)), 2)
end })

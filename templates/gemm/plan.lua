-- plan.lua: what follows from gemm's knobs: shared memory, barriers, registers, launch, and the template's names.
-- Pure functions of the resolved spec; the manifest, explain and the template read the same values.

local cuda = require "cuda"
local smem = require "smem"
local swizzle = require "swizzle"

local plan = {}

local element_bytes = { bf16 = 2, fp16 = 2, fp32 = 4 }
local cuda_types = { bf16 = "bf16", fp16 = "fp16", fp32 = "float" }
local pack_pairs = { bf16 = "cvt_rn_bf16x2", fp16 = "cvt_rn_f16x2", fp32 = "make_float2" }
local from_floats = { bf16 = "to_bf16", fp16 = "to_fp16", fp32 = "" }

-- registers a thread that the launch gives each of [threads] threads, from the 65536 of an SM
local function launch_registers(threads)
    return math.min(65536 // threads // 8 * 8, 255)
end

local function plan_naive(s)
    return {
        threads = s.tile.m * s.tile.n,
        smem = {}, smem_bytes = 0, barriers = {}, roles = { { name = "all", first_warp = 0,
            warps = s.tile.m * s.tile.n // 32 } },
        registers = { { role = "all", warps = s.tile.m * s.tile.n // 32,
            registers = launch_registers(s.tile.m * s.tile.n) } },
    }
end

-- operand A or B: its boxes, and where they and the K steps lie in a stage
local function plan_operand(bits, rows, tile_k, peers)
    local span = swizzle.span(bits)
    return {
        rows = rows, span = span, columns = span // 2,     -- columns: of 16-bit elements in a box
        chunks = tile_k * 2 // span, load_rows = rows // peers,
        stage_bytes = rows * tile_k * 2, descriptor = swizzle.descriptor_arguments(bits, rows),
    }
end

local function plan_store(s, blocks)
    local bytes = element_bytes[s.problem.d]
    local tile = s.epilogue.tile
    local span = s.swizzle_bits.d == 0 and tile.n * bytes or 1 << s.swizzle_bits.d
    return {
        m = tile.m, n = tile.n, span = span, columns = span // bytes,
        boxes = tile.n * bytes // span, buffer_bytes = tile.m * tile.n * bytes,
        count = blocks * 64 // tile.m * (s.tile.n // tile.n), -- by a warpgroup for its part of a tile
    }
end

local function barrier_plan(s, p)
    local stage_bytes = p.a.stage_bytes + p.b.stage_bytes
    if p.producers == 0 then
        return { { name = "full", count = 1, arrivals = 1, bytes = stage_bytes, who = "thread 0",
            doc = "the stage's bytes have landed" } }
    end
    local barriers = {
        { name = "full", count = s.stages, arrivals = 1, bytes = stage_bytes, who = "producer thread",
          doc = "the stage's bytes have landed" },
        { name = "empty", count = s.stages, arrivals = p.empty_arrivals, bytes = 0,
          who = p.cluster_size > 1 and "each warp that reads the stage, in every CTA that it is multicast to"
              or "each warp that reads the stage",
          doc = "the stage may be filled again" },
    }
    if p.pingpong then
        barriers[3] = { name = "turn", count = p.consumers, arrivals = 1, bytes = 0, who = "the other warpgroup",
            doc = "the tensor cores are this warpgroup's" }
    end
    return barriers
end

-- members in the order of the template's struct SharedMemory
local function smem_plan(s, p)
    local members = {
        { name = "a", bytes = s.stages * p.a.stage_bytes, align = 1024, doc = "tiles of A, a stage each" },
        { name = "b", bytes = s.stages * p.b.stage_bytes, align = 1024, doc = "tiles of B, a stage each" },
    }
    if p.store then
        members[#members + 1] = { name = "store", align = 1024, doc = "staging of D",
            bytes = p.consumers * s.epilogue.buffers * p.store.buffer_bytes }
    end
    for _, barrier in ipairs(p.barriers) do
        members[#members + 1] = { name = barrier.name, bytes = 8 * barrier.count, align = 8, doc = barrier.doc }
    end
    local laid_out, total = smem.layout(members)
    for _, member in ipairs(laid_out) do
        for _, barrier in ipairs(p.barriers) do
            barrier.offset = barrier.name == member.name and member.offset or barrier.offset
        end
    end
    return laid_out, total
end

local function role_plan(s, p)
    local consumer_warps = s.warps.consumer.count
    if p.producers == 0 then
        return { { name = "consumer", first_warp = 0, warps = consumer_warps } },
            { { role = "all", warps = consumer_warps, registers = launch_registers(p.threads) } }
    end
    return {
        { name = "consumer", first_warp = 0, warps = consumer_warps },
        { name = "producer", first_warp = consumer_warps, warps = 4 },
    }, {
        { role = "consumer", warps = consumer_warps, registers = s.warps.consumer.registers },
        { role = "producer", warps = 4, registers = s.warps.producer.registers },
    }
end

local function plan_wgmma(s)
    local p = {
        producers = s.warps.producer.count // 4, consumers = s.warps.consumer.count // 4,
        cluster_size = s.cluster.m * s.cluster.n, pingpong = s.schedule == "pingpong",
    }
    p.threads = (p.producers + p.consumers) * 128
    p.rows_per_warpgroup = p.pingpong and s.tile.m or s.tile.m // p.consumers
    p.blocks = p.rows_per_warpgroup // 64
    p.readers = p.pingpong and 4 or s.warps.consumer.count -- warps that read a stage
    p.empty_arrivals = p.readers * (s.cluster.m + s.cluster.n - 1)
    p.a = plan_operand(s.swizzle_bits.a, s.tile.m, s.tile.k, s.cluster.n)
    p.b = plan_operand(s.swizzle_bits.b, s.tile.n, s.tile.k, s.cluster.m)
    p.store = s.epilogue.store == "tma" and plan_store(s, p.blocks) or nil
    p.barriers = barrier_plan(s, p)
    p.smem, p.smem_bytes = smem_plan(s, p)
    p.roles, p.registers = role_plan(s, p)
    p.launch_registers = launch_registers(p.threads)
    return p
end

-- every parameter of the kernel once: its declaration and its manifest row
local function parameter_plan(s, p)
    local list = {}
    local function add(declaration, row)
        list[#list + 1] = { declaration = declaration, row = row }
    end
    local function tensor_map(name, rows, columns, bits)
        add("const __grid_constant__ TensorMap " .. name .. "_map",
            { kind = "tensor_map", tensor = name, box = { rows, columns }, swizzle_bytes = swizzle.bytes(bits) })
    end
    local function pointer(name, type, const)
        add((const and "const " or "") .. cuda_types[type] .. " *" .. name, { kind = "pointer", tensor = name })
    end
    local function stride(name)
        add("int64_t " .. name .. "_stride", { kind = "stride", tensor = name, axis = 0, type = "i64" })
    end
    if p.a then
        tensor_map("a", p.a.load_rows, p.a.columns, s.swizzle_bits.a)
        tensor_map("b", p.b.load_rows, p.b.columns, s.swizzle_bits.b)
    else
        pointer("a", s.problem.a, true)
        stride("a")
        pointer("b", s.problem.b, true)
        stride("b")
    end
    if p.store then
        tensor_map("d", p.store.m, p.store.columns, s.swizzle_bits.d)
    else
        pointer("d", s.problem.d, false)
        stride("d")
    end
    if p.bias then
        pointer("bias", s.problem.d, true)
    end
    for _, dim in ipairs { "m", "n", "k" } do
        if s.problem[dim] == "dynamic" then
            add("int " .. dim, { kind = "dim", dim = dim, type = "i32" })
        end
    end
    return list
end

-- What each dimension must be a multiple of, and why. TMA wants rows of whole 16 bytes: of A and B, and of D where
-- it stores them; the direct store writes pairs of columns.
local function multiples(s)
    if s.math == "fma" then
        return { m = 1, n = 1, k = 1 }, {}
    end
    local tma = s.epilogue.store == "tma"
    return { m = 1, n = tma and (s.problem.d == "fp32" and 4 or 8) or 2, k = 8 },
        { n = tma and "rows of D in whole 16 bytes, for TMA" or "pairs of columns, for the direct store",
          k = "rows of A and B in whole 16 bytes, for TMA" }
end

function plan.plan(s)
    local p = s.math == "fma" and plan_naive(s) or plan_wgmma(s)
    p.multiples, p.why_multiples = multiples(s)
    p.bias = false
    for _, op in ipairs(s.epilogue.ops) do
        p.bias = p.bias or op == "bias"
    end
    p.parameters = parameter_plan(s, p)
    p.launch = {
        block = { p.threads, 1, 1 }, cluster = { p.cluster_size or 1, 1, 1 }, dynamic_smem = p.smem_bytes,
        grid = s.grid == "persistent" and "persistent: min(tiles, SMs), in whole clusters"
            or "ceil(n / tile.n) x ceil(m / tile.m)",
    }
    return p
end

-- The section of explain on how D is written. Sectors of 32 bytes are counted for one store of a warp: 8 rows of 8
-- columns. Where rows begin anywhere, such a piece crosses into one more sector in 3 of 8 cases (fp32: in 3 of 4).
function plan.explain(s, p)
    local rows
    if s.math == "fma" then
        return {}
    elseif p.store then
        rows = { { "by TMA", ("boxes of %d x %d, in whole sectors"):format(s.epilogue.tile.m, s.epilogue.tile.n) },
            { "N", ("a multiple of %d; others need epilogue.store: direct"):format(p.multiples.n) } }
    else
        local wide = s.problem.d == "fp32"
        rows = { { "from registers", "a warp writes pieces of 8 columns in 8 rows" },
            { "N of whole sectors", ("a multiple of %d: 8 sectors a store, each %s"):format(wide and 8 or 16,
                wide and "whole" or "half written; the next store has the other half") },
            { "any other even N", ("about %d sectors a store, %s written in part"):format(wide and 14 or 11,
                wide and "most" or "all") } }
    end
    return { { title = "stores of D", rows = rows } }
end

-- CUDA expression for the descriptor units (16 bytes) from the start of a stage to K step i
local function k_step(operand)
    local per_chunk = operand.span // 32
    if operand.chunks == 1 then
        return "i * 2"
    elseif per_chunk <= 1 then
        return ("i * %d"):format(operand.rows * operand.span // 16 * (operand.span == 16 and 2 or 1))
    end
    return ("i / %d * %d + i %% %d * 2"):format(per_chunk, operand.rows * operand.span // 16, per_chunk)
end

-- CUDA text of the TMA loads that fill one stage's share of [operand]: a box a swizzle span
local function loads(name, operand, peers, slice_index)
    return function(destination, coordinate, barrier)
        local lines = {}
        for chunk = 0, operand.chunks - 1 do
            local target = destination .. cuda.plus(chunk * operand.rows * operand.columns)
            local x = "k_tile * TILE_K" .. cuda.plus(chunk * operand.columns)
            if peers > 1 then
                lines[#lines + 1] = cuda.list("tma_load_2d_multicast", {
                    ("%s + %s * %d"):format(target, slice_index, operand.load_rows * operand.columns),
                    "&" .. name .. "_map", x, ("%s + %s * %d"):format(coordinate, slice_index, operand.load_rows),
                    barrier, name .. "_ctas" }, ";", 20)
            else
                lines[#lines + 1] = cuda.list("tma_load_2d", { target, "&" .. name .. "_map", x, coordinate, barrier },
                    ";", 20)
            end
        end
        return table.concat(lines, "\n")
    end
end

-- declarations of the dimensions that the spec fixes
local function fixed_dims(s)
    local lines = {}
    for _, dim in ipairs { "m", "n", "k" } do
        if s.problem[dim] ~= "dynamic" then
            lines[#lines + 1] = ("constexpr int %s = %d;"):format(dim, s.problem[dim])
        end
    end
    return table.concat(lines, "\n")
end

-- the kernel's head, up to its brace
local function kernel_signature(s, p)
    local list = {}
    for i, parameter in ipairs(p.parameters) do
        list[i] = parameter.declaration
    end
    return cuda.list(s.name, list, " {")
end

-- store_tile: its head, and the call from a consumer whose part of the tile begins at [row]
local function store_signature(s, p, env)
    local parameters, arguments = { "float (&sums)" .. env.sums_shape }, { "sums" }
    local function add(declaration, argument)
        parameters[#parameters + 1] = declaration
        arguments[#arguments + 1] = argument
    end
    if p.store then
        add("const TensorMap *d_map", "&d_map")
        add(env.d_type .. " (*staging)[STORE_M * STORE_N]", "smem.store[warpgroup]")
    else
        add(env.d_type .. " *d", "d")
        add("int64_t d_stride", "d_stride")
        add("int m", "m")
    end
    if p.bias then
        add("const " .. env.d_type .. " *bias", "bias")
    end
    if p.bias or not p.store then
        add("int n", "n")
    end
    local shared = p.consumers > 1 and not p.pingpong
    add("int first_row", shared and "row + warpgroup * " .. p.rows_per_warpgroup or "row")
    add("int first_column", "column")
    if p.store then
        add("int barrier", p.consumers > 1 and "1 + warpgroup" or "1")
    end
    env.store_signature = cuda.list("__device__ __forceinline__ void store_tile", parameters, " {")
    env.store_tile = cuda.list("store_tile", arguments, ";", 12)
end

-- the sums of a thread: one row of 64 x tile.n a block; the first index goes where there is one block
local function sums_env(p, env)
    env.sums_shape = p.blocks > 1 and ("[%d][TILE_N / 2]"):format(p.blocks) or "[TILE_N / 2]"
    env.sums_of = function(block)
        return p.blocks > 1 and "sums[" .. block .. "]" or "sums"
    end
end

local function common_env(s, p)
    local env = { store_n = 0 }
    for _, name in ipairs { "name", "tile", "stages", "cluster", "warps", "raster", "epilogue", "problem",
        "mma_in_flight" } do
        env[name] = s[name]
    end
    env.plus = cuda.plus
    env.bias = p.bias
    env.dims_fixed = fixed_dims(s)
    env.kernel_signature = kernel_signature(s, p)
    env.input_type, env.d_type = cuda_types[s.problem.a], cuda_types[s.problem.d]
    env.pack_pair, env.from_float = pack_pairs[s.problem.d], from_floats[s.problem.d]
    env.smem_bytes = p.smem_bytes
    return env
end

local function wgmma_env(s, p, env)
    local suffix = s.problem.a == "fp16" and "f16" or "bf16"
    env.producers, env.consumers, env.blocks = p.producers, p.consumers, p.blocks
    env.cluster_size, env.clustered = p.cluster_size, p.cluster_size > 1
    env.pingpong, env.persistent, env.tma_store = p.pingpong, s.grid == "persistent", p.store ~= nil
    env.empty_arrivals = p.empty_arrivals
    env.wgmma = ("wgmma_m64n%dk16_%s"):format(s.tile.n, suffix)
    env.a_layout, env.b_layout = p.a.descriptor, p.b.descriptor
    env.a_stage_units, env.b_stage_units = p.a.stage_bytes // 16, p.b.stage_bytes // 16
    env.a_block_units = 64 * p.a.span // 16             -- 64 rows further down
    env.a_k_step, env.b_k_step = k_step(p.a), k_step(p.b)
    env.load_a = loads("a", p.a, s.cluster.n, "cta_n")
    env.load_b = loads("b", p.b, s.cluster.m, "cta_m")
    env.cluster_rows = s.cluster.m > 1 and "TILE_M * CLUSTER_M" or "TILE_M"      -- of D, in one step of the tile order
    env.cluster_columns = s.cluster.n > 1 and "TILE_N * CLUSTER_N" or "TILE_N"
    sums_env(p, env)
    store_signature(s, p, env)
    env.release_arguments = s.cluster.m > 1 and s.cluster.n > 1 and ", cta_m, cta_n" or ""
end

local function store_env(s, p, env)
    env.store_m, env.store_n, env.store_span = p.store.m, p.store.n, p.store.span
    env.store_boxes, env.store_columns = p.store.boxes, p.store.columns
    env.store_swizzle = s.swizzle_bits.d
    env.swizzle_of_row = swizzle.of_row(s.swizzle_bits.d)
end

-- CUDA expressions: bit masks of the CTAs, of rank cta_m + CLUSTER_M * cta_n, that receive a multicast box
local function multicast_env(s, env)
    local column = 0
    for j = 0, s.cluster.n - 1 do
        column = column | 1 << (s.cluster.m * j)
    end
    env.multicast_a = ("0x%x"):format(column) .. (s.cluster.m > 1 and " << cta_m" or "")
    env.multicast_b = ("0x%x"):format((1 << s.cluster.m) - 1)
        .. (s.cluster.n > 1 and " << (CLUSTER_M * cta_n)" or "")
end

-- the template's globals
function plan.env(s, p)
    local env = common_env(s, p)
    if p.a then
        wgmma_env(s, p, env)
        multicast_env(s, env)
    end
    if p.store then
        store_env(s, p, env)
    end
    return env
end

return plan

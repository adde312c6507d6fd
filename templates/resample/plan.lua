-- plan.lua: what follows from resample's knobs: vectors, shared memory, launch, and the template's names.
-- Pure functions of the resolved spec; the manifest, explain and the templates read the same values.

local cuda = require "cuda"
local smem = require "smem"

local plan = {}

local element_bytes = { bf16 = 2, fp16 = 2, fp32 = 4 }
local cuda_types = { bf16 = "bf16", fp16 = "fp16", fp32 = "float" }
local from_floats = { bf16 = "to_bf16", fp16 = "to_fp16", fp32 = "" }
local pack_pairs = { bf16 = "cvt_rn_bf16x2", fp16 = "cvt_rn_f16x2" }
local vector_types = {                                     -- by bytes of an element, then elements
    [2] = { [2] = "uint32_t", [4] = "uint2", [8] = "uint4" },
    [4] = { [2] = "float2", [4] = "float4" },
}
local dims = { "b", "s", "t", "d" }

plan.element_bytes = element_bytes

-- default of `vector`: 16 bytes, or what divides a fixed d
function plan.widest_vector(s)
    local elements = s.mapping == "element" and 1 or 16 // element_bytes[s.problem.dtype]
    while s.problem.d ~= "dynamic" and s.problem.d % elements ~= 0 do
        elements = elements // 2
    end
    return elements
end

local function row_bytes(s)
    return s.problem.d ~= "dynamic" and s.problem.d * element_bytes[s.problem.dtype] or nil
end

local function batch_bytes(s)
    return row_bytes(s) and s.problem.s ~= "dynamic" and s.problem.s * row_bytes(s) or nil
end

local function staging_bytes(s)
    return s.mapping == "tile" and s.store == "bulk" and s.threads * s.store_buffers * s.unroll * s.vector
        * element_bytes[s.problem.dtype] or 0
end

-- default of `window`: a batch where its size is known, but no more than lets blocks_per_sm CTAs share an SM
function plan.default_window(s)
    local others = s.threads // 32 * s.targets_per_warp * 8 + s.cached_times * 4 + staging_bytes(s)
    local share = 220 // s.blocks_per_sm - (others + 1023) // 1024 - 1
    local batch = batch_bytes(s) and (batch_bytes(s) + 1023) // 1024 or share
    return math.max(math.min(batch, share), 1)
end

-- times that shared memory holds; 0: searches read global memory
local function times_held(s)
    if s.problem.s ~= "dynamic" then
        return s.problem.s <= s.cached_times and s.problem.s or 0
    end
    return s.cached_times
end

local function needs(s, p, dim)
    if dim == "b" then
        return p.persistent or s.mapping == "element"
    end
    return true
end

local function tile_members(s, p)
    local members = {}
    local function add(name, bytes, align, doc)
        members[#members + 1] = { name = name, bytes = bytes, align = align, doc = doc }
    end
    if p.bulk_load then
        add("rows", p.window_bytes, 128, "source rows that the CTA's targets lie between")
    elseif s.load == "cp_async" then
        add("ring", s.stages * 2 * s.threads * p.vector_bytes, 16, "vectors on their way, a thread's own")
    end
    if p.bulk_store then
        add("staging", staging_bytes(s), 128, "output on its way")
    end
    add("positions", p.targets * 8, 8, "row and weight of each target")
    if p.times > 0 then
        add("times", p.times * 4, 4, "source times of the batch")
    end
    if p.bulk_load then
        if p.whole_batch ~= "always" then
            add("first_row", 4, 4, "first row of the window")
            add("last_row", 4, 4, "last row of the window")
        end
        add("full", 8, 8, "the rows have landed")
    end
    return members
end

local function smem_plan(s, p)
    if s.mapping == "tile" then
        return smem.layout(tile_members(s, p))
    elseif s.mapping == "lanes" and p.times > 0 then
        return smem.layout { { name = "times", bytes = p.times * 4, align = 4, doc = "source times of the batch" } }
    end
    return {}, 0
end

local function parameter_plan(s, p)
    local type = cuda_types[s.problem.dtype]
    local list = {}
    local function add(declaration, row)
        list[#list + 1] = { declaration = declaration, row = row }
    end
    add("const " .. type .. " *__restrict__ source", { kind = "pointer", tensor = "source" })
    add("const float *__restrict__ source_times", { kind = "pointer", tensor = "source_times" })
    add("const float *__restrict__ target_times", { kind = "pointer", tensor = "target_times" })
    add(type .. " *__restrict__ out", { kind = "pointer", tensor = "out" })
    for _, dim in ipairs(dims) do
        if s.problem[dim] == "dynamic" and needs(s, p, dim) then
            add("int " .. dim, { kind = "dim", dim = dim, type = "i32" })
        end
    end
    return list
end

-- the grid: { dim, by } a factor
local function grid_plan(s, p)
    if s.mapping == "element" then
        return { { "b", 1 }, { "t", p.targets }, { "d", 32 } }, "b x ceil(t / " .. p.targets .. ") x ceil(d / 32)"
    end
    local tiles = { { "b", 1 }, { "t", p.targets } }
    if p.persistent then
        return tiles, ("persistent: min(tiles, SMs * %d)"):format(s.blocks_per_sm)
    end
    return tiles, ("b x ceil(t / %d)"):format(p.targets)
end

-- does the window hold every row of a batch? "always" and "never" are known at generation
local function whole_batch(s, p)
    if not batch_bytes(s) then
        return "maybe"
    end
    return batch_bytes(s) <= p.window_bytes and "always" or "never"
end

-- targets of a CTA
local function targets(s, p)
    if s.mapping == "element" or s.mapping == "warp" then
        return p.warps
    end
    return p.warps * s.targets_per_warp
end

function plan.plan(s)
    local p = { warps = s.threads // 32, bytes = element_bytes[s.problem.dtype] }
    p.vector_bytes = s.vector * p.bytes
    p.persistent = s.mapping ~= "element" and s.schedule == "persistent"
    p.targets = targets(s, p)
    p.times = (s.mapping == "lanes" or s.mapping == "tile") and times_held(s) or 0
    p.bulk_load = s.mapping == "tile" and s.load == "tma_bulk"
    p.bulk_store = s.mapping == "tile" and s.store == "bulk"
    p.window_bytes = p.bulk_load and s.window * 1024 or 0
    p.whole_batch = p.bulk_load and whole_batch(s, p)
    -- whether a kernel for any d carries a loop for the d that its vectors do not divide
    p.scalar_path = s.problem.d == "dynamic" and s.vector > 1 and not p.bulk_store
        and not (s.mapping == "tile" and s.load == "cp_async")
    p.smem, p.smem_bytes = smem_plan(s, p)
    p.barriers = p.bulk_load and { { name = "full", offset = p.smem[#p.smem].offset, count = 1, arrivals = 1, bytes = 0,
        who = "thread 0", doc = "the rows have landed" } } or {}
    p.roles = { { name = "all", first_warp = 0, warps = p.warps } }
    p.registers = { { role = "all", warps = p.warps,
        registers = math.min(65536 // (s.threads * (s.blocks_per_sm or 1)) // 8 * 8, 255) } }
    p.parameters = parameter_plan(s, p)
    local grid_text
    p.grid, grid_text = grid_plan(s, p)
    p.launch = { block = { s.threads, 1, 1 }, cluster = { 1, 1, 1 }, dynamic_smem = p.smem_bytes, grid = grid_text }
    return p
end

-- declarations of the dimensions that the spec fixes
local function fixed_dims(s, p)
    local list = {}
    for _, dim in ipairs(dims) do
        if s.problem[dim] ~= "dynamic" and needs(s, p, dim) then
            list[#list + 1] = ("%s = %d"):format(dim, s.problem[dim])
        end
    end
    return #list > 0 and "constexpr int " .. table.concat(list, ", ") .. ";" or ""
end

-- those of [names] that are no constants, as parameters and as arguments
local function dynamic(s, names, prefix)
    local list = {}
    for _, name in ipairs(names) do
        if s.problem[name] == "dynamic" then
            list[#list + 1] = prefix .. name
        end
    end
    return list
end

local function kernel_signature(s, p)
    local list = {}
    for i, parameter in ipairs(p.parameters) do
        list[i] = parameter.declaration
    end
    return cuda.list(s.name, list, " {")
end

-- The function that writes rows: its declaration and, as a function of type, arguments and indentation, its call.
local function writer(s, name, items, dim_names)
    local function list(head, own, prefix, tail, indent)
        local all = table.move(own, 1, #own, 1, {})
        return cuda.list(head, table.move(dynamic(s, dim_names, prefix), 1, #dim_names, #all + 1, all), tail, indent)
    end
    return list("__device__ __forceinline__ void " .. name, items, "int ", " {"), function(vector, arguments, indent)
        return list(("%s<%s>"):format(name, vector), arguments, "", ";", indent)
    end
end

-- CUDA text: array[index] = value, by the spec's kind of store
local function store(s)
    return function(array, index, value)
        local form = s.store_hint == "streaming" and "store(%s + %s, %s);" or "%s[%s] = %s;"
        return form:format(array, index, value)
    end
end

-- Offsets in vectors: 32 bits where the fixed dimensions show that they suffice.
local function index_env(s, p, env)
    local widest = math.max(p.targets or 0, s.problem.s ~= "dynamic" and s.problem.s or math.huge)
    env.wide_index = s.problem.d == "dynamic" or widest * s.problem.d >= 1 << 30
    env.index = env.wide_index and "int64_t" or "int"
    env.total = env.wide_index and "static_cast<int64_t>(count) * vectors" or "count * vectors"
end

local function writer_env(s, p, env)
    local input, output = "const " .. env.type .. " *", env.type .. " *"
    if s.mapping == "warp" then
        env.write_row, env.call = writer(s, "write_row", { input .. "from", input .. "to", "float weight",
            output .. "out" }, { "d" })
    elseif s.mapping == "lanes" then
        env.write_rows, env.call = writer(s, "write_rows", { input .. "rows", "Position position", "int count",
            output .. "out" }, { "s", "d" })
    elseif s.mapping == "tile" then
        local items = { "SharedMemory &smem", input .. "rows", "int count", output .. "out" }
        if p.whole_batch and p.whole_batch ~= "always" then
            table.insert(items, 3, "int first_row")
        end
        env.write_rows, env.call = writer(s, "write_rows", items, { "s", "d" })
    end
end

-- the template's globals
function plan.env(s, p)
    local env = {
        name = s.name, threads = s.threads, vector = s.vector, unroll = s.unroll, stages = s.stages, window = s.window,
        targets_per_warp = s.targets_per_warp, blocks_per_sm = s.blocks_per_sm, store_buffers = s.store_buffers,
        mapping = s.mapping, load = s.load or "ldg", reuse = s.reuse, streaming = s.store_hint == "streaming",
        targets = p.targets, warps = p.warps, persistent = p.persistent, times = p.times,
        scalar_path = p.scalar_path, bulk_load = p.bulk_load, bulk_store = p.bulk_store,
        window_bytes = p.window_bytes, whole_batch = p.whole_batch, smem_bytes = p.smem_bytes,
        times_may_exceed = s.problem.s == "dynamic",
    }
    env.type, env.element_bytes = cuda_types[s.problem.dtype], p.bytes
    env.vector_type = s.vector == 1 and env.type or vector_types[p.bytes][s.vector]
    env.from_float, env.pack_pair = from_floats[s.problem.dtype], pack_pairs[s.problem.dtype]
    env.low_half, env.high_half = s.problem.dtype .. "_low_to_float", s.problem.dtype .. "_high_to_float"
    env.dims_fixed = fixed_dims(s, p)
    env.kernel_signature = kernel_signature(s, p)
    env.store = store(s)
    env.window_limit = p.scalar_path and "window" or "WINDOW"
    env.shared_times = s.mapping == "tile" and "smem.times" or "shared_times"
    index_env(s, p, env)
    writer_env(s, p, env)
    return env
end

return plan

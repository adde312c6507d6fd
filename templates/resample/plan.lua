-- plan.lua: what follows from resample's knobs: vectors, shared memory, launch.
-- Pure functions of the resolved spec; the manifest, explain and the templates read the same values.

local archs = require "archs"
local dtypes = require "dtypes"
local parameters = require "parameters"
local smem = require "smem"
local vectors = require "vectors"

local plan = {}

-- default of `vector`: 16 bytes, or what divides a fixed d
function plan.widest_vector(s)
    local elements = s.mapping == "element" and 1 or 16 // dtypes.bytes(s.problem.dtype)
    while s.problem.d ~= "dynamic" and s.problem.d % elements ~= 0 do
        elements = elements // 2
    end
    return elements
end

local function row_bytes(s)
    return s.problem.d ~= "dynamic" and dtypes.bytes(s.problem.dtype, s.problem.d) or nil
end

local function batch_bytes(s)
    return row_bytes(s) and s.problem.s ~= "dynamic" and s.problem.s * row_bytes(s) or nil
end

local function staging_bytes(s)
    local vectors_of_thread = s.mapping == "tile" and s.store == "bulk" and s.store_buffers * s.unroll or 0
    return dtypes.bytes(s.problem.dtype, s.threads * vectors_of_thread * s.vector)
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

-- The tensors as the manifest has them. A kernel for any d looks at the alignment itself, and takes elements one by one
-- where it is too small.
local function tensor_list(s, p)
    local dtype, alignment = s.problem.dtype, p.scalar_path and p.bytes or p.vector_bytes
    local function times(name, dim)
        return { name = name, dtype = "fp32", dims = { "b", dim }, access = "read", alignment = 4,
            stride_bytes_multiple = 4 }
    end
    return {
        { name = "source", dtype = dtype, dims = { "b", "s", "d" }, access = "read", alignment = alignment,
          stride_bytes_multiple = p.bytes },
        times("source_times", "s"), times("target_times", "t"),
        { name = "out", dtype = dtype, dims = { "b", "t", "d" }, access = "write", alignment = alignment,
          stride_bytes_multiple = p.bytes },
    }
end

local function parameter_plan(s, p)
    local rows = {}
    for i, tensor in ipairs(p.tensors) do
        rows[i] = { kind = "pointer", tensor = tensor.name, restrict = true }
    end
    local sizes = parameters.dims(s.problem, p.dims)
    return parameters.list(p.tensors, table.move(sizes, 1, #sizes, #rows + 1, rows))
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

-- Do offsets in vectors need 64 bits? Not where the fixed dimensions show it.
local function wide_index(s, p)
    local widest = math.max(p.targets, s.problem.s ~= "dynamic" and s.problem.s or math.huge)
    return s.problem.d == "dynamic" or widest * s.problem.d >= 1 << 30
end

function plan.plan(s)
    local p = { warps = s.threads // 32, element = dtypes[s.problem.dtype], bytes = dtypes.bytes(s.problem.dtype) }
    p.vector_bytes = s.vector * p.bytes
    p.persistent = s.mapping ~= "element" and s.schedule == "persistent"
    p.targets = targets(s, p)
    p.times = (s.mapping == "lanes" or s.mapping == "tile") and times_held(s) or 0
    p.bulk_load = s.mapping == "tile" and s.load == "tma_bulk"
    p.bulk_store = s.mapping == "tile" and s.store == "bulk"
    p.streaming = s.store_hint == "streaming"
    p.window_bytes = p.bulk_load and s.window * 1024 or 0
    p.whole_batch = p.bulk_load and whole_batch(s, p)
    p.windowed = p.bulk_load and p.whole_batch ~= "always"
    p.wide_index = wide_index(s, p)
    -- whether a kernel for any d carries a loop for the d that its vectors do not divide
    p.scalar_path = s.problem.d == "dynamic" and s.vector > 1 and not p.bulk_store
        and not (s.mapping == "tile" and s.load == "cp_async")
    p.scalar = s.vector == 1 or p.scalar_path                  -- it moves single elements, perhaps beside vectors
    p.vector_type = p.vector_bytes <= 16 and vectors.type_of(p.element, s.vector)
    p.smem, p.smem_bytes = smem_plan(s, p)
    p.barriers = p.bulk_load and { { name = "full", offset = p.smem[#p.smem].offset, count = 1, arrivals = 1, bytes = 0,
        who = "thread 0", doc = "the rows have landed" } } or {}
    p.roles = { { name = "all", first_warp = 0, warps = p.warps } }
    p.registers = { { role = "all", warps = p.warps,
        registers = archs.launch_registers(s.arch, s.threads, s.blocks_per_sm) } }
    p.tensors = tensor_list(s, p)
    p.dims = p.persistent and { "b", "s", "t", "d" } or { "s", "t", "d" }   -- that the kernel reads
    p.parameters = parameter_plan(s, p)
    local grid_text
    p.grid, grid_text = grid_plan(s, p)
    p.launch = { block = { s.threads, 1, 1 }, cluster = { 1, 1, 1 }, grid = grid_text }
    return p
end

return plan

-- plan.lua: what follows from deform_attn's knobs: levels, lanes, chunks, shared memory, launch.
-- Pure functions of the resolved spec; the manifest, explain and the templates read the same values.

local archs = require "archs"
local dtypes = require "dtypes"
local integers = require "integers"
local levels = require "levels"
local parameters = require "parameters"
local smem = require "smem"
local vectors = require "vectors"

local CORNERS = 4                                                       -- pixels around a point

local plan = {}

-- largest power of two up to [limit] that divides [n]
local function power_of_two(n, limit)
    local power = 1
    while power * 2 <= limit and n % (power * 2) == 0 do
        power = power * 2
    end
    return power
end

local function head_vectors(s)
    return dtypes.bytes(s.problem.value, s.problem.channels) // 16
end

-- default of `vector`: 16 bytes
function plan.widest_vector(s)
    return 16 // dtypes.bytes(s.problem.value)
end

-- default of `lanes`: a vector a lane
function plan.default_lanes(s)
    return power_of_two(head_vectors(s), 32)
end

-- points whose locations one 16-byte load brings
local function chunk_of(s)
    return integers.common_divisor(s.problem.points, 8 // dtypes.bytes(s.problem.dtype))
end

-- default of `unroll`: two points of a gather are eight loads
function plan.default_unroll(s)
    if s.mapping == "plain" then
        return 4
    elseif s.math == "mma" then
        return s.problem.points % 4 == 0 and 4 or 2
    end
    local share = s.lanes and s.lanes * chunk_of(s) or 16
    return math.min(power_of_two(integers.common_divisor(s.problem.points, share), 2), 2)
end

-- default of `resident_levels`: the last levels that fit in 96 KiB, which leave L1 more than half of its memory
function plan.default_resident(s)
    if s.mapping ~= "gather" or s.schedule ~= "persistent" then
        return 0
    end
    local list = levels.layout(s)
    local row = s.problem.heads * s.problem.channels * dtypes.bytes(s.problem.value)
    local bytes, count = 0, 0
    for i = #list, 1, -1 do
        bytes = bytes + list[i].pitch * list[i].rows * row
        if bytes > 96 * 1024 or count == 8 then
            break
        end
        count = count + 1
    end
    return count
end

local function resident_plan(s, p)
    p.resident = s.mapping == "gather" and s.resident_levels or 0
    p.resident_first = p.pixels
    if p.resident > 0 then
        p.resident_first = p.levels[math.max(#p.levels - p.resident + 1, 1)].first
    end
    p.resident_bytes = (p.pixels - p.resident_first) * p.pixel_bytes
end

local function is_narrow(s)
    for _, size in ipairs(s.problem.levels) do
        if not s.problem.padded and (size[1] == 1 or size[2] == 1) then
            return true
        end
    end
    return false
end

-- Of an axis of [size] pixels, counted from the border's: position = saturate(location * scale + offset) * extent. An
-- [open] one ends a bit of fp32 before its last pixel, where boxes that begin there would leave the level.
local function axis(size, open)
    return { scale = size / (size + 1), offset = 0.5 / (size + 1), extent = (size + 1) * (open and 1 - 0x1p-24 or 1),
        last_box = math.max(size - 2, 0), neighbours = size > 1 and 1 or 0 }
end

-- What locate() needs of each level. [level].start counts from the first resident pixel where the level is resident.
local function level_plan(s, p)
    for i, level in ipairs(p.levels) do
        local resident = p.resident > 0 and i > #p.levels - p.resident
        level.start = level.first - (resident and p.resident_first or 0)
        level.last = level.start + (s.problem.padded and level.height * level.pitch + level.width or 0)
        level.x, level.y = axis(level.width, p.open), axis(level.height, p.open)
    end
end

-- How each level's stored pixels are cut into strips: [count] of [width] columns, the last of what is left. Levels
-- behind the last that is cut are not there; false where none is.
local function strip_plan(p)
    local list, cut = {}, 0
    for i, level in ipairs(p.levels) do
        local count = math.max((level.pitch + 16) // 32, 1)
        local width = (level.pitch + count - 1) // count
        list[i] = { level = level, stop = level.first + level.pitch * level.rows, count = count, width = width }
        cut = count > 1 and i or cut
    end
    return cut > 0 and table.move(list, 1, cut, 1, {})
end

-- The levels of a lane's chunks: for shares [first] to [last] a list of { level, lanes }, in whose order the first lane
-- numbers below [lanes] are of that level; the last entry is of the others.
local function share_level_plan(s, p)
    local list = {}
    for share = 0, p.shares - 1 do
        local parts = { first = share, last = share }
        for sub = 0, p.lanes - 1 do
            local level = math.min(share * p.lanes + sub, p.chunks - 1) * p.chunk // s.problem.points
            if sub == 0 or parts[#parts].level ~= level then
                parts[#parts + 1] = { level = level }
            end
            parts[#parts].lanes = sub < p.lanes - 1 and sub + 1 or nil
        end
        local before = list[#list]
        if before and #before == 1 and #parts == 1 and before[1].level == parts[1].level then
            before.last = share
        else
            list[#list + 1] = parts
        end
    end
    return list
end

local function lane_plan(s, p)
    p.lanes, p.chunk, p.passes = s.lanes, chunk_of(s), 1
    if p.mma then
        p.lanes, p.chunk = 4, 2                                         -- that locate
    else
        p.passes = p.vectors // p.lanes
    end
    p.items = 32 // p.lanes
    p.chunks = p.points_of_item // p.chunk
    p.shares = (p.chunks + p.lanes - 1) // p.lanes
    -- sizeof(Share): the locations of its chunks, then their weights, aligned as a vector of locations is
    local vector = 2 * p.chunk * p.bytes
    p.share_levels = share_level_plan(s, p)
    p.level_by_share, p.level_by_lane = #p.share_levels > 1, false
    for _, parts in ipairs(p.share_levels) do
        p.level_by_lane = p.level_by_lane or #parts > 1
    end
    p.share_bytes = (p.shares * 3 + 1) // 2 * vector
    p.location_vector = vectors.of_bytes(2 * p.chunk * p.bytes)
    p.weight_vector = vectors.of_bytes(p.chunk * p.bytes)
    -- two items beside each other fill the 128 bytes of a wavefront only if they read opposite halves
    p.banks = s.lanes == 4 and (s.problem.heads % 2 == 1 or p.paired) and p.passes == 1 and not p.narrow
    local largest = math.max(p.resident > 0 and p.resident_first or p.pixels, p.pixels - p.resident_first)
    p.compact = p.packed_math and s.problem.padded and largest <= 65536
    p.word_count = p.compact and 2 or p.packed_math and 3 or 5
    -- records alternate by halves, resident pixels by columns: decode() must know which it is for
    p.both_layouts = p.paired and p.banks and p.resident > 0
    p.strips = s.query_order == "strips" and strip_plan(p)
end

-- warps of each role, and what a stage of the ring holds
local function roles_plan(s, p)
    p.producers = s.warps.producer
    p.consumers = p.warps - p.producers
    p.lanes = s.lanes
    p.prefetches_descriptor = s.load == "tma" and s.descriptor_prefetch
    p.slice = s.queries_per_warp * s.problem.heads
    p.item_passes = (p.slice * p.lanes + 31) // 32
    p.slice_points = p.slice * s.problem.points
    p.tile_items = s.queries_per_block * s.problem.heads
    p.row_bytes = 2 * p.head_bytes
    if s.load == "tma" then
        p.row_bytes = (p.row_bytes + 127) // 128 * 128              -- where a box may land
    end
    local barriers = s.stages * (s.barrier_scope == "warp" and p.consumers or 1)
    -- arrivals for one consumer: of each lane of its producer, and of that lane's copies
    local lanes = s.load == "cp_async" and 64 or 32
    p.full_arrivals = lanes * (s.barrier_scope == "warp" and 1 or p.consumers)
    p.barriers = {
        { name = "full", count = barriers, arrivals = p.full_arrivals, bytes = s.load == "tma"
            and p.slice_points * 4 * p.head_bytes * (s.barrier_scope == "warp" and 1 or p.consumers) or 0,
          who = "each lane of the producer", doc = "the level's pixels have landed" },
        { name = "empty", count = barriers, arrivals = s.barrier_scope == "warp" and 1 or p.consumers, bytes = 0,
          who = "a lane of each consumer", doc = "they have been summed" },
    }
end

local function roles_members(s, p)
    local members, slots = {}, s.stages * p.consumers * p.slice_points
    local function add(name, bytes, align, doc)
        members[#members + 1] = { name = name, bytes = bytes, align = align, doc = doc }
    end
    add("corners", slots * 2 * p.row_bytes, 128, "two rows of two pixels for each point of a stage")
    if s.metadata == "smem" then
        add("weights", slots * 16, 16, "four weights for each point of a stage")
    end
    if s.load ~= "tma" then
        add("pixels", p.producers * p.slice_points * 4, 4, "where a producer's points begin")
    end
    for _, barrier in ipairs(p.barriers) do
        add(barrier.name, 8 * barrier.count, 8, barrier.doc)
    end
    return members
end

local function smem_plan(s, p)
    if s.mapping == "roles" then
        local members, total = smem.layout(roles_members(s, p))
        for i, barrier in ipairs(p.barriers) do
            barrier.offset = members[#members - #p.barriers + i].offset
        end
        return members, total
    end
    local members = {}
    if p.resident > 0 then
        members[1] = { name = "resident", bytes = p.resident_bytes, align = 128, doc = "the last levels of the batch" }
    end
    if p.mma then
        -- sizeof(Located) for each warp: of a point a pixel and a half for each corner, and what keeps items apart
        p.located_bytes = p.warps * p.items * p.lanes * (p.chunk * (4 + 2 * CORNERS) + 4)
        members[#members + 1] = { name = "located", bytes = p.located_bytes, align = 16,
            doc = "what each warp's lanes tell each other of their points" }
    end
    if s.mapping == "gather" and s.prefetch == "cp_async" then
        members[#members + 1] = { name = "shares", bytes = s.threads * p.share_bytes, align = 16,
            doc = "each thread's next locations and weights" }
    end
    local laid, total = smem.layout(members)
    for _, member in ipairs(laid) do
        p.located_at = member.name == "located" and member.offset or p.located_at
    end
    return laid, total
end

-- The tensors as the manifest has them.
local function tensor_list(s, p)
    local points = s.problem.heads * p.points_of_item
    -- [stride]: bytes that every row is a multiple of
    local function tensor(name, rows, columns, access, stride)
        return { name = name, dtype = name == "value" and s.problem.value or s.problem.dtype, access = access,
            dims = { "b", rows, columns }, alignment = 16, stride_bytes_multiple = stride }
    end
    return {
        tensor("value", "s", p.record_bytes // p.value_bytes, "read", 16),
        tensor("locations", "q", 2 * points, "read", 2 * p.bytes), tensor("weights", "q", points, "read", p.bytes),
        tensor("out", "q", s.problem.heads * s.problem.channels, "write", 16),
    }
end

local function parameter_plan(s, p)
    local value = { kind = "pointer", tensor = "value" }
    if s.mapping == "roles" and s.load == "tma" then
        value = { kind = "tensor_map", tensor = "value", box = { 1, 2, s.problem.channels } }
    end
    local rows = { value, { kind = "pointer", tensor = "locations" }, { kind = "pointer", tensor = "weights" },
        { kind = "pointer", tensor = "out" } }
    local dims = parameters.dims(s.problem, p.dims)
    table.move(dims, 1, #dims, #rows + 1, rows)
    if s.schedule == "dynamic" then
        rows[#rows + 1] = { kind = "workspace", part = "counter", cuda = "uint32_t" }
    end
    return parameters.list(p.tensors, rows)
end

local function grid_plan(s, p)
    if s.mapping == "plain" then
        local per_query = s.problem.heads * p.vectors                   -- threads
        return { { "b", 1 }, { "q", s.threads, per_query } }, ("b x ceil(%d q / %d)"):format(per_query, s.threads)
    end
    if s.mapping == "roles" and s.schedule ~= "static" then
        return { { "b", 1 }, { "q", s.queries_per_block } },
            ("persistent: min(tiles, SMs * %d)"):format(s.blocks_per_sm)
    elseif s.schedule == "static" then
        return { { "b", 1 }, { "q", s.queries_per_block } }, ("b x ceil(q / %d)"):format(s.queries_per_block)
    end
    local queries = math.max(p.warps * p.items // s.problem.heads, 1)
    return { { "b", 1 }, { "q", queries } }, ("persistent: min(tiles, SMs * %d)"):format(s.blocks_per_sm)
end

local function role_list(s, p)
    local registers = archs.launch_registers(s.arch, s.threads, s.blocks_per_sm)
    if s.mapping == "roles" then
        p.roles = { { name = "consumer", first_warp = 0, warps = p.consumers },
            { name = "producer", first_warp = p.consumers, warps = p.producers } }
    else
        p.roles = { { name = "all", first_warp = 0, warps = p.warps } }
    end
    p.registers = {}
    for i, role in ipairs(p.roles) do
        p.registers[i] = { role = role.name, warps = role.warps, registers = registers }
    end
end

function plan.plan(s)
    local p = { warps = s.threads // 32, element = dtypes[s.problem.dtype], bytes = dtypes.bytes(s.problem.dtype) }
    p.levels, p.pixels = levels.layout(s)
    p.points_of_item = #p.levels * s.problem.points
    p.value, p.value_bytes = dtypes[s.problem.value], dtypes.bytes(s.problem.value)
    p.head_bytes = s.problem.channels * p.value_bytes
    p.pixel_bytes = s.problem.heads * p.head_bytes
    p.paired = s.value_layout == "paired"
    p.record_bytes = (p.paired and 2 or 1) * p.pixel_bytes            -- what value stores of a pixel
    p.vector = s.vector or plan.widest_vector(s)                        -- elements
    p.vector_bytes = p.vector * p.value_bytes
    p.vectors = p.head_bytes // p.vector_bytes
    p.out_vectors = p.bytes // p.value_bytes                            -- that a vector's channels fill in out
    p.words = p.vector_bytes >= 4 and p.vector_bytes <= 16 and vectors.of_bytes(p.vector_bytes)
    local math = s.mapping == "gather" and s.math or "fp32"            -- a rung's may be another mapping's
    p.narrow, p.packed_math, p.mma = is_narrow(s), math == "packed", math == "mma"
    p.open = p.mma and s.problem.padded
    p.persistent = s.mapping ~= "plain" and s.schedule ~= "static"
    p.barriers = {}
    resident_plan(s, p)
    level_plan(s, p)
    if s.mapping == "gather" then
        lane_plan(s, p)
    end
    if s.mapping == "roles" then
        roles_plan(s, p)
    end
    p.smem, p.smem_bytes = smem_plan(s, p)
    role_list(s, p)
    p.tensors = tensor_list(s, p)
    p.dims = s.mapping == "gather" and s.schedule == "static" and { "q" } or { "b", "q" }    -- that the kernel reads
    p.parameters = parameter_plan(s, p)
    local grid_text
    p.grid, grid_text = grid_plan(s, p)
    p.launch = { block = { s.threads, 1, 1 }, cluster = { 1, 1, 1 }, grid = grid_text }
    return p
end

return plan

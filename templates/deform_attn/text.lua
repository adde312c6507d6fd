-- text.lua: the names and pieces of CUDA text that deform_attn's templates are filled with.
-- Numbers are computed here, so that the generated source holds none that a reader has to fold.

local cuda = require "cuda"

local text = {}

text.types = { bf16 = "bf16", fp16 = "fp16", fp32 = "float" }

local pack_pairs = { bf16 = "cvt_rn_bf16x2", fp16 = "cvt_rn_f16x2" }
local packed_suffix = { bf16 = "bf16x2", fp16 = "f16x2" }
-- the pairs (-1, 1) and (1, 0)
local minus_one_one = { bf16 = "0x3f80bf80", fp16 = "0x3c00bc00" }
local one_zero = { bf16 = "0x00003f80", fp16 = "0x00003c00" }
local vectors = { [16] = { "uint4", "v4" }, [8] = { "uint2", "v2" }, [4] = { "uint32_t", "u32" }, [2] = { "uint32_t", "u16" } }

local function float(value)
    local digits = ("%.9g"):format(value)
    return digits .. (digits:find("[.e]") and "f" or ".0f")
end

-- initialiser of struct Level; positions of an axis count from the border's pixel, at scale size / (size + 1)
local function level_text(p, i)
    local level = p.levels[i]
    local fields = {}
    for _, size in ipairs { level.width, level.height } do
        fields[#fields + 1] = ("%s, %s, %s"):format(float(size / (size + 1)), float(0.5 / (size + 1)), float(size + 1))
    end
    local resident = p.resident > 0 and i > #p.levels - p.resident
    local first = level.first - (resident and p.resident_first or 0)
    fields[#fields + 1] = ("%d, %d, %d"):format(level.pitch, first, first + level.last)
    if not p.padded then
        fields[#fields + 1] = ("%d, %d"):format(math.max(level.width - 2, 0), math.max(level.height - 2, 0))
    end
    if p.narrow then
        fields[#fields + 1] = ("%s, %s"):format(level.width > 1 and "1.0f" or "0.0f", level.height > 1 and "1.0f" or "0.0f")
        fields[#fields + 1] = ("%d, %d"):format(level.width > 1 and 1 or 0, level.height > 1 and level.pitch or 0)
    end
    return table.concat(fields, ", ")
end

local function level_texts(p)
    local list = {}
    for i = 1, #p.levels do
        list[i] = level_text(p, i)
    end
    return list
end

-- for each chunk of a lane, the expression that picks its level by the lane's number
local function share_levels(s, p)
    local list = {}
    for share = 0, p.shares - 1 do
        local expression
        for sub = p.lanes - 1, 0, -1 do
            local chunk = math.min(share * p.lanes + sub, p.chunks - 1)
            local level = ("level_of(%d)"):format(chunk * p.chunk // s.problem.points)
            if not expression then
                expression = { text = level, level = level }
            elseif expression.level ~= level then
                expression = { text = ("sub < %d ? %s : %s"):format(sub + 1, level, expression.text), level = level }
            end
        end
        list[share + 1] = expression.text
    end
    return list
end

-- statements of in_strips() for each level, queries being its stored pixels
local function strip_list(p)
    local list = {}
    for i, level in ipairs(p.levels) do
        local count = math.max((level.pitch + 16) // 32, 1)
        local width = (level.pitch + count - 1) // count
        local rest = level.pitch - (count - 1) * width
        local lines = {}
        local index = level.first > 0 and ("(i - %d)"):format(level.first) or "i"
        if count == 1 then
            lines = { "return i;" }
        else
            lines[1] = ("const int strip = %s / %d, place = %s %% %d;"):format(index, width * level.rows, index,
                width * level.rows)
            lines[2] = ("const int columns = strip == %d ? %d : %d;"):format(count - 1, rest, width)
            lines[3] = ("return %splace / columns * %d + strip * %d + place %% columns;"):format(
                level.first > 0 and level.first .. " + " or "", level.pitch, width)
        end
        list[i] = { body = table.concat(lines, "\n"), stop = level.first + level.pitch * level.rows, last = i == #p.levels }
    end
    return list
end

local function signature(name, p)
    local list = {}
    for i, parameter in ipairs(p.parameters) do
        list[i] = parameter.declaration
    end
    return cuda.list(name, list, " {")
end

local function gather_signature(s, p, type)
    local list = { "const " .. type .. " *value", "const " .. type .. " *locations", "const " .. type .. " *weights",
        type .. " *out", "int q", "int batch", "int group", "int last" }
    if p.smem_bytes > 0 then
        list[#list + 1] = "uint8_t *shared"
    end
    return cuda.list("__device__ __forceinline__ void gather_groups", list, " {")
end

local function gather_env(s, p, env)
    for _, key in ipairs { "lanes", "items", "passes", "chunk", "chunks", "shares", "banks", "compact", "word_count" } do
        env[key] = p[key]
    end
    env.schedule, env.rounds, env.queries_per_block = s.schedule, s.rounds, s.queries_per_block
    env.half_points, env.prefetch = s.half_points, s.prefetch
    env.strips, env.strip_list = s.query_order == "strips", strip_list(p)
    env.level_prefetch = s.level_prefetch
    env.groups_per_draw = s.groups_per_draw
    env.share_levels = share_levels(s, p)
    env.location_vector, env.load_locations = vectors[2 * p.chunk * p.bytes][1],
        "ld_global_nc_no_allocate_" .. vectors[2 * p.chunk * p.bytes][2]
    env.weight_vector, env.load_weights = vectors[p.chunk * p.bytes][1],
        "ld_global_nc_no_allocate_" .. vectors[p.chunk * p.bytes][2]
    -- records alternate by halves, resident pixels by columns: decode() must know which it is for
    env.in_shared = p.paired and p.banks and p.resident > 0
    env.gather_signature = gather_signature(s, p, env.type)
    env.shared_argument = p.smem_bytes > 0 and ", shared" or ""
    env.shares_at = p.resident > 0 and p.smem_bytes > 0 and p.smem[#p.smem].offset or 0
    env.location_bytes, env.weight_bytes = 2 * p.chunk * p.bytes, p.chunk * p.bytes
end

local function roles_env(s, p, env)
    for _, key in ipairs { "producers", "consumers", "lanes", "slice", "item_passes", "tile_items", "row_bytes",
        "full_arrivals" } do
        env[key] = p[key]
    end
    env.stages, env.load, env.metadata, env.scope = s.stages, s.load, s.metadata, s.barrier_scope
    env.descriptor_prefetch = s.load == "tma" and s.descriptor_prefetch
    env.barriers_of = s.barrier_scope == "warp" and "[CONSUMERS]" or ""
    env.channels = s.problem.channels
    env.value_argument = s.load == "tma" and "&value_map" or "value"
end

-- the template's globals
function text.env(s, p)
    local dtype = s.problem.dtype
    local env = {
        name = s.name, mapping = s.mapping, threads = s.threads, unroll = s.unroll, points = s.problem.points, heads = s.problem.heads,
        padded = s.problem.padded, level_count = #p.levels, pixels = p.pixels, pixel_bytes = p.pixel_bytes,
        head_bytes = p.head_bytes, narrow = p.narrow, resident = p.resident, resident_first = p.resident_first,
        smem_bytes = p.smem_bytes, blocks_per_sm = s.blocks_per_sm or 1, element_bytes = p.bytes,
        vector = p.vector, vector_bytes = p.vector * p.bytes, packed_math = s.math == "packed", type = text.types[dtype],
        pack_pair = pack_pairs[dtype], low_half = dtype .. "_low_to_float", high_half = dtype .. "_high_to_float",
        minus_one_one = minus_one_one[dtype], one_zero = one_zero[dtype],
        paired = p.paired, record_bytes = p.record_bytes, record = p.paired and "RECORD_BYTES" or "PIXEL_BYTES",
        below = p.narrow and "level.below" or "level.pitch", right = p.narrow and "level.right" or "1",
    }
    env.vector_type, env.load_vector = vectors[env.vector_bytes][1], "ld_global_nc_" .. vectors[env.vector_bytes][2]
    env.words = ({ [16] = { ".x", ".y", ".z", ".w" }, [8] = { ".x", ".y" }, [4] = { "" } })[env.vector_bytes]
    env.mul_pair = packed_suffix[dtype] and "mul_rn_" .. packed_suffix[dtype]
    env.fma_pair = packed_suffix[dtype] and "fma_rn_" .. packed_suffix[dtype]
    p.padded = s.problem.padded
    env.levels = level_texts(p)
    env.kernel_signature = signature(s.name, p)
    if s.mapping == "gather" then
        gather_env(s, p, env)
    elseif s.mapping == "roles" then
        roles_env(s, p, env)
    end
    return env
end

return text

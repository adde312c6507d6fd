-- dtypes.lua: the element types, a row each: what plans compute with, and what templates and PTX wrappers call them.
-- A new type is a row here and its wrappers in ptx/; a field that a type has no meaning for is not there.

local rows = {
    bf16 = {
        bits = 16,
        cuda = "bf16",                                              -- its type in CUDA
        ptx = "bf16",                                               -- in the names of instructions and wrappers
        wgmma = "bf16",                                             -- as an operand of wgmma
        tcgen05 = "f16", tcgen05_type = 1,                          -- the kind of tcgen05.mma, its number there
        sum = "fp32",                                               -- what wgmma adds its products up in
        to_float = "bf16_to_float", from_float = "to_bf16",         -- of one value, where CUDA needs a call
        pair = "uint32_t", pack_pair = "cvt_rn_bf16x2",             -- two of them, the lower-addressed in the low half
        low_half = "bf16_low_to_float", high_half = "bf16_high_to_float",
        mul_pair = "mul_rn_bf16x2", fma_pair = "fma_rn_bf16x2",
        one_bits = 0x3f80,                                          -- 1.0
    },
    fp16 = {
        bits = 16, cuda = "fp16", ptx = "f16", wgmma = "f16", tcgen05 = "f16", tcgen05_type = 0,
        sum = "fp32",
        to_float = "fp16_to_float", from_float = "to_fp16",
        pair = "uint32_t", pack_pair = "cvt_rn_f16x2",
        low_half = "fp16_low_to_float", high_half = "fp16_high_to_float",
        mul_pair = "mul_rn_f16x2", fma_pair = "fma_rn_f16x2", one_bits = 0x3c00,
    },
    fp32 = {
        bits = 32, cuda = "float", ptx = "f32",
        to_float = "float", from_float = "float",                   -- a cast that does nothing
        pair = "float2", pack_pair = "make_float2", one_bits = 0x3f800000,
        least = 0x1p-126, most = 0x1p127,                           -- magnitudes that a spec may name
        store_shared = "st_shared", store_shared_pair = "st_shared_v2",
    },
    e4m3 = {
        bits = 8, cuda = "e4m3", ptx = "e4m3", wgmma = "e4m3", tcgen05 = "f8f6f4", tcgen05_type = 0,
        sum = "fp32",
        sum_bits = 13,                                              -- that wgmma keeps of its sums behind the point
        product = "bf16",                                           -- what a product of two is where nobody says
        to_float = "e4m3_to_float", from_float = "to_e4m3",
        pair = "uint16_t", pack_pair = "cvt_rn_satfinite_e4m3x2", store_shared = "st_shared_u8", one_bits = 0x38,
        low_pair = "cvt_rn_f16x2_e4m3x2_low", high_pair = "cvt_rn_f16x2_e4m3x2_high",    -- of four, as halves
        largest = 448,
    },
    e5m2 = {
        bits = 8, cuda = "e5m2", ptx = "e5m2", wgmma = "e5m2", tcgen05 = "f8f6f4", tcgen05_type = 1,
        sum = "fp32", sum_bits = 13, product = "bf16",
        to_float = "e5m2_to_float", from_float = "to_e5m2",
        pair = "uint16_t", pack_pair = "cvt_rn_satfinite_e5m2x2", store_shared = "st_shared_u8", one_bits = 0x3c,
        low_pair = "f16x2_of_e5m2x2_low", high_pair = "f16x2_of_e5m2x2_high", largest = 57344,
    },
    e2m1 = {                                                        -- two in a byte, the even one in its low half
        bits = 4, cuda = "uint8_t", ptx = "e2m1", stored = "u8", sum = "fp32", product = "bf16",
        tcgen05 = "f8f6f4", tcgen05_type = 5, packed_type = 1,      -- the latter where it multiplies itself alone
        exponent = 2, mantissa = 1,                                 -- bits of each
        pack_eight = "cvt_rn_satfinite_e2m1x8", largest = 6,
    },
    e3m2 = {                                                        -- four in three bytes
        bits = 6, cuda = "uint8_t", ptx = "e3m2", stored = "u8", sum = "fp32", product = "bf16",
        tcgen05 = "f8f6f4", tcgen05_type = 4, exponent = 3, mantissa = 2,
    },
    e2m3 = {
        bits = 6, cuda = "uint8_t", ptx = "e2m3", stored = "u8", sum = "fp32", product = "bf16",
        tcgen05 = "f8f6f4", tcgen05_type = 3, exponent = 2, mantissa = 3,
    },
    i8 = {
        bits = 8, cuda = "int8_t", ptx = "s8", wgmma = "s8", tcgen05 = "i8", tcgen05_type = 1, sum = "i32",
        product = "i32", to_float = "float",
    },
    i32 = {
        bits = 32, cuda = "int", ptx = "s32", from_float = "int", pair = "int2", pack_pair = "make_int2",
        store_shared = "st_shared_s32", store_shared_pair = "st_shared_v2_s32",
    },
    u32 = { bits = 32, cuda = "uint32_t", ptx = "u32" },
    i64 = { bits = 64, cuda = "int64_t", ptx = "s64" },
    u8 = { bits = 8, cuda = "uint8_t", ptx = "u8" },
}

local dtypes = {}

for name, row in pairs(rows) do
    row.name = name
    row.span_elements = 1024 // row.bits                            -- of a 128-byte span
    row.mma_k = row.sum and 256 // row.bits                         -- k of an instruction, wgmma or tcgen05: 32 bytes
    dtypes[name] = row
end

-- bytes of [count] elements in memory, which are whole bytes
function dtypes.bytes(name, count)
    local bits = dtypes[name].bits * (count or 1)
    assert(bits % 8 == 0, "elements end inside a byte")
    return bits // 8
end

-- What [name] lies in memory as, and how many of those [dim] elements of it are, a dim or { dim =, by = }: less than a
-- byte each, several in one, or in three.
function dtypes.stored(name, dim)
    local row = dtypes[name]
    if not row.stored then
        return row, dim
    end
    local of, times = type(dim) == "table" and dim or { dim = dim, by = 1 }, row.bits == 6 and 3 or nil
    return dtypes[row.stored], { dim = of.dim, times = times, by = of.by * (times and 4 or 8 // row.bits) }
end

-- The names of the types that have [field], sorted: values of a knob.
function dtypes.with(field)
    local names = {}
    for name, row in pairs(rows) do
        names[#names + 1] = row[field] and name
    end
    return names
end

return setmetatable(dtypes, { __index = function(_, name)
    error(("'%s' is no row of dtypes.lua"):format(tostring(name)), 2)
end })

-- words.lua: what a kernel cannot be called: the keywords of C++20 and CUDA, and names of functions that CUDA declares.
-- A spec whose file is called class.yaml would else fail in the compiler, on lines that nobody wrote.

local text = [[
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class compl
    concept const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default
    delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline int long
    mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register
    reinterpret_cast requires return short signed sizeof static static_assert static_cast struct switch template this
    thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor
    xor_eq
    int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t size_t half
    main printf malloc free memcpy memset assert abort exit clock min max abs
    threadIdx blockIdx blockDim gridDim warpSize dim3 int2 int3 int4 uint2 uint3 uint4 float2 float3 float4 double2
]]

-- whether [name] is one of the words of [list], lines that begin with blanks
local function among(list, name)
    return (list:find(" " .. name .. " ", 1, true) or list:find(" " .. name .. "\n", 1, true)) ~= nil
end

-- whether a kernel cannot be called [name]
local function is_reserved(_, name)
    return among(text, name)
end

return { among = among, reserved = setmetatable({}, { __index = is_reserved }) }

// types.cuh: the fixed-width integers, small floats and opaque TMA descriptor that kernels name.
// Generated sources include no header, so that what is reviewed is exactly what is compiled.

using uint8_t = unsigned char;

using int8_t = signed char;

using uint16_t = unsigned short;

using uint32_t = unsigned int;

using uint64_t = unsigned long;

using int64_t = long;

// bfloat16 as bits; arithmetic happens in fp32
struct bf16 {
    uint16_t bits;
};

// IEEE binary16 as bits; arithmetic happens in fp32
struct fp16 {
    uint16_t bits;
};

// an 8-bit float of 4 bits of exponent and 3 of mantissa, up to 448, without infinities
struct e4m3 {
    uint8_t bits;
};

// an 8-bit float of 5 bits of exponent and 2 of mantissa, the upper half of an fp16
struct e5m2 {
    uint8_t bits;
};

// a CUtensorMap: 128 opaque bytes, 64-byte aligned, passed as a __grid_constant__ (PTX ISA 5.5.8)
struct alignas(64) TensorMap {
    uint8_t opaque[128];
};

// those of a matrix's rows 0, 8, ..., of 1, 9, ... and so on
struct alignas(64) TensorMaps {
    TensorMap of[8];
};

// those of the rows 0, 16, ..., of 1, 17, ... and so on
struct alignas(64) TensorMaps16 {
    TensorMap of[16];
};

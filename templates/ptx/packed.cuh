// packed.cuh: arithmetic on pairs of 16-bit floats in one register, and two rounding modes of the fp32 multiply-add.
// A pair is a uint32_t; the low half is the lower-addressed element.

__device__ __forceinline__ uint32_t fma_rn_f16x2(uint32_t a, uint32_t b, uint32_t c) {
    uint32_t d;
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
    return d;
}

__device__ __forceinline__ uint32_t mul_rn_f16x2(uint32_t a, uint32_t b) {
    uint32_t d;
    asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
    return d;
}

__device__ __forceinline__ uint32_t fma_rn_bf16x2(uint32_t a, uint32_t b, uint32_t c) {
    uint32_t d;
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
    return d;
}

__device__ __forceinline__ uint32_t mul_rn_bf16x2(uint32_t a, uint32_t b) {
    uint32_t d;
    asm("mul.rn.bf16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
    return d;
}

__device__ __forceinline__ uint32_t add_rn_bf16x2(uint32_t a, uint32_t b) {
    uint32_t d;
    asm("add.rn.bf16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
    return d;
}

// the larger of the two; NaN where one of them is
__device__ __forceinline__ uint32_t max_nan_bf16x2(uint32_t a, uint32_t b) {
    uint32_t d;
    asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
    return d;
}

// absolute error at most 2^-8
__device__ __forceinline__ uint32_t tanh_approx_bf16x2(uint32_t x) {
    uint32_t d;
    asm("tanh.approx.bf16x2 %0, %1;" : "=r"(d) : "r"(x));
    return d;
}

// the same as gelu_tanh_of_half of a pair of bf16, each step rounded to it: within 2^-7 |x|
__device__ __forceinline__ uint32_t gelu_tanh_of_half_bf16x2(uint32_t half) {
    constexpr uint32_t CUBED = 0x3e923e92, ONCE = 0x3fcc3fcc;    // 8 * 0.0356774081 and 2 * 0.7978845608, twice
    const uint32_t square = mul_rn_bf16x2(half, half);
    const uint32_t inner = mul_rn_bf16x2(half, fma_rn_bf16x2(square, CUBED, ONCE));
    return fma_rn_bf16x2(half, tanh_approx_bf16x2(inner), half);
}

__device__ __forceinline__ uint32_t gelu_tanh_bf16x2(uint32_t x) {
    return gelu_tanh_of_half_bf16x2(mul_rn_bf16x2(x, 0x3f003f00));
}

// both halves are the low half of [pair]; packed instructions take this as a modifier, at no cost
__device__ __forceinline__ uint32_t low_of_pair(uint32_t pair) {
    uint32_t both;
    asm("{.reg .b16 low, high; mov.b32 {low, high}, %1; mov.b32 %0, {low, low};}"
        : "=r"(both)
        : "r"(pair));
    return both;
}

__device__ __forceinline__ uint32_t high_of_pair(uint32_t pair) {
    uint32_t both;
    asm("{.reg .b16 low, high; mov.b32 {low, high}, %1; mov.b32 %0, {high, high};}"
        : "=r"(both)
        : "r"(pair));
    return both;
}

// a * b + c, clamped to 0..1; NaN becomes 0
__device__ __forceinline__ float fma_rn_sat(float a, float b, float c) {
    float d;
    asm("fma.rn.sat.f32 %0, %1, %2, %3;" : "=f"(d) : "f"(a), "f"(b), "f"(c));
    return d;
}

// a * b + c, rounded down
__device__ __forceinline__ float fma_rm(float a, float b, float c) {
    float d;
    asm("fma.rm.f32 %0, %1, %2, %3;" : "=f"(d) : "f"(a), "f"(b), "f"(c));
    return d;
}

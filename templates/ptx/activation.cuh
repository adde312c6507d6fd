// activation.cuh: what epilogues do to a value, and the instructions for it.
// Those with `approx` in their name differ from exact arithmetic by more than rounding: the bound stands beside each.

// the larger of the two; NaN where one of them is
__device__ __forceinline__ float max_nan(float a, float b) {
    float d;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(d) : "f"(a), "f"(b));
    return d;
}

// the smaller of the two; NaN where one of them is
__device__ __forceinline__ float min_nan(float a, float b) {
    float d;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(d) : "f"(a), "f"(b));
    return d;
}

// relative error at most 2^-11
__device__ __forceinline__ float tanh_approx(float x) {
    float d;
    asm("tanh.approx.f32 %0, %1;" : "=f"(d) : "f"(x));
    return d;
}

// x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) of an x of which [half] is the half: within 2^-11 |x|
__device__ __forceinline__ float gelu_tanh_of_half(float half) {
    const float square = __fmul_rn(half, half);
    const float inner = __fmul_rn(half, __fmaf_rn(8 * 0.0356774081f, square, 2 * 0.7978845608f));
    return __fmaf_rn(half, tanh_approx(inner), half);
}

__device__ __forceinline__ float gelu_tanh(float x) {
    return gelu_tanh_of_half(__fmul_rn(0.5f, x));
}

// x / 2 (1 + erf(x / sqrt(2))) of an x of which [half] is the half: within 2^-21 |x|
__device__ __forceinline__ float gelu_erf_of_half(float half) {
    return __fmaf_rn(half, erff(__fmul_rn(half, 2 * 0.7071067812f)), half);
}

__device__ __forceinline__ float gelu_erf(float x) {
    return gelu_erf_of_half(__fmul_rn(0.5f, x));
}

// 2 to the power of [x]: at most 2 units in the last place off
__device__ __forceinline__ float ex2_approx(float x) {
    float d;
    asm("ex2.approx.f32 %0, %1;" : "=f"(d) : "f"(x));
    return d;
}

// 1 / [x]: at most a unit in the last place off
__device__ __forceinline__ float rcp_approx(float x) {
    float d;
    asm("rcp.approx.f32 %0, %1;" : "=f"(d) : "f"(x));
    return d;
}

// x / (1 + exp(-x)): within 2^-20 |x|
__device__ __forceinline__ float silu(float x) {
    return __fmul_rn(x, rcp_approx(1.0f + ex2_approx(__fmul_rn(x, -1.4426950409f))));
}

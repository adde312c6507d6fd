// arithmetic.cuh: integer helpers of tile counts and offsets.
// CUDA has none in its built-in namespace, and generated sources include nothing.

// [value] / [divisor], rounded up; both positive
__device__ __forceinline__ constexpr int ceil_div(int value, int divisor) {
    return (value + divisor - 1) / divisor;
}

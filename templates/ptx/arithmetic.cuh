// arithmetic.cuh: integer helpers of tile counts and offsets.
// CUDA has none in its built-in namespace, and generated sources include nothing.

// [value] / [divisor], rounded up; both positive. Unsigned, where the sum of two ints fits.
__device__ __forceinline__ constexpr int ceil_div(int value, int divisor) {
    return (static_cast<unsigned>(value) + divisor - 1) / divisor;
}

// [x], of which the compiler does not know that it was here before: what follows from it is computed where it stands
__device__ __forceinline__ int anew(int x) {
    asm volatile("" : "+r"(x));
    return x;
}

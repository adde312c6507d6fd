// arithmetic.cuh: integer helpers of tile counts and offsets.
// CUDA has none in its built-in namespace, and generated sources include nothing.

// [value] / [divisor], rounded up; both positive. Unsigned, where the sum of two ints fits.
__device__ __forceinline__ constexpr int ceil_div(int value, int divisor) {
    return (static_cast<unsigned>(value) + divisor - 1) / divisor;
}

// [value] / [divisor], rounded down; [value] not negative, [divisor] positive. The division of integers is some forty
// instructions, one behind the other, and a CTA's first load waits for what it computes. Below 2^21 the reciprocal is
// exact: two units in the last place (PTX ISA 9.7.3.8) of a quotient are less than the half divisor that it keeps from
// the next integer.
__device__ __forceinline__ int divide(int value, int divisor) {
    if (value >> 21) {
        return value / divisor;
    }
    return static_cast<int>(__fdividef(value + .5f, divisor));
}

// [x], of which the compiler does not know that it was here before: what follows from it is computed where it stands
__device__ __forceinline__ int anew(int x) {
    asm volatile("" : "+r"(x));
    return x;
}

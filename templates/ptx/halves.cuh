// halves.cuh: the 16-bit floats of a packed pair, widened to fp32; the low half is the lower-addressed element.
// bf16 needs no conversion: its bits are the upper half of an fp32.

__device__ __forceinline__ float bf16_low_to_float(uint32_t pair) {
    return __uint_as_float(pair << 16);
}

__device__ __forceinline__ float bf16_high_to_float(uint32_t pair) {
    return __uint_as_float(pair & 0xffff0000);
}

__device__ __forceinline__ float fp16_low_to_float(uint32_t pair) {
    float result;
    asm("{.reg .b16 low, high; mov.b32 {low, high}, %1; cvt.f32.f16 %0, low;}" : "=f"(result) : "r"(pair));
    return result;
}

__device__ __forceinline__ float fp16_high_to_float(uint32_t pair) {
    float result;
    asm("{.reg .b16 low, high; mov.b32 {low, high}, %1; cvt.f32.f16 %0, high;}" : "=f"(result) : "r"(pair));
    return result;
}

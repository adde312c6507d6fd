// widen.cuh: one name for two types.

__device__ __forceinline__ float widen(bf16 value) {
    return bf16_to_float(value);
}

__device__ __forceinline__ float widen(fp16 value) {
    return fp16_to_float(value);
}

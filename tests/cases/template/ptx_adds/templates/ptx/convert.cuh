// convert.cuh: one more conversion.

__device__ __forceinline__ float to_half_float(float value) {
    return to_fp16(value).bits;
}

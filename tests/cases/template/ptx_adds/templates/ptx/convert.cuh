// convert.cuh: one more conversion.

__device__ __forceinline__ float to_half_float(float value) {
    return to_fp16(value).bits;
}

__device__ __forceinline__ fp16 to_fp16(float value) {
    return {static_cast<uint16_t>(cvt_rn_f16x2(value, 0))};
}

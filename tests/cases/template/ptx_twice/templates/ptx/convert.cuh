// convert.cuh: a conversion that is there already.

// not ours
__device__ __forceinline__ fp16 to_fp16(float value) {
    return {0};
}

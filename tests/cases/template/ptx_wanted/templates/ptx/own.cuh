// own.cuh: wrappers that name some that templates make.

__device__ __forceinline__ int half_six(int x) { return times_3(x); }

__device__ __forceinline__ void multiply(float (&d)[4], uint64_t a, uint64_t b) {
    wgmma_m64n8k16_bf16(d, a, b, half_six(2));
}

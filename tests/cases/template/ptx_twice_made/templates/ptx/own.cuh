// own.cuh: a name that is ours.

__device__ __forceinline__ void wgmma_m64n24k16_bf16() {}

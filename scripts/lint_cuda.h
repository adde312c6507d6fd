// What scripts/lint.sh gives clang to read generated kernels by: the words of CUDA that they use.
// Declarations only, since nothing is compiled; a kernel that uses another word wants it here.
#define __device__             __attribute__((device))
#define __global__             __attribute__((global))
#define __shared__             __attribute__((shared))
#define __forceinline__        inline __attribute__((always_inline))
#define __noinline__           __attribute__((noinline))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __cluster_dims__(...)
#define __grid_constant__
#define __align__(n) __attribute__((aligned(n)))
#define __restrict__ __restrict

struct dim3 {
    unsigned x, y, z;
};
struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
struct alignas(8) uint2 {
    unsigned x, y;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};

extern __device__ const dim3 threadIdx, blockIdx, blockDim, gridDim;

__device__ float2 make_float2(float, float);
__device__ float4 make_float4(float, float, float, float);
__device__ uint2 make_uint2(unsigned, unsigned);
__device__ uint4 make_uint4(unsigned, unsigned, unsigned, unsigned);

__device__ void __syncthreads();
__device__ void __syncwarp();
__device__ void __threadfence();
__device__ unsigned __ballot_sync(unsigned, bool);
__device__ unsigned __funnelshift_r(unsigned, unsigned, unsigned);
__device__ int __shfl_up_sync(unsigned, int, unsigned);
__device__ int __popc(unsigned);
__device__ int __ffs(int);
__device__ int __reduce_min_sync(unsigned, int);
__device__ int __reduce_max_sync(unsigned, int);
template <typename T> __device__ T __shfl_sync(unsigned, T, int);
__device__ int __any_sync(unsigned, int);
template <typename T> __device__ T __shfl_xor_sync(unsigned, T, int);

__device__ int min(int, int);
__device__ long min(long, long);
__device__ int max(int, int);
__device__ int __clz(unsigned);
__device__ unsigned __byte_perm(unsigned, unsigned, unsigned);
__device__ float erff(float);
__device__ float fabsf(float);
__device__ float fmaf(float, float, float);
__device__ float fmaxf(float, float);
__device__ float fminf(float, float);
__device__ float __fmaf_rn(float, float, float);
__device__ float __fmul_rn(float, float);
__device__ float __fdividef(float, float);
__device__ int __float_as_int(float);
__device__ unsigned __float_as_uint(float);
__attribute__((const)) __device__ bool __isGlobal(const void *);
__device__ float __uint_as_float(unsigned);
__device__ unsigned long __cvta_generic_to_shared(const void *);
__device__ unsigned long __cvta_generic_to_global(const void *);

__device__ unsigned atomicAdd(unsigned *, unsigned);
__device__ int atomicMin(int *, int);
__device__ int atomicMax(int *, int);
__device__ unsigned atomicMax(unsigned *, unsigned);
template <typename T> __device__ T __ldcg(const T *);
template <typename T> __device__ void __stcs(T *, T);

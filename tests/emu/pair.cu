// The two CTAs of a cluster exchange halves by way of each other's shared memory: y is x with its halves swapped.

__device__ __forceinline__ void cluster_arrive() {
    asm volatile("barrier.cluster.arrive.release;" ::: "memory");
}

__device__ __forceinline__ void cluster_wait() {
    asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}

__device__ __forceinline__ float load_of_rank(const float *pointer, unsigned rank) {
    float value;
    asm volatile(
        "{\n.reg .b32 there;\n"
        "mapa.shared::cluster.u32 there, %1, %2;\n"
        "ld.shared::cluster.f32 %0, [there];\n}"
        : "=f"(value)
        : "r"(static_cast<unsigned>(__cvta_generic_to_shared(pointer))), "r"(rank)
        : "memory");
    return value;
}

constexpr int HALF = 128;

extern "C" __global__ void __launch_bounds__(HALF) __cluster_dims__(2, 1, 1) pair(const float *x, float *y) {
    __shared__ float half[HALF];
    const unsigned rank = blockIdx.x % 2;
    half[threadIdx.x] = x[blockIdx.x * HALF + threadIdx.x];
    cluster_arrive();
    cluster_wait();    // both halves are there
    y[blockIdx.x * HALF + threadIdx.x] = load_of_rank(&half[threadIdx.x], 1 - rank);
    cluster_arrive();
    cluster_wait();    // both halves have been read
}

// y is x by way of tensor memory: a warp brings tiles of 128 rows to shared memory and has them copied, four warps read
// them there.

constexpr int TILE = 512, ROUNDS = 2, COLUMNS = 32, READERS = 128;

__device__ __forceinline__ unsigned shared(const void *pointer) {
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

__device__ __forceinline__ void mbarrier_init(unsigned long long *barrier, unsigned count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared(barrier)), "r"(count) : "memory");
}

__device__ __forceinline__ void mbarrier_arrive(unsigned long long *barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared(barrier)) : "memory");
}

__device__ __forceinline__ void mbarrier_wait(unsigned long long *barrier, unsigned parity) {
    asm volatile(
        "{\n.reg .pred done;\n"
        "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again;\n}" ::"r"(shared(barrier)),
        "r"(parity)
        : "memory");
}

__device__ __forceinline__ void tensor_alloc(unsigned *where, unsigned columns) {
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(shared(where)), "r"(columns)
                 : "memory");
}

__device__ __forceinline__ void tensor_free(unsigned tensor, unsigned columns) {
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(tensor), "r"(columns) : "memory");
}

// Rows of 16 bytes, one behind the other.
__device__ __forceinline__ void tensor_copy(unsigned tensor, const void *rows) {
    const unsigned long long descriptor = shared(rows) >> 4 | 8ull << 16 | 8ull << 32 | 1ull << 46;
    asm volatile("tcgen05.cp.cta_group::1.128x128b [%0], %1;" ::"r"(tensor), "l"(descriptor) : "memory");
}

__device__ __forceinline__ void tensor_commit(unsigned long long *barrier) {
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(shared(barrier))
                 : "memory");
}

__device__ __forceinline__ float4 tensor_load(unsigned tensor) {
    float4 value;
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(value.x), "=f"(value.y), "=f"(value.z), "=f"(value.w)
                 : "r"(tensor)
                 : "memory");
    return value;
}

__device__ __forceinline__ void tensor_wait_load() { asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void fence_before() { asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory"); }
__device__ __forceinline__ void fence_after() { asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory"); }
__device__ __forceinline__ void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

extern "C" __global__ void __launch_bounds__(READERS + 32) columns(const float4 *x, float4 *y) {
    __shared__ alignas(128) float4 rows[TILE / 4];
    __shared__ unsigned long long full, empty;
    __shared__ unsigned where;
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32, first = blockIdx.x * ROUNDS * TILE / 4;
    if (warp == READERS / 32) {
        tensor_alloc(&where, COLUMNS);
        if (lane == 0) mbarrier_init(&full, 1), mbarrier_init(&empty, READERS);
    }
    __syncthreads();
    const unsigned tensor = where;
    if (warp == READERS / 32) {
        for (int round = 0; round < ROUNDS; ++round) {
            if (round) mbarrier_wait(&empty, (round - 1) & 1);
            fence_after();    // what was read before it is written again
            for (int i = lane; i < TILE / 4; i += 32) rows[i] = x[first + round * TILE / 4 + i];
            fence_async();    // the copy sees the rows
            __syncwarp();
            if (lane == 0) {
                tensor_copy(tensor, rows);
                tensor_commit(&full);
            }
            __syncwarp();
        }
    } else {
        for (int round = 0; round < ROUNDS; ++round) {
            mbarrier_wait(&full, round & 1);
            fence_after();    // the copy has come
            const float4 value = tensor_load(tensor + (warp << 21));
            tensor_wait_load();
            fence_before();    // it has been read
            mbarrier_arrive(&empty);
            y[first + round * TILE / 4 + threadIdx.x] = value;
        }
    }
    __syncthreads();
    if (warp == READERS / 32) tensor_free(tensor, COLUMNS);
}

// y[i] = the sum over rows of x[row][i] + x[row][i + 1], each row's end wrapping around: rows come
// through a ring of two buffers by cp.async. A kernel for the bugs of those who wait for such copies.

__device__ __forceinline__ unsigned shared_address(const void *pointer) {
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

__device__ __forceinline__ void cp_async_16(void *to, const void *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from) : "memory");
}

__device__ __forceinline__ void cp_async_commit() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}

// until at most [PENDING] of the thread's groups are under way
template <int PENDING>
__device__ __forceinline__ void cp_async_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

constexpr int COLUMNS = 256, THREADS = 64;

extern "C" __global__ void __launch_bounds__(THREADS) ring(const float *x, float *y, int rows) {
    __shared__ alignas(16) float stage[2][COLUMNS];
    const int first = threadIdx.x * 4;
    float sum[4] = {};
    cp_async_16(&stage[0][first], x + first);
    cp_async_commit();
    for (int row = 0; row < rows; ++row) {
        if (row + 1 < rows) {
            cp_async_16(&stage[(row + 1) % 2][first], x + (row + 1) * COLUMNS + first);
        }
        cp_async_commit();
        cp_async_wait<1>();
        __syncthreads();    // the row is here, from all threads
        for (int i = 0; i < 4; ++i) {
            sum[i] += stage[row % 2][first + i] + stage[row % 2][(first + i + 1) % COLUMNS];
        }
        __syncthreads();    // all threads have read it
    }
    for (int i = 0; i < 4; ++i) {
        y[first + i] = sum[i];
    }
}

// sync.cuh: fences, named barriers, cluster barriers, elections and register budgets.
// What orders the threads of a CTA and of a cluster among themselves.

// orders this thread's writes to shared memory before later accesses by TMA and wgmma
__device__ __forceinline__ void fence_proxy_async_shared() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// waits until [threads] threads have come to barrier [id]; id 0 is __syncthreads
__device__ __forceinline__ void barrier_sync(int id, int threads) {
    asm volatile("barrier.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// the same, and whether [vote] is true in any of them
__device__ __forceinline__ bool barrier_red_or(int id, int threads, bool vote) {
    uint32_t any;
    asm volatile(
        "{\n"
        ".reg .pred p, q;\n"
        "setp.ne.u32 p, %3, 0;\n"
        "barrier.red.or.pred q, %1, %2, p;\n"
        "selp.u32 %0, 1, 0, q;\n"
        "}\n"
        : "=r"(any)
        : "r"(id), "r"(threads), "r"(static_cast<uint32_t>(vote))
        : "memory");
    return any;
}

// true in one thread of a converged warp
__device__ __forceinline__ bool elect_sync() {
    uint32_t elected;
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "elect.sync _|p, 0xffffffff;\n"
        "selp.u32 %0, 1, 0, p;\n"
        "}\n"
        : "=r"(elected));
    return elected;
}

__device__ __forceinline__ uint32_t cluster_ctarank() {
    uint32_t rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

// tells the cluster that this thread is here; what it wrote before is visible to those who wait
__device__ __forceinline__ void barrier_cluster_arrive() {
    asm volatile("barrier.cluster.arrive.release;" ::: "memory");
}

// the same without ordering memory, where a fence has done so; spares the wait for stores under way
__device__ __forceinline__ void barrier_cluster_arrive_relaxed() {
    asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory");
}

// waits until every thread of every CTA of the cluster has arrived
__device__ __forceinline__ void barrier_cluster_wait() {
    asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}

// raises the warpgroup's registers to [REGISTERS] a thread; waits until the CTA's pool has them
template <int REGISTERS>
__device__ __forceinline__ void setmaxnreg_inc() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}

// gives the warpgroup's registers above [REGISTERS] a thread back to the CTA's pool
template <int REGISTERS>
__device__ __forceinline__ void setmaxnreg_dec() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}

// the next launch of the stream may start where there is room, once every CTA has come here or ended
__device__ __forceinline__ void griddepcontrol_launch_dependents() {
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

// until the launches that this one may overlap are over, and what they wrote is visible
__device__ __forceinline__ void griddepcontrol_wait() {
    asm volatile("griddepcontrol.wait;" ::: "memory");
}

// mbarrier.cuh: barriers in shared memory that count arrivals and bytes (PTX ISA 9.7.13.15).
// A phase ends when all expected threads arrived and all expected bytes landed.

// [arrivals] threads complete a phase; visible to other threads only after a fence and a barrier
__device__ __forceinline__ void mbarrier_init(uint64_t *barrier, uint32_t arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(smem_address(barrier)), "r"(arrivals)
                 : "memory");
}

// makes initialised barriers visible to the whole cluster and to the async proxy
__device__ __forceinline__ void fence_mbarrier_init() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void mbarrier_arrive(uint64_t *barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(smem_address(barrier)) : "memory");
}

// Arrives on the barrier at the same place in the shared memory of CTA [rank] of the cluster. Orders no memory
// across CTAs (a release at cluster scope waits for every store under way, 30% of a GEMM): enough to say that
// asynchronous reads, already waited for, are over.
__device__ __forceinline__ void mbarrier_arrive_cluster(uint64_t *barrier, uint32_t rank) {
    asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(
                     mapa(smem_address(barrier), rank))
                 : "memory");
}

// the same after all that this thread, and those that a barrier has joined it with, did to memory, for who waits in
// the cluster
__device__ __forceinline__ void mbarrier_arrive_release_cluster(uint64_t *barrier, uint32_t rank) {
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(
                     mapa(smem_address(barrier), rank))
                 : "memory");
}

// one arrival, and [bytes] more that copies must land before the phase ends
__device__ __forceinline__ void mbarrier_arrive_expect_tx(uint64_t *barrier, uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(smem_address(barrier)),
                 "r"(bytes)
                 : "memory");
}

// [bytes] count as landed, though no copy brought them
__device__ __forceinline__ void mbarrier_complete_tx(uint64_t *barrier, uint32_t bytes) {
    asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(smem_address(barrier)),
                 "r"(bytes)
                 : "memory");
}

// the same on the barrier at the same place in the shared memory of CTA [rank] of the cluster
__device__ __forceinline__ void mbarrier_complete_tx_cluster(uint64_t *barrier, uint32_t bytes, uint32_t rank) {
    asm volatile("mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%0], %1;" ::"r"(
                     mapa(smem_address(barrier), rank)),
                 "r"(bytes)
                 : "memory");
}

// true once the phase of this [parity] has ended; may suspend the thread for a while first
__device__ __forceinline__ bool mbarrier_try_wait_parity(uint64_t *barrier, uint32_t parity) {
    uint32_t ended;
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n"
        "}\n"
        : "=r"(ended)
        : "r"(smem_address(barrier)), "r"(parity)
        : "memory");
    return ended;
}

__device__ __forceinline__ void mbarrier_wait_parity(uint64_t *barrier, uint32_t parity) {
    while (!mbarrier_try_wait_parity(barrier, parity)) {
    }
}

// until the phase of this [parity] has ended; what the cluster's CTAs did to memory before they arrived is seen then
__device__ __forceinline__ void mbarrier_wait_parity_cluster(uint64_t *barrier, uint32_t parity) {
    uint32_t ended;
    do {
        asm volatile(
            "{\n"
            ".reg .pred p;\n"
            "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n"
            "selp.u32 %0, 1, 0, p;\n"
            "}\n"
            : "=r"(ended)
            : "r"(smem_address(barrier)), "r"(parity)
            : "memory");
    } while (!ended);
}

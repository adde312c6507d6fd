// bulk.cuh: asynchronous copies without a tensor map: bulk ones (PTX ISA 9.7.9.25.4) and those of one thread (.25.3).
// Bulk copies need 16-byte alignment and whole 16 bytes; one thread issues any number of them.

// [bytes] from global [source] to shared [destination]; they complete on [barrier]
__device__ __forceinline__ void cp_async_bulk_load(void *destination, const void *source, uint32_t bytes,
                                                   uint64_t *barrier) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
            smem_address(destination)),
        "l"(source), "r"(bytes), "r"(smem_address(barrier))
        : "memory");
}

// the same, its lines under a [policy] of the L2
__device__ __forceinline__ void cp_async_bulk_load_hint(void *destination, const void *source, uint32_t bytes,
                                                        uint64_t *barrier, uint64_t policy) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint"
        " [%0], [%1], %2, [%3], %4;" ::"r"(smem_address(destination)),
        "l"(source), "r"(bytes), "r"(smem_address(barrier)), "l"(policy)
        : "memory");
}

// [bytes] from shared [source] to global [destination]; joins the thread's bulk group
__device__ __forceinline__ void cp_async_bulk_store(void *destination, const void *source, uint32_t bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(destination),
                 "r"(smem_address(source)), "r"(bytes)
                 : "memory");
}

// BYTES (4, 8 or 16) from global [source] to shared [destination], through L1; joins the thread's group
template <int BYTES>
__device__ __forceinline__ void cp_async(void *destination, const void *source) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(smem_address(destination)), "l"(source),
                 "n"(BYTES)
                 : "memory");
}

// 16 bytes from global [source] to shared memory at [address], past L1; joins the thread's group
__device__ __forceinline__ void cp_async_cg(uint32_t address, const void *source) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(source) : "memory");
}

// the same, its lines under a [policy] of the L2
__device__ __forceinline__ void cp_async_cg_hint(uint32_t address, const void *source, uint64_t policy) {
    asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(address), "l"(source),
                 "l"(policy)
                 : "memory");
}

__device__ __forceinline__ void cp_async_commit_group() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}

// until at most PENDING of this thread's groups are under way; their bytes are visible to this thread only
template <int PENDING>
__device__ __forceinline__ void cp_async_wait_group() {
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

// arrives on [barrier] when all cp.async that this thread has issued have landed; the arrival is one that was counted
// at the barrier's initialisation
__device__ __forceinline__ void cp_async_mbarrier_arrive_noinc(uint64_t *barrier) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(smem_address(barrier)) : "memory");
}

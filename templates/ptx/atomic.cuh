// atomic.cuh: atomics that order memory (PTX ISA 9.7.13.5); CUDA's own are relaxed, and name no scope.
// What is written before a release is seen by whoever acquires what it leaves.

// [counter] + 1, or 0 behind [last]; returns the old value. Releases what the thread, and those that a barrier has
// joined it with, wrote before, and acquires what those before it have released, across the GPU.
__device__ __forceinline__ uint32_t atom_inc_acq_rel_gpu(uint32_t *counter, uint32_t last) {
    uint32_t old;
    asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;" : "=r"(old) : "l"(counter), "r"(last) : "memory");
    return old;
}

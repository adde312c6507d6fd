// atomic.cuh: atomics that order memory (PTX ISA 9.7.13.5); CUDA's own are relaxed, and name no scope.
// What is written before a release is seen by whoever acquires what it leaves.

// [counter] + 1, or 0 behind [last]; returns the old value. Releases what the thread, and those that a barrier has
// joined it with, wrote before, and acquires what those before it have released, across the GPU.
__device__ __forceinline__ uint32_t atom_inc_acq_rel_gpu(uint32_t *counter, uint32_t last) {
    uint32_t old;
    asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;" : "=r"(old) : "l"(counter), "r"(last) : "memory");
    return old;
}

// [counter] + [count]; the same otherwise.
__device__ __forceinline__ uint32_t atom_add_acq_rel_gpu(uint32_t *counter, uint32_t count) {
    uint32_t old;
    asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;" : "=r"(old) : "l"(counter), "r"(count) : "memory");
    return old;
}

// The same without order, so that nobody waits for what is under way.
__device__ __forceinline__ uint32_t atom_add_relaxed_gpu(uint32_t *counter, uint32_t count) {
    uint32_t old;
    asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], %2;" : "=r"(old) : "l"(counter), "r"(count) : "memory");
    return old;
}

// [value] if the word is [expected]; the same otherwise.
__device__ __forceinline__ uint32_t atom_cas_acq_rel_gpu(uint32_t *word, uint32_t expected, uint32_t value) {
    uint32_t old;
    asm volatile("atom.acq_rel.gpu.global.cas.b32 %0, [%1], %2, %3;"
                 : "=r"(old)
                 : "l"(word), "r"(expected), "r"(value)
                 : "memory");
    return old;
}

// a word that others change by such atomics; acquires what they have released
__device__ __forceinline__ uint32_t ld_acquire_gpu(const uint32_t *word) {
    uint32_t value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
    return value;
}

// such a word, for those who come later
__device__ __forceinline__ void st_relaxed_gpu(uint32_t *word, uint32_t value) {
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}

// address.cuh: addresses of shared memory as PTX wants them.
// Instructions of the .shared space take a 32-bit address inside the window, not a generic pointer.

// address of [pointer], which points into shared memory, inside the shared window
__device__ __forceinline__ uint32_t smem_address(const void *pointer) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// mapa: the address that [address] has in the shared memory of CTA [rank] of the cluster
__device__ __forceinline__ uint32_t mapa(uint32_t address, uint32_t rank) {
    uint32_t mapped;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(address), "r"(rank));
    return mapped;
}

// [address] as it is; but for the compiler nothing that it could compute anew at each load
template <typename T>
__device__ __forceinline__ T *kept(T *address) {
    asm volatile("" : "+l"(address));
    return address;
}

// the same of 32 bits
__device__ __forceinline__ uint32_t kept_word(uint32_t x) {
    asm volatile("" : "+r"(x));
    return x;
}

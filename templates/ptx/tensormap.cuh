// tensormap.cuh: tensor maps that kernels write themselves (tensormap.replace, PTX ISA 9.7.9.28), and the fences of
// the proxy by which copies read them (9.7.13.4). A map is a copy of one that the host encoded, then changed.

// gives [map], in global memory, another address, of whole 16 bytes
__device__ __forceinline__ void tensormap_replace_global_address(TensorMap *map, const void *address) {
    asm volatile("tensormap.replace.tile.global_address.global.b1024.b64 [%0], %1;" ::"l"(
                     __cvta_generic_to_global(map)),
                 "l"(__cvta_generic_to_global(address))
                 : "memory");
}

// gives dimension ORDINAL of [map], the innermost being 0, another size, at least 1
template <int ORDINAL>
__device__ __forceinline__ void tensormap_replace_global_dim(TensorMap *map, uint32_t size) {
    asm volatile("tensormap.replace.tile.global_dim.global.b1024.b32 [%0], %1, %2;" ::"l"(
                     __cvta_generic_to_global(map)),
                 "n"(ORDINAL), "r"(size)
                 : "memory");
}

// gives dimension ORDINAL + 1 of [map] another stride, of whole 16 bytes
template <int ORDINAL>
__device__ __forceinline__ void tensormap_replace_global_stride(TensorMap *map, uint64_t bytes) {
    asm volatile("tensormap.replace.tile.global_stride.global.b1024.b64 [%0], %1, %2;" ::"l"(
                     __cvta_generic_to_global(map)),
                 "n"(ORDINAL), "l"(bytes)
                 : "memory");
}

// what the thread has changed of maps is there for those that acquire them
__device__ __forceinline__ void fence_proxy_tensormap_release_gpu() {
    asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory");
}

// copies by [map] after this see what was released before
__device__ __forceinline__ void fence_proxy_tensormap_acquire_gpu(const TensorMap *map) {
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
}

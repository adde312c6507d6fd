// tma.cuh: tensor copies between global and shared memory (cp.async.bulk.tensor, PTX ISA 9.7.9.27).
// One thread issues a whole box; coordinates are in elements, innermost first, and may lie outside the tensor.

// fetches the descriptor ahead of its first use
__device__ __forceinline__ void prefetch_tensormap(const TensorMap *map) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// box at ([x], [y]) -> [destination]; its bytes complete on [barrier]
__device__ __forceinline__ void tma_load_2d(void *destination, const TensorMap *map, int x, int y,
                                            uint64_t *barrier) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
        " [%0], [%1, {%2, %3}], [%4];" ::"r"(smem_address(destination)),
        "l"(map), "r"(x), "r"(y), "r"(smem_address(barrier))
        : "memory");
}

// the same into every CTA of the cluster whose bit is set in [ctas], at the same place, on its own barrier
__device__ __forceinline__ void tma_load_2d_multicast(void *destination, const TensorMap *map, int x, int y,
                                                      uint64_t *barrier, uint16_t ctas) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
        " [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(smem_address(destination)),
        "l"(map), "r"(x), "r"(y), "r"(smem_address(barrier)), "h"(ctas)
        : "memory");
}

// box at ([x], [y]) -> [destination], its lines under a [policy] of the L2; its bytes complete on [barrier]
__device__ __forceinline__ void tma_load_2d_hint(void *destination, const TensorMap *map, int x, int y,
                                                 uint64_t *barrier, uint64_t policy) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint"
        " [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(smem_address(destination)),
        "l"(map), "r"(x), "r"(y), "r"(smem_address(barrier)), "l"(policy)
        : "memory");
}

// the same into every CTA of the cluster whose bit is set in [ctas]
__device__ __forceinline__ void tma_load_2d_multicast_hint(void *destination, const TensorMap *map, int x, int y,
                                                           uint64_t *barrier, uint16_t ctas, uint64_t policy) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
        ".L2::cache_hint [%0], [%1, {%2, %3}], [%4], %5, %6;" ::"r"(smem_address(destination)),
        "l"(map), "r"(x), "r"(y), "r"(smem_address(barrier)), "h"(ctas), "l"(policy)
        : "memory");
}

// Box at ([x], [y]) -> [destination]; its bytes complete on [barrier], as mapa gives it, of either CTA of a pair.
__device__ __forceinline__ void tma_load_2d_pair(void *destination, const TensorMap *map, int x, int y,
                                                 uint32_t barrier) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.cta_group::2"
        " [%0], [%1, {%2, %3}], [%4];" ::"r"(smem_address(destination)),
        "l"(map), "r"(x), "r"(y), "r"(barrier)
        : "memory");
}

// The same into every CTA of the cluster whose bit is set in [ctas], at the same place; of each pair that has one of
// them, on the barrier of the CTA that stands in it as [barrier]'s does.
__device__ __forceinline__ void tma_load_2d_multicast_pair(void *destination, const TensorMap *map, int x, int y,
                                                           uint32_t barrier, uint16_t ctas) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
        ".cta_group::2 [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(smem_address(destination)),
        "l"(map), "r"(x), "r"(y), "r"(barrier), "h"(ctas)
        : "memory");
}

// the same, its lines under a [policy] of the L2
__device__ __forceinline__ void tma_load_2d_multicast_pair_hint(void *destination, const TensorMap *map, int x, int y,
                                                                uint32_t barrier, uint16_t ctas, uint64_t policy) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
        ".cta_group::2.L2::cache_hint [%0], [%1, {%2, %3}], [%4], %5, %6;" ::"r"(smem_address(destination)),
        "l"(map), "r"(x), "r"(y), "r"(barrier), "h"(ctas), "l"(policy)
        : "memory");
}

// the same as tma_load_2d_pair, its lines under a [policy] of the L2
__device__ __forceinline__ void tma_load_2d_pair_hint(void *destination, const TensorMap *map, int x, int y,
                                                      uint32_t barrier, uint64_t policy) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.cta_group::2.L2::cache_hint"
        " [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(smem_address(destination)),
        "l"(map), "r"(x), "r"(y), "r"(barrier), "l"(policy)
        : "memory");
}

// a policy of the L2: what comes in under it leaves first
__device__ __forceinline__ uint64_t createpolicy_evict_first() {
    uint64_t policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0;" : "=l"(policy));
    return policy;
}

// a policy of the L2: what comes in under it leaves last
__device__ __forceinline__ uint64_t createpolicy_evict_last() {
    uint64_t policy;
    asm("createpolicy.fractional.L2::evict_last.b64 %0;" : "=l"(policy));
    return policy;
}

// the same of tensors of three dimensions: box at ([x], [y], [z])
__device__ __forceinline__ void tma_load_3d_multicast(void *destination, const TensorMap *map, int x, int y, int z,
                                                      uint64_t *barrier, uint16_t ctas) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
        " [%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(smem_address(destination)),
        "l"(map), "r"(x), "r"(y), "r"(z), "r"(smem_address(barrier)), "h"(ctas)
        : "memory");
}

// box at ([x], [y], [z], [w]) -> [destination]; its bytes complete on [barrier]
__device__ __forceinline__ void tma_load_4d(void *destination, const TensorMap *map, int x, int y, int z, int w,
                                            uint64_t *barrier) {
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes"
        " [%0], [%1, {%2, %3, %4, %5}], [%6];" ::"r"(smem_address(destination)),
        "l"(map), "r"(x), "r"(y), "r"(z), "r"(w), "r"(smem_address(barrier))
        : "memory");
}

// the same on the [barrier] of either CTA of a pair, as mapa gives it
__device__ __forceinline__ void tma_load_4d_pair(void *destination, const TensorMap *map, int x, int y, int z, int w,
                                                 uint32_t barrier) {
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes.cta_group::2"
        " [%0], [%1, {%2, %3, %4, %5}], [%6];" ::"r"(smem_address(destination)),
        "l"(map), "r"(x), "r"(y), "r"(z), "r"(w), "r"(barrier)
        : "memory");
}

// [source] -> box at ([x], [y], [z]); what lies outside the tensor is not written; joins the thread's bulk group
__device__ __forceinline__ void tma_store_3d(const TensorMap *map, int x, int y, int z, const void *source) {
    asm volatile(
        "cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(map), "r"(x),
        "r"(y), "r"(z), "r"(smem_address(source))
        : "memory");
}

// [source] -> box at ([x], [y]); what lies outside the tensor is not written; joins the thread's bulk group
__device__ __forceinline__ void tma_store_2d(const TensorMap *map, int x, int y, const void *source) {
    asm volatile(
        "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map), "r"(x),
        "r"(y), "r"(smem_address(source))
        : "memory");
}

__device__ __forceinline__ void cp_async_bulk_commit_group() {
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// until at most [PENDING] of this thread's bulk groups still read shared memory
template <int PENDING>
__device__ __forceinline__ void cp_async_bulk_wait_group_read() {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory");
}

// box at ([x], [y], [z]) -> [destination]; its bytes complete on [barrier]
__device__ __forceinline__ void tma_load_3d(void *destination, const TensorMap *map, int x, int y, int z,
                                            uint64_t *barrier) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
        " [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(smem_address(destination)),
        "l"(map), "r"(x), "r"(y), "r"(z), "r"(smem_address(barrier))
        : "memory");
}

// the same on the [barrier] of either CTA of a pair, as mapa gives it
__device__ __forceinline__ void tma_load_3d_pair(void *destination, const TensorMap *map, int x, int y, int z,
                                                 uint32_t barrier) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.cta_group::2"
        " [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(smem_address(destination)),
        "l"(map), "r"(x), "r"(y), "r"(z), "r"(barrier)
        : "memory");
}

// The same into every CTA of the cluster whose bit is set in [ctas], at the same place; of each pair that has one of
// them, on the barrier of the CTA that stands in it as [barrier]'s does.
__device__ __forceinline__ void tma_load_3d_multicast_pair(void *destination, const TensorMap *map, int x, int y,
                                                           int z, uint32_t barrier, uint16_t ctas) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
        ".cta_group::2 [%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(smem_address(destination)),
        "l"(map), "r"(x), "r"(y), "r"(z), "r"(barrier), "h"(ctas)
        : "memory");
}

// box at ([x], [y], [z], [w], [v]) -> [destination]; its bytes complete on [barrier]
__device__ __forceinline__ void tma_load_5d(void *destination, const TensorMap *map, int x, int y, int z, int w, int v,
                                            uint64_t *barrier) {
    asm volatile(
        "cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes"
        " [%0], [%1, {%2, %3, %4, %5, %6}], [%7];" ::"r"(smem_address(destination)),
        "l"(map), "r"(x), "r"(y), "r"(z), "r"(w), "r"(v), "r"(smem_address(barrier))
        : "memory");
}

// the same on the [barrier] of either CTA of a pair, as mapa gives it
__device__ __forceinline__ void tma_load_5d_pair(void *destination, const TensorMap *map, int x, int y, int z, int w,
                                                 int v, uint32_t barrier) {
    asm volatile(
        "cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes.cta_group::2"
        " [%0], [%1, {%2, %3, %4, %5, %6}], [%7];" ::"r"(smem_address(destination)),
        "l"(map), "r"(x), "r"(y), "r"(z), "r"(w), "r"(v), "r"(barrier)
        : "memory");
}

// launch_control.cuh: work taken over from clusters that have not begun (PTX ISA 9.7.15.18), of sm_100.

// Asks for a cluster that is not to be launched; the 16 bytes of the [answer] complete on [barrier].
__device__ __forceinline__ void clusterlaunchcontrol_try_cancel(void *answer, uint64_t *barrier) {
    asm volatile(
        "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%0], [%1];" ::"r"(
            smem_address(answer)),
        "r"(smem_address(barrier))
        : "memory");
}

// the same; the answer comes to this place, and completes on this barrier, in all CTAs of the cluster
__device__ __forceinline__ void clusterlaunchcontrol_try_cancel_multicast(void *answer, uint64_t *barrier) {
    asm volatile(
        "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128"
        " [%0], [%1];" ::"r"(smem_address(answer)),
        "r"(smem_address(barrier))
        : "memory");
}

// true if the [answer] is that a cluster will not be launched; [x]: blockIdx.x of its first CTA then
__device__ __forceinline__ bool clusterlaunchcontrol_query_cancel(const void *answer, int *x) {
    uint32_t cancelled;
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        ".reg .b64 low, high;\n"
        ".reg .b128 words;\n"
        "ld.shared.v2.b64 {low, high}, [%2];\n"
        "mov.b128 words, {low, high};\n"
        "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, words;\n"
        "selp.u32 %0, 1, 0, p;\n"
        "@p clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %1, words;\n"
        "}\n"
        : "=r"(cancelled), "+r"(*x)
        : "r"(smem_address(answer))
        : "memory");
    return cancelled;
}

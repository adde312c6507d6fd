// Tensor maps that a launch writes itself: the copy engine reads them through a proxy of their own,
// and
// whoever uses one must know of a fence.proxy.tensormap::generic.acquire of it since (PTX ISA
// 9.7.13.4).
#include "runtime/emu/check/check.h"
#include "runtime/emu/model/tensormap.h"

#include <stdlib.h>

struct emu_map_fence {
    struct emu_map_fence *next;
    uint64_t address;
    uint32_t agent, time;  // of the fence; time 0: the map has changed since
};

void emu_map_acquire(struct emu_warp *warp, uint64_t address) {
    struct emu_cluster *cluster = warp->cta->cluster;
    struct emu_map_fence *made = malloc(sizeof *made);

    if (made == NULL) return;
    *made = (struct emu_map_fence){cluster->map_fences, address, warp->agent,
                                   warp->clock.seen[warp->agent]};
    cluster->map_fences = made;
    emu_tick(warp);
}

void emu_map_changed(struct emu_cluster *cluster, uint64_t address) {
    for (struct emu_map_fence *fence = cluster->map_fences; fence != NULL; fence = fence->next)
        if (fence->address == address) fence->time = 0;
}

static bool is_fenced(const struct emu_warp *warp, uint64_t address) {
    const struct emu_map_fence *fence = warp->cta->cluster->map_fences;

    while (fence != NULL && !(fence->address == address && fence->time != 0 &&
                              warp->clock.seen[fence->agent] >= fence->time))
        fence = fence->next;
    return fence != NULL;
}

void emu_map_check(struct emu_warp *warp, const struct emu_insn *insn, uint64_t address) {
    const struct emu_allocation *found = emu_memory_find(emu_machine(warp)->memory, address);
    uint64_t written = 0;
    char where[EMU_MEMORY_TEXT];

    if (found == NULL || found->feet == NULL || !emu_machine(warp)->check) return;
    for (uint64_t at = address - found->base, end = at + TMG_TENSOR_MAP_BYTES;
         at < end && at < found->bytes; at += EMU_FOOT_UNIT)
        written |= found->feet[at / EMU_FOOT_UNIT] & EMU_FOOT_WRITTEN;
    if (written == 0 || is_fenced(warp, address)) return;
    emu_report(
        warp, insn, EMU_MISSING_PROXY_FENCE,
        "the tensor map at %s has been written in this launch\n"
        "  no fence.proxy.tensormap::generic.acquire of it comes before its use",
        emu_memory_text(emu_machine(warp), found, address - found->base, 1, where, sizeof where));
}

void emu_maps_free(struct emu_cluster *cluster) {
    while (cluster->map_fences != NULL) {
        struct emu_map_fence *next = cluster->map_fences->next;
        free(cluster->map_fences);
        cluster->map_fences = next;
    }
}

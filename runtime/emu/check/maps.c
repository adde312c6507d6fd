// Tensor maps that a launch writes itself: the copy engine reads them through a proxy of their own.
// Whoever uses one must know of a fence.proxy.tensormap::generic.acquire of it since, and that of a
// release since the map was written (PTX ISA 9.7.13.4).
#include "runtime/emu/check/check.h"
#include "runtime/emu/model/tensormap.h"

#include <stdlib.h>

// What has happened to the cluster's maps, the latest first.
struct emu_map_event {
    struct emu_map_event *next;
    enum { MAP_CHANGED, MAP_RELEASED, MAP_ACQUIRED } kind;
    uint64_t address;      // of a release: 0, it is of all maps
    uint32_t agent, time;  // of an acquire: time 0, the map has changed since
    // Of a change: its release, time 0 where there is none. Of an acquire: it knew of one.
    uint32_t releaser, release_time;
    bool released;
};

static bool knows(const struct emu_warp *warp, uint32_t agent, uint32_t time) {
    return time != 0 && warp->clock.seen[agent] >= time;
}

static struct emu_map_event *note(struct emu_warp *warp, int kind, uint64_t address) {
    struct emu_cluster *cluster = warp->cta->cluster;
    struct emu_map_event *made = calloc(1, sizeof *made);

    if (made == NULL) return NULL;
    made->kind = kind;
    made->address = address;
    made->agent = warp->agent;
    made->time = warp->clock.seen[warp->agent];
    made->next = cluster->map_events;
    return cluster->map_events = made;
}

void emu_map_changed(struct emu_warp *warp, uint64_t address) {
    struct emu_map_event *event = warp->cta->cluster->map_events, *again = NULL;

    for (; event != NULL; event = event->next) {
        if (event->address != address) continue;
        if (event->kind == MAP_ACQUIRED) event->time = 0;
        if (event->kind == MAP_CHANGED && event->agent == warp->agent) again = event;
    }
    if (again == NULL) again = note(warp, MAP_CHANGED, address);
    if (again == NULL) return;
    again->time = warp->clock.seen[warp->agent];
    again->release_time = 0;
}

// A release is of all changes that the warp knows of.
void emu_map_release(struct emu_warp *warp) {
    struct emu_map_event *release = note(warp, MAP_RELEASED, 0);

    emu_machine(warp)->map_releases++;
    if (release == NULL) return;
    for (struct emu_map_event *event = release->next; event != NULL; event = event->next) {
        if (event->kind != MAP_CHANGED || event->release_time != 0) continue;
        if (!knows(warp, event->agent, event->time)) continue;
        event->releaser = release->agent;
        event->release_time = release->time;
    }
    emu_tick(warp);
}

// Does [warp] know of a release since the map was written? Of what another cluster has written it
// is known only that somebody has released maps.
static bool is_released(const struct emu_warp *warp, uint64_t address, bool foreign) {
    const struct emu_map_event *event = warp->cta->cluster->map_events;
    bool changed = false, some = foreign && emu_machine(warp)->map_releases != 0;

    for (; event != NULL; event = event->next) {
        if (event->kind == MAP_RELEASED) some |= knows(warp, event->agent, event->time);
        if (event->kind != MAP_CHANGED || event->address != address) continue;
        if (!knows(warp, event->releaser, event->release_time)) return false;
        changed = true;
    }
    return changed || some;
}

// Has this launch written the map, and others than the cluster, too?
static bool is_written(const struct emu_warp *warp, const struct emu_allocation *allocation,
                       uint64_t offset, bool *foreign) {
    const struct emu_cluster *cluster = warp->cta->cluster;
    bool written = false;

    *foreign = false;
    for (uint64_t at = offset, end = offset + TMG_TENSOR_MAP_BYTES;
         at < end && at < allocation->bytes; at += EMU_FOOT_UNIT) {
        uint64_t foot = allocation->feet[at / EMU_FOOT_UNIT], owner = foot >> EMU_FOOT_OWNER;
        if (!(foot & EMU_FOOT_WRITTEN)) continue;
        written = true;
        *foreign |= (owner - 1) / cluster->warp_count != cluster->number;
        *foreign |= foot & EMU_FOOT_SHARED && cluster->known != NULL;
    }
    return written;
}

// The allocation of the map at [address], where it is known what is written there; or NULL.
static const struct emu_allocation *map_at(const struct emu_warp *warp, uint64_t address) {
    const struct emu_allocation *found = emu_memory_find(emu_machine(warp)->memory, address);

    return found == NULL || found->feet == NULL || !emu_machine(warp)->check ? NULL : found;
}

void emu_map_acquire(struct emu_warp *warp, uint64_t address) {
    const struct emu_allocation *found = map_at(warp, address);
    struct emu_map_event *made = note(warp, MAP_ACQUIRED, address);
    bool foreign;

    if (made != NULL)
        made->released = found == NULL ||
                         !is_written(warp, found, address - found->base, &foreign) ||
                         is_released(warp, address, foreign);
    emu_tick(warp);
}

void emu_map_check(struct emu_warp *warp, const struct emu_insn *insn, uint64_t address) {
    const struct emu_allocation *found = map_at(warp, address);
    const struct emu_map_event *event = warp->cta->cluster->map_events;
    bool acquired = false, foreign;
    char where[EMU_MEMORY_TEXT];

    if (found == NULL || !is_written(warp, found, address - found->base, &foreign)) return;
    for (; event != NULL; event = event->next) {
        if (event->kind != MAP_ACQUIRED || event->address != address ||
            !knows(warp, event->agent, event->time))
            continue;
        acquired = true;
        if (event->released) return;
    }
    emu_report(
        warp, insn, EMU_MISSING_PROXY_FENCE,
        "the tensor map at %s has been written in this launch\n"
        "  no fence.proxy.tensormap::generic.%s comes before its %s",
        emu_memory_text(emu_machine(warp), found, address - found->base, 1, where, sizeof where),
        acquired ? "release" : "acquire of it", acquired ? "acquire" : "use");
}

void emu_maps_free(struct emu_cluster *cluster) {
    while (cluster->map_events != NULL) {
        struct emu_map_event *next = cluster->map_events->next;
        free(cluster->map_events);
        cluster->map_events = next;
    }
}

// Memory as weak as PTX has it, between clusters: what one stores by a plain store, another's plain
// loads may miss until the one has released it and the other has acquired it since (PTX ISA 8.8 to
// 8.10). Memory always holds the latest; what lay there before is kept for a while beside it, in a
// table of fixed size, and loads that may still see it do so as the seed likes. Strong loads and
// atomics see the latest. A program without races never notices.
#include "runtime/emu/check/check.h"

#include <stdlib.h>
#include <string.h>

enum { UNIT = 16, SETS = 512, WAYS = 8, RELEASES = 16, LONGEST = 32 };

// A unit's bytes as they were before a store, at that time.
struct old {
    uint64_t unit, time;  // time 0: nothing is kept here
    uint32_t writer;      // number of the cluster
    uint32_t bytes;       // a bit each that was written
    uint8_t data[UNIT];
};

struct old_set {
    uint32_t next;  // that is overwritten
    struct old ways[WAYS];
};

// A cluster: when it released last, the latest first round the corner, and when it acquired.
struct party {
    uint64_t acquired, releases[RELEASES];
    uint32_t count;
};

struct emu_weak {
    uint64_t random, now;
    struct old_set sets[SETS];
    uint8_t seen[LONGEST];
    struct party parties[];
};

void emu_weak_new(struct emu_machine *machine) {
    if (machine->launch->seed == 0) return;
    machine->weak =
        calloc(1, sizeof *machine->weak + machine->cluster_total * sizeof *machine->weak->parties);
    if (machine->weak != NULL) machine->weak->random = ~machine->launch->seed;
}

void emu_weak_delete(struct emu_machine *machine) {
    free(machine->weak);
    machine->weak = NULL;
}

void emu_weak_release(const struct emu_cluster *cluster) {
    struct emu_weak *weak = cluster->machine->weak;

    if (weak == NULL) return;
    struct party *party = &weak->parties[cluster->number];
    party->releases[party->count++ % RELEASES] = ++weak->now;
}

void emu_weak_acquire(const struct emu_cluster *cluster) {
    struct emu_weak *weak = cluster->machine->weak;

    if (weak != NULL) weak->parties[cluster->number].acquired = ++weak->now;
}

static struct old_set *set_of(struct emu_weak *weak, uint64_t unit) {
    return &weak->sets[(unit ^ unit >> 9) % SETS];
}

void emu_weak_write(const struct emu_cluster *cluster, uint64_t address, const uint8_t *data,
                    size_t bytes) {
    struct emu_weak *weak = cluster->machine->weak;

    for (size_t i = 0, size; i < bytes; i += size) {
        uint64_t unit = (address + i) / UNIT, first = (address + i) % UNIT;
        struct old_set *set = set_of(weak, unit);
        struct old *old = &set->ways[set->next++ % WAYS];
        size = bytes - i < UNIT - first ? bytes - i : UNIT - first;
        *old = (struct old){.unit = unit,
                            .time = ++weak->now,
                            .writer = cluster->number,
                            .bytes = ((1u << size) - 1) << first};
        memcpy(old->data + first, data + i, size);
    }
}

// Must [reader] see that write: its own, or one released before it acquired? Where it isn't known
// any more, yes.
static bool must_see(const struct emu_weak *weak, uint32_t reader, const struct old *old) {
    const struct party *writer = &weak->parties[old->writer];
    uint32_t kept = writer->count < RELEASES ? writer->count : RELEASES;
    uint64_t first = UINT64_MAX;

    if (old->writer == reader) return true;
    for (uint32_t i = 0; i < kept; i++)
        if (writer->releases[i] > old->time && writer->releases[i] < first)
            first = writer->releases[i];
    bool forgotten = kept < writer->count && writer->releases[writer->count % RELEASES] > old->time;
    return forgotten || first <= weak->parties[reader].acquired;
}

// Makes the bytes of [unit] in [data], those of [open], what they were before stores that [reader]
// misses.
static void look_back(struct emu_weak *weak, uint32_t reader, uint64_t unit, uint32_t open,
                      uint8_t *data) {
    const struct old_set *set = set_of(weak, unit);

    for (uint32_t i = 1; i <= WAYS && open; i++) {
        const struct old *old = &set->ways[(set->next - i) % WAYS];
        uint32_t bytes = old->bytes & open;
        if (old->time == 0 || old->unit != unit || !bytes) continue;
        if (must_see(weak, reader, old) || (emu_random(&weak->random) & 1)) {
            open &= ~bytes;
            continue;
        }
        for (unsigned b = 0; b < UNIT; b++)
            if (bytes >> b & 1) data[b] = old->data[b];
    }
}

const uint8_t *emu_weak_read(const struct emu_cluster *cluster, uint64_t address,
                             const uint8_t *data, size_t bytes) {
    struct emu_weak *weak = cluster->machine->weak;

    if (bytes > LONGEST) return data;
    memcpy(weak->seen, data, bytes);
    for (size_t i = 0, size; i < bytes; i += size) {
        uint64_t unit = (address + i) / UNIT, first = (address + i) % UNIT;
        uint8_t whole[UNIT];
        size = bytes - i < UNIT - first ? bytes - i : UNIT - first;
        memcpy(whole + first, data + i, size);
        look_back(weak, cluster->number, unit, ((1u << size) - 1) << first, whole);
        memcpy(weak->seen + i, whole + first, size);
    }
    return weak->seen;
}

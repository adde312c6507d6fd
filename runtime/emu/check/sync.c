// Words of memory that serve as flags: the clocks that release writes leave and acquire reads find.
// Relaxed accesses order nothing by themselves; fences before and after them do (PTX ISA 8.8).
#include "runtime/emu/check/check.h"

#include <stdlib.h>

enum { BUCKETS = 256 };

struct sync_word {
    struct sync_word *next;
    uint64_t key;
    struct emu_clock clock;
};

struct emu_sync {
    struct sync_word *buckets[BUCKETS];
};

static struct sync_word **bucket(struct emu_cluster *cluster, uint64_t key) {
    return &cluster->syncs->buckets[(key >> 2 ^ key >> 10) % BUCKETS];
}

static struct sync_word *find(struct emu_cluster *cluster, uint64_t key, bool make) {
    if (cluster->syncs == NULL && make) cluster->syncs = calloc(1, sizeof *cluster->syncs);
    if (cluster->syncs == NULL) return NULL;
    struct sync_word **head = bucket(cluster, key);
    for (struct sync_word *word = *head; word != NULL; word = word->next)
        if (word->key == key) return word;
    struct sync_word *word = make ? calloc(1, sizeof *word) : NULL;
    if (word == NULL || emu_clock_new(cluster, &word->clock)) {
        free(word);
        return NULL;
    }
    word->key = key;
    word->next = *head;
    *head = word;
    return word;
}

// Does an access of [insn] to word [key] tell other clusters anything?
static bool reaches_others(const struct emu_insn *insn, uint64_t key) {
    return (key & EMU_WINDOW_MASK) != EMU_SHARED_WINDOW && insn->scope != SCOPE_CTA &&
           insn->scope != SCOPE_CLUSTER;
}

void emu_sync_release(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                      uint64_t key, bool release) {
    const struct emu_clock *clock = release ? &warp->clock : &warp->fenced;
    struct emu_cluster *cluster = warp->cta->cluster;

    if (reaches_others(insn, key)) emu_order_release(warp, key, release);
    if (!release && !warp->has_fenced) return;
    struct sync_word *word = find(cluster, key, true);
    emu_tell(warp, 1u << lane, clock->seen[warp->agent]);
    if (word != NULL) emu_clock_join(cluster, &word->clock, clock);
}

void emu_sync_acquire(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                      uint64_t key, bool acquire) {
    struct emu_cluster *cluster = warp->cta->cluster;
    struct sync_word *word = find(cluster, key, false);

    if (reaches_others(insn, key)) emu_order_acquire(cluster, key, acquire);
    if (word == NULL) return;
    if (acquire)
        emu_learn(warp, 1u << lane, &word->clock);
    else
        emu_clock_join(cluster, &warp->observed, &word->clock);
    warp->has_observed |= !acquire;
}

void emu_syncs_free(struct emu_cluster *cluster) {
    if (cluster->syncs == NULL) return;
    for (int i = 0; i < BUCKETS; i++)
        for (struct sync_word *word = cluster->syncs->buckets[i], *next; word != NULL;
             word = next) {
            next = word->next;
            emu_clock_free(&word->clock);
            free(word);
        }
    free(cluster->syncs);
    cluster->syncs = NULL;
}

// Vector clocks of a cluster's agents, and the agents that asynchronous operations borrow.
// An operation reuses an agent only if its issuer knows that the previous operation has ended.
#include "runtime/emu/machine/machine.h"

#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

int emu_clock_new(struct emu_cluster *cluster, struct emu_clock *clock) {
    size_t capacity = cluster->agent_capacity;
    bool global = cluster->machine->order != NULL;
    size_t tensor = global ? 4 : 2;

    clock->seen = calloc((tensor + (cluster->has_tmem ? 2 : 0)) * capacity, sizeof *clock->seen);
    if (clock->seen == NULL) return -1;
    clock->async = clock->seen + capacity;
    clock->before = cluster->has_tmem ? clock->seen + tensor * capacity : NULL;
    clock->after = cluster->has_tmem ? clock->before + capacity : NULL;
    clock->global = global ? clock->async + capacity : NULL;
    clock->wide = global ? clock->global + capacity : NULL;
    return 0;
}

void emu_clock_free(struct emu_clock *clock) {
    free(clock->seen);
    *clock = (struct emu_clock){0};
}

#if defined(__x86_64__)
// As many of [count] as whole vectors hold; how many.
__attribute__((target("avx2"))) static uint32_t join_vectors(uint32_t *into, const uint32_t *from,
                                                             uint32_t count) {
    uint32_t i = 0;

    for (; i + 8 <= count; i += 8) {
        __m256i *to = (__m256i *)(void *)(into + i);
        const __m256i *with = (const __m256i *)(const void *)(from + i);
        _mm256_storeu_si256(to, _mm256_max_epu32(_mm256_loadu_si256(to), _mm256_loadu_si256(with)));
    }
    return i;
}
#endif

static void join_half(uint32_t *restrict into, const uint32_t *restrict from, uint32_t count) {
    uint32_t i = 0;

#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) i = join_vectors(into, from, count);
#endif
    for (; i < count; i++) into[i] = into[i] > from[i] ? into[i] : from[i];
}

void emu_clock_join(const struct emu_cluster *cluster, struct emu_clock *into,
                    const struct emu_clock *from) {
    if (into->seen == from->seen) return;
    join_half(into->seen, from->seen, cluster->agent_count);
    join_half(into->async, from->async, cluster->agent_count);
    if (into->before != NULL) join_half(into->before, from->before, cluster->agent_count);
    if (into->global == NULL) return;
    join_half(into->global, from->global, cluster->agent_count);
    join_half(into->wide, from->wide, cluster->agent_count);
}

void emu_clock_copy(const struct emu_cluster *cluster, struct emu_clock *into,
                    const struct emu_clock *from) {
    memcpy(into->seen, from->seen, cluster->agent_count * sizeof *into->seen);
    memcpy(into->async, from->async, cluster->agent_count * sizeof *into->async);
    if (into->before != NULL) {
        memcpy(into->before, from->before, cluster->agent_count * sizeof *into->before);
        memcpy(into->after, from->after, cluster->agent_count * sizeof *into->after);
    }
    if (into->global == NULL) return;
    memcpy(into->global, from->global, cluster->agent_count * sizeof *into->global);
    memcpy(into->wide, from->wide, cluster->agent_count * sizeof *into->wide);
}

void emu_clock_clear(const struct emu_cluster *cluster, struct emu_clock *clock) {
    memset(clock->seen, 0, cluster->agent_count * sizeof *clock->seen);
    memset(clock->async, 0, cluster->agent_count * sizeof *clock->async);
    if (clock->before != NULL) {
        memset(clock->before, 0, cluster->agent_count * sizeof *clock->before);
        memset(clock->after, 0, cluster->agent_count * sizeof *clock->after);
    }
    if (clock->global == NULL) return;
    memset(clock->global, 0, cluster->agent_count * sizeof *clock->global);
    memset(clock->wide, 0, cluster->agent_count * sizeof *clock->wide);
}

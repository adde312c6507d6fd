// The table of prepared launches.
// Two places a key, and no removal: what is overwritten is prepared again at its next launch.
#include "runtime/prepared.h"

#include <stdlib.h>

int tmg_prepared_init(struct tmg_prepared *table, size_t slots, size_t key_words,
                      size_t value_words) {
    table->key_words = key_words;
    table->value_words = value_words;
    table->slot_words = (1 + key_words + value_words + 7) / 8 * 8;  // whole cache lines
    table->slots = slots;
    // Zeroed by the system, page by page as they are used: most kernels fill a few slots.
    table->words = calloc(table->slots * table->slot_words, sizeof(uint64_t));
    if (!table->words) return -1;
    return 0;
}

void tmg_prepared_free(struct tmg_prepared *table) {
    free((void *)table->words);
    table->words = NULL;
}

// Two accumulators, so that the multiplications overlap.
uint64_t tmg_hash_words(const uint64_t *words, size_t count) {
    const uint64_t a = UINT64_C(0x9e3779b97f4a7c15), b = UINT64_C(0xc2b2ae3d27d4eb4f);
    uint64_t even = a ^ count, odd = b;
    for (size_t i = 0; i + 1 < count; i += 2) {
        even = (even ^ words[i]) * a;
        even ^= even >> 32;
        odd = (odd ^ words[i + 1]) * b;
        odd ^= odd >> 29;
    }
    if (count % 2) even = (even ^ words[count - 1]) * a;
    uint64_t hash = (even ^ (odd >> 31 | odd << 33)) * b;
    return hash ^ hash >> 32;
}

// The [way]-th slot for [hash], 0 or 1. Its first word is its sequence: 0 empty, odd being written.
static _Atomic uint64_t *slot_of(const struct tmg_prepared *table, uint64_t hash, int way) {
    size_t index = (size_t)(way ? hash >> 32 : hash) & (table->slots - 1);
    return table->words + index * table->slot_words;
}

// Acquire on every word keeps the second look at the sequence behind them; on x86 it costs nothing.
static int read_slot(const struct tmg_prepared *table, _Atomic uint64_t *slot, const uint64_t *key,
                     uint64_t *value) {
    uint64_t before = atomic_load_explicit(slot, memory_order_acquire);
    if (before == 0 || before % 2) return 0;
    _Atomic uint64_t *word = slot + 1;
    for (size_t i = 0; i < table->key_words; ++i, ++word)
        if (atomic_load_explicit(word, memory_order_acquire) != key[i]) return 0;
    for (size_t i = 0; i < table->value_words; ++i, ++word)
        value[i] = atomic_load_explicit(word, memory_order_acquire);
    return atomic_load_explicit(slot, memory_order_acquire) == before;
}

int tmg_prepared_find(const struct tmg_prepared *table, uint64_t hash, const uint64_t *key,
                      uint64_t *value) {
    return read_slot(table, slot_of(table, hash, 0), key, value) ||
           read_slot(table, slot_of(table, hash, 1), key, value);
}

static void write_slot(const struct tmg_prepared *table, _Atomic uint64_t *slot,
                       const uint64_t *key, const uint64_t *value) {
    uint64_t sequence = atomic_load_explicit(slot, memory_order_relaxed);
    if (sequence % 2 || !atomic_compare_exchange_strong(slot, &sequence, sequence + 1)) return;
    _Atomic uint64_t *word = slot + 1;
    for (size_t i = 0; i < table->key_words; ++i)
        atomic_store_explicit(word++, key[i], memory_order_release);
    for (size_t i = 0; i < table->value_words; ++i)
        atomic_store_explicit(word++, value[i], memory_order_release);
    atomic_store_explicit(slot, sequence + 2, memory_order_release);
}

void tmg_prepared_put(struct tmg_prepared *table, uint64_t hash, const uint64_t *key,
                      const uint64_t *value) {
    _Atomic uint64_t *first = slot_of(table, hash, 0), *second = slot_of(table, hash, 1);
    int second_is_free = atomic_load_explicit(second, memory_order_relaxed) == 0;
    int first_is_free = atomic_load_explicit(first, memory_order_relaxed) == 0;
    write_slot(table, first_is_free || !second_is_free ? first : second, key, value);
}

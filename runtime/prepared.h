// Launches made ready: for given arguments the grid and every parameter's bytes, tensor maps
// encoded. A bounded table a kernel. Readers neither lock nor allocate: a slot is a sequence-locked
// array of words that they copy out, so that it can be overwritten at any time, and a torn copy is
// a miss.
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct tmg_prepared {
    size_t slot_words, slots;  // a slot: sequence, key words, value words; slots: a power of two
    size_t key_words, value_words;
    _Atomic uint64_t *words;
};

// Makes an empty table of [slots], a power of two, for keys and values of that many words. 0, or -1
// without memory.
int tmg_prepared_init(struct tmg_prepared *table, size_t slots, size_t key_words,
                      size_t value_words);
void tmg_prepared_free(struct tmg_prepared *table);

// Copies the value of [key], whose hash is [hash], to [value]; returns whether it was there.
int tmg_prepared_find(const struct tmg_prepared *table, uint64_t hash, const uint64_t *key,
                      uint64_t *value);

// Puts [value] into one of the two slots that [hash] allows, over what was there. Does nothing when
// another thread writes that slot just now.
void tmg_prepared_put(struct tmg_prepared *table, uint64_t hash, const uint64_t *key,
                      const uint64_t *value);

// A hash of [count] words in which every bit of every word counts.
uint64_t tmg_hash_words(const uint64_t *words, size_t count);

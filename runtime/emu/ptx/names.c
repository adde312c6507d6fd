// Names and what they stand for, each in its scope: one table for a whole file, since a kernel has
// tens of thousands of them. Scopes have numbers, so that a closed one costs nothing.
#include "runtime/emu/ptx/ptx.h"

#include <string.h>

static uint32_t hash_of(uint32_t scope, const char *name, size_t length) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ scope;

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)name[i]) * UINT64_C(0x100000001b3);
    return (uint32_t)(hash ^ hash >> 32);
}

// Twice as many lists, each in the order that it had.
static void grow(struct emu_arena *arena, struct ptx_names *names) {
    uint32_t size = names->size ? 2 * names->size : 64;
    struct ptx_symbol **lists = emu_arena_alloc(arena, size * sizeof *lists);

    for (uint32_t i = 0; i < names->size; i++) {
        struct ptx_symbol *reversed = NULL, *symbol, *next;
        for (symbol = names->lists[i]; symbol != NULL; symbol = next) {
            next = symbol->next;
            symbol->next = reversed;
            reversed = symbol;
        }
        for (symbol = reversed; symbol != NULL; symbol = next) {
            next = symbol->next;
            symbol->next = lists[symbol->hash & (size - 1)];
            lists[symbol->hash & (size - 1)] = symbol;
        }
    }
    names->lists = lists;
    names->size = size;
}

void ptx_names_add(struct emu_arena *arena, struct ptx_names *names, struct ptx_symbol *symbol) {
    if (names->count >= names->size) grow(arena, names);
    symbol->hash = hash_of(symbol->scope, symbol->name, strlen(symbol->name));
    struct ptx_symbol **list = &names->lists[symbol->hash & (names->size - 1)];
    symbol->next = *list;
    *list = symbol;
    names->count++;
}

struct ptx_symbol *ptx_names_find(const struct ptx_names *names, uint32_t scope, const char *name,
                                  size_t length, int64_t element) {
    uint32_t hash = hash_of(scope, name, length);
    struct ptx_symbol *symbol = names->size ? names->lists[hash & (names->size - 1)] : NULL;

    for (; symbol != NULL; symbol = symbol->next)
        if (symbol->hash == hash && symbol->scope == scope && symbol->ranged == (element >= 0) &&
            (element < 0 || element < symbol->count) && strncmp(symbol->name, name, length) == 0 &&
            symbol->name[length] == '\0')
            return symbol;
    return NULL;
}

// Blocks from malloc, cut from their end; a piece that ends goes to the list of its size.
#include "gen/pool.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 64 << 10 };

struct pool_piece {
    struct pool_piece *next;
};

struct pool_block {
    struct pool_block *next;
    _Alignas(POOL_STEP) char bytes[BLOCK_BYTES];
};

struct pool_large {
    struct pool_large *next, **link;  // what points to it
    _Alignas(POOL_STEP) char bytes[];
};

// Of pieces of [size] bytes; POOL_CLASSES and more: they are large.
static size_t class_of(size_t size) { return (size - 1) / POOL_STEP; }

static void *cut(struct pool *pool, size_t bytes) {
    if (pool->uncut < bytes) {
        struct pool_block *block = malloc(sizeof *block);
        if (!block) return NULL;
        block->next = pool->blocks;
        pool->blocks = block;
        pool->uncut = BLOCK_BYTES;
    }
    pool->uncut -= bytes;
    return pool->blocks->bytes + pool->uncut;
}

static void *begin_large(struct pool *pool, size_t size) {
    struct pool_large *large = malloc(sizeof *large + size);
    if (!large) return NULL;
    *large = (struct pool_large){.next = pool->large, .link = &pool->large};
    if (large->next) large->next->link = &large->next;
    pool->large = large;
    return large->bytes;
}

static void end_large(void *bytes) {
    struct pool_large *large = (void *)((char *)bytes - offsetof(struct pool_large, bytes));
    *large->link = large->next;
    if (large->next) large->next->link = large->link;
    free(large);
}

static void *begin(struct pool *pool, size_t size) {
    const size_t class = class_of(size);
    if (class >= POOL_CLASSES) return begin_large(pool, size);
    struct pool_piece *piece = pool->unused[class];
    if (!piece) return cut(pool, (class + 1) * POOL_STEP);
    pool->unused[class] = piece->next;
    return piece;
}

static void end(struct pool *pool, void *old, size_t size) {
    if (class_of(size) >= POOL_CLASSES) return end_large(old);
    struct pool_piece *piece = old;
    piece->next = pool->unused[class_of(size)];
    pool->unused[class_of(size)] = piece;
}

void *pool_resize(struct pool *pool, void *old, size_t old_size, size_t size) {
    if (size > old_size && size - old_size > pool->left) return NULL;
    void *piece = NULL;
    if (old && size && class_of(old_size) == class_of(size) && class_of(size) < POOL_CLASSES)
        piece = old;
    else if (size && !(piece = begin(pool, size)))
        return NULL;
    if (old && piece && piece != old) memcpy(piece, old, old_size < size ? old_size : size);
    if (old && piece != old) end(pool, old, old_size);
    pool->left += old_size - size;
    return piece;
}

void pool_free(struct pool *pool) {
    while (pool->large) end_large(pool->large->bytes);
    while (pool->blocks) {
        struct pool_block *next = pool->blocks->next;
        free(pool->blocks);
        pool->blocks = next;
    }
    *pool = (struct pool){0};
}

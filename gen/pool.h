// Memory of a Lua state: many small pieces that come and go, for which malloc takes a tenth of what
// a generation does, and all of which end together.
#pragma once
#include <stddef.h>

enum { POOL_STEP = 16, POOL_CLASSES = 32 };  // larger pieces are malloc's

struct pool {
    size_t left;  // bytes that it may still give
    struct pool_piece *unused[POOL_CLASSES];
    struct pool_block *blocks;
    size_t uncut;  // bytes of the first block
    struct pool_large *large;
};

// As realloc, of a piece of [old_size] bytes; NULL: [size] is 0, or there is no memory left, and
// [old] stays.
void *pool_resize(struct pool *, void *old, size_t old_size, size_t size);
void pool_free(struct pool *);

// malloc and friends that end the program when memory is out, and an arena on top.
// Input is bounded before it gets here, so running out is the machine's state, not a user's error.
#include "gen/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 16384, ALIGN = 16 };

struct arena_block {
    struct arena_block *next;
    size_t used, size;
    _Alignas(ALIGN) char bytes[];
};

static void *checked(void *p) {
    if (p) return p;
    fputs("tmagen: error: out of memory\n", stderr);
    exit(3);
}

void *mem_alloc(size_t size) { return checked(malloc(size ? size : 1)); }

void *mem_zero(size_t size) { return checked(calloc(1, size ? size : 1)); }

void *mem_resize(void *p, size_t size) { return checked(realloc(p, size ? size : 1)); }

char *mem_copy_n(const char *text, size_t len) {
    char *copy = mem_alloc(len + 1);
    if (len) memcpy(copy, text, len);
    copy[len] = 0;
    return copy;
}

char *mem_copy(const char *text) { return mem_copy_n(text, strlen(text)); }

char *mem_vformat(const char *format, va_list args) {
    char *text = NULL;
    if (vasprintf(&text, format, args) < 0) checked(NULL);
    return text;
}

char *mem_format(const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = mem_vformat(format, args);
    va_end(args);
    return text;
}

void *arena_alloc(struct arena *arena, size_t size) {
    size = (size + ALIGN - 1) / ALIGN * ALIGN;
    struct arena_block *block = arena->blocks;
    if (!block || block->size - block->used < size) {
        size_t bytes = size > BLOCK_BYTES ? size : BLOCK_BYTES;
        block = mem_zero(sizeof *block + bytes);
        block->size = bytes;
        block->next = arena->blocks;
        arena->blocks = block;
    }
    void *p = block->bytes + block->used;
    block->used += size;
    return p;
}

char *arena_copy(struct arena *arena, const char *text, size_t len) {
    char *copy = arena_alloc(arena, len + 1);
    if (len) memcpy(copy, text, len);
    return copy;
}

void arena_free(struct arena *arena) {
    while (arena->blocks) {
        struct arena_block *next = arena->blocks->next;
        free(arena->blocks);
        arena->blocks = next;
    }
}

// Memory that cannot fail: a command-line program that has none left says so and ends.
// Only gen/ and its commands may use it; libtmagen returns errors instead.
#pragma once
#include <stdarg.h>
#include <stddef.h>

void *mem_alloc(size_t size);
void *mem_zero(size_t size);
void *mem_resize(void *, size_t size);
char *mem_copy(const char *);
char *mem_copy_n(const char *, size_t len);
char *mem_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *mem_vformat(const char *format, va_list) __attribute__((format(printf, 1, 0)));

// Appends [value] to a growing array.
#define MEM_PUSH(array, count, capacity, value)                          \
    do {                                                                 \
        if ((count) == (capacity)) {                                     \
            (capacity) = (capacity) ? 2 * (capacity) : 8;                \
            (array) = mem_resize((array), (capacity) * sizeof *(array)); \
        }                                                                \
        (array)[(count)++] = (value);                                    \
    } while (0)

// Many small pieces that live and end together.
struct arena {
    struct arena_block *blocks;
};

// Zeroed and aligned for any object.
void *arena_alloc(struct arena *, size_t size);
char *arena_copy(struct arena *, const char *, size_t len);
void arena_free(struct arena *);

// Device memory: allocations with known bounds at addresses of the emulator's own, never reused.
// A flag a byte says whether anyone has written it, until all of an allocation is written.
#include "runtime/emu/machine/machine.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    GUARD = 65536,
    TAIL = 16,        // vector accesses of the host may look a little further
    SPARSE = 1 << 30  // from here on zeros that the host's memory has no page for until it is used
};
// Above the windows, whose bits are those from 40 on.
enum { HIGHEST = 0x7e, LOWEST = 0x10, REGION_SHIFT = 40 };

struct emu_memory *emu_memory_new_apart(unsigned number) {
    struct emu_memory *memory = calloc(1, sizeof *memory);

    if (memory != NULL)
        memory->next = (uint64_t)(HIGHEST - number % (HIGHEST - LOWEST)) << REGION_SHIFT;
    return memory;
}

struct emu_memory *emu_memory_new(void) {
    return emu_memory_new_apart(0);
}

void emu_memory_forget(struct emu_allocation *allocation) {
    free(allocation->feet);
    free(allocation->feet_before);
    free(allocation->pages);
    allocation->feet = allocation->feet_before = NULL;
    allocation->pages = NULL;
}

// Zeros. Sparse ones are the system's and not the heap's, of which sanitizers keep books.
static uint8_t *zeros(size_t bytes) {
    if (bytes < SPARSE) return calloc(bytes, 1);
    void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return mapped == MAP_FAILED ? NULL : mapped;
}

static void give_back(uint8_t *memory, size_t bytes) {
    if (bytes < SPARSE)
        free(memory);
    else if (memory != NULL)
        munmap(memory, bytes);
}

static void release(struct emu_allocation *allocation) {
    const size_t bytes = allocation->bytes;
    emu_memory_forget(allocation);
    give_back(allocation->data, bytes < SPARSE ? bytes : bytes + TAIL);
    give_back(allocation->written, bytes);
    free(allocation->name);
}

void emu_memory_delete(struct emu_memory *memory) {
    if (memory == NULL) return;
    for (size_t i = 0; i < memory->count; i++) release(&memory->allocations[i]);
    free(memory->allocations);
    free(memory);
}

static bool grow(struct emu_memory *memory) {
    size_t capacity = memory->capacity ? 2 * memory->capacity : 16;

    if (memory->count < memory->capacity) return true;
    void *grown = realloc(memory->allocations, capacity * sizeof *memory->allocations);
    if (grown == NULL) return false;
    memory->allocations = grown;
    memory->capacity = capacity;
    return true;
}

uint64_t emu_memory_alloc(struct emu_memory *memory, size_t bytes, const char *name) {
    struct emu_allocation made = {.base = memory->next, .bytes = bytes};

    if (bytes == 0 || bytes > (UINT64_C(1) << 40) || !grow(memory)) return 0;
    made.data = bytes < SPARSE ? malloc(bytes + TAIL) : zeros(bytes + TAIL);
    made.written = zeros(bytes);
    made.name = strdup(name ? name : "buffer");
    if (made.data == NULL || made.written == NULL || made.name == NULL) {
        release(&made);
        return 0;
    }
    if (bytes < SPARSE) memset(made.data, 0xff, bytes);
    memory->next += (bytes + 2 * GUARD - 1) / GUARD * GUARD;
    memory->allocations[memory->count++] = made;
    return made.base;
}

struct emu_allocation *emu_memory_find(const struct emu_memory *memory, uint64_t address) {
    size_t low = 0, high = memory->count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (memory->allocations[middle].base <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0) return NULL;
    struct emu_allocation *found = &memory->allocations[low - 1];
    return address - found->base < found->bytes ? found : NULL;
}

int emu_memory_free(struct emu_memory *memory, uint64_t address) {
    struct emu_allocation *found = emu_memory_find(memory, address);

    if (found == NULL || found->base != address) return -1;
    release(found);
    size_t index = (size_t)(found - memory->allocations);
    memmove(found, found + 1, (memory->count - index - 1) * sizeof *found);
    memory->count--;
    return 0;
}

static struct emu_allocation *range(const struct emu_memory *memory, uint64_t at, size_t bytes) {
    struct emu_allocation *found = emu_memory_find(memory, at);

    return found != NULL && bytes <= found->bytes - (at - found->base) ? found : NULL;
}

static void mark_written(struct emu_allocation *allocation, uint64_t at, size_t bytes) {
    if (allocation->written == NULL) return;
    if (bytes == allocation->bytes) {
        give_back(allocation->written, bytes);
        allocation->written = NULL;
    } else {
        memset(allocation->written + (at - allocation->base), 1, bytes);
    }
}

void emu_memory_settle(struct emu_memory *memory) { memory->settled = true; }

int emu_memory_write(struct emu_memory *memory, uint64_t to, const void *from, size_t bytes) {
    struct emu_allocation *found = range(memory, to, bytes);

    if (found == NULL) return bytes ? -1 : 0;
    memcpy(found->data + (to - found->base), from, bytes);
    mark_written(found, to, bytes);
    return 0;
}

int emu_memory_read(const struct emu_memory *memory, void *to, uint64_t from, size_t bytes) {
    struct emu_allocation *found = range(memory, from, bytes);

    if (found == NULL) return bytes ? -1 : 0;
    memcpy(to, found->data + (from - found->base), bytes);
    return 0;
}

int emu_memory_fill(struct emu_memory *memory, uint64_t to, int byte, size_t bytes) {
    struct emu_allocation *found = range(memory, to, bytes);

    if (found == NULL) return bytes ? -1 : 0;
    memset(found->data + (to - found->base), byte, bytes);
    mark_written(found, to, bytes);
    return 0;
}

size_t emu_memory_unwritten(const struct emu_memory *memory, uint64_t from, size_t bytes,
                            size_t size, size_t *first) {
    const struct emu_allocation *found = range(memory, from, bytes);
    size_t count = 0;

    if (found == NULL || found->written == NULL) return 0;
    const uint8_t *written = found->written + (from - found->base);
    for (size_t at = 0; at + size <= bytes; at += size)
        if (memchr(written + at, 0, size) != NULL && count++ == 0) *first = at / size;
    return count;
}

int emu_memory_poison(struct emu_memory *memory, uint64_t to, size_t bytes) {
    struct emu_allocation *found = range(memory, to, bytes);

    if (found == NULL) return bytes ? -1 : 0;
    if (found->written == NULL) {
        found->written = zeros(found->bytes);
        if (found->written == NULL) return -1;
        memset(found->written, 1, found->bytes);
    }
    memset(found->written + (to - found->base), 0, bytes);
    return 0;
}

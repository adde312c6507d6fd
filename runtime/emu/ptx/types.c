// What all of PTX is made of here: an arena that a module lives in, and the names and sizes of
// types. The table of types is the one place that says how wide each is.
#include "runtime/emu/ptx/ptx.h"

#include <stdlib.h>
#include <string.h>

// ---- arena ----

struct emu_arena_block {
    struct emu_arena_block *next;
    max_align_t data[];
};

void *emu_arena_alloc(struct emu_arena *arena, size_t bytes) {
    enum { BLOCK = 1 << 18 };

    bytes = (bytes + 15) & ~(size_t)15;
    if (arena->blocks == NULL || arena->capacity - arena->used < bytes) {
        size_t capacity = bytes > BLOCK ? bytes : BLOCK;
        if (capacity > arena->room) longjmp(*arena->fail, PTX_NO_ROOM);
        struct emu_arena_block *block = calloc(1, sizeof *block + capacity);
        if (block == NULL) longjmp(*arena->fail, PTX_NO_MEMORY);
        arena->room -= capacity;
        block->next = arena->blocks;
        arena->blocks = block;
        arena->used = 0;
        arena->capacity = capacity;
    }
    void *result = (char *)arena->blocks->data + arena->used;
    arena->used += bytes;
    return result;
}

char *emu_arena_text(struct emu_arena *arena, const char *text, size_t length) {
    char *copy = emu_arena_alloc(arena, length + 1);

    memcpy(copy, text, length);
    return copy;
}

void emu_arena_free(struct emu_arena *arena) {
    while (arena->blocks != NULL) {
        struct emu_arena_block *next = arena->blocks->next;
        free(arena->blocks);
        arena->blocks = next;
    }
}

// ---- types ----

static const struct {
    const char *name;
    unsigned bytes;
} types[T_COUNT] = {
    [T_NONE] = {"", 0},           [T_B8] = {"b8", 1},         [T_U8] = {"u8", 1},
    [T_S8] = {"s8", 1},           [T_B16] = {"b16", 2},       [T_U16] = {"u16", 2},
    [T_S16] = {"s16", 2},         [T_F16] = {"f16", 2},       [T_BF16] = {"bf16", 2},
    [T_B32] = {"b32", 4},         [T_U32] = {"u32", 4},       [T_S32] = {"s32", 4},
    [T_F32] = {"f32", 4},         [T_TF32] = {"tf32", 4},     [T_F16X2] = {"f16x2", 4},
    [T_BF16X2] = {"bf16x2", 4},   [T_U16X2] = {"u16x2", 4},   [T_S16X2] = {"s16x2", 4},
    [T_B64] = {"b64", 8},         [T_U64] = {"u64", 8},       [T_S64] = {"s64", 8},
    [T_F64] = {"f64", 8},         [T_F32X2] = {"f32x2", 8},   [T_B128] = {"b128", 16},
    [T_PRED] = {"pred", 1},       [T_B1] = {"b1", 1},         [T_E4M3] = {"e4m3", 1},
    [T_E5M2] = {"e5m2", 1},       [T_E4M3X2] = {"e4m3x2", 2}, [T_E5M2X2] = {"e5m2x2", 2},
    [T_E4M3X4] = {"e4m3x4", 4},   [T_E5M2X4] = {"e5m2x4", 4}, [T_E2M3] = {"e2m3", 1},
    [T_E3M2] = {"e3m2", 1},       [T_E2M1] = {"e2m1", 1},     [T_E2M3X2] = {"e2m3x2", 2},
    [T_E3M2X2] = {"e3m2x2", 2},   [T_E2M1X2] = {"e2m1x2", 1}, [T_E2M3X4] = {"e2m3x4", 4},
    [T_E3M2X4] = {"e3m2x4", 4},   [T_E2M1X4] = {"e2m1x4", 2}, [T_UE8M0] = {"ue8m0", 1},
    [T_UE8M0X2] = {"ue8m0x2", 2}, [T_S2F6X2] = {"s2f6x2", 2}, [T_U4] = {"u4", 1},
    [T_S4] = {"s4", 1},           [T_U2] = {"u2", 1},         [T_S2] = {"s2", 1},
};

const char *ptx_type_name(enum ptx_type type) { return types[type].name; }

unsigned ptx_type_bytes(enum ptx_type type) { return types[type].bytes; }

enum ptx_type ptx_type_find(const char *text, size_t length) {
    for (int type = T_NONE + 1; type < T_COUNT; type++)
        if (strlen(types[type].name) == length && memcmp(types[type].name, text, length) == 0)
            return (enum ptx_type)type;
    return T_NONE;
}

// The memory of a shadow: pages of cells of 16 bytes, split to 4, 2 or 1 where a smaller access
// comes, and the states that cells share, counted.
#include "runtime/emu/check/shadow.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_READERS = 3, FIRST_STATES = 64 };

// ---- states ----

static bool more_states(struct emu_shadow *shadow) {
    uint32_t capacity = shadow->state_capacity ? 2 * shadow->state_capacity : FIRST_STATES;
    struct shadow_state *states = realloc(shadow->states, capacity * sizeof *states);

    if (states == NULL) return false;
    memset(states + shadow->state_capacity, 0,
           (capacity - shadow->state_capacity) * sizeof *states);
    shadow->states = states;
    shadow->state_capacity = capacity;
    return true;
}

// One that no cell is in; lists of further readers stay with their states, empty.
static uint32_t take_state(struct emu_shadow *shadow) {
    uint32_t taken = shadow->spare_state;

    if (taken != 0) {
        shadow->spare_state = shadow->states[taken].next;
        return taken;
    }
    if (shadow->state_count == shadow->state_capacity && !more_states(shadow)) return 0;
    return shadow->state_count++;
}

static void copy_others(struct shadow_state *to, const struct shadow_state *from) {
    uint32_t count = from->others ? from->others->count : 0;

    if (count > (to->others ? to->others->capacity : 0)) {
        struct shadow_readers *grown =
            realloc(to->others, sizeof *grown + count * sizeof *grown->list);
        if (grown == NULL) return;  // *to knows less
        grown->capacity = count;
        to->others = grown;
    }
    if (to->others != NULL) to->others->count = count;
    if (count) memcpy(to->others->list, from->others->list, count * sizeof *to->others->list);
}

uint32_t emu_state_copy(struct emu_shadow *shadow, uint32_t from) {
    uint32_t taken = take_state(shadow);
    struct shadow_state *to = &shadow->states[taken];
    const struct shadow_state *like = &shadow->states[from];

    if (taken == 0) return 0;
    to->write = like->write;
    to->read = like->read;
    to->other = like->other;
    if (to->others != NULL) to->others->count = 0;
    if (like->others != NULL) copy_others(to, like);
    to->cells = 1;
    to->call = shadow->call;
    to->next = 0;
    return taken;
}

void emu_state_leave(struct emu_shadow *shadow, uint32_t state, uint32_t count) {
    struct shadow_state *left = &shadow->states[state];

    if (state == SHADOW_BLANK || (left->cells -= count) != 0) return;
    left->call = 0;
    left->next = shadow->spare_state;
    shadow->spare_state = state;
}

void emu_state_unread(struct shadow_state *state) {
    state->read.time = state->other.time = 0;
    if (state->others != NULL) state->others->count = 0;
}

struct shadow_touch *emu_state_reader(struct shadow_state *state) {
    struct shadow_readers *others = state->others;

    if (state->other.time == 0) return &state->other;
    if (others == NULL || others->count == others->capacity) {
        uint32_t capacity = others ? 2 * others->capacity : FIRST_READERS;
        struct shadow_readers *grown =
            realloc(others, sizeof *grown + capacity * sizeof *grown->list);
        if (grown == NULL) return NULL;
        if (others == NULL) grown->count = 0;
        grown->capacity = capacity;
        state->others = others = grown;
    }
    return &others->list[others->count++];
}

// ---- pages ----

static uint32_t cell_count(uint32_t shift) { return (uint32_t)SHADOW_PAGE >> shift; }

struct emu_shadow *emu_shadow_new(const struct emu_shadowed *of, const struct emu_cta *cta,
                                  uint32_t bytes) {
    uint32_t count = (bytes + SHADOW_PAGE - 1) / SHADOW_PAGE;
    struct emu_shadow *shadow = calloc(1, sizeof *shadow + count * sizeof *shadow->pages);

    if (shadow == NULL) return NULL;
    shadow->of = of;
    shadow->cta = cta;
    shadow->bytes = bytes;
    shadow->touched = calloc(count, sizeof *shadow->touched);
    if (shadow->touched != NULL && more_states(shadow)) {
        shadow->state_count = 1;  // SHADOW_BLANK
        return shadow;
    }
    free(shadow->touched);
    free(shadow);
    return NULL;
}

void emu_shadow_delete(struct emu_shadow *shadow) {
    if (shadow == NULL) return;
    for (uint32_t i = 0; i < shadow->touched_count; i++) free(shadow->pages[shadow->touched[i]]);
    for (uint32_t shift = 0; shift < SHADOW_SHIFTS; shift++)
        while (shadow->spare[shift] != NULL) {
            struct shadow_block *next = shadow->spare[shift]->next;
            free(shadow->spare[shift]);
            shadow->spare[shift] = next;
        }
    for (uint32_t i = 0; i < shadow->state_capacity; i++) free(shadow->states[i].others);
    free(shadow->states);
    free(shadow->touched);
    free(shadow);
}

static void put_back(struct emu_shadow *shadow, struct shadow_block *block) {
    memset(block->cells, 0, cell_count(block->shift) * sizeof *block->cells);
    block->next = shadow->spare[block->shift];
    shadow->spare[block->shift] = block;
}

static struct shadow_block *take_block(struct emu_shadow *shadow, uint32_t shift) {
    struct shadow_block *block = shadow->spare[shift];

    if (block != NULL) {
        shadow->spare[shift] = block->next;
        return block;
    }
    block = calloc(1, sizeof *block + cell_count(shift) * sizeof *block->cells);
    if (block != NULL) block->shift = shift;
    return block;
}

void emu_shadow_clean(struct emu_shadow *shadow, uint8_t *smem) {
    for (uint32_t i = 0; i < shadow->touched_count; i++) {
        uint32_t page = shadow->touched[i];
        put_back(shadow, shadow->pages[page]);
        shadow->pages[page] = NULL;
        if (smem != NULL) memset(smem + (size_t)page * SHADOW_PAGE, EMU_SMEM_BLANK, SHADOW_PAGE);
    }
    shadow->touched_count = 0;
    shadow->state_count = 1;
    shadow->spare_state = 0;
}

void emu_shadow_forget(struct emu_shadow *shadow, uint32_t offset, uint32_t bytes) {
    uint32_t step;

    for (uint32_t at = offset; at < offset + bytes; at += step) {
        struct shadow_block *block = shadow->pages[at / SHADOW_PAGE];
        step = block ? 1u << block->shift : SHADOW_PAGE - at % SHADOW_PAGE;
        if (block == NULL) continue;
        emu_state_leave(shadow, *emu_cell_at(shadow, at), 1);
        *emu_cell_at(shadow, at) = SHADOW_BLANK;
    }
}

struct shadow_block *emu_shadow_refine(struct emu_shadow *shadow, uint32_t page, uint32_t shift) {
    struct shadow_block *coarse = shadow->pages[page], *fine = take_block(shadow, shift);

    if (fine == NULL) return coarse;
    if (coarse == NULL) shadow->touched[shadow->touched_count++] = page;
    for (uint32_t i = 0; coarse != NULL && i < cell_count(shift); i++) {
        fine->cells[i] = coarse->cells[i >> (coarse->shift - shift)];
        shadow->states[fine->cells[i]].cells++;
    }
    for (uint32_t i = 0; coarse != NULL && i < cell_count(coarse->shift); i++)
        emu_state_leave(shadow, coarse->cells[i], 1);
    if (coarse != NULL) put_back(shadow, coarse);
    return shadow->pages[page] = fine;
}

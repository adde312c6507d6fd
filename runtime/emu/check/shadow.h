// What a shadow is made of: cells, which are small numbers, and the states that these name. Cells
// touched alike share a state, so that a box of 32 KB has a few, and they stay in cache.
#ifndef TMG_EMU_CHECK_SHADOW_H
#define TMG_EMU_CHECK_SHADOW_H

#include "runtime/emu/check/check.h"

enum { SHADOW_PAGE = 256, SHADOW_SHIFTS = 5, SHADOW_PLACE = 80 };
enum { SHADOW_BARRIER = 0x7f };  // a layout: an mbarrier lies here
enum { SHADOW_BLANK = 0 };       // the state of what nobody has touched

struct shadow_touch {
    uint32_t time;
    uint32_t lanes;  // of the warp; 0: not one's own access
    uint32_t insn;   // its place in the code
    uint16_t agent;
    uint8_t strength : 6, async : 1, four : 1;  // as a toucher's
    uint8_t layout;                             // the same; or SHADOW_BARRIER
};

struct shadow_readers {
    uint32_t count, capacity;
    struct shadow_touch list[];
};

struct shadow_state {
    struct shadow_touch write;      // time 0: never written
    struct shadow_touch read;       // the latest reader since; time 0: none
    struct shadow_touch other;      // a further one
    struct shadow_readers *others;  // and more of them
    uint32_t cells;                 // that are in it; 0: it is spare
    uint32_t call;                  // the last one that found or made it,
    uint32_t next;                  // and what it makes of such a cell; 0: not known. Of spare
};                                  // states the next one

// The cells of a page, each of 1 << shift bytes.
struct shadow_block {
    struct shadow_block *next;  // of those that are spare
    uint32_t shift;
    uint32_t cells[];  // numbers of states
};

struct emu_shadow {
    const struct emu_shadowed *of;
    const struct emu_cta *cta;
    uint32_t complaints;
    uint32_t call;     // counts touches
    uint32_t written;  // the state of what this call has written; 0: none yet
    struct shadow_state *states;
    uint32_t state_count, state_capacity;  // those before [state_count] have been in use
    uint32_t spare_state;
    uint32_t bytes, touched_count;
    uint32_t *touched;                          // pages with a block
    struct shadow_block *spare[SHADOW_SHIFTS];  // clean ones, by shift
    struct shadow_block *pages[];               // NULL: nobody was here
};

// ---- states.c ----

// A state as [from] is, for one cell; 0: no memory is left. All pointers to states end here.
uint32_t emu_state_copy(struct emu_shadow *shadow, uint32_t from);
// [count] cells are no longer in [state].
void emu_state_leave(struct emu_shadow *shadow, uint32_t state, uint32_t count);
// Nobody has read what is in [state].
void emu_state_unread(struct shadow_state *state);
// Room for a further reader; NULL: no memory is left.
struct shadow_touch *emu_state_reader(struct shadow_state *state);
// Gives the page cells of 1 << shift bytes. Where memory is out it stays as it is.
struct shadow_block *emu_shadow_refine(struct emu_shadow *shadow, uint32_t page, uint32_t shift);

static inline uint32_t *emu_cell_at(const struct emu_shadow *shadow, uint32_t offset) {
    struct shadow_block *block = shadow->pages[offset / SHADOW_PAGE];
    return block == NULL ? NULL : &block->cells[(offset % SHADOW_PAGE) >> block->shift];
}

static inline const struct shadow_state *emu_state_at(const struct emu_shadow *shadow,
                                                      uint32_t offset) {
    const uint32_t *cell = emu_cell_at(shadow, offset);
    return &shadow->states[cell == NULL ? SHADOW_BLANK : *cell];
}

static inline const struct emu_insn *emu_touch_insn(const struct emu_shadow *shadow,
                                                    const struct shadow_touch *touch) {
    return &shadow->cta->cluster->machine->program->code[touch->insn];
}

// ---- conflict.c: when there is no order, and what is said of it ----

// Has [touch] happened before [toucher], who has [view]?
bool emu_touch_known(const struct emu_toucher *toucher, const uint32_t *view,
                     const struct shadow_touch *touch);
// [toucher]'s [use] of [offset] and the touch [before], which wrote or read, have no order.
void emu_conflict(struct emu_shadow *shadow, uint32_t offset, enum emu_use use,
                  const struct shadow_touch *before, bool before_wrote,
                  const struct emu_toucher *toucher);
// [toucher] reads with another swizzle than [write] has.
void emu_conflict_layout(struct emu_shadow *shadow, uint32_t offset,
                         const struct shadow_touch *write, const struct emu_toucher *toucher);
// [toucher] reads what nobody has written.
void emu_conflict_unwritten(struct emu_shadow *shadow, uint32_t offset,
                            const struct emu_toucher *toucher);
// [toucher] writes where an mbarrier was put; nothing is said where it has ended.
void emu_conflict_barrier(const struct emu_shadow *shadow, uint32_t offset,
                          const struct emu_toucher *toucher);

#endif

// Divergence: the lanes of a warp as splits, each with a pc, that meet again at joins.
// All splits of a warp can run, so lanes may wait for each other as Volta and later allow.
#include "runtime/emu/machine/machine.h"

#include <stdlib.h>

static struct emu_join *new_join(struct emu_warp *warp, uint32_t pc, uint32_t expected,
                                 struct emu_join *parent) {
    struct emu_join *join = calloc(1, sizeof *join);

    if (join == NULL) return NULL;  // lanes then simply don't wait for each other
    join->pc = pc;
    join->expected = expected;
    join->parent = parent;
    join->next = warp->joins;
    warp->joins = join;
    return join;
}

static void remove_join(struct emu_warp *warp, struct emu_join *gone) {
    struct emu_join **link = &warp->joins;

    while (*link != gone) link = &(*link)->next;
    *link = gone->next;
    free(gone);
}

void emu_joins_free(struct emu_warp *warp) {
    while (warp->joins != NULL) remove_join(warp, warp->joins);
}

static void remove_split(struct emu_warp *warp, unsigned index) {
    warp->splits[index] = warp->splits[--warp->split_count];
    if (warp->current == warp->split_count) warp->current = index < warp->split_count ? index : 0;
}

static struct emu_split *add_split(struct emu_warp *warp, uint32_t pc, uint32_t mask,
                                   struct emu_join *join) {
    struct emu_split *split = &warp->splits[warp->split_count++];

    *split = (struct emu_split){.pc = pc, .mask = mask, .join = join};
    return split;
}

// Everyone expected is here (or has exited): they go on together.
static bool release_if_complete(struct emu_warp *warp, struct emu_join *join) {
    if (join->arrived != (join->expected & warp->live)) return false;
    if (join->arrived) add_split(warp, join->pc, join->arrived, join->parent);
    remove_join(warp, join);
    return true;
}

bool emu_settle(struct emu_warp *warp) {
    struct emu_split *split = emu_split(warp);

    while (split->join != NULL && split->pc == split->join->pc) {
        struct emu_join *join = split->join;
        join->arrived |= split->mask;
        if (join->arrived != (join->expected & warp->live)) {
            remove_split(warp, warp->current);
            return false;
        }
        split->mask = join->arrived;
        split->join = join->parent;
        remove_join(warp, join);
    }
    return true;
}

void emu_diverge(struct emu_warp *warp, uint32_t taken, uint32_t target, uint32_t other,
                 uint32_t join) {
    struct emu_split *split = emu_split(warp);
    uint32_t rest = split->mask & ~taken;

    if (join != EMU_NO_PC && (split->join == NULL || split->join->pc != join)) {
        struct emu_join *made = new_join(warp, join, split->mask, split->join);
        if (made != NULL) split->join = made;
    }
    split->pc = target;
    split->mask = taken;
    add_split(warp, other, rest, split->join);
}

void emu_enter(struct emu_warp *warp, uint32_t target, uint32_t join) {
    struct emu_split *split = emu_split(warp);
    struct emu_join *made = new_join(warp, join, split->mask, split->join);

    if (made != NULL) split->join = made;
    split->pc = target;
}

uint32_t emu_waits_for(const struct emu_warp *warp, uint32_t mask, uint32_t *pc) {
    for (const struct emu_join *join = warp->joins; join != NULL; join = join->next)
        if (join->arrived && (join->expected & ~join->arrived & mask)) {
            *pc = join->pc;
            return join->arrived;
        }
    return 0;
}

void emu_exit_lanes(struct emu_warp *warp, uint32_t mask) {
    struct emu_split *split = emu_split(warp);

    warp->live &= ~mask;
    split->mask &= ~mask;
    if (split->mask == 0) remove_split(warp, warp->current);
    // a released join may complete its parent, so start over after each
    for (struct emu_join *join = warp->joins; join != NULL;)
        join = release_if_complete(warp, join) ? warp->joins : join->next;
}

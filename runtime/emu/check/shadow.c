// Shadow of a memory of a CTA: who wrote each byte last, who read it since, and whether it was ever
// written.
#include "runtime/emu/check/shadow.h"

// ---- the rule: of two touches, one a write, one happens before the other ----

// What was read before it was written over may have been read for nothing.
static void watch_reader(const struct emu_shadow *shadow, const struct shadow_touch *read,
                         const struct emu_toucher *toucher) {
    const struct emu_cluster *cluster = shadow->cta->cluster;
    uint32_t agent = read->agent, warps = shadow->cta->warp_count;
    struct emu_report *report = toucher->warp->blamed;

    if (report == NULL || toucher->warp->blamed_insn != toucher->insn) return;
    if (read->four || agent >= cluster->warp_count)
        report->used = true;
    else
        emu_watch_earlier(&cluster->ctas[agent / warps].warps[agent % warps],
                          emu_touch_insn(shadow, read), read->lanes, read->time, report);
}

static bool same_kind(const struct shadow_touch *touch, const struct emu_toucher *toucher) {
    return emu_may_meet(touch->strength, toucher->strength);
}

// Is it one's own, and neither another lane's nor an earlier copy's?
static inline bool is_own(const struct shadow_touch *touch, const struct emu_toucher *toucher) {
    return touch->agent == toucher->agent && touch->time == toucher->time &&
           !(touch->lanes && toucher->lanes);
}

static const uint32_t *view_of(const struct emu_toucher *toucher) {
    return toucher->tensor  ? toucher->clock->after
           : toucher->async ? toucher->clock->async
                            : toucher->clock->seen;
}

// Is the earlier write visible to [toucher]?
static void check_write(struct emu_shadow *shadow, uint32_t offset, enum emu_use use,
                        const struct shadow_touch *write, const struct emu_toucher *toucher) {
    if (write->time == 0 || is_own(write, toucher) || same_kind(write, toucher)) return;
    if (emu_touch_known(toucher, view_of(toucher), write)) return;
    emu_conflict(shadow, offset, use, write, true, toucher);
    if (use != EMU_READ) emu_watch_nothing(toucher->warp, toucher->insn);
}

static void check_read(struct emu_shadow *shadow, uint32_t offset, enum emu_use use,
                       const struct shadow_touch *read, const struct emu_toucher *toucher) {
    const uint32_t *view =
        toucher->tensor || toucher->after_reads ? view_of(toucher) : toucher->clock->seen;
    if (read->time != 0 && !is_own(read, toucher) && !same_kind(read, toucher) &&
        !emu_touch_known(toucher, view, read)) {
        emu_conflict(shadow, offset, use, read, false, toucher);
        watch_reader(shadow, read, toucher);
    }
}

// Does the read [next] take the place of [last], because that has ended or its agent reads again?
static bool replaces(const struct emu_toucher *toucher, const struct shadow_touch *next,
                     const struct shadow_touch *last) {
    return (last->agent == next->agent && next->four >= last->four) ||
           emu_touch_known(toucher, toucher->clock->seen, last);
}

// Lanes of the same warp that have read before and that others may not know of yet.
static uint32_t lanes_left(const struct emu_toucher *toucher, const struct shadow_touch *last) {
    const struct emu_cluster *cluster = toucher->warp->cta->cluster;

    if (!toucher->lanes || last->agent != toucher->agent || last->time == 0) return 0;
    if (last->time == toucher->time) return last->lanes;
    if (emu_lanes_know(toucher->warp, toucher->lanes, last->lanes & ~toucher->lanes, last->time))
        return 0;
    return emu_was_told(cluster, last->agent, last->lanes, last->time, toucher->time - 1)
               ? 0
               : last->lanes;
}

static bool takes_place(struct shadow_touch *earlier, const struct emu_toucher *toucher,
                        struct shadow_touch *touch) {
    if (!replaces(toucher, touch, earlier)) return false;
    touch->lanes |= lanes_left(toucher, earlier);
    return true;
}

static void note_read(struct shadow_state *state, const struct emu_toucher *toucher,
                      struct shadow_touch touch) {
    struct shadow_touch *last = &state->read, *place = NULL;
    struct shadow_readers *others = state->others;

    touch.lanes |= lanes_left(toucher, last);
    if (last->time == 0 || replaces(toucher, &touch, last)) {
        *last = touch;
        return;
    }
    if (state->other.time != 0 && takes_place(&state->other, toucher, &touch))
        place = &state->other;
    for (uint32_t i = 0; place == NULL && others != NULL && i < others->count; i++)
        if (takes_place(&others->list[i], toucher, &touch)) place = &others->list[i];
    if (place == NULL) place = emu_state_reader(state);
    if (place == NULL) return;
    *place = *last;
    *last = touch;
}

// ---- a cell ----

// What a call brings to each cell.
struct touching {
    enum emu_use use;
    const struct emu_toucher *toucher;
    struct shadow_touch touch;
    uint32_t from, to, moved;  // cells that went from one state to another, not yet counted there
};
enum { NO_STATE = UINT32_MAX };

// The swizzle of what was written is that of who reads it, where both have one.
static bool misplaced(const struct shadow_touch *write, const struct emu_toucher *toucher) {
    return write->layout != 0 && toucher->layout != 0 && write->layout != toucher->layout &&
           write->layout != SHADOW_BARRIER;
}

static void check(struct emu_shadow *shadow, uint32_t offset, const struct shadow_state *state,
                  const struct touching *by) {
    bool unwritten = state->write.time == 0 && offset >= shadow->of->begin;

    if (by->use != EMU_WRITE && unwritten) emu_conflict_unwritten(shadow, offset, by->toucher);
    check_write(shadow, offset, by->use, &state->write, by->toucher);
    if (by->use == EMU_READ) {
        if (misplaced(&state->write, by->toucher))
            emu_conflict_layout(shadow, offset, &state->write, by->toucher);
        return;
    }
    if (state->write.layout == SHADOW_BARRIER) emu_conflict_barrier(shadow, offset, by->toucher);
    check_read(shadow, offset, by->use, &state->read, by->toucher);
    check_read(shadow, offset, by->use, &state->other, by->toucher);
    for (uint32_t i = 0; state->others != NULL && i < state->others->count; i++)
        check_read(shadow, offset, by->use, &state->others->list[i], by->toucher);
}

static void read_state(struct shadow_state *state, bool unwritten, const struct touching *by) {
    if (unwritten)  // once is enough
        state->write =
            (struct shadow_touch){.time = 1, .agent = by->touch.agent, .insn = by->touch.insn};
    note_read(state, by->toucher, by->touch);
}

static bool is_private(const struct emu_shadow *shadow, uint32_t state) {
    return state != SHADOW_BLANK && shadow->states[state].cells == 1 &&
           shadow->states[state].call != shadow->call;
}

// The state of a cell in [from] that is changed: its own, if it has one. 0: no memory is left.
static uint32_t own_state(struct emu_shadow *shadow, uint32_t from) {
    return is_private(shadow, from) ? from : emu_state_copy(shadow, from);
}

static bool is_spare(const struct emu_shadow *shadow, uint32_t state) {
    return state != SHADOW_BLANK && shadow->states[state].cells == 0;
}

// All that is written in a call gets one state.
static uint32_t after_write(struct emu_shadow *shadow, uint32_t from, const struct touching *by) {
    uint32_t to = shadow->written;

    if (to != 0) {
        shadow->states[to].cells++;
        return to;
    }
    to = own_state(shadow, from);
    if (to == 0) return from;
    emu_state_unread(&shadow->states[to]);
    shadow->states[to].write = by->touch;
    shadow->states[to].call = shadow->call;
    shadow->states[to].next = 0;
    return shadow->written = to;
}

static uint32_t after_read(struct emu_shadow *shadow, uint32_t from, bool unwritten,
                           const struct touching *by) {
    uint32_t to = own_state(shadow, from);

    if (to == 0) return from;
    read_state(&shadow->states[to], unwritten, by);
    return to;
}

// What the touch makes of the cell's state, which becomes [from]'s next where it is the same for
// every cell.
static void change_cell(struct emu_shadow *shadow, uint32_t *cell, uint32_t offset,
                        const struct touching *by) {
    uint32_t from = *cell, complaints = shadow->complaints;
    const struct shadow_state *state = &shadow->states[from];
    bool never = state->write.time == 0 && by->use != EMU_WRITE;
    bool alike = !never && state->write.layout != SHADOW_BARRIER;

    check(shadow, offset, state, by);
    uint32_t to = by->use == EMU_READ
                      ? after_read(shadow, from, never && offset >= shadow->of->begin, by)
                      : after_write(shadow, from, by);
    if (to == from) return;
    *cell = to;
    emu_state_leave(shadow, from, 1);
    if (!alike || complaints != shadow->complaints || is_spare(shadow, from)) return;
    shadow->states[from].call = shadow->call;
    shadow->states[from].next = to;
}

// Of a touch that an instruction repeats, as for another lane: is there nothing else to see?
static bool is_repeated(const struct shadow_state *state, const struct touching *by) {
    const struct shadow_touch *same = by->use == EMU_READ ? &state->read : &state->write;

    if (same->time != by->touch.time || same->agent != by->touch.agent ||
        same->insn != by->touch.insn)
        return false;
    if (by->use != EMU_READ) return state->read.time == 0;
    return state->write.agent != by->touch.agent || is_own(&state->write, by->toucher) ||
           emu_lanes_know(by->toucher->warp, by->toucher->lanes, state->write.lanes,
                          state->write.time);
}

static void add_lanes(struct emu_shadow *shadow, uint32_t *cell, const struct touching *by) {
    const struct shadow_state *state = &shadow->states[*cell];
    uint32_t had = by->use == EMU_READ ? state->read.lanes : state->write.lanes;
    uint32_t to = (by->touch.lanes & ~had) ? own_state(shadow, *cell) : 0;

    if (to == 0) return;
    if (to != *cell) emu_state_leave(shadow, *cell, 1);
    *cell = to;
    *(by->use == EMU_READ ? &shadow->states[to].read.lanes : &shadow->states[to].write.lanes) |=
        by->touch.lanes;
}

// ---- a call ----

// States forget what the last call made of them.
static void begin_call(struct emu_shadow *shadow) {
    shadow->written = 0;
    if (++shadow->call != 0) return;
    for (uint32_t i = 0; i < shadow->state_count; i++) shadow->states[i].call = 0;
    shadow->call = 1;
}

// Counts the cells that went the way of one before them.
static void settle(struct emu_shadow *shadow, struct touching *by) {
    if (by->moved != 0) {
        shadow->states[by->to].cells += by->moved;
        emu_state_leave(shadow, by->from, by->moved);
    }
    by->moved = 0;
    by->from = NO_STATE;
}

static void touch_cell(struct emu_shadow *shadow, uint32_t *cell, uint32_t offset,
                       struct touching *by) {
    settle(shadow, by);
    const struct shadow_state *state = &shadow->states[*cell];
    if (state->call == shadow->call && state->next != 0) {
        by->from = *cell;
        *cell = by->to = state->next;
        by->moved = 1;
    } else if (is_repeated(state, by)) {
        add_lanes(shadow, cell, by);
    } else {
        if (state->call == shadow->call) begin_call(shadow);  // it was here before
        change_cell(shadow, cell, offset, by);
    }
}

static void touch_range(struct emu_shadow *shadow, uint32_t offset, uint32_t bytes,
                        struct touching *by) {
    uint32_t end = offset + bytes, odd = offset | end;
    uint32_t shift = !(odd & 15) ? 4 : !(odd & 3) ? 2 : !(odd & 1);

    while (offset < end) {
        uint32_t page = offset / SHADOW_PAGE;
        struct shadow_block *block = shadow->pages[page];
        uint32_t stop = (page + 1) * SHADOW_PAGE < end ? (page + 1) * SHADOW_PAGE : end;
        if (block == NULL || block->shift > shift) block = emu_shadow_refine(shadow, page, shift);
        if (block == NULL) return;
        uint32_t *cell = &block->cells[(offset % SHADOW_PAGE) >> block->shift];
        for (; offset < stop; offset += 1u << block->shift, cell++)
            if (*cell != by->from) {
                touch_cell(shadow, cell, offset, by);
            } else {
                *cell = by->to;
                by->moved++;
            }
    }
}

void emu_shadow_touch_all(struct emu_shadow *shadow, const struct emu_range *ranges, uint32_t count,
                          enum emu_use use, const struct emu_toucher *toucher) {
    struct touching by = {
        .use = use,
        .toucher = toucher,
        .touch = {.time = toucher->time,
                  .lanes = toucher->lanes,
                  .agent = (uint16_t)toucher->agent,
                  .strength = toucher->strength & 0x3f,
                  .async = toucher->async,
                  .four = toucher->four,
                  .layout = toucher->layout,
                  .insn = (uint32_t)(toucher->insn - shadow->cta->cluster->machine->program->code)},
        .from = NO_STATE};

    begin_call(shadow);
    for (uint32_t i = 0; i < count; i++)
        touch_range(shadow, ranges[i].offset, ranges[i].bytes, &by);
    settle(shadow, &by);
}

void emu_shadow_touch(struct emu_shadow *shadow, uint32_t offset, uint32_t bytes, enum emu_use use,
                      const struct emu_toucher *toucher) {
    emu_shadow_touch_all(shadow, &(struct emu_range){offset, bytes}, 1, use, toucher);
}

void emu_shadow_barrier(struct emu_shadow *shadow, uint32_t offset) {
    for (uint32_t at = offset; at < offset + 8; at++) {
        uint32_t *cell = emu_cell_at(shadow, at), to;
        if (cell == NULL || (to = own_state(shadow, *cell)) == 0) continue;
        shadow->states[to].write.layout = SHADOW_BARRIER;
        if (to != *cell) emu_state_leave(shadow, *cell, 1);
        *cell = to;
    }
}

// Shadow of a memory of a CTA: who wrote each byte last, who read it since, and whether it was ever
// written. Pages keep cells of 16 bytes and are split to 4, 2 or 1 where a smaller access comes.
#include "runtime/emu/check/check.h"
#include "runtime/emu/machine/mbarrier.h"
#include "runtime/emu/model/swizzle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 256, FIRST_READERS = 3, SHIFTS = 5, BARRIER = 0x7f, PLACE = 80 };

struct shadow_touch {
    uint32_t time;
    uint32_t lanes;  // of the warp; 0: not one's own access
    uint32_t insn;   // its place in the code
    uint16_t agent;
    uint8_t strength : 6, async : 1, four : 1;  // as a toucher's
    uint8_t layout;                             // the same; BARRIER: an mbarrier lies here
};

struct readers {
    uint32_t count, capacity;
    struct shadow_touch list[];
};

struct cell {
    struct shadow_touch write;  // time 0: never written
    struct shadow_touch read;   // the latest reader since; time 0: none
    struct shadow_touch other;  // a further one
    struct readers *others;     // and more of them
};

// The cells of a page, each of 1 << shift bytes.
struct block {
    struct block *next;  // of those that are spare
    uint32_t shift;
    struct cell cells[];
};

// All that a touch asks of a cell and changes in it, where there are no more readers.
struct state {
    struct shadow_touch write, read, other;
};

struct emu_shadow {
    const struct emu_shadowed *of;
    // what the latest touch made of a cell, in silence
    struct state before, after;
    bool repeats;
    uint32_t complaints;
    const struct emu_cta *cta;
    uint32_t bytes, touched_count;
    uint32_t *touched;            // pages with a block
    struct block *spare[SHIFTS];  // clean ones, by shift
    struct block *pages[];        // NULL: nobody was here
};

static const char *shared_place(uint32_t offset, char *text, size_t size) {
    snprintf(text, size, "shared memory at 0x%x", offset);
    return text;
}

const struct emu_shadowed emu_shadowed_shared = {EMU_SMEM_RESERVED, shared_place};

struct emu_shadow *emu_shadow_new(const struct emu_shadowed *of, const struct emu_cta *cta,
                                  uint32_t bytes) {
    uint32_t count = (bytes + PAGE - 1) / PAGE;
    struct emu_shadow *shadow = calloc(1, sizeof *shadow + count * sizeof *shadow->pages);

    if (shadow == NULL) return NULL;
    shadow->of = of;
    shadow->cta = cta;
    shadow->bytes = bytes;
    shadow->touched = calloc(count, sizeof *shadow->touched);
    if (shadow->touched != NULL) return shadow;
    free(shadow);
    return NULL;
}

static uint32_t cell_count(uint32_t shift) { return (uint32_t)PAGE >> shift; }

static void free_block(struct block *block) {
    for (uint32_t i = 0; i < cell_count(block->shift); i++) free(block->cells[i].others);
    free(block);
}

void emu_shadow_delete(struct emu_shadow *shadow) {
    if (shadow == NULL) return;
    for (uint32_t i = 0; i < shadow->touched_count; i++)
        free_block(shadow->pages[shadow->touched[i]]);
    for (uint32_t shift = 0; shift < SHIFTS; shift++)
        while (shadow->spare[shift] != NULL) {
            struct block *next = shadow->spare[shift]->next;
            free_block(shadow->spare[shift]);
            shadow->spare[shift] = next;
        }
    free(shadow->touched);
    free(shadow);
}

// The lists of further readers stay with their cells, empty.
static void put_back(struct emu_shadow *shadow, struct block *block) {
    for (uint32_t i = 0; i < cell_count(block->shift); i++) {
        struct cell *cell = &block->cells[i];
        cell->write = cell->read = cell->other = (struct shadow_touch){0};
        if (cell->others != NULL) cell->others->count = 0;
    }
    block->next = shadow->spare[block->shift];
    shadow->spare[block->shift] = block;
}

static struct block *take_block(struct emu_shadow *shadow, uint32_t shift) {
    struct block *block = shadow->spare[shift];

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
        if (smem != NULL) memset(smem + (size_t)page * PAGE, EMU_SMEM_BLANK, PAGE);
    }
    shadow->touched_count = 0;
}

void emu_shadow_forget(struct emu_shadow *shadow, uint32_t offset, uint32_t bytes) {
    uint32_t step;

    for (uint32_t at = offset; at < offset + bytes; at += step) {
        struct block *block = shadow->pages[at / PAGE];
        step = block ? 1u << block->shift : PAGE - at % PAGE;
        if (block == NULL) continue;
        struct cell *cell = &block->cells[(at % PAGE) >> block->shift];
        cell->write = cell->read = (struct shadow_touch){0};
        if (cell->others != NULL) cell->others->count = 0;
    }
}

static void copy_cell(struct cell *to, const struct cell *from) {
    struct readers *others = to->others;
    uint32_t count = from->others ? from->others->count : 0;

    if (count > (others ? others->capacity : 0)) {
        others = realloc(others, sizeof *others + count * sizeof *others->list);
        if (others == NULL) return;  // *to keeps its own, and knows less
        others->capacity = count;
    }
    if (others != NULL) others->count = count;
    if (count) memcpy(others->list, from->others->list, count * sizeof *others->list);
    *to = *from;
    to->others = others;
}

// Gives the page cells of 1 << shift bytes. Where memory is out it stays as it is.
static struct block *refine(struct emu_shadow *shadow, uint32_t page, uint32_t shift) {
    struct block *coarse = shadow->pages[page], *fine = take_block(shadow, shift);

    if (fine == NULL) return coarse;
    if (coarse == NULL) shadow->touched[shadow->touched_count++] = page;
    for (uint32_t i = 0; coarse != NULL && i < cell_count(shift); i++)
        copy_cell(&fine->cells[i], &coarse->cells[i >> (coarse->shift - shift)]);
    if (coarse != NULL) put_back(shadow, coarse);
    return shadow->pages[page] = fine;
}

// ---- the rule: of two touches, one a write, one happens before the other ----

static const struct emu_insn *insn_of(const struct emu_shadow *shadow,
                                      const struct shadow_touch *touch) {
    return &shadow->cta->cluster->machine->program->code[touch->insn];
}

// Is it of a tensor core's pipeline?
static bool is_pipelined(const struct emu_cluster *cluster, const struct shadow_touch *touch) {
    return touch->agent - emu_tensor_agents(cluster, TENSOR_DONE) < cluster->warp_count;
}

// Has [touch] happened before [toucher], who has [view]?
static inline bool known(const struct emu_toucher *toucher, const uint32_t *view,
                         const struct shadow_touch *touch) {
    const uint32_t *of = view + touch->agent;

    if (toucher->pipelined && is_pipelined(toucher->warp->cta->cluster, touch) &&
        of[toucher->warp->cta->cluster->warp_count] >= touch->time)
        return true;  // as TENSOR_GIVEN
    if (touch->lanes && touch->agent == toucher->agent)
        return emu_lanes_know(toucher->warp, toucher->lanes, touch->lanes, touch->time);
    if (!touch->four)
        return of[0] >= touch->time &&
               emu_was_told(toucher->warp->cta->cluster, touch->agent, touch->lanes, touch->time,
                            toucher->clock->seen[touch->agent]);
    return of[0] >= touch->time && of[1] >= touch->time && of[2] >= touch->time &&
           of[3] >= touch->time;
}

// Of several warps that touch together, the first that has not heard of [before].
static const struct emu_warp *unaware(const struct emu_toucher *toucher,
                                      const struct shadow_touch *before) {
    for (int w = 0; toucher->group != NULL && w < 4; w++) {
        const struct emu_clock *clock = &toucher->group[w].clock;
        const uint32_t *view = toucher->async ? clock->async : clock->seen;
        if (view[before->agent] < before->time) return &toucher->group[w];
    }
    return toucher->warp;
}

static const char *toucher_name(const struct emu_toucher *toucher,
                                const struct shadow_touch *before, char *text, size_t size) {
    char warp[64];

    emu_warp_text(unaware(toucher, before), warp, sizeof warp);
    if (toucher->what == NULL)
        snprintf(text, size, "%s", warp);
    else
        snprintf(text, size, "%s of %s", toucher->what, warp);
    return text;
}

static const char *earlier_name(const struct emu_shadow *shadow, const struct shadow_touch *touch,
                                char *text, size_t size) {
    const struct emu_cluster *cluster = shadow->cta->cluster;
    uint32_t agent = touch->agent, warps = shadow->cta->warp_count;
    char warp[64];

    if (agent >= emu_fixed_agents(cluster)) {
        snprintf(text, size, "an asynchronous operation");
        return text;
    }
    bool multiplies = agent >= cluster->warp_count, copies = agent > 2 * cluster->warp_count;
    bool tensor = agent > 3 * cluster->warp_count;
    if (tensor) agent = 2 * cluster->warp_count + 1 + (agent - 1) % cluster->warp_count;
    agent -= copies ? 2 * cluster->warp_count + 1 : multiplies ? cluster->warp_count : 0;
    emu_warp_text(&cluster->ctas[agent / warps].warps[agent % warps], warp, sizeof warp);
    snprintf(text, size, "%s%s",
             tensor       ? "an operation on tensor memory of "
             : copies     ? "a cp.async of "
             : multiplies ? "a wgmma of the warpgroup of "
                          : "",
             warp);
    return text;
}

// Where it is that a lane does not speak for the others of its warp.
static const char *lanes_text(const struct emu_toucher *toucher, const struct shadow_touch *before,
                              char *text, size_t size) {
    if (!before->lanes || toucher->clock->seen[before->agent] < before->time) return "";
    return emu_lanes_text(before->lanes, before->agent == toucher->agent ? toucher->lanes : 0, text,
                          size);
}

// CUTLASS writes no tcgen05.fence: it takes its mbarriers, which acquire and release, for enough.
static bool needs_no_fence(const struct emu_machine *machine, const struct emu_insn *a,
                           const struct emu_insn *b) {
    return emu_comes_from(machine, a, "/cute/arch/") || emu_comes_from(machine, b, "/cute/arch/");
}

static void complain(struct emu_shadow *shadow, uint32_t offset, enum emu_use use,
                     const struct shadow_touch *before, bool before_wrote,
                     const struct emu_toucher *toucher) {
    char who[128], other[128], where[EMU_PLACE_TEXT], lanes[128], place[PLACE];
    const char *verb = use == EMU_READ ? "reads" : use == EMU_WRITE ? "writes" : "updates";
    bool fence_missing = (toucher->tensor || (toucher->async && before_wrote)) &&
                         known(toucher, toucher->clock->seen, before);
    enum emu_class class_ = !fence_missing    ? EMU_RACE
                            : toucher->tensor ? EMU_MISSING_TENSOR_FENCE
                                              : EMU_MISSING_PROXY_FENCE;

    shadow->complaints++;
    if (emu_report_again(toucher->warp, toucher->insn, insn_of(shadow, before), class_)) return;
    if (class_ == EMU_MISSING_TENSOR_FENCE &&
        needs_no_fence(shadow->cta->cluster->machine, toucher->insn, insn_of(shadow, before)))
        return;
    toucher_name(toucher, before, who, sizeof who);
    earlier_name(shadow, before, other, sizeof other);
    shadow->of->place(offset, place, sizeof place);
    emu_place_text(shadow->cta->cluster->machine, insn_of(shadow, before), where, sizeof where);
    if (fence_missing && toucher->tensor)
        emu_report_pair(toucher->warp, toucher->insn, insn_of(shadow, before), class_,
                        "%s %s %s, which %s %s\n  the other is at %s\n"
                        "  no tcgen05.fence::%s_thread_sync lies between the two",
                        who, verb, place, other, before_wrote ? "wrote" : "read", where,
                        known(toucher, toucher->clock->before, before) ? "after" : "before");
    else if (fence_missing)
        emu_report_pair(toucher->warp, toucher->insn, insn_of(shadow, before), class_,
                        "%s %s %s that %s wrote through the generic proxy\n"
                        "  written at %s\n  no fence.proxy.async lies between the two",
                        who, verb, place, other, where);
    else
        emu_report_pair(toucher->warp, toucher->insn, insn_of(shadow, before), class_,
                        "%s %s %s, which %s %s%s without order\n  the other is at %s%s", who, verb,
                        place, other, before_wrote ? "writes" : "reads",
                        before->async ? " asynchronously" : "", where,
                        lanes_text(toucher, before, lanes, sizeof lanes));
}

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
        emu_watch_earlier(&cluster->ctas[agent / warps].warps[agent % warps], insn_of(shadow, read),
                          read->lanes, read->time, report);
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
                        const struct cell *cell, const struct emu_toucher *toucher) {
    const struct shadow_touch *write = &cell->write;

    if (write->time == 0 || is_own(write, toucher) || same_kind(write, toucher)) return;
    if (known(toucher, view_of(toucher), write)) return;
    complain(shadow, offset, use, write, true, toucher);
    if (use != EMU_READ) emu_watch_nothing(toucher->warp, toucher->insn);
}

static void check_read(struct emu_shadow *shadow, uint32_t offset, enum emu_use use,
                       const struct shadow_touch *read, const struct emu_toucher *toucher) {
    if (read->time != 0 && !is_own(read, toucher) && !same_kind(read, toucher) &&
        !known(toucher, toucher->tensor ? toucher->clock->after : toucher->clock->seen, read)) {
        complain(shadow, offset, use, read, false, toucher);
        watch_reader(shadow, read, toucher);
    }
}

// Does the read [next] take the place of [last], because that has ended or its agent reads again?
static bool replaces(const struct emu_toucher *toucher, const struct shadow_touch *next,
                     const struct shadow_touch *last) {
    return (last->agent == next->agent && next->four >= last->four) ||
           known(toucher, toucher->clock->seen, last);
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

// NULL: no memory is left.
static struct shadow_touch *another(struct cell *cell) {
    struct readers *others = cell->others;

    if (cell->other.time == 0) return &cell->other;
    if (others == NULL || others->count == others->capacity) {
        uint32_t capacity = others ? 2 * others->capacity : FIRST_READERS;
        struct readers *grown = realloc(others, sizeof *grown + capacity * sizeof *grown->list);
        if (grown == NULL) return NULL;
        if (others == NULL) grown->count = 0;
        grown->capacity = capacity;
        cell->others = others = grown;
    }
    return &others->list[others->count++];
}

static void note_read(struct cell *cell, const struct emu_toucher *toucher,
                      struct shadow_touch touch) {
    struct shadow_touch *last = &cell->read, *place = NULL;

    touch.lanes |= lanes_left(toucher, last);
    if (last->time == 0 || replaces(toucher, &touch, last)) {
        *last = touch;
        return;
    }
    if (cell->other.time != 0 && takes_place(&cell->other, toucher, &touch)) place = &cell->other;
    for (uint32_t i = 0; place == NULL && cell->others != NULL && i < cell->others->count; i++)
        if (takes_place(&cell->others->list[i], toucher, &touch)) place = &cell->others->list[i];
    if (place == NULL) place = another(cell);
    if (place == NULL) return;
    *place = *last;
    *last = touch;
}

static void note_write(struct cell *cell, struct shadow_touch touch) {
    cell->write = touch;
    cell->read.time = cell->other.time = 0;
    if (cell->others != NULL) cell->others->count = 0;
}

// The swizzle of what was written is that of who reads it, where both have one.
static void check_layout(struct emu_shadow *shadow, uint32_t offset,
                         const struct shadow_touch *write, const struct emu_toucher *toucher) {
    char where[EMU_PLACE_TEXT], place[PLACE];

    if (write->layout == 0 || toucher->layout == 0 || write->layout == toucher->layout ||
        write->layout == BARRIER)
        return;
    shadow->complaints++;
    emu_report(toucher->warp, toucher->insn, EMU_BAD_OPERAND,
               "%s reads %s with swizzle %s, where it lies with swizzle %s\n"
               "  written at %s",
               toucher->what, shadow->of->place(offset, place, sizeof place),
               tmg_swizzle_rules[toucher->layout - 1].name,
               tmg_swizzle_rules[write->layout - 1].name,
               emu_place_text(toucher->warp->cta->cluster->machine, insn_of(shadow, write), where,
                              sizeof where));
}

static void check_barrier(const struct emu_shadow *shadow, uint32_t offset,
                          const struct emu_toucher *toucher) {
    const struct emu_mbarrier *barrier = emu_mbarrier_overlapping(shadow->cta, offset, 1);
    char name[64], place[PLACE];

    if (barrier == NULL) return;
    emu_report(toucher->warp, toucher->insn, EMU_BARRIER_MISUSE,
               "%s%s%s is written, where %s lives: mbarrier.inval comes first",
               toucher->what ? toucher->what : "", toucher->what ? ": " : "",
               shadow->of->place(offset, place, sizeof place),
               emu_barrier_text(shadow->cta, barrier->offset, name, sizeof name));
}

static struct cell *cell_at(const struct emu_shadow *shadow, uint32_t offset) {
    struct block *block = shadow->pages[offset / PAGE];

    return block == NULL ? NULL : &block->cells[(offset % PAGE) >> block->shift];
}

// Nobody wrote what is read at [offset]. Where a box with the reader's swizzle begins close behind,
// not at a multiple of the swizzle's period, the box is in the wrong place: the reader counts from
// such a multiple.
static void report_unwritten(struct emu_shadow *shadow, uint32_t offset,
                             const struct emu_toucher *toucher) {
    uint32_t period = toucher->layout ? tmg_swizzle_rules[toucher->layout - 1].period : 0;
    uint32_t at = offset, end = offset + period;
    char where[EMU_PLACE_TEXT], place[PLACE];

    shadow->complaints++;
    shadow->of->place(offset, place, sizeof place);
    if (end > shadow->bytes) end = shadow->bytes;
    while (at < end && (cell_at(shadow, at) == NULL || cell_at(shadow, at)->write.time == 0))
        at += 16;
    if (at >= end || at % period == 0 || cell_at(shadow, at)->write.layout != toucher->layout) {
        emu_report(toucher->warp, toucher->insn, EMU_UNINITIALISED, "%s was never written", place);
        return;
    }
    emu_report(toucher->warp, toucher->insn, EMU_MISALIGNED,
               "%s reads %s, which was never written; behind it, at 0x%x, lies a "
               "box,\n  not at a multiple of %u as its swizzle %s wants\n  written at %s",
               toucher->what, place, at, period, tmg_swizzle_rules[toucher->layout - 1].name,
               emu_place_text(shadow->cta->cluster->machine,
                              insn_of(shadow, &cell_at(shadow, at)->write), where, sizeof where));
}

static void touch_cell(struct emu_shadow *shadow, struct cell *cell, uint32_t offset,
                       enum emu_use use, const struct emu_toucher *toucher,
                       struct shadow_touch touch) {
    if (use != EMU_WRITE && cell->write.time == 0 && offset >= shadow->of->begin) {
        report_unwritten(shadow, offset, toucher);
        cell->write.time = 1;  // once is enough
        cell->write.agent = touch.agent;
        cell->write.insn = touch.insn;
    }
    check_write(shadow, offset, use, cell, toucher);
    if (use == EMU_READ) {
        check_layout(shadow, offset, &cell->write, toucher);
        note_read(cell, toucher, touch);
        return;
    }
    if (cell->write.layout == BARRIER) check_barrier(shadow, offset, toucher);
    check_read(shadow, offset, use, &cell->read, toucher);
    check_read(shadow, offset, use, &cell->other, toucher);
    for (uint32_t i = 0; cell->others != NULL && i < cell->others->count; i++)
        check_read(shadow, offset, use, &cell->others->list[i], toucher);
    note_write(cell, touch);
}

// ---- cells alike ----

static inline bool state_of(const struct cell *cell, struct state *state) {
    if (cell->write.layout == BARRIER || (cell->others != NULL && cell->others->count))
        return false;
    *state = (struct state){cell->write, cell->read, cell->other};
    return true;
}

// What the same touch has made of a cell in the same state it makes of this one.
static void touch_alike(struct emu_shadow *shadow, struct cell *cell, uint32_t offset,
                        enum emu_use use, const struct emu_toucher *toucher,
                        struct shadow_touch touch) {
    uint32_t complaints = shadow->complaints;
    struct state before;
    bool simple = state_of(cell, &before);

    if (simple && shadow->repeats && memcmp(&before, &shadow->before, sizeof before) == 0) {
        cell->write = shadow->after.write;
        cell->read = shadow->after.read;
        cell->other = shadow->after.other;
        return;
    }
    touch_cell(shadow, cell, offset, use, toucher, touch);
    shadow->before = before;
    shadow->repeats = simple && complaints == shadow->complaints && state_of(cell, &shadow->after);
}

// Of a touch that an instruction repeats, as for another lane: is there nothing else to see?
static inline bool alone(const struct cell *cell, enum emu_use use,
                         const struct emu_toucher *toucher) {
    if (use != EMU_READ) return cell->read.time == 0;
    return cell->write.agent != toucher->agent || is_own(&cell->write, toucher) ||
           emu_lanes_know(toucher->warp, toucher->lanes, cell->write.lanes, cell->write.time);
}

void emu_shadow_barrier(struct emu_shadow *shadow, uint32_t offset) {
    for (uint32_t at = offset; at < offset + 8; at++)
        if (cell_at(shadow, at) != NULL) cell_at(shadow, at)->write.layout = BARRIER;
}

static void touch_range(struct emu_shadow *shadow, uint32_t offset, uint32_t bytes,
                        enum emu_use use, const struct emu_toucher *toucher,
                        struct shadow_touch touch) {
    uint32_t end = offset + bytes, odd = offset | end;
    uint32_t shift = !(odd & 15) ? 4 : !(odd & 3) ? 2 : !(odd & 1);

    while (offset < end) {
        struct block *block = shadow->pages[offset / PAGE];
        uint32_t stop = (offset / PAGE + 1) * PAGE < end ? (offset / PAGE + 1) * PAGE : end;
        if (block == NULL || block->shift > shift) block = refine(shadow, offset / PAGE, shift);
        if (block == NULL) return;
        for (; offset < stop; offset += 1u << block->shift) {
            struct cell *cell = &block->cells[(offset % PAGE) >> block->shift];
            struct shadow_touch *same = use == EMU_READ ? &cell->read : &cell->write;
            if (same->time == touch.time && same->agent == touch.agent &&
                same->insn == touch.insn && alone(cell, use, toucher)) {
                same->lanes |= touch.lanes;
                continue;
            }
            touch_alike(shadow, cell, offset, use, toucher, touch);
        }
    }
}

void emu_shadow_touch_all(struct emu_shadow *shadow, const struct emu_range *ranges, uint32_t count,
                          enum emu_use use, const struct emu_toucher *toucher) {
    enum { AHEAD = 8 };
    struct shadow_touch touch = {
        .time = toucher->time,
        .lanes = toucher->lanes,
        .agent = (uint16_t)toucher->agent,
        .strength = toucher->strength & 0x3f,
        .async = toucher->async,
        .four = toucher->four,
        .layout = toucher->layout,
        .insn = (uint32_t)(toucher->insn - shadow->cta->cluster->machine->program->code)};

    shadow->repeats = false;
    for (uint32_t i = 0; i < count; i++) {
        if (i + AHEAD < count) __builtin_prefetch(cell_at(shadow, ranges[i + AHEAD].offset));
        touch_range(shadow, ranges[i].offset, ranges[i].bytes, use, toucher, touch);
    }
}

void emu_shadow_touch(struct emu_shadow *shadow, uint32_t offset, uint32_t bytes, enum emu_use use,
                      const struct emu_toucher *toucher) {
    emu_shadow_touch_all(shadow, &(struct emu_range){offset, bytes}, 1, use, toucher);
}

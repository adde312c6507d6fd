// Values that a faulty read left in registers: does anyone use them? Only where something has been
// reported are registers watched, so that sound kernels pay nothing. Copies are watched too.
#include "runtime/emu/check/check.h"

#include <stdlib.h>

enum { WATCHES = 64 };

struct watch {
    struct emu_report *report;
    uint32_t slot, lanes;
};

// Of one warp.
struct emu_watches {
    uint32_t count;
    struct watch list[WATCHES];
};

static void watch(struct emu_warp *warp, struct emu_report *report, uint32_t slot, uint32_t lanes) {
    struct emu_watches *watches = warp->watches;

    if (slot == 0 || report->used) return;
    if (watches->count == WATCHES) {
        report->used = true;  // who knows
        return;
    }
    watches->list[watches->count++] = (struct watch){report, slot, lanes};
}

// ---- what an instruction does to watched registers ----

static void note_use(struct emu_warp *warp, uint32_t slot, uint32_t mask) {
    struct emu_watches *watches = warp->watches;

    for (uint32_t i = 0; i < watches->count; i++)
        if (watches->list[i].slot == slot && (watches->list[i].lanes & mask))
            watches->list[i].report->used = true;
}

static void note_copy(struct emu_warp *warp, uint32_t to, uint32_t from, uint32_t mask) {
    struct emu_watches *watches = warp->watches;

    for (uint32_t i = 0, count = watches->count; i < count; i++)
        if (watches->list[i].slot == from && (watches->list[i].lanes & mask))
            watch(warp, watches->list[i].report, to, watches->list[i].lanes & mask);
}

// The lanes of [mask] have a new value there. Watches that are over go.
static void note_write(struct emu_warp *warp, uint32_t slot, uint32_t mask) {
    struct emu_watches *watches = warp->watches;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < watches->count; i++) {
        struct watch *at = &watches->list[i];
        if (at->slot == slot) at->lanes &= ~mask;
        if (at->lanes != 0 && !at->report->used) watches->list[kept++] = *at;
    }
    watches->count = kept;
}

static void each_register(struct emu_warp *warp, const struct emu_insn *insn, uint32_t mask,
                          bool written,
                          void (*visit)(struct emu_warp *warp, uint32_t slot, uint32_t mask)) {
    const uint32_t *entry = insn->op;

    for (const char *at = insn->row->operands; *at != '\0'; at++) {
        const struct emu_letter *letter = emu_letter(*at);
        bool single = letter->kind == LETTER_VALUE || letter->kind == LETTER_ADDRESS ||
                      letter->kind == LETTER_WITH_PREDICATE;
        uint32_t list = letter->kind == LETTER_LIST ? entry[0] : EMU_NO_PC;
        if (letter->kind == LETTER_TENSOR) list = entry[1];
        if (single && letter->written == written && *entry != EMU_NO_PC)
            visit(warp, *entry & ~EMU_WIDE, mask);
        for (uint32_t i = 0; list != EMU_NO_PC && letter->written == written && i < insn->op[list];
             i++)
            visit(warp, insn->op[list + 1 + i] & ~EMU_WIDE, mask);
        entry += emu_entries(letter->kind);
    }
}

static void watch_blamed(struct emu_warp *warp, uint32_t slot, uint32_t mask) {
    warp->blamed->watched = true;
    watch(warp, warp->blamed, slot, mask);
}

// Watches what the instruction that has been reported has left in the lanes that are blamed.
static void begin(struct emu_warp *warp) {
    const struct emu_insn *insn = warp->blamed_insn;
    enum emu_class class_ = warp->blamed->class_;
    bool reads = class_ == EMU_UNINITIALISED || class_ == EMU_RACE ||
                 class_ == EMU_MISSING_PROXY_FENCE || class_ == EMU_OUT_OF_BOUNDS;

    if (reads && !emu_is(insn, FACT_UPDATES))
        each_register(warp, insn, warp->blamed_lanes, true, watch_blamed);
    warp->blamed_insn = NULL;
}

void emu_watch_step(struct emu_warp *warp, const struct emu_insn *insn, uint32_t mask) {
    if (warp->watches == NULL) warp->watches = calloc(1, sizeof *warp->watches);
    if (warp->watches == NULL) return;
    if (warp->blamed_insn != NULL) begin(warp);
    if (emu_is(insn, FACT_COPIES)) {
        note_write(warp, insn->op[0], insn->op[0] == insn->op[1] ? 0 : mask);
        note_copy(warp, insn->op[0], insn->op[1], mask);
    } else {
        each_register(warp, insn, mask, false, note_use);
        each_register(warp, insn, mask, true, note_write);
    }
    warp->watched = warp->watches->count != 0;
}

void emu_watches_free(struct emu_warp *warp) {
    free(warp->watches);
    warp->watches = NULL;
}

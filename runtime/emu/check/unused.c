// Values that a faulty read left in registers: does anyone use them? Only where something has been
// reported are registers watched, so that sound kernels pay nothing. Copies are watched too.
#include "runtime/emu/check/check.h"

#include <stdlib.h>
#include <string.h>

// TICKS: a load that is longer ago, in its warp's own time, may have been executed again since.
enum { WATCHES = 512, TICKS = 8 };

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
    for (uint32_t i = 0; i < watches->count; i++)
        if (watches->list[i].report == report && watches->list[i].slot == slot) {
            watches->list[i].lanes |= lanes;
            return;
        }
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

// The register operands of an instruction, one after the other: those written, or those read.
struct operands {
    const struct emu_insn *insn;
    const char *letter;
    const uint32_t *entry;
    uint32_t item;  // of a list
    bool written;
};

static struct operands registers_of(const struct emu_insn *insn, bool written) {
    return (struct operands){insn, insn->row->operands, insn->op, 0, written};
}

static bool next_register(struct operands *o, uint32_t *slot) {
    for (; *o->letter != '\0'; o->letter++, o->item = 0) {
        const struct emu_letter *letter = emu_letter(*o->letter);
        uint32_t list = letter->kind == LETTER_LIST     ? o->entry[0]
                        : letter->kind == LETTER_TENSOR ? o->entry[1]
                                                        : EMU_NO_PC;
        uint32_t count = list != EMU_NO_PC ? o->insn->op[list] : 0;
        bool single = letter->kind == LETTER_VALUE || letter->kind == LETTER_ADDRESS ||
                      letter->kind == LETTER_WITH_PREDICATE;
        if (single && *o->entry != EMU_NO_PC) count = 1;
        if (letter->written == o->written && o->item < count) {
            *slot = (single ? *o->entry : o->insn->op[list + 1 + o->item]) & ~EMU_WIDE;
            o->item++;
            return true;
        }
        o->entry += emu_entries(letter->kind);
    }
    return false;
}

static void each_register(struct emu_warp *warp, const struct emu_insn *insn, uint32_t mask,
                          bool written,
                          void (*visit)(struct emu_warp *warp, uint32_t slot, uint32_t mask)) {
    struct operands operands = registers_of(insn, written);

    for (uint32_t slot; next_register(&operands, &slot);) visit(warp, slot, mask);
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

// ---- has a value been used between the load and where the warp is now? ----

// Instructions that a walk through the code has been to: without a use of the value, with one.
struct walk {
    const struct emu_program *program;
    const struct emu_insn *load;
    uint8_t *been;
    uint32_t *stack, depth;
};

enum { BEEN = 1, BEEN_USED = 2 };

static bool is_of(const uint32_t *list, uint32_t slot) {
    for (uint32_t i = 0; i < list[0]; i++)
        if ((list[1 + i] & ~EMU_WIDE) == slot) return true;
    return false;
}

// Does [insn] read what [load] has written?
static bool uses(const struct emu_insn *insn, const struct emu_insn *load) {
    const uint32_t *loaded = load->op + load->op[0];
    struct operands operands = registers_of(insn, false);

    for (uint32_t slot; next_register(&operands, &slot);)
        if (is_of(loaded, slot)) return true;
    return false;
}

static void push(struct walk *walk, uint32_t pc, uint8_t how) {
    if (pc >= walk->program->code_count || walk->been[pc] & how) return;
    walk->been[pc] |= how;
    walk->stack[walk->depth++] = pc << 1 | (how == BEEN_USED);
}

// Every way on from [pc], but over the load itself or a barrier, behind which others would know.
static void walk_on(struct walk *walk, uint32_t pc, bool used) {
    const struct emu_insn *insn = &walk->program->code[pc];
    uint8_t how;

    if (insn == walk->load || !strncmp(insn->row->form, "bar", 3)) return;
    how = used || uses(insn, walk->load) ? BEEN_USED : BEEN;
    if (emu_is(insn, FACT_SELECTS))
        for (uint32_t i = 0; i < insn->op[insn->op[1]]; i++)
            push(walk, insn->op[insn->op[1] + 1 + i], how);
    else if (emu_is(insn, FACT_BRANCHES))
        push(walk, insn->target, how);
    if (!emu_is(insn, FACT_SELECTS | FACT_BRANCHES | FACT_LEAVES) || insn->guard != 0 ||
        insn->guard_negated)
        push(walk, pc + 1, how);
}

// Where the walk has come to [pc], or, without one, has ended: not by a use, or perhaps so?
static bool came_by_use(const struct walk *walk, uint32_t pc) {
    uint8_t been = 0;

    if (pc != EMU_NO_PC) return walk->been[pc] != BEEN;
    for (uint32_t i = 0; i < walk->program->code_count; i++)
        if (emu_is(&walk->program->code[i], FACT_LEAVES)) been |= walk->been[i];
    return been != BEEN;
}

// Can a warp have come from [load] to [pc], or (EMU_NO_PC) to its end, by a use of what it loaded?
// True too without memory.
static bool may_be_used(const struct emu_program *program, const struct emu_insn *load,
                        uint32_t pc) {
    struct walk walk = {.program = program, .load = load};
    bool used = true;

    walk.been = calloc(program->code_count, 1);
    walk.stack = malloc(2 * (size_t)program->code_count * sizeof *walk.stack);
    if (walk.been != NULL && walk.stack != NULL) {
        push(&walk, (uint32_t)(load - program->code) + 1, BEEN);
        while (walk.depth) {
            uint32_t top = walk.stack[--walk.depth];
            if (top >> 1 != pc) walk_on(&walk, top >> 1, top & 1);
        }
        used = came_by_use(&walk, pc);
    }
    free(walk.been);
    free(walk.stack);
    return used;
}

// A load whose destinations are all that comes of it.
static bool is_load(const struct emu_insn *insn) {
    return insn->row->operands[0] == 'V' && insn->row->operands[1] == 'm';
}

void emu_watch_earlier(struct emu_warp *warp, const struct emu_insn *load, uint32_t lanes,
                       uint32_t time, struct emu_report *report) {
    uint32_t pc = warp->split_count ? warp->splits[0].pc : EMU_NO_PC;

    if (report->used) return;
    if (warp->watches == NULL) warp->watches = calloc(1, sizeof *warp->watches);
    if (warp->watches == NULL || !is_load(load) || warp->split_count > 1 ||
        warp->clock.seen[warp->agent] - time > TICKS ||
        may_be_used(emu_machine(warp)->program, load, pc)) {
        report->used = true;
        return;
    }
    const uint32_t *list = load->op + load->op[0];
    report->watched = true;
    for (uint32_t i = 0; i < list[0]; i++)
        watch(warp, report, list[1 + i] & ~EMU_WIDE, lanes ? lanes : UINT32_MAX);
    warp->watched = true;
}

void emu_watches_free(struct emu_warp *warp) {
    free(warp->watches);
    warp->watches = NULL;
}

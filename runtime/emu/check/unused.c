// Values that a faulty read left in registers: does anyone use them? Registers are watched where
// something has been reported, so that sound kernels pay nothing; and where clusters are held to
// each other, what is loaded of global memory, since its fault may show later. So are copies.
#include "runtime/emu/check/check.h"

#include <stdlib.h>
#include <string.h>

// TICKS: a load that is longer ago, in its warp's own time, may have been executed again since.
enum { WATCHES = 512, TICKS = 8, LOADS = 256 };

// What is looked for: uses that [report] asks for or, where it is NULL, those of load [load].
struct watch {
    struct emu_report *report;
    uint32_t slot, lanes;
    uint16_t load;
};

// One of a warp's latest loads of global memory.
struct load {
    uint32_t time, used;    // lanes that have used what they loaded
    uint32_t before_lanes;  // of the one before it that is of some word too, at the same time
    uint16_t before, number;
};

// Of one warp.
struct emu_watches {
    uint64_t slots[4];  // a bit for each that may be in the list, by its number's remainder
    uint32_t count;
    struct watch list[WATCHES];
    struct load loads[LOADS];
};

// NULL: too long ago.
static struct load *find_load(const struct emu_warp *warp, uint16_t number) {
    struct load *load = warp->watches ? &warp->watches->loads[number % LOADS] : NULL;

    return load != NULL && number && load->number == number ? load : NULL;
}

static void note(const struct emu_warp *warp, const struct watch *watch, uint32_t lanes) {
    struct load *load = watch->report ? NULL : find_load(warp, watch->load);

    if (watch->report != NULL) watch->report->used = true;
    if (load != NULL) load->used |= lanes;
}

static void add(struct emu_watches *watches, struct watch new) {
    watches->list[watches->count++] = new;
    watches->slots[new.slot / 64 % 4] |= UINT64_C(1) << new.slot % 64;
}

static bool may_be_watched(const struct emu_watches *watches, uint32_t slot) {
    return watches->slots[slot / 64 % 4] >> slot % 64 & 1;
}

static void watch(struct emu_warp *warp, struct watch new) {
    struct emu_watches *watches = warp->watches;

    if (new.slot == 0 || (new.report != NULL &&new.report->used)) return;
    for (uint32_t i = 0; i < watches->count; i++) {
        struct watch *at = &watches->list[i];
        if (at->report != new.report || at->load != new.load || at->slot != new.slot) continue;
        at->lanes |= new.lanes;
        return;
    }
    if (watches->count == WATCHES)
        note(warp, &new, new.lanes);  // who knows
    else
        add(watches, new);
}

// ---- what an instruction does to watched registers ----

// Has everything been seen that it is there for?
static bool is_over(const struct emu_warp *warp, const struct watch *watch) {
    const struct load *load = watch->report ? NULL : find_load(warp, watch->load);

    if (watch->report != NULL) return watch->lanes == 0 || watch->report->used;
    return load == NULL || !(watch->lanes & ~load->used);
}

static void drop_those_over(const struct emu_warp *warp) {
    struct emu_watches *watches = warp->watches;
    uint32_t count = watches->count;

    watches->count = 0;
    memset(watches->slots, 0, sizeof watches->slots);
    for (uint32_t i = 0; i < count; i++)
        if (!is_over(warp, &watches->list[i])) add(watches, watches->list[i]);
}

static void note_use(struct emu_warp *warp, uint32_t slot, uint32_t mask) {
    struct emu_watches *watches = warp->watches;

    if (!may_be_watched(watches, slot)) return;
    for (uint32_t i = 0; i < watches->count; i++)
        if (watches->list[i].slot == slot && (watches->list[i].lanes & mask))
            note(warp, &watches->list[i], watches->list[i].lanes & mask);
    drop_those_over(warp);
}

static void note_copy(struct emu_warp *warp, uint32_t to, uint32_t from, uint32_t mask) {
    struct emu_watches *watches = warp->watches;

    if (!may_be_watched(watches, from)) return;
    for (uint32_t i = 0, count = watches->count; i < count; i++) {
        struct watch copy = watches->list[i];
        if (copy.slot != from || !(copy.lanes & mask)) continue;
        copy.slot = to;
        copy.lanes &= mask;
        watch(warp, copy);
    }
}

// The lanes of [mask] have a new value there.
static void note_write(struct emu_warp *warp, uint32_t slot, uint32_t mask) {
    struct emu_watches *watches = warp->watches;

    if (!may_be_watched(watches, slot)) return;
    for (uint32_t i = 0; i < watches->count; i++)
        if (watches->list[i].slot == slot) watches->list[i].lanes &= ~mask;
    drop_those_over(warp);
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
    watch(warp, (struct watch){.report = warp->blamed, .slot = slot, .lanes = mask});
}

// Watches what the instruction that has been reported has left in the lanes that are blamed.
static void begin(struct emu_warp *warp) {
    const struct emu_insn *insn = warp->blamed_insn;
    enum emu_class class_ = warp->blamed->class_;
    bool reads = class_ == EMU_UNINITIALISED || class_ == EMU_RACE ||
                 class_ == EMU_MISSING_PROXY_FENCE || class_ == EMU_MISSING_TENSOR_FENCE ||
                 class_ == EMU_OUT_OF_BOUNDS;

    if (reads && !emu_is(insn, FACT_UPDATES))
        each_register(warp, insn, warp->blamed_lanes, true, watch_blamed);
    warp->blamed_insn = NULL;
}

// A load whose destinations are all that comes of it.
static bool is_load(const struct emu_insn *insn) {
    return insn->row->operands[0] == 'V' && insn->row->operands[1] == 'm';
}

static void begin_load(struct emu_warp *warp, const struct emu_insn *insn, uint32_t mask) {
    struct operands operands = registers_of(insn, true);
    uint16_t number = ++warp->loads;

    warp->watches->loads[number % LOADS] =
        (struct load){.number = number, .time = warp->clock.seen[warp->agent]};
    for (uint32_t slot; number && next_register(&operands, &slot);)
        watch(warp, (struct watch){.load = number, .slot = slot, .lanes = mask});
}

void emu_watch_step(struct emu_warp *warp, const struct emu_insn *insn, uint32_t mask) {
    bool loads = warp->cta->cluster->known != NULL && is_load(insn) && insn->space != SPACE_SHARED;

    if (warp->watches == NULL) warp->watches = calloc(1, sizeof *warp->watches);
    if (warp->watches == NULL) return;
    if (warp->blamed_insn != NULL) begin(warp);
    if (warp->watches->count == 0 && !loads) {
        warp->watched = warp->cta->cluster->known != NULL;
        return;
    }
    if (emu_is(insn, FACT_COPIES)) {
        note_write(warp, insn->op[0], insn->op[0] == insn->op[1] ? 0 : mask);
        note_copy(warp, insn->op[0], insn->op[1], mask);
    } else {
        each_register(warp, insn, mask, false, note_use);
        each_register(warp, insn, mask, true, note_write);
    }
    if (loads) begin_load(warp, insn, mask);
    warp->watched = warp->watches->count != 0 || warp->cta->cluster->known != NULL;
}

uint16_t emu_watch_number(const struct emu_warp *warp, const struct emu_insn *insn) {
    return is_load(insn) && find_load(warp, warp->loads) ? warp->loads : 0;
}

void emu_watch_both(const struct emu_warp *warp, uint16_t number, uint16_t before,
                    uint32_t before_lanes) {
    struct load *load = find_load(warp, number);

    if (load == NULL) return;
    bool other = load->before && (load->before != before || before_lanes & ~load->before_lanes);
    if (other || before == 0) load->used = UINT32_MAX;  // only one is kept
    load->before = before;
    load->before_lanes = before_lanes;
}

// Has none of [lanes] used what [load] brought, so that [report] may hang on what they still do?
static bool watch_one(struct emu_warp *warp, const struct load *load, uint32_t lanes,
                      struct emu_report *report) {
    if (load->used & lanes) return false;
    for (uint32_t i = 0, count = warp->watches->count; i < count; i++) {
        struct watch again = warp->watches->list[i];
        again.lanes &= lanes;
        if (again.report != NULL || again.load != load->number || !again.lanes) continue;
        again.report = report;
        again.load = 0;
        watch(warp, again);
    }
    return true;
}

void emu_watch_load(struct emu_warp *warp, uint16_t number, uint32_t time, uint32_t lanes,
                    struct emu_report *report) {
    const struct load *load = find_load(warp, number);

    report->watched = warp->watched = true;
    for (; load != NULL && load->time == time; load = find_load(warp, load->before)) {
        if (!watch_one(warp, load, lanes, report)) break;
        if (load->before == 0) return;
        lanes &= load->before_lanes;
    }
    report->used = true;
}

void emu_watch_nothing(struct emu_warp *warp, const struct emu_insn *insn) {
    if (warp->blamed != NULL && warp->blamed_insn == insn) warp->blamed->used = true;
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
        watch(warp, (struct watch){.report = report,
                                   .slot = list[1 + i] & ~EMU_WIDE,
                                   .lanes = lanes ? lanes : UINT32_MAX});
    warp->watched = true;
}

void emu_watches_free(struct emu_warp *warp) {
    free(warp->watches);
    warp->watches = NULL;
}

// Registers that a wgmma still uses, or that a tcgen05.ld has yet to fill: marks that stand from
// its issue to the wait for it, and the check that no other instruction comes between. The values
// themselves are there at once. What a tcgen05.ld loads may be read without a wait: PTX keeps true
// dependencies between registers (9.7.16.6.4.5), and compilers move reads before the wait.
#include "runtime/emu/check/check.h"

#include <stdlib.h>
#include <string.h>

enum { READ_MARK = 1u << 31 };

// Of one warp. A mark is the group's number plus one, with READ_MARK for an A operand.
struct emu_pending {
    uint32_t *marks;   // by slot
    uint32_t *marked;  // slots with a mark, with repetitions
    uint32_t marked_count, marked_capacity;
};

bool emu_pending_new(struct emu_warp *warp) {
    if (warp->pending != NULL) return true;
    uint32_t *marks = calloc(emu_machine(warp)->program->slot_count, sizeof *marks);
    struct emu_pending *pending = calloc(1, sizeof *pending);
    if (pending == NULL || marks == NULL) {
        free(pending);
        free(marks);
        return false;
    }
    pending->marks = marks;
    warp->pending = pending;
    return true;
}

void emu_pending_free(struct emu_warp *warp) {
    if (warp->pending == NULL) return;
    free(warp->pending->marks);
    free(warp->pending->marked);
    free(warp->pending);
}

static void mark(struct emu_warp *warp, uint32_t slot, uint32_t value) {
    struct emu_pending *pending = warp->pending;

    if (slot == 0) return;
    if (pending->marks[slot] == 0) {
        if (pending->marked_count == pending->marked_capacity) {
            uint32_t capacity = pending->marked_capacity ? 2 * pending->marked_capacity : 256;
            uint32_t *grown = realloc(pending->marked, capacity * sizeof *grown);
            if (grown == NULL) return;
            pending->marked = grown;
            pending->marked_capacity = capacity;
        }
        pending->marked[pending->marked_count++] = slot;
        warp->pending_registers++;
    }
    pending->marks[slot] = value;
}

void emu_pending_mark(struct emu_warp *warp, uint32_t slot, uint32_t group, bool read) {
    mark(warp, slot, (group + 1) | (read ? READ_MARK : 0));
}

void emu_pending_end(struct emu_warp *warp, uint32_t groups) {
    struct emu_pending *pending = warp->pending;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < pending->marked_count; i++) {
        uint32_t slot = pending->marked[i];
        if ((pending->marks[slot] & ~READ_MARK) > groups)
            pending->marked[kept++] = slot;
        else
            pending->marks[slot] = 0;
    }
    pending->marked_count = kept;
    warp->pending_registers = kept;
}

// ---- the check of other instructions' registers ----

static void hazard(struct emu_warp *warp, const struct emu_insn *insn, uint32_t slot,
                   bool written) {
    uint32_t value = warp->pending->marks[slot & ~EMU_WIDE];

    if (value == 0 || (!written && (value & READ_MARK))) return;
    if (warp->cta->cluster->has_tmem && !written) return;
    if (warp->cta->cluster->has_tmem)
        emu_report(warp, insn, EMU_REGISTER_HAZARD,
                   "this writes a register that a tcgen05.ld still loads: no tcgen05.wait::ld has "
                   "waited for it");
    else
        emu_report(
            warp, insn, EMU_REGISTER_HAZARD,
            "this %s a register that a wgmma still %s: no wgmma.wait_group has waited for it",
            written ? "writes" : "reads", value & READ_MARK ? "reads" : "accumulates into");
    warp->pending->marks[slot & ~EMU_WIDE] = 1;  // once is enough; the next wait clears it
}

// Copies that the compiler makes between accumulators are no uses; the copy is pending too.
static void follow_move(struct emu_warp *warp, const struct emu_insn *insn) {
    uint32_t *marks = warp->pending->marks, from = marks[insn->op[1]];

    if (from & READ_MARK) from = 0;
    if (from != 0)
        mark(warp, insn->op[0], from);
    else if (marks[insn->op[0]] != 0)
        marks[insn->op[0]] = 1;  // a new value: group 0 is over by the next wait
}

void emu_pending_check(struct emu_warp *warp, const struct emu_insn *insn) {
    const uint32_t *entry = insn->op;

    if (emu_is(insn, FACT_OWN_REGISTERS)) return;
    if (emu_is(insn, FACT_COPIES) && !warp->cta->cluster->has_tmem) {
        follow_move(warp, insn);
        return;
    }
    for (const char *at = insn->row->operands; *at != '\0'; at++) {
        const struct emu_letter *letter = emu_letter(*at);
        switch (letter->kind) {
        case LETTER_VALUE:
        case LETTER_ADDRESS:
        case LETTER_WITH_PREDICATE:
            if (*entry != EMU_NO_PC) hazard(warp, insn, *entry, letter->written);
            break;
        case LETTER_LIST:
            for (uint32_t i = 0; *entry != EMU_NO_PC && i < insn->op[*entry]; i++)
                hazard(warp, insn, insn->op[*entry + 1 + i], letter->written);
            break;
        default: break;
        }
        entry += emu_entries(letter->kind);
    }
}

// Comparisons that compilers get wrong: of r = max(min(a, b), 0), or max(max(a, b), 0), with b.
// From 12.6 to 13.3 ptxas makes VIMNMX.RELU of both, whose predicate says whether r == a, and takes
// it for r == b as well. 13.4 does so of r == a alone, and no ptxas before it reads PTX 9.4.
// Which of two registers ptxas takes for the second is not known here where all lanes have one of
// them alike: it is held to be the one that the PTX names second. A number is the second.
#include "runtime/emu/decode/decode.h"

#include <string.h>

enum { NOBODY = 0, MANY = UINT32_MAX };

// Who writes each register, as a pc plus one.
static void note_writer(uint32_t *writers, uint32_t slot, uint32_t pc) {
    writers[slot] = writers[slot] == NOBODY ? pc + 1 : MANY;
}

static void note_writers(const struct emu_insn *insn, uint32_t pc, uint32_t *writers) {
    const uint32_t *entry = insn->op;

    for (const char *at = insn->row->operands; *at != '\0'; at++) {
        const struct emu_letter *letter = emu_letter(*at);
        if (letter->written &&
            (letter->kind == LETTER_VALUE || letter->kind == LETTER_WITH_PREDICATE) &&
            *entry != EMU_NO_PC)
            note_writer(writers, *entry & ~EMU_WIDE, pc);
        if (letter->written && letter->kind == LETTER_LIST && *entry != EMU_NO_PC)
            for (uint32_t i = 0; i < insn->op[*entry]; i++)
                note_writer(writers, insn->op[*entry + 1 + i] & ~EMU_WIDE, pc);
        entry += emu_entries(letter->kind);
    }
}

// The one instruction of [form] that writes [slot]; NULL: it is another, or not the only one.
static const struct emu_insn *written_by(const struct emu_program *program, const uint32_t *writers,
                                         uint32_t slot, const char *form) {
    const uint32_t writer = slot < program->constant_slots ? writers[slot] : NOBODY;

    if (writer == NOBODY || writer == MANY) return NULL;
    const struct emu_insn *insn = &program->code[writer - 1];
    return strcmp(insn->row->form, form) ? NULL : insn;
}

static bool is_zero(const struct emu_program *program, uint32_t slot) {
    for (uint32_t i = 0; i < program->constant_count; i++) {
        const struct emu_constant *constant = &program->constants[i];
        if (constant->slot == slot) return constant->kind == CONSTANT_BITS && !constant->value;
    }
    return false;
}

// The min or max whose result, or 0 if it is less, [slot] holds; NULL: there is none.
static const struct emu_insn *bounded_by(const struct emu_program *program, const uint32_t *writers,
                                         uint32_t slot) {
    const struct emu_insn *insn = written_by(program, writers, slot, "max.s32"), *inner = NULL;

    for (unsigned i = 1; insn != NULL && inner == NULL && i <= 2; i++) {
        if (!is_zero(program, insn->op[3 - i])) continue;
        inner = written_by(program, writers, insn->op[i], "min.s32");
        if (inner == NULL) inner = written_by(program, writers, insn->op[i], "max.s32");
    }
    if (inner == NULL) inner = written_by(program, writers, slot, "min.relu.s32");
    return inner != NULL ? inner : written_by(program, writers, slot, "max.relu.s32");
}

// Whether [slot] may be another number by the time of the comparison.
static bool may_change(const struct emu_program *program, const uint32_t *writers, uint32_t slot) {
    return slot < program->constant_slots && writers[slot] == MANY;
}

// Marks [insn] if it compares such a value with the second operand, and adds to its own entries the
// first one's, and the pc of who bounds.
static void mark(struct emu_decoder *decoder, const uint32_t *writers, struct emu_insn *insn) {
    struct emu_program *program = decoder->program;

    if (strcmp(insn->row->form, "setp.CMP{.ftz}.TYPE") || insn->cmp != CMP_EQ ||
        insn->type[0] != T_S32)
        return;
    const struct emu_insn *bounded = bounded_by(program, writers, insn->op[2]);
    if (bounded == NULL) return;
    const bool turned = bounded->op[1] >= program->constant_slots;
    const uint32_t first = bounded->op[turned ? 2 : 1], second = bounded->op[turned ? 1 : 2];
    if (insn->op[3] != second || may_change(program, writers, first) ||
        may_change(program, writers, second))
        return;
    uint32_t *operands = emu_arena_alloc(&program->arena, 6 * sizeof *operands);
    memcpy(operands, insn->op, 4 * sizeof *operands);
    operands[4] = first;
    operands[5] = (uint32_t)(bounded - program->code);
    insn->op = operands;
    insn->flags |= F_BOUNDED;
}

void emu_find_bounded(struct emu_decoder *decoder) {
    struct emu_program *program = decoder->program;
    const struct ptx_tree *tree = &program->module->tree;
    const struct emu_function *function = decoder->function;

    if (tree->version_major * 10 + tree->version_minor >= 94) return;
    if (!(tree->arch->features & TMG_HAS_CLUSTERS)) return;  // they have no VIMNMX
    uint32_t *writers = emu_arena_alloc(&program->arena, program->constant_slots * sizeof *writers);
    for (uint32_t pc = function->first_pc; pc < function->end_pc; pc++)
        note_writers(&program->code[pc], pc, writers);
    for (uint32_t pc = function->first_pc; pc < function->end_pc; pc++)
        mark(decoder, writers, &program->code[pc]);
}

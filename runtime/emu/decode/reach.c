// What an entry reaches: the functions that it may call, and what all of them need of registers,
// of a thread's memory and of shared memory. A module's other entries take nothing from a launch.
#include "runtime/emu/decode/decode.h"

#include <string.h>

enum { ABSENT = UINT32_MAX, LOCAL_MAX = 512 << 10 };

// ---- functions ----

static void reach_function(struct emu_program *program, struct ptx_function *function) {
    if (function->index != ABSENT) return;
    function->index = program->function_count;
    program->functions[program->function_count++].source = function;
}

// Whoever calls by address may call each function whose address the module takes.
static void reach_addresses(struct emu_program *program) {
    for (struct ptx_function *f = program->module->tree.functions; f != NULL; f = f->next)
        if (f->address_taken && !f->entry) reach_function(program, f);
}

static void use_variables(const struct ptx_operand *operands, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        struct ptx_symbol *symbol = operands[i].kind == OPERAND_SYMBOL ? operands[i].symbol : NULL;
        if (symbol != NULL && symbol->kind == SYM_VARIABLE) symbol->used = true;
        use_variables(operands[i].list, operands[i].count);
    }
}

static void reach_callee(struct emu_program *program, const struct ptx_statement *call) {
    for (uint32_t i = 0; i < call->operand_count; i++) {
        const struct ptx_operand *operand = &call->operands[i];
        if (operand->kind == OPERAND_SYMBOL && operand->symbol->kind == SYM_FUNCTION) {
            reach_function(program, operand->symbol->function);
            return;
        }
    }
    reach_addresses(program);
}

static void reach_all(struct emu_program *program) {
    for (uint32_t i = 0; i < program->function_count; i++) {
        const struct ptx_function *function = program->functions[i].source;
        for (uint32_t s = 0; s < function->statement_count; s++) {
            const struct ptx_statement *statement = &function->statements[s];
            if (strcmp(statement->opcode.text, "call") == 0) reach_callee(program, statement);
            use_variables(statement->operands, statement->operand_count);
        }
    }
}

// ---- what they need ----

static uint64_t align_up(uint64_t at, uint64_t align) { return (at + align - 1) & ~(align - 1); }

static _Noreturn void refuse(struct ptx_lexer *lexer, const struct ptx_function *entry,
                             const char *what) {
    ptx_lex_fail(lexer, entry->line, 1, "%s and what it calls need %s", entry->name, what);
}

// Slots 0 to 3 take what goes to the sink, predicate 0 is always true.
static void lay_out_registers(struct ptx_lexer *lexer, struct emu_program *program) {
    const struct ptx_function *entry = program->functions->source;
    uint64_t slots = 4, preds = 1, local = 0;

    for (uint32_t i = 0; i < program->function_count; i++) {
        struct emu_function *function = &program->functions[i];
        const struct ptx_function *source = function->source;
        if (source->local_align) local = align_up(local, source->local_align);
        function->first_slot = (uint32_t)slots;
        function->return_slot = (uint32_t)slots + source->slot_count;
        function->first_pred = (uint32_t)preds;
        function->first_local = local;
        slots += source->slot_count + 1;
        preds += source->pred_count;
        local += source->local_bytes;
        if (slots > PTX_REGISTERS_MAX || preds > PTX_REGISTERS_MAX)
            refuse(lexer, entry, "more than 2^18 registers");
        if (local > LOCAL_MAX) refuse(lexer, entry, "more than 512 KB of local memory a thread");
    }
    program->slot_count = (uint32_t)slots;
    program->pred_count = (uint32_t)preds;
    program->local_bytes = local;
}

// Static variables in the file's order, then dynamic memory as its strictest array wants it; beyond
// 1024 bytes no alignment is promised to that.
static void lay_out_shared(struct ptx_lexer *lexer, struct emu_program *program) {
    const struct tmg_arch *arch = program->module->tree.arch;
    uint64_t end = EMU_SMEM_RESERVED, align = 16;
    char what[64];
    struct ptx_symbol *first = program->module->tree.shared;

    for (struct ptx_symbol *s = first; s != NULL; s = s->next_shared) {
        if (!s->used) continue;
        if (s->external && s->align > align) align = s->align < 1024 ? s->align : 1024;
        if (s->external) continue;
        s->offset = align_up(end, s->align);
        end = s->offset + s->bytes;
        if (end - EMU_SMEM_RESERVED > arch->shared_per_block) {
            snprintf(what, sizeof what, "more than %u KB of static shared memory",
                     arch->shared_per_block >> 10);
            refuse(lexer, program->functions->source, what);
        }
    }
    program->static_end = (uint32_t)end;
    program->dynamic_offset = (uint32_t)align_up(end, align);
    for (struct ptx_symbol *s = first; s != NULL; s = s->next_shared)
        if (s->external) s->offset = program->dynamic_offset;
}

static void lay_out_code(struct emu_program *program) {
    for (uint32_t i = 0; i < program->function_count; i++) {
        struct emu_function *function = &program->functions[i];
        if (!function->source->defined) continue;
        function->first_pc = program->code_count;
        program->code_count += function->source->statement_count + 1;
        function->end_pc = program->code_count;
    }
    program->code = emu_arena_alloc(&program->arena, program->code_count * sizeof *program->code);
}

void emu_reach(struct ptx_lexer *lexer, struct emu_program *program, struct ptx_function *entry) {
    const struct ptx_tree *tree = &program->module->tree;

    for (struct ptx_function *f = tree->functions; f != NULL; f = f->next) f->index = ABSENT;
    for (struct ptx_symbol *s = tree->shared; s != NULL; s = s->next_shared) s->used = false;
    program->functions =
        emu_arena_alloc(&program->arena, tree->function_count * sizeof *program->functions);
    reach_function(program, entry);
    reach_all(program);
    lay_out_registers(lexer, program);
    lay_out_shared(lexer, program);
    lay_out_code(program);
}

// Statements to decoded instructions: finds the table row of each, or says that there is none.
// Nothing is skipped: an instruction without a row is an error that names it and its line.
#include "runtime/emu/decode/decode.h"

#include <stdlib.h>
#include <string.h>

// ---- rows ----

static void whole_name(const struct ptx_statement *statement, char *text, size_t size) {
    size_t used = (size_t)snprintf(text, size, "%s", statement->opcode.text);

    for (uint32_t i = 0; i < statement->word_count && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, ".%s", statement->words[i].text);
}

struct word_rank {
    const char *words;
    int rank;
};

static int rank_among(const struct word_rank *ranks, size_t count, const char *text, int other) {
    char word[40];

    snprintf(word, sizeof word, " %.36s ", text);
    for (size_t i = 0; i < count; i++)
        if (strstr(ranks[i].words, word) != NULL) return ranks[i].rank;
    return other;
}

// Where a modifier stands in the rows of the instructions below; ptxas takes them in any order.
static int word_rank(const char *text) {
    static const struct word_rank ranks[] = {
        {" mmio ", 0},
        {" arrive arrive_drop expect_tx complete_tx noComplete test_wait try_wait parity ", 0},
        {" sync weak relaxed acquire release acq_rel sc volatile ", 1},
        {" aligned cta cluster gpu gl sys ", 2},
        {" m8n8 ", 3},
        {" x1 x2 x4 ", 4},
        {" trans ", 5},
        {" global shared shared::cta shared::cluster local param const ", 6},
        {" relu v2 v4 v8 ", 8},
    };

    return rank_among(ranks, sizeof ranks / sizeof *ranks, text,
                      ptx_type_find(text, strlen(text)) == T_NONE ? 7 : 9);
}

// The same of bulk copies: what is copied, from where to where, and how it is told.
static int copy_rank(const char *text) {
    static const struct word_rank ranks[] = {
        {" async reduce bulk prefetch tensor 1d 2d 3d 4d 5d ", 0},
        {" tile tile::gather4 tile::scatter4 im2col im2col_no_offs im2col::w im2col::w::128 ", 2},
        {" mbarrier::complete_tx::bytes bulk_group ", 3},
        {" multicast::cluster ", 4},
        {" cta_group::1 cta_group::2 ", 5},
        {" L2::cache_hint ", 6},
    };

    return rank_among(ranks, sizeof ranks / sizeof *ranks, text, 1);
}

// [statement] with its modifiers in the manual's order. False if they are, or have none.
static bool reorder(const struct ptx_statement *statement, struct ptx_statement *ordered) {
    static const char opcodes[] = " atom red ld st vote ldmatrix stmatrix mbarrier min max fma cp ";
    int (*rank)(const char *) = strcmp(statement->opcode.text, "cp") ? word_rank : copy_rank;
    char opcode[32];
    bool changed = false;

    snprintf(opcode, sizeof opcode, " %.28s ", statement->opcode.text);
    if (strstr(opcodes, opcode) == NULL) return false;
    *ordered = *statement;
    for (uint32_t i = 1; i < ordered->word_count; i++)
        for (uint32_t k = i; k > 0; k--) {
            struct ptx_word *a = &ordered->words[k - 1], *b = &ordered->words[k], swap = *a;
            if (rank(a->text) <= rank(b->text)) break;
            *a = *b;
            *b = swap;
            changed = true;
        }
    return changed;
}

// Whether the row is of that opcode: of hundreds few are.
static bool has_opcode(const struct emu_op *row, const struct ptx_word *opcode) {
    return row->form[0] == opcode->text[0] &&
           strncmp(row->form, opcode->text, opcode->length) == 0 &&
           strchr(".{", row->form[opcode->length]) != NULL;
}

// The first row that takes the statement's form and operands, or NULL.
static const struct emu_op *match_row(const struct emu_table *tables,
                                      const struct ptx_statement *statement, struct emu_insn *insn,
                                      bool *form_matched) {
    struct emu_insn blank = *insn;

    for (const struct emu_table *table = tables; table->rows != NULL; table++)
        for (const struct emu_op *row = table->rows; row->form != NULL; row++) {
            if (!has_opcode(row, &statement->opcode)) continue;
            *insn = blank;
            insn->table = table;
            if (!emu_match_form(row, statement, insn)) continue;
            *form_matched = true;
            if (emu_match_operands(row, statement)) return row;
        }
    *insn = blank;
    return NULL;
}

static const struct emu_op *find_row(struct emu_decoder *decoder, struct emu_insn *insn) {
    const struct ptx_statement *statement = decoder->statement;
    struct ptx_statement ordered;
    bool form_matched = false;
    const struct emu_op *row = match_row(decoder->program->tables, statement, insn, &form_matched);
    char name[300];

    if (row == NULL && reorder(statement, &ordered))
        row = match_row(decoder->program->tables, &ordered, insn, &form_matched);
    if (row != NULL) return row;
    whole_name(statement, name, sizeof name);
    if (form_matched)
        ptx_lex_fail(decoder->lexer, statement->line, statement->column,
                     "these operands of %s are not implemented", name);
    ptx_lex_fail(decoder->lexer, statement->line, statement->column,
                 "instruction %s is not implemented", name);
}

// A warp's share of a matrix instruction.
static uint32_t multiply_adds(const struct emu_insn *insn) {
    uint32_t all = (uint32_t)insn->shape[0] * insn->shape[1] * insn->shape[2];

    if (!emu_is(insn, FACT_MULTIPLIES)) return 0;
    return emu_is(insn, FACT_WARPGROUP) ? all / 4 : all;
}

// What the instruction wants of the module's target: by its row, its modifiers and its types.
static uint32_t needs_of(const struct emu_insn *insn) {
    uint32_t needs = insn->table->needs | insn->row->needs;

    if (insn->scope == SCOPE_CLUSTER || (insn->flags & F_SHARED_CLUSTER)) needs |= TMG_HAS_CLUSTERS;
    for (int i = 0; i < 4; i++)
        if (insn->type[i] >= T_E4M3 && insn->type[i] <= T_E5M2X4) needs |= TMG_HAS_FP8;
    return needs;
}

static void check_target(struct emu_decoder *decoder, const struct emu_insn *insn) {
    const struct tmg_arch *arch = decoder->program->module->tree.arch;
    uint32_t needs = needs_of(insn);
    char name[300];

    if ((needs & ~arch->features) == 0) return;
    whole_name(decoder->statement, name, sizeof name);
    ptx_lex_fail(decoder->lexer, decoder->statement->line, decoder->statement->column,
                 "instruction %s needs %s, and the module's target is %s", name,
                 tmg_arch_with(needs)->name, arch->name);
}

__attribute__((noreturn)) static void fail(struct emu_decoder *decoder, const char *why) {
    char name[300];

    whole_name(decoder->statement, name, sizeof name);
    ptx_lex_fail(decoder->lexer, decoder->statement->line, decoder->statement->column,
                 "instruction %s: %s", name, why);
}

// All tcgen05 instructions of a kernel have the same .cta_group (PTX ISA 9.7.16).
static void check_group(struct emu_decoder *decoder) {
    const struct ptx_statement *statement = decoder->statement;
    const bool tensor =
        statement->opcode.length == 7 && !memcmp(statement->opcode.text, "tcgen05", 7);
    char why[100];

    for (uint32_t i = 0; tensor && i < statement->word_count; i++) {
        const int group = !strcmp(statement->words[i].text, "cta_group::1")   ? 1
                          : !strcmp(statement->words[i].text, "cta_group::2") ? 2
                                                                              : 0;
        if (group == 0) continue;
        snprintf(why, sizeof why, "of a kernel's tcgen05 instructions others have .cta_group::%d",
                 decoder->program->cta_group);
        if (decoder->program->cta_group && decoder->program->cta_group != group) fail(decoder, why);
        decoder->program->cta_group = group;
    }
}

static void decode_statement(struct emu_decoder *decoder, struct emu_insn *insn) {
    const struct ptx_statement *statement = decoder->statement;

    *insn = (struct emu_insn){
        .line = statement->line,
        .loc = statement->loc,
        .guard = statement->guarded ? decoder->function->first_pred + statement->guard : 0,
        .guard_negated = statement->guard_negated,
        .target = EMU_NO_PC,
        .join = EMU_NO_PC,
        .function = decoder->function,
    };
    const struct emu_op *row = find_row(decoder, insn);
    insn->row = row;
    insn->exec = row->exec;
    check_target(decoder, insn);
    insn->multiply_adds = multiply_adds(insn);
    emu_decode_operands(decoder, row, insn);
    check_group(decoder);
    char text[200];
    const char *why =
        insn->table->wrong == NULL ? NULL : insn->table->wrong(insn, statement, text, sizeof text);
    if (why != NULL) fail(decoder, why);
    for (uint32_t i = 0; i < statement->operand_count; i++) {
        const struct ptx_operand *operand = &statement->operands[i];
        if (operand->kind == OPERAND_SPECIAL && (strncmp(operand->name, "%clock", 6) == 0 ||
                                                 strncmp(operand->name, "%globalt", 8) == 0))
            insn->flags |= F_CLOCK;
    }
}

// The end of a body is a return, as PTX says; so every path ends in an instruction.
static void decode_end(struct emu_decoder *decoder, struct emu_insn *insn) {
    struct ptx_statement statement = {.opcode = {"ret", 3}};
    const struct ptx_function *source = decoder->function->source;

    if (source->statement_count) {
        const struct ptx_statement *last = &source->statements[source->statement_count - 1];
        statement.line = last->line;
        statement.loc = last->loc;
    }
    decoder->statement = &statement;
    decode_statement(decoder, insn);
}

static void decode_function(struct emu_decoder *decoder) {
    const struct emu_function *function = decoder->function;
    struct emu_insn *code = decoder->program->code;

    for (uint32_t i = 0; i < function->source->statement_count; i++) {
        decoder->statement = &function->source->statements[i];
        ptx_lex_look(decoder->lexer, decoder->statement->line);
        decode_statement(decoder, &code[function->first_pc + i]);
    }
    decode_end(decoder, &code[function->end_pc - 1]);
    emu_find_joins(decoder);
    emu_find_bounded(decoder);
}

static void decode_program(struct ptx_lexer *lexer, struct emu_program *program) {
    struct emu_decoder *decoder = emu_arena_alloc(&program->arena, sizeof *decoder);

    decoder->lexer = lexer;
    decoder->program = program;
    program->constant_slots = program->slot_count;
    for (uint32_t i = 0; i < program->function_count; i++) {
        decoder->function = &program->functions[i];
        if (decoder->function->source->defined) decode_function(decoder);
    }
}

// False and the lexer's error: see emu_program_of.
static bool make_program(struct ptx_lexer *lexer, struct emu_program *program,
                         struct ptx_function *entry) {
    jmp_buf fail;

    lexer->fail = program->arena.fail = &fail;
    program->arena.room = lexer->limit->budget.memory;
    int failed = setjmp(fail);
    if (failed) {
        ptx_lex_failed(lexer, failed);
        return false;
    }
    emu_reach(lexer, program, entry);
    decode_program(lexer, program);
    program->arena.fail = NULL;
    return true;
}

struct emu_program *emu_program_of(struct emu_module *module, const struct emu_table *tables,
                                   struct ptx_function *entry, const struct emu_limit *limit,
                                   struct emu_error *error) {
    struct emu_program *program = module->programs;
    struct ptx_lexer lexer = {.name = module->tree.name, .limit = limit, .error = error};

    while (program != NULL && program->functions->source != entry) program = program->next;
    if (program != NULL) return program;
    snprintf(error->text, sizeof error->text, "out of memory");
    program = calloc(1, sizeof *program);
    if (program == NULL) return NULL;
    program->module = module;
    program->tables = tables;
    if (!make_program(&lexer, program, entry)) {
        emu_program_delete(program);
        return NULL;
    }
    program->next = module->programs;
    return module->programs = program;
}

void emu_program_delete(struct emu_program *program) {
    if (program == NULL) return;
    emu_arena_free(&program->arena);
    free(program);
}

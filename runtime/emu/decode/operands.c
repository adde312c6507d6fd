// Operands to slots: each letter of a row's operand string says what stands there and how wide.
// What isn't a register gets a slot of its own that is filled before the warp starts.
#include "runtime/emu/decode/decode.h"

#include <stdarg.h>
#include <string.h>

static _Noreturn void fail(struct emu_decoder *decoder, const struct ptx_operand *at,
                           const char *format, ...) __attribute__((format(printf, 3, 4)));

static void fail(struct emu_decoder *decoder, const struct ptx_operand *at, const char *format,
                 ...) {
    char message[400];
    va_list arguments;
    const struct ptx_statement *statement = decoder->statement;

    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    ptx_lex_fail(decoder->lexer, at ? at->line : statement->line,
                 at ? at->column : statement->column, "%s: %s", statement->opcode.text, message);
}

// ---- labels ----

// pc of label [name] as seen by the statement, or EMU_NO_PC.
static uint32_t find_label(const struct emu_decoder *decoder, const char *name,
                           struct ptx_symbol **label) {
    const struct ptx_names *names = &decoder->program->module->tree.names;
    const struct ptx_label_scope *scope = decoder->statement->scope;
    size_t length = strlen(name);

    for (; scope != NULL; scope = scope->parent) {
        struct ptx_symbol *found = ptx_names_find(names, scope->number, name, length, -1);
        if (found == NULL) continue;
        if (label != NULL) *label = found;
        return decoder->function->first_pc + found->pc;
    }
    return EMU_NO_PC;
}

// ---- special registers ----

static const struct {
    const char *name;
    int number;
    bool wide, triple;
} specials[] = {
    {"%tid", SPECIAL_TID, false, true},
    {"%ntid", SPECIAL_NTID, false, true},
    {"%ctaid", SPECIAL_CTAID, false, true},
    {"%nctaid", SPECIAL_NCTAID, false, true},
    {"%clusterid", SPECIAL_CLUSTERID, false, true},
    {"%nclusterid", SPECIAL_NCLUSTERID, false, true},
    {"%cluster_ctaid", SPECIAL_CLUSTER_CTAID, false, true},
    {"%cluster_nctaid", SPECIAL_CLUSTER_NCTAID, false, true},
    {"%cluster_ctarank", SPECIAL_CLUSTER_CTARANK, false, false},
    {"%cluster_nctarank", SPECIAL_CLUSTER_NCTARANK, false, false},
    {"%is_explicit_cluster", SPECIAL_IS_EXPLICIT_CLUSTER, false, false},
    {"%laneid", SPECIAL_LANEID, false, false},
    {"%warpid", SPECIAL_WARPID, false, false},
    {"%nwarpid", SPECIAL_NWARPID, false, false},
    {"%smid", SPECIAL_SMID, false, false},
    {"%nsmid", SPECIAL_NSMID, false, false},
    {"%gridid", SPECIAL_GRIDID, true, false},
    {"%lanemask_eq", SPECIAL_LANEMASK_EQ, false, false},
    {"%lanemask_le", SPECIAL_LANEMASK_LE, false, false},
    {"%lanemask_lt", SPECIAL_LANEMASK_LT, false, false},
    {"%lanemask_ge", SPECIAL_LANEMASK_GE, false, false},
    {"%lanemask_gt", SPECIAL_LANEMASK_GT, false, false},
    {"%dynamic_smem_size", SPECIAL_DYNAMIC_SMEM, false, false},
    {"%total_smem_size", SPECIAL_TOTAL_SMEM, false, false},
    {"WARP_SZ", SPECIAL_WARP_SIZE, false, false},
    {"%aggr_smem_size", SPECIAL_AGGREGATE_SMEM, false, false},
    {"%reserved_smem_offset_begin", SPECIAL_RESERVED_BEGIN, false, false},
    {"%reserved_smem_offset_end", SPECIAL_RESERVED_END, false, false},
    {"%reserved_smem_offset_cap", SPECIAL_RESERVED_CAP, false, false},
    {"%reserved_smem_offset_0", SPECIAL_RESERVED_0, false, false},
    {"%reserved_smem_offset_1", SPECIAL_RESERVED_1, false, false},
    {"%current_graph_exec", SPECIAL_ZERO, true, false},
    {"%clock", SPECIAL_CLOCK, false, false},
    {"%clock_hi", SPECIAL_CLOCK_HI, false, false},
    {"%clock64", SPECIAL_CLOCK64, true, false},
    {"%globaltimer", SPECIAL_GLOBALTIMER, true, false},
    {"%globaltimer_lo", SPECIAL_GLOBALTIMER_LO, false, false},
    {"%globaltimer_hi", SPECIAL_GLOBALTIMER_HI, false, false},
};

static int find_special(const char *name, bool *wide) {
    size_t length = strcspn(name, ".");
    unsigned number;
    int used = 0;

    *wide = false;
    if (sscanf(name, "%%envreg%2u%n", &number, &used) == 1 && name[used] == '\0' && number < 32)
        return SPECIAL_ENVIRONMENT_0 + (int)number;
    for (size_t i = 0; i < sizeof specials / sizeof *specials; i++) {
        if (strlen(specials[i].name) != length || memcmp(specials[i].name, name, length) != 0 ||
            specials[i].triple != (name[length] == '.'))
            continue;
        *wide = specials[i].wide;
        if (!specials[i].triple) return specials[i].number;
        if (name[length + 1] == 'w') return SPECIAL_ZERO;
        return specials[i].number + (name[length + 1] - 'x');
    }
    return -1;
}

// ---- constants ----

static uint32_t *constant_list(const struct emu_decoder *decoder, const struct emu_constant *of) {
    uint64_t hash = (of->value + of->kind * 2 + of->wide) * UINT64_C(0x9e3779b97f4a7c15);

    return &decoder->constants[hash >> 32 & (decoder->constant_size - 1)];
}

// Room for twice as many constants, and as many lists.
static void grow_constants(struct emu_decoder *decoder) {
    struct emu_program *program = decoder->program;
    uint32_t wanted = program->constant_capacity ? 2 * program->constant_capacity : 64;
    struct emu_constant *grown = emu_arena_alloc(&program->arena, wanted * sizeof *grown);

    if (program->constant_count)
        memcpy(grown, program->constants, program->constant_count * sizeof *grown);
    program->constants = grown;
    program->constant_capacity = decoder->constant_size = wanted;
    decoder->constants = emu_arena_alloc(&program->arena, wanted * sizeof *decoder->constants);
    for (uint32_t i = 0; i < program->constant_count; i++) {
        uint32_t *list = constant_list(decoder, &grown[i]);
        grown[i].next = *list;
        *list = i + 1;
    }
}

// The slot that holds this constant; equal ones share it.
static uint32_t constant_slot(struct emu_decoder *decoder, struct emu_constant constant) {
    struct emu_program *program = decoder->program;

    if (program->constant_count == program->constant_capacity) grow_constants(decoder);
    uint32_t *list = constant_list(decoder, &constant);
    for (uint32_t i = *list; i != 0; i = program->constants[i - 1].next) {
        struct emu_constant *have = &program->constants[i - 1];
        if (have->kind == constant.kind && have->wide == constant.wide &&
            have->value == constant.value)
            return have->slot;
    }
    constant.slot = program->slot_count;
    constant.next = *list;
    program->slot_count += constant.wide ? 2 : 1;
    program->constants[program->constant_count++] = constant;
    *list = program->constant_count;
    return constant.slot;
}

static bool is_float(enum ptx_type type) { return type == T_F32 || type == T_F64; }

// A number's bits as an operand of [type] (or of [bytes], where the type doesn't say).
static uint64_t number_bits(struct emu_decoder *decoder, const struct ptx_operand *operand,
                            enum ptx_type type, bool wide) {
    uint64_t bits = operand->value;
    float narrow;
    double real;

    if (operand->kind == OPERAND_F64) {
        memcpy(&real, &bits, 8);
        if (wide || (is_float(type) && type == T_F64)) return bits;
        narrow = (float)real;
        bits = 0;
        memcpy(&bits, &narrow, 4);
    } else if (operand->kind == OPERAND_F32) {
        if (!wide) return bits;
        memcpy(&narrow, &bits, 4);
        real = narrow;
        memcpy(&bits, &real, 8);
    } else if (is_float(type) && bits != 0) {
        fail(decoder, operand, "an integer where a floating-point number is due");
    } else if (!wide) {
        bits &= ptx_type_bytes(type) == 2 ? 0xffff : ptx_type_bytes(type) == 1 ? 0xff : 0xffffffff;
    }
    return bits;
}

static void put(struct emu_decoder *decoder, uint32_t entry) {
    if (decoder->entry_count == sizeof decoder->entries / sizeof *decoder->entries)
        fail(decoder, NULL, "too many operands");
    decoder->entries[decoder->entry_count++] = entry;
}

static uint32_t register_rows(enum ptx_type type) {
    return ptx_type_bytes(type) > 8 ? 4 : ptx_type_bytes(type) > 4 ? 2 : 1;
}

// The address of a variable or a function, in its window or in the part that the CTA adds to.
static struct emu_constant address_of(const struct emu_decoder *decoder,
                                      const struct ptx_symbol *symbol) {
    if (symbol->kind == SYM_FUNCTION)
        return (struct emu_constant){.value = emu_function_address(symbol->function)};
    switch (symbol->space) {
    case SPACE_SHARED:
        return (struct emu_constant){.kind = CONSTANT_SHARED, .value = symbol->offset};
    case SPACE_LOCAL:
        return (struct emu_constant){.value = decoder->function->first_local + symbol->offset};
    case SPACE_PARAM:
        return (struct emu_constant){
            .value = symbol->of_entry
                         ? EMU_PARAM_WINDOW | symbol->offset
                         : EMU_LOCAL_WINDOW | (decoder->function->first_local + symbol->offset)};
    default: return (struct emu_constant){.kind = CONSTANT_IMAGE, .value = symbol->offset};
    }
}

// The slot of a register of the function, with EMU_WIDE where the entry has to say so.
static uint32_t register_slot(const struct emu_decoder *decoder, const struct ptx_operand *operand,
                              uint32_t rows) {
    return (decoder->function->first_slot + operand->slot) |
           (!rows && register_rows(operand->type) == 2 ? EMU_WIDE : 0);
}

// A source of [rows] rows (0 = any) and, for numbers, of [type].
static uint32_t source(struct emu_decoder *decoder, const struct ptx_operand *operand,
                       uint32_t rows, enum ptx_type type) {
    bool wide = rows ? rows == 2 : ptx_type_bytes(type) == 8;
    struct emu_constant constant = {.wide = wide};
    bool special_wide = false;
    int special;

    switch (operand->kind) {
    case OPERAND_SLOT:
        if (rows && register_rows(operand->type) != rows)
            fail(decoder, operand, "%s has type .%s, which does not fit here", operand->name,
                 ptx_type_name(operand->type));
        return register_slot(decoder, operand, rows);
    case OPERAND_INT:
    case OPERAND_F32:
    case OPERAND_F64: constant.value = number_bits(decoder, operand, type, wide); break;
    case OPERAND_SPECIAL:
        special = find_special(operand->name, &special_wide);
        if (special < 0)
            fail(decoder, operand, "special register %s is not implemented", operand->name);
        decoder->program->uses_reserved |=
            special >= SPECIAL_RESERVED_BEGIN && special <= SPECIAL_RESERVED_1;
        decoder->program->uses_environment |=
            special >= SPECIAL_ENVIRONMENT_0 && special <= SPECIAL_ENVIRONMENT_LAST;
        constant.kind = CONSTANT_SPECIAL;
        constant.value = (uint64_t)special;
        constant.wide = rows ? wide : special_wide;
        break;
    case OPERAND_SYMBOL:
        constant = address_of(decoder, operand->symbol);
        constant.wide = wide;
        constant.value += (uint64_t)operand->offset;
        break;
    case OPERAND_NAME: fail(decoder, operand, "%s is not declared", operand->name);
    default: fail(decoder, operand, "expected a register, a number or a variable");
    }
    if (rows > 2) fail(decoder, operand, "a register of 128 bits is due");
    uint32_t slot = constant_slot(decoder, constant);
    return slot | (!rows && constant.wide ? EMU_WIDE : 0);
}

static uint32_t destination(struct emu_decoder *decoder, const struct ptx_operand *operand,
                            uint32_t rows) {
    if (operand->kind == OPERAND_SINK) return 0;
    if (operand->kind != OPERAND_SLOT) fail(decoder, operand, "expected a register to write");
    if (rows && register_rows(operand->type) != rows)
        fail(decoder, operand, "%s has type .%s, which does not fit here", operand->name,
             ptx_type_name(operand->type));
    return register_slot(decoder, operand, rows);
}

static uint32_t predicate(struct emu_decoder *decoder, const struct ptx_operand *operand) {
    if (operand->kind == OPERAND_SINK) return EMU_NO_PC;
    if (operand->kind == OPERAND_INT)  // predicate 0 is always true
        return operand->value ? 0 : EMU_NEGATED;
    if (operand->kind != OPERAND_PRED) fail(decoder, operand, "expected a predicate");
    return (decoder->function->first_pred + operand->slot) | (operand->negated ? EMU_NEGATED : 0);
}

// The list goes behind the entries that are due first, so its place is patched in.
static void put_list(struct emu_decoder *decoder, const struct ptx_operand *operand, bool written,
                     enum ptx_type type, uint32_t place) {
    const struct ptx_operand *list = operand->kind == OPERAND_VECTOR ? operand->list : operand;
    uint32_t count = operand->kind == OPERAND_VECTOR ? operand->count : 1;

    decoder->entries[place] = decoder->entry_count;
    put(decoder, count);
    for (uint32_t i = 0; i < count; i++)
        put(decoder,
            written ? destination(decoder, &list[i], 0) : source(decoder, &list[i], 0, type));
}

static void put_params(struct emu_decoder *decoder, const struct ptx_operand *operand,
                       uint32_t place) {
    decoder->entries[place] = decoder->entry_count;
    put(decoder, operand->count);
    for (uint32_t i = 0; i < operand->count; i++) {
        const struct ptx_operand *one = &operand->list[i];
        if (one->kind != OPERAND_SYMBOL || one->symbol->kind != SYM_VARIABLE ||
            one->symbol->space != SPACE_PARAM || one->symbol->of_entry)
            fail(decoder, one, "expected a .param variable of the function");
        put(decoder, (uint32_t)(decoder->function->first_local + one->symbol->offset));
    }
    for (uint32_t i = 0; i < operand->count; i++)
        put(decoder, (uint32_t)operand->list[i].symbol->bytes);
}

static void put_targets(struct emu_decoder *decoder, const struct ptx_operand *operand,
                        uint32_t place) {
    struct ptx_symbol *table = NULL;

    decoder->entries[place] = decoder->entry_count;
    if (find_label(decoder, operand->name, &table) == EMU_NO_PC || table->table == NULL)
        fail(decoder, operand, "%s is not a .branchtargets table", operand->name);
    put(decoder, table->table_count);
    for (uint32_t i = 0; i < table->table_count; i++) {
        uint32_t pc = find_label(decoder, table->table[i]->name, NULL);
        if (pc == EMU_NO_PC) fail(decoder, operand, "there is no label %s", table->table[i]->name);
        put(decoder, pc);
    }
}

static void put_address(struct emu_decoder *decoder, const struct ptx_operand *operand) {
    const struct ptx_operand *base = &operand->list[0];

    if (base->kind == OPERAND_INT) {
        put(decoder, source(decoder, base, 2, T_B64) | EMU_WIDE);
        put(decoder, 0);
        return;
    }
    put(decoder, source(decoder, base, base->kind == OPERAND_SYMBOL ? 2 : 0, T_B64) |
                     (base->kind == OPERAND_SYMBOL ? EMU_WIDE : 0));
    if (base->offset != (int32_t)base->offset)
        fail(decoder, operand, "offset does not fit in 32 bits");
    put(decoder, base->kind == OPERAND_SYMBOL ? 0 : (uint32_t)(int32_t)base->offset);
}

// ---- letters ----

static bool fits(const struct emu_letter *letter, const struct ptx_operand *operand) {
    if (!(letter->takes >> operand->kind & 1)) return false;
    switch (letter->kind) {
    case LETTER_FUNCTION:
        return operand->symbol->kind == SYM_FUNCTION && !operand->symbol->function->entry;
    case LETTER_ADDRESS: return operand->count == 1;
    case LETTER_TENSOR: return operand->count == 2;
    default: return true;
    }
}

bool emu_match_operands(const struct emu_op *row, const struct ptx_statement *statement) {
    uint32_t index = 0;
    bool optional = false;

    for (const char *letter = row->operands; *letter != '\0'; letter++) {
        if (*letter == '?') {
            optional = true;
        } else if (index == statement->operand_count) {
            if (!optional) return false;
        } else if (!fits(emu_letter(*letter), &statement->operands[index++])) {
            return false;
        }
    }
    return index == statement->operand_count;
}

static uint32_t rows_for(enum emu_width width, const struct emu_insn *insn) {
    switch (width) {
    case WIDTH_FIRST: return register_rows((enum ptx_type)insn->type[0]);
    case WIDTH_SECOND: return register_rows((enum ptx_type)insn->type[1]);
    case WIDTH_DOUBLE: return ptx_type_bytes((enum ptx_type)insn->type[0]) >= 4 ? 2 : 1;
    case WIDTH_32: return 1;
    case WIDTH_64: return 2;
    default: return 0;
    }
}

static enum ptx_type number_type(enum emu_width width, const struct emu_insn *insn) {
    switch (width) {
    case WIDTH_SECOND: return (enum ptx_type)insn->type[1];
    case WIDTH_32: return T_B32;
    case WIDTH_64: return T_B64;
    case WIDTH_DOUBLE: return ptx_type_bytes((enum ptx_type)insn->type[0]) == 2 ? T_B32 : T_B64;
    default: return (enum ptx_type)insn->type[0] ? (enum ptx_type)insn->type[0] : T_B32;
    }
}

static void find_target(struct emu_decoder *decoder, const struct ptx_operand *operand,
                        struct emu_insn *insn) {
    insn->target = find_label(decoder, operand->name, NULL);
    if (insn->target == EMU_NO_PC) fail(decoder, operand, "there is no label %s", operand->name);
}

// The entries of one operand; a list's entry is filled by put_lists().
static void put_operand(struct emu_decoder *decoder, const struct emu_letter *letter,
                        const struct ptx_operand *operand, struct emu_insn *insn) {
    uint32_t rows = rows_for(letter->width, insn);
    bool pair = operand->kind == OPERAND_PAIR;
    const struct ptx_operand *first = pair ? &operand->list[0] : operand;

    switch (letter->kind) {
    case LETTER_VALUE:
        put(decoder, letter->written
                         ? destination(decoder, operand, rows)
                         : source(decoder, operand, rows, number_type(letter->width, insn)));
        break;
    case LETTER_PREDICATE: put(decoder, predicate(decoder, operand)); break;
    case LETTER_PREDICATES:
    case LETTER_WITH_PREDICATE:
        put(decoder, letter->kind == LETTER_PREDICATES ? predicate(decoder, first)
                                                       : destination(decoder, first, rows));
        put(decoder, pair ? predicate(decoder, &operand->list[1]) : EMU_NO_PC);
        break;
    case LETTER_ADDRESS: put_address(decoder, operand); break;
    case LETTER_NUMBER: put(decoder, (uint32_t)operand->value); break;
    case LETTER_LABEL: find_target(decoder, operand, insn); break;
    case LETTER_FUNCTION:
        insn->callee = &decoder->program->functions[operand->symbol->function->index];
        put(decoder, 0);
        break;
    case LETTER_TENSOR:
        put(decoder, source(decoder, &operand->list[0], 2, T_B64));
        put(decoder, 0);
        break;
    default: put(decoder, 0); break;
    }
}

// Lists go behind the entries of all operands, [places] says where each is named.
static void put_lists(struct emu_decoder *decoder, const struct emu_op *row,
                      const struct emu_insn *insn, const uint32_t *places) {
    const struct ptx_statement *statement = decoder->statement;
    uint32_t index = 0;

    for (const char *at = row->operands; *at != '\0' && index < statement->operand_count; at++) {
        if (*at == '?') continue;
        const struct emu_letter *letter = emu_letter(*at);
        const struct ptx_operand *operand = &statement->operands[index];
        uint32_t place = places[index++];
        switch (letter->kind) {
        case LETTER_TENSOR: put_list(decoder, &operand->list[1], false, T_S32, place + 1); break;
        case LETTER_PARAMS: put_params(decoder, operand, place); break;
        case LETTER_LABELS: put_targets(decoder, operand, place); break;
        case LETTER_LIST:
            put_list(decoder, operand, letter->written, (enum ptx_type)insn->type[0], place);
            break;
        default: break;
        }
    }
}

void emu_decode_operands(struct emu_decoder *decoder, const struct emu_op *row,
                         struct emu_insn *insn) {
    const struct ptx_statement *statement = decoder->statement;
    uint32_t places[16], index = 0;

    decoder->entry_count = 0;
    for (const char *at = row->operands; *at != '\0'; at++) {
        if (*at == '?') continue;
        if (index >= statement->operand_count) {
            put(decoder, EMU_NO_PC);
            continue;
        }
        places[index] = decoder->entry_count;
        put_operand(decoder, emu_letter(*at), &statement->operands[index++], insn);
    }
    put_lists(decoder, row, insn, places);
    uint32_t *entries =
        emu_arena_alloc(&decoder->program->arena, decoder->entry_count * sizeof *entries);
    memcpy(entries, decoder->entries, decoder->entry_count * sizeof *entries);
    insn->op = entries;
}

// The body of a PTX function: registers, labels, nested scopes, statements and their operands.
// Statements keep their words unjudged; decode.c knows which instructions exist.
#include "runtime/emu/ptx/ptx.h"

#include <string.h>

static _Noreturn void expected(struct ptx_parser *parser, const char *what) {
    struct ptx_token *token = &parser->lexer->token;

    ptx_lex_fail(parser->lexer, token->line, token->column, "expected %s, found '%s%.*s'", what,
                 token->kind == PTX_DIRECTIVE ? "." : "", (int)token->length,
                 token->kind == PTX_END ? "" : token->at);
}

// ---- registers ----

// How many slots a register takes; a slot is a row of 32 lanes of 32 bits.
static uint32_t slots_of(enum ptx_type type) {
    return ptx_type_bytes(type) > 8 ? 4 : ptx_type_bytes(type) > 4 ? 2 : 1;
}

static void add_registers(struct ptx_parser *parser, enum ptx_type type, unsigned vector) {
    struct ptx_token token = parser->lexer->token;

    if (token.kind != PTX_NAME) expected(parser, "a register's name");
    struct ptx_symbol *symbol = ptx_scope_add(parser, token.at, token.length, SYM_REGISTER);
    ptx_lex_next(parser->lexer);
    symbol->type = type;
    symbol->vector = vector;
    symbol->count = 1;
    if (ptx_accept(parser, '<')) {
        symbol->ranged = true;
        uint64_t count = ptx_expect_integer(parser, "the number of registers");
        ptx_expect(parser, '>');
        if (count > 1u << 20) expected(parser, "at most 2^20 registers before this");
        symbol->count = (uint32_t)count;
    }
    struct ptx_function *function = parser->function;
    uint32_t *next = type == T_PRED ? &function->pred_count : &function->slot_count;
    uint64_t count = (uint64_t)symbol->count * vector * slots_of(type);
    if (*next + count > PTX_REGISTERS_MAX)
        expected(parser, "a function with at most 2^18 registers");
    symbol->slot = *next;
    *next += (uint32_t)count;
}

static void parse_registers(struct ptx_parser *parser) {
    unsigned vector = 1;

    if (ptx_accept_directive(parser, "v2"))
        vector = 2;
    else if (ptx_accept_directive(parser, "v4"))
        vector = 4;
    struct ptx_token token = parser->lexer->token;
    enum ptx_type type =
        token.kind == PTX_DIRECTIVE ? ptx_type_find(token.at, token.length) : T_NONE;
    if (type == T_NONE) expected(parser, "a register type");
    ptx_lex_next(parser->lexer);
    if (type == T_PRED && vector > 1) expected(parser, "no vector of predicates before this");
    do {
        add_registers(parser, type, vector);
    } while (ptx_accept(parser, ','));
    ptx_expect(parser, ';');
}

// ---- operands ----

static void parse_operand(struct ptx_parser *parser, struct ptx_operand *operand, unsigned depth);

static void parse_list(struct ptx_parser *parser, struct ptx_operand *operand, char close,
                       unsigned depth) {
    enum { MOST = 512 };
    struct ptx_operand *list = NULL;
    uint32_t count = 0, capacity = 0;

    if (depth > 4) expected(parser, "at most 4 nested operand lists");
    do {
        if (count == MOST) expected(parser, "at most 512 operands in a list");
        if (count == capacity) {
            uint32_t wanted = capacity ? 4 * capacity : 4;
            struct ptx_operand *grown =
                emu_arena_alloc(&parser->tree->arena, wanted * sizeof *grown);
            if (list != NULL) memcpy(grown, list, count * sizeof *grown);
            list = grown;
            capacity = wanted;
        }
        parse_operand(parser, &list[count++], depth + 1);
    } while (ptx_accept(parser, ','));
    ptx_expect(parser, close);
    operand->list = list;
    operand->count = count;
}

// The element of a vector register that the letter behind the dot names; -1: none.
static int element_of(const struct ptx_symbol *symbol, const char *text, unsigned length) {
    static const char letters[] = "xyzwrgba";
    const char *at = length == 1 ? strchr(letters, *text) : NULL;

    if (at == NULL || (unsigned)(at - letters) % 4 >= symbol->vector) return -1;
    return (int)(at - letters) % 4;
}

// %v.x is one register of vector %v; %v alone is all of them, as {%v.x, %v.y, ...}. The dot and
// the letter belong to the name's token where that begins with %, see ptx/lex.c.
static void parse_vector_register(struct ptx_parser *parser, struct ptx_operand *operand,
                                  const struct ptx_symbol *symbol, uint32_t index,
                                  const struct ptx_token *token, const char *dot) {
    struct ptx_lexer *lexer = parser->lexer;
    struct ptx_operand whole = *operand;
    int element = -1;

    whole.kind = OPERAND_SLOT;
    whole.type = symbol->type;
    whole.slot = symbol->slot + index * symbol->vector * slots_of(symbol->type);
    if (dot == NULL && lexer->token.kind == PTX_DIRECTIVE) {
        element = element_of(symbol, lexer->token.at, lexer->token.length);
        if (element < 0) expected(parser, "an element of the vector");
        ptx_lex_next(lexer);
    } else if (dot != NULL) {
        element = element_of(symbol, dot + 1, 1);
        if (element < 0)
            ptx_lex_fail(lexer, token->line, token->column, "the vector has no element %s", dot);
    }
    *operand = whole;
    operand->slot += (element < 0 ? 0 : (uint32_t)element) * slots_of(symbol->type);
    if (element >= 0) return;
    operand->kind = OPERAND_VECTOR;
    operand->count = symbol->vector;
    operand->list = emu_arena_alloc(&parser->tree->arena, symbol->vector * sizeof *operand->list);
    for (uint32_t i = 0; i < symbol->vector; i++) {
        operand->list[i] = whole;
        operand->list[i].slot += i * slots_of(symbol->type);
    }
}

// The symbol that [token] names, without its .x where the name as a whole is unknown.
static struct ptx_symbol *find_named(struct ptx_parser *parser, const struct ptx_token *token,
                                     uint32_t *index, const char **dot) {
    struct ptx_symbol *symbol = ptx_scope_find(parser, token->at, token->length, index);

    *dot = NULL;
    if (symbol != NULL || token->length < 3 || token->at[token->length - 2] != '.') return symbol;
    symbol = ptx_scope_find(parser, token->at, token->length - 2, index);
    if (symbol == NULL || symbol->kind != SYM_REGISTER || symbol->vector == 1) return NULL;
    *dot = token->at + token->length - 2;
    return symbol;
}

// %rd1, %rd1+16, smem+4, %p1|%p2, %v.x, or a name not yet known
static void parse_named(struct ptx_parser *parser, struct ptx_operand *operand) {
    struct ptx_token token = parser->lexer->token;
    uint32_t index;
    const char *dot;

    ptx_lex_next(parser->lexer);
    struct ptx_symbol *symbol = find_named(parser, &token, &index, &dot);
    operand->name = emu_arena_text(&parser->tree->arena, token.at, token.length);
    if (token.length == 1 && *token.at == '_') {
        operand->kind = OPERAND_SINK;
    } else if (symbol == NULL) {
        operand->kind =
            *token.at == '%' || ptx_token_is(&token, "WARP_SZ") ? OPERAND_SPECIAL : OPERAND_NAME;
    } else if (symbol->kind == SYM_REGISTER) {
        if (symbol->vector != 1) {
            parse_vector_register(parser, operand, symbol, index, &token, dot);
            return;
        }
        operand->kind = symbol->type == T_PRED ? OPERAND_PRED : OPERAND_SLOT;
        operand->type = symbol->type;
        operand->slot = symbol->slot + index * slots_of(symbol->type);
    } else {
        operand->kind = OPERAND_SYMBOL;
        operand->symbol = symbol;
    }
    if (parser->lexer->token.kind != PTX_PUNCT) return;
    if (parser->lexer->token.punct == '+' || parser->lexer->token.punct == '-') {
        bool minus = ptx_accept(parser, '-');
        if (!minus) ptx_expect(parser, '+');
        int64_t offset = (int64_t)ptx_expect_integer(parser, "an offset");
        operand->offset = minus ? -offset : offset;
    }
}

static void parse_number(struct ptx_parser *parser, struct ptx_operand *operand, bool minus) {
    struct ptx_token token = parser->lexer->token;

    ptx_lex_next(parser->lexer);
    operand->value = token.value;
    operand->kind = token.kind == PTX_INTEGER   ? OPERAND_INT
                    : token.kind == PTX_FLOAT32 ? OPERAND_F32
                                                : OPERAND_F64;
    if (!minus) return;
    if (token.kind == PTX_INTEGER)
        operand->value = -token.value;
    else
        operand->value ^= token.kind == PTX_FLOAT32 ? UINT64_C(1) << 31 : UINT64_C(1) << 63;
}

static void parse_operand(struct ptx_parser *parser, struct ptx_operand *operand, unsigned depth) {
    struct ptx_lexer *lexer = parser->lexer;

    operand->line = lexer->token.line;
    operand->column = lexer->token.column;
    if (ptx_accept(parser, '!')) operand->negated = true;
    bool minus = ptx_accept(parser, '-');
    if (lexer->token.kind == PTX_INTEGER || lexer->token.kind == PTX_FLOAT32 ||
        lexer->token.kind == PTX_FLOAT64) {
        parse_number(parser, operand, minus);
        return;
    }
    if (ptx_accept(parser, '[')) {
        operand->kind = OPERAND_ADDRESS;
        parse_list(parser, operand, ']', depth);
    } else if (ptx_accept(parser, '{')) {
        operand->kind = OPERAND_VECTOR;
        parse_list(parser, operand, '}', depth);
    } else if (ptx_accept(parser, '(')) {
        operand->kind = OPERAND_VECTOR;
        if (!ptx_accept(parser, ')')) parse_list(parser, operand, ')', depth);
    } else if (lexer->token.kind == PTX_NAME) {
        parse_named(parser, operand);
        if (ptx_accept(parser, '|')) {
            struct ptx_operand *pair = emu_arena_alloc(&parser->tree->arena, 2 * sizeof *pair);
            pair[0] = *operand;
            parse_operand(parser, &pair[1], depth + 1);
            *operand = (struct ptx_operand){.kind = OPERAND_PAIR,
                                            .list = pair,
                                            .count = 2,
                                            .line = pair->line,
                                            .column = pair->column};
        }
    } else {
        expected(parser, "an operand");
    }
}

// ---- statements ----

static struct ptx_statement *new_statement(struct ptx_parser *parser) {
    struct ptx_function *function = parser->function;

    if (function->statement_count == function->statement_capacity) {
        uint32_t wanted = function->statement_capacity ? 2 * function->statement_capacity : 16;
        struct ptx_statement *grown = emu_arena_alloc(&parser->tree->arena, wanted * sizeof *grown);
        if (function->statement_count)
            memcpy(grown, function->statements, function->statement_count * sizeof *grown);
        function->statements = grown;
        function->statement_capacity = wanted;
    }
    return &function->statements[function->statement_count++];
}

static void parse_guard(struct ptx_parser *parser, struct ptx_statement *statement) {
    uint32_t index;

    statement->guarded = true;
    statement->guard_negated = ptx_accept(parser, '!');
    struct ptx_token token = parser->lexer->token;
    struct ptx_symbol *symbol =
        token.kind == PTX_NAME ? ptx_scope_find(parser, token.at, token.length, &index) : NULL;
    if (symbol == NULL || symbol->kind != SYM_REGISTER || symbol->type != T_PRED)
        expected(parser, "a predicate register");
    statement->guard = symbol->slot + index;
    ptx_lex_next(parser->lexer);
}

static void parse_words(struct ptx_parser *parser, struct ptx_statement *statement) {
    struct ptx_token token = parser->lexer->token;
    struct emu_arena *arena = &parser->tree->arena;

    if (token.kind != PTX_NAME) expected(parser, "an instruction");
    statement->line = token.line;
    statement->column = token.column;
    statement->opcode =
        (struct ptx_word){emu_arena_text(arena, token.at, token.length), token.length};
    ptx_lex_next(parser->lexer);
    while (parser->lexer->token.kind == PTX_DIRECTIVE) {
        token = parser->lexer->token;
        if (statement->word_count == PTX_WORDS_MAX) expected(parser, "at most 20 modifiers");
        statement->words[statement->word_count++] =
            (struct ptx_word){emu_arena_text(arena, token.at, token.length), token.length};
        ptx_lex_next(parser->lexer);
    }
}

// Functions whose address is an operand may be called from anywhere.
static void take_addresses(const struct ptx_operand *operands, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (operands[i].kind == OPERAND_SYMBOL && operands[i].symbol->kind == SYM_FUNCTION)
            operands[i].symbol->function->address_taken = true;
        take_addresses(operands[i].list, operands[i].count);
    }
}

static void parse_statement(struct ptx_parser *parser) {
    enum { MOST = 16 };
    struct ptx_statement statement = {.loc = parser->loc, .scope = parser->labels};
    struct ptx_operand operands[MOST];

    if (ptx_accept(parser, '@')) parse_guard(parser, &statement);
    parse_words(parser, &statement);
    memset(operands, 0, sizeof operands);
    while (parser->lexer->token.kind != PTX_PUNCT || parser->lexer->token.punct != ';') {
        if (statement.operand_count == MOST) expected(parser, "at most 16 operands");
        parse_operand(parser, &operands[statement.operand_count++], 0);
        if (!ptx_accept(parser, ',')) break;
    }
    ptx_expect(parser, ';');
    statement.operands =
        emu_arena_alloc(&parser->tree->arena, statement.operand_count * sizeof *operands);
    memcpy(statement.operands, operands, statement.operand_count * sizeof *operands);
    if (strcmp(statement.opcode.text, "call") != 0)
        take_addresses(operands, statement.operand_count);
    *new_statement(parser) = statement;
}

// ---- labels ----

static struct ptx_symbol *add_label(struct ptx_parser *parser, const struct ptx_token *token) {
    struct ptx_symbol *label = emu_arena_alloc(&parser->tree->arena, sizeof *label);

    label->name = emu_arena_text(&parser->tree->arena, token->at, token->length);
    label->kind = SYM_LABEL;
    label->line = token->line;
    label->pc = parser->function->statement_count;
    label->scope = parser->labels->number;
    const struct ptx_symbol *other =
        ptx_names_find(&parser->tree->names, label->scope, label->name, strlen(label->name), -1);
    if (other != NULL)
        ptx_lex_fail(parser->lexer, token->line, token->column, "label %s is already on line %u",
                     label->name, other->line);
    ptx_names_add(&parser->tree->arena, &parser->tree->names, label);
    return label;
}

// name: .branchtargets L0, L1, ...;  The labels may follow, so names are kept and resolved by
// decode.
static void parse_branch_targets(struct ptx_parser *parser, struct ptx_symbol *table) {
    enum { MOST = 4096 };
    uint32_t capacity = 64;

    table->table = emu_arena_alloc(&parser->tree->arena, capacity * sizeof *table->table);
    do {
        struct ptx_token token = parser->lexer->token;
        if (token.kind != PTX_NAME || table->table_count == MOST) expected(parser, "a label");
        if (table->table_count == capacity) {
            struct ptx_symbol **grown =
                emu_arena_alloc(&parser->tree->arena, 2 * capacity * sizeof *grown);
            memcpy(grown, table->table, capacity * sizeof *grown);
            table->table = grown;
            capacity *= 2;
        }
        struct ptx_symbol *target = emu_arena_alloc(&parser->tree->arena, sizeof *target);
        target->name = emu_arena_text(&parser->tree->arena, token.at, token.length);
        target->line = token.line;
        table->table[table->table_count++] = target;
        ptx_lex_next(parser->lexer);
    } while (ptx_accept(parser, ','));
    ptx_expect(parser, ';');
}

static void parse_label(struct ptx_parser *parser, const struct ptx_token *token) {
    struct ptx_symbol *label = add_label(parser, token);

    if (ptx_accept_directive(parser, "branchtargets")) {
        parse_branch_targets(parser, label);
    } else if (ptx_accept_directive(parser, "callprototype") ||
               ptx_accept_directive(parser, "calltargets")) {
        ptx_skip_past(parser, ';');
    }
}

// ---- directives inside a body ----

enum { LOC_LISTS = 1 << 14 };

static const struct ptx_loc **loc_list(struct ptx_parser *parser, const struct ptx_loc *loc) {
    uint32_t hash = ((loc->file * 31 + loc->line) * 31 + loc->column) * UINT32_C(0x9e3779b9);

    if (parser->locs == NULL)
        parser->locs = emu_arena_alloc(&parser->tree->arena, LOC_LISTS * sizeof(void *));
    return &parser->locs[hash >> 18];
}

static struct ptx_loc *add_loc(struct ptx_parser *parser, struct ptx_loc loc) {
    const struct ptx_loc **list = loc_list(parser, &loc);
    struct ptx_loc *made = emu_arena_alloc(&parser->tree->arena, sizeof *made);

    *made = loc;
    made->next = *list;
    *list = made;
    return made;
}

// The .loc that a call stands at: the last one of that place, or a new one.
static const struct ptx_loc *find_loc(struct ptx_parser *parser, struct ptx_loc wanted) {
    for (const struct ptx_loc *loc = *loc_list(parser, &wanted); loc != NULL; loc = loc->next)
        if (loc->file == wanted.file && loc->line == wanted.line && loc->column == wanted.column)
            return loc;
    return add_loc(parser, wanted);
}

// FILE LINE COLUMN
static void parse_place(struct ptx_parser *parser, struct ptx_loc *loc) {
    loc->file = (unsigned)ptx_expect_integer(parser, "a file number");
    loc->line = (unsigned)ptx_expect_integer(parser, "a line");
    loc->column = (unsigned)ptx_expect_integer(parser, "a column");
}

// .loc PLACE {, function_name LABEL {+ N}, inlined_at PLACE}
static void parse_loc(struct ptx_parser *parser) {
    unsigned line = parser->lexer->token.line;
    struct ptx_loc loc = {0}, call = {0};

    parse_place(parser, &loc);
    while (parser->lexer->token.line == line && parser->lexer->token.kind != PTX_END) {
        struct ptx_token token = parser->lexer->token;
        ptx_lex_next(parser->lexer);
        if (token.kind == PTX_NAME && ptx_token_is(&token, "inlined_at")) {
            parse_place(parser, &call);
            loc.parent = find_loc(parser, call);
        }
    }
    parser->loc = add_loc(parser, loc);
}

static void parse_body_directive(struct ptx_parser *parser) {
    if (ptx_accept_directive(parser, "reg")) {
        parse_registers(parser);
    } else if (ptx_accept_directive(parser, "loc")) {
        parse_loc(parser);
    } else if (ptx_accept_directive(parser, "pragma")) {
        ptx_skip_past(parser, ';');
    } else {
        static const struct {
            const char *name;
            enum ptx_space space;
        } spaces[] = {{"local", SPACE_LOCAL},
                      {"shared", SPACE_SHARED},
                      {"param", SPACE_PARAM},
                      {"global", SPACE_GLOBAL},
                      {"const", SPACE_CONST}};
        for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
            if (ptx_accept_directive(parser, spaces[i].name)) {
                ptx_parse_variable(parser, spaces[i].space, false);
                ptx_expect(parser, ';');
                return;
            }
        expected(parser, "a directive of function level (.reg, .local, .shared, .param, .loc)");
    }
}

// An instruction or a label; both begin with a name, and only a look at the next token tells.
static void parse_named_line(struct ptx_parser *parser) {
    struct ptx_lexer before = *parser->lexer;
    struct ptx_token token = before.token;

    ptx_lex_next(parser->lexer);
    if (ptx_accept(parser, ':')) {
        parse_label(parser, &token);
        return;
    }
    *parser->lexer = before;
    parse_statement(parser);
}

static void open_scope(struct ptx_parser *parser) {
    struct ptx_label_scope *labels = emu_arena_alloc(&parser->tree->arena, sizeof *labels);

    ptx_scope_open(parser);
    labels->parent = parser->labels;
    labels->number = ++parser->tree->scope_count;
    parser->labels = labels;
}

static void close_scope(struct ptx_parser *parser) {
    parser->scope_count--;
    parser->labels = parser->labels->parent;
}

// From behind the '{' to behind its '}'. The function's parameters are in the scope around.
void ptx_parse_body(struct ptx_parser *parser) {
    uint32_t outside = parser->scope_count;

    open_scope(parser);
    while (parser->scope_count > outside) {
        struct ptx_token *token = &parser->lexer->token;
        if (token->kind == PTX_DIRECTIVE)
            parse_body_directive(parser);
        else if (token->kind == PTX_NAME)
            parse_named_line(parser);
        else if (token->kind == PTX_PUNCT && token->punct == '@')
            parse_statement(parser);
        else if (ptx_accept(parser, '{'))
            open_scope(parser);
        else if (ptx_accept(parser, '}'))
            close_scope(parser);
        else if (!ptx_accept(parser, ';'))
            expected(parser, "an instruction, a label, a directive or '}'");
    }
}

// Scopes of names, and variables with their layout and initial values, of a module or in a body.
// Layout is done while parsing, since every later use of a name is then a number.
#include "runtime/emu/ptx/ptx.h"

#include <string.h>

// ---- scopes ----

void ptx_scope_open(struct ptx_parser *parser) {
    if (parser->scope_count == parser->scope_capacity)
        ptx_expected(parser, "at most 64 nested scopes");
    parser->scopes[parser->scope_count++] =
        (struct ptx_scope){.number = ++parser->tree->scope_count};
}

// %r12 is element 12 of the range %r<...>; exact names come first, innermost scope first.
struct ptx_symbol *ptx_scope_find(struct ptx_parser *parser, const char *name, size_t length,
                                  uint32_t *index) {
    const struct ptx_names *names = &parser->tree->names;
    size_t stem = length;
    int64_t number = 0;

    while (stem > 1 && name[stem - 1] >= '0' && name[stem - 1] <= '9') stem--;
    for (size_t i = stem; i < length && number < UINT32_MAX; i++)
        number = number * 10 + (name[i] - '0');
    for (uint32_t i = parser->scope_count; i-- > 0;) {
        uint32_t scope = parser->scopes[i].number;
        struct ptx_symbol *symbol = ptx_names_find(names, scope, name, length, -1);
        *index = 0;
        if (symbol != NULL) return symbol;
        *index = (uint32_t)number;
        if (stem < length) symbol = ptx_names_find(names, scope, name, stem, number);
        if (symbol != NULL) return symbol;
    }
    return NULL;
}

struct ptx_symbol *ptx_scope_add(struct ptx_parser *parser, const char *name, size_t length,
                                 enum ptx_symbol_kind kind) {
    struct ptx_scope *scope = &parser->scopes[parser->scope_count - 1];
    struct ptx_symbol *symbol = emu_arena_alloc(&parser->tree->arena, sizeof *symbol);

    symbol->name = emu_arena_text(&parser->tree->arena, name, length);
    symbol->kind = kind;
    symbol->line = parser->lexer->token.line;
    symbol->scope = scope->number;
    ptx_names_add(&parser->tree->arena, &parser->tree->names, symbol);
    return scope->last = symbol;
}

// ---- variables ----

static uint64_t place(uint64_t *end, uint64_t bytes, uint64_t align) {
    uint64_t at = (*end + align - 1) & ~(align - 1);

    *end = at + bytes;
    return at;
}

static void add_shared(struct ptx_tree *tree, struct ptx_symbol *symbol) {
    if (tree->shared == NULL)
        tree->shared = symbol;
    else
        tree->last_shared->next_shared = symbol;
    tree->last_shared = symbol;
}

static void place_local(struct ptx_function *function, struct ptx_symbol *symbol) {
    symbol->offset = place(&function->local_bytes, symbol->bytes, symbol->align);
    if (symbol->align > function->local_align) function->local_align = symbol->align;
}

// Shared memory waits for an entry: only what this one reaches has a place (reach.c).
static void layout(struct ptx_parser *parser, struct ptx_symbol *symbol) {
    struct ptx_function *function = parser->function;

    switch (symbol->space) {
    case SPACE_SHARED: add_shared(parser->tree, symbol); break;
    case SPACE_LOCAL: place_local(function, symbol); break;
    case SPACE_PARAM:  // an entry's own are the launch's, all others belong to a thread
        symbol->of_entry = function->entry && parser->labels == NULL;
        if (symbol->of_entry)
            symbol->offset = place(&function->param_bytes, symbol->bytes, symbol->align);
        else
            place_local(function, symbol);
        break;
    default:
        symbol->offset = place(&parser->tree->global_bytes, symbol->bytes, symbol->align);
        break;
    }
}

static uint64_t parse_element(struct ptx_parser *parser, struct ptx_global_data *data, uint64_t at,
                              enum ptx_type type) {
    struct ptx_lexer *lexer = parser->lexer;
    unsigned size = ptx_type_bytes(type);
    bool generic = false;

    if (lexer->token.kind == PTX_NAME && ptx_token_is(&lexer->token, "generic")) {
        ptx_lex_next(lexer);
        ptx_expect(parser, '(');
        generic = true;
    }
    if (lexer->token.kind == PTX_NAME) {
        uint32_t index;
        struct ptx_symbol *target =
            ptx_scope_find(parser, lexer->token.at, lexer->token.length, &index);
        if (target == NULL || (target->kind != SYM_FUNCTION && target->space != SPACE_GLOBAL &&
                               target->space != SPACE_CONST))
            ptx_expected(parser, "the name of a function or of a variable in global memory");
        if (target->kind == SYM_FUNCTION) target->function->address_taken = true;
        struct ptx_relocation *relocation =
            emu_arena_alloc(&parser->tree->arena, sizeof *relocation);
        *relocation = (struct ptx_relocation){data->relocations, at, target, 0};
        data->relocations = relocation;
        ptx_lex_next(lexer);
        if (ptx_accept(parser, '+'))
            relocation->offset = (int64_t)ptx_expect_integer(parser, "an offset");
        if (generic) ptx_expect(parser, ')');
        return at + size;
    }
    bool minus = ptx_accept(parser, '-');
    struct ptx_token token = lexer->token;
    if (token.kind != PTX_INTEGER && token.kind != PTX_FLOAT32 && token.kind != PTX_FLOAT64)
        ptx_expected(parser, "an initial value");
    if (token.kind == PTX_FLOAT64 && type == T_F32) {
        double wide;
        memcpy(&wide, &token.value, 8);
        float narrow = (float)wide;
        token.value = 0;
        memcpy(&token.value, &narrow, 4);
    }
    if (minus) token.value = -token.value;
    if (at + size > data->symbol->bytes)
        ptx_lex_fail(lexer, token.line, token.column, "more initial values than %s has room for",
                     data->symbol->name);
    memcpy(data->bytes + at, &token.value, size < 8 ? size : 8);
    ptx_lex_next(lexer);
    return at + size;
}

static uint64_t parse_initial(struct ptx_parser *parser, struct ptx_global_data *data, uint64_t at,
                              enum ptx_type type, unsigned depth) {
    if (!ptx_accept(parser, '{')) return parse_element(parser, data, at, type);
    if (depth > 16) ptx_expected(parser, "at most 16 nested braces");
    do {
        at = parse_initial(parser, data, at, type, depth + 1);
    } while (ptx_accept(parser, ','));
    ptx_expect(parser, '}');
    return at;
}

static void parse_dimensions(struct ptx_parser *parser, struct ptx_symbol *symbol) {
    while (ptx_accept(parser, '[')) {
        if (ptx_accept(parser, ']')) {
            symbol->unsized = true;
            symbol->bytes = 0;
            continue;
        }
        uint64_t count = ptx_expect_integer(parser, "the number of elements");
        ptx_expect(parser, ']');
        if (symbol->bytes && count > (UINT64_C(1) << 40) / symbol->bytes)
            ptx_expected(parser, "an array of at most 2^40 bytes");
        symbol->bytes *= count;
    }
}

static void parse_data(struct ptx_parser *parser, struct ptx_symbol *symbol) {
    struct ptx_global_data *data = emu_arena_alloc(&parser->tree->arena, sizeof *data);

    data->symbol = symbol;
    if (parser->lexer->token.kind == PTX_PUNCT && parser->lexer->token.punct == '=') {
        ptx_lex_next(parser->lexer);
        if (symbol->unsized || symbol->bytes > (1u << 30))
            ptx_expected(parser, "a sized array of at most 2^30 bytes before an initialiser");
        data->bytes = emu_arena_alloc(&parser->tree->arena, symbol->bytes);
        parse_initial(parser, data, 0, symbol->type, 0);
    }
    data->next = parser->tree->globals;
    parser->tree->globals = data;
}

// After .shared and the like: [.align N] [.v4] .type name[dims] [= value] {, name...} ;
// with .ptr attributes as parameters have them. The closing ';' is left to the caller.
void ptx_parse_variable(struct ptx_parser *parser, enum ptx_space space, bool external) {
    struct ptx_lexer *lexer = parser->lexer;
    enum ptx_type type = T_NONE;
    uint64_t align = 0, vector = 1;

    while (lexer->token.kind == PTX_DIRECTIVE) {
        struct ptx_token token = lexer->token;
        ptx_lex_next(lexer);
        if (ptx_token_is(&token, "align")) {
            uint64_t given = ptx_expect_integer(parser, "an alignment");
            if (type == T_NONE)  // after the type it is what a .ptr points to
                align = given;
            if (given == 0 || (given & (given - 1)) || given > 65536)
                ptx_lex_fail(lexer, token.line, token.column, "alignment is not a power of two");
        } else if (ptx_token_is(&token, "v2") || ptx_token_is(&token, "v4")) {
            vector = token.at[1] == '2' ? 2 : 4;
        } else if (ptx_type_find(token.at, token.length) != T_NONE) {
            type = ptx_type_find(token.at, token.length);
        } else if (!ptx_token_is(&token, "ptr") && !ptx_token_is(&token, "global") &&
                   !ptx_token_is(&token, "const") && !ptx_token_is(&token, "shared") &&
                   !ptx_token_is(&token, "local") && !ptx_token_is(&token, "attribute")) {
            ptx_lex_fail(lexer, token.line, token.column, "expected a type, found '.%.*s'",
                         (int)token.length, token.at);
        } else if (ptx_token_is(&token, "attribute")) {
            ptx_expect(parser, '(');
            ptx_skip_past(parser, ')');
        }
    }
    if (type == T_NONE) ptx_expected(parser, "a type");
    do {
        char *name = ptx_expect_name(parser, "the variable's name");
        struct ptx_symbol *symbol = ptx_scope_add(parser, name, strlen(name), SYM_VARIABLE);
        symbol->space = space;
        symbol->type = type;
        symbol->external = external && space == SPACE_SHARED;
        symbol->bytes = ptx_type_bytes(type) * vector;
        symbol->align = align ? align : symbol->bytes;
        parse_dimensions(parser, symbol);
        layout(parser, symbol);
        if (space == SPACE_GLOBAL || space == SPACE_CONST) parse_data(parser, symbol);
        if (space == SPACE_PARAM) break;
    } while (ptx_accept(parser, ','));
}

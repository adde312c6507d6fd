// PTX at module level: functions, variables with their layout, scopes, and the directives around
// them. Layout is done while parsing, since every later use of a name is then a number.
#include "runtime/emu/ptx/ptx.h"

#include <string.h>

// ---- tokens ----

bool ptx_token_is(const struct ptx_token *token, const char *text) {
    return token->length == strlen(text) && memcmp(token->at, text, token->length) == 0;
}

static _Noreturn void expected(struct ptx_parser *parser, const char *what) {
    struct ptx_token *token = &parser->lexer->token;

    if (token->kind == PTX_END)
        ptx_lex_fail(parser->lexer, token->line, token->column,
                     "expected %s, found the end of the file", what);
    ptx_lex_fail(parser->lexer, token->line, token->column, "expected %s, found '%s%.*s'", what,
                 token->kind == PTX_DIRECTIVE ? "." : "", (int)token->length, token->at);
}

bool ptx_accept(struct ptx_parser *parser, char punct) {
    if (parser->lexer->token.kind != PTX_PUNCT || parser->lexer->token.punct != punct) return false;
    ptx_lex_next(parser->lexer);
    return true;
}

void ptx_expect(struct ptx_parser *parser, char punct) {
    char what[4] = {'\'', punct, '\'', '\0'};

    if (!ptx_accept(parser, punct)) expected(parser, what);
}

bool ptx_accept_directive(struct ptx_parser *parser, const char *text) {
    struct ptx_token *token = &parser->lexer->token;

    if (token->kind != PTX_DIRECTIVE || !ptx_token_is(token, text)) return false;
    ptx_lex_next(parser->lexer);
    return true;
}

uint64_t ptx_expect_integer(struct ptx_parser *parser, const char *what) {
    bool minus = ptx_accept(parser, '-');

    if (parser->lexer->token.kind != PTX_INTEGER) expected(parser, what);
    uint64_t value = parser->lexer->token.value;
    ptx_lex_next(parser->lexer);
    return minus ? -value : value;
}

void ptx_skip_past(struct ptx_parser *parser, char punct) {
    while (!ptx_accept(parser, punct)) {
        if (parser->lexer->token.kind == PTX_END) ptx_expect(parser, punct);
        ptx_lex_next(parser->lexer);
    }
}

static char *expect_name(struct ptx_parser *parser, const char *what) {
    struct ptx_token token = parser->lexer->token;

    if (token.kind != PTX_NAME) expected(parser, what);
    ptx_lex_next(parser->lexer);
    return emu_arena_text(&parser->tree->arena, token.at, token.length);
}

// ---- scopes ----

// %r12 is element 12 of the range %r<...>; exact names come first, innermost scope first.
static struct ptx_symbol *find_in(struct ptx_symbol *scope, const char *name, size_t length,
                                  uint32_t *index) {
    size_t stem = length;
    uint64_t number = 0;

    while (stem > 1 && name[stem - 1] >= '0' && name[stem - 1] <= '9') stem--;
    for (size_t i = stem; i < length && number < UINT32_MAX; i++)
        number = number * 10 + (uint64_t)(name[i] - '0');
    for (struct ptx_symbol *symbol = scope; symbol != NULL; symbol = symbol->next) {
        size_t have = strlen(symbol->name);
        if (!symbol->ranged && have == length && memcmp(symbol->name, name, length) == 0) {
            *index = 0;
            return symbol;
        }
        if (symbol->ranged && stem < length && have == stem && number < symbol->count &&
            memcmp(symbol->name, name, stem) == 0) {
            *index = (uint32_t)number;
            return symbol;
        }
    }
    return NULL;
}

struct ptx_symbol *ptx_scope_find(struct ptx_parser *parser, const char *name, size_t length,
                                  uint32_t *index) {
    for (uint32_t i = parser->scope_count; i-- > 0;) {
        struct ptx_symbol *symbol = find_in(parser->scopes[i], name, length, index);
        if (symbol != NULL) return symbol;
    }
    return NULL;
}

struct ptx_symbol *ptx_scope_add(struct ptx_parser *parser, const char *name, size_t length,
                                 enum ptx_symbol_kind kind) {
    struct ptx_symbol **scope = &parser->scopes[parser->scope_count - 1];
    struct ptx_symbol *symbol = emu_arena_alloc(&parser->tree->arena, sizeof *symbol);

    symbol->name = emu_arena_text(&parser->tree->arena, name, length);
    symbol->kind = kind;
    symbol->line = parser->lexer->token.line;
    symbol->next = *scope;
    *scope = symbol;
    return symbol;
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
            expected(parser, "the name of a function or of a variable in global memory");
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
        expected(parser, "an initial value");
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
    if (depth > 16) expected(parser, "at most 16 nested braces");
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
            expected(parser, "an array of at most 2^40 bytes");
        symbol->bytes *= count;
    }
}

static void parse_data(struct ptx_parser *parser, struct ptx_symbol *symbol) {
    struct ptx_global_data *data = emu_arena_alloc(&parser->tree->arena, sizeof *data);

    data->symbol = symbol;
    if (parser->lexer->token.kind == PTX_PUNCT && parser->lexer->token.punct == '=') {
        ptx_lex_next(parser->lexer);
        if (symbol->unsized || symbol->bytes > (1u << 30))
            expected(parser, "a sized array of at most 2^30 bytes before an initialiser");
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
    if (type == T_NONE) expected(parser, "a type");
    do {
        char *name = expect_name(parser, "the variable's name");
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

// ---- functions ----

static struct ptx_symbol **parse_params(struct ptx_parser *parser, uint32_t *count) {
    struct ptx_symbol *list[1024];

    *count = 0;
    ptx_expect(parser, '(');
    if (ptx_accept(parser, ')')) return NULL;
    do {
        if (ptx_accept_directive(parser, "reg"))
            expected(parser, "a .param (functions with .reg parameters are not implemented)");
        if (!ptx_accept_directive(parser, "param")) expected(parser, "'.param'");
        if (*count == sizeof list / sizeof *list) expected(parser, "at most 1024 parameters");
        ptx_parse_variable(parser, SPACE_PARAM, false);
        list[(*count)++] = parser->scopes[parser->scope_count - 1];
    } while (ptx_accept(parser, ','));
    ptx_expect(parser, ')');
    struct ptx_symbol **params = emu_arena_alloc(&parser->tree->arena, *count * sizeof *params);
    memcpy(params, list, *count * sizeof *params);
    return params;
}

static void parse_triple(struct ptx_parser *parser, unsigned triple[3]) {
    triple[0] = triple[1] = triple[2] = 1;
    for (int i = 0; i < 3; i++) {
        triple[i] = (unsigned)ptx_expect_integer(parser, "a number");
        if (!ptx_accept(parser, ',')) break;
    }
}

static void parse_performance(struct ptx_parser *parser, struct ptx_function *function) {
    while (parser->lexer->token.kind == PTX_DIRECTIVE) {
        unsigned ignored[3];
        if (ptx_accept_directive(parser, "maxntid"))
            parse_triple(parser, function->maxntid);
        else if (ptx_accept_directive(parser, "reqntid"))
            parse_triple(parser, function->reqntid);
        else if (ptx_accept_directive(parser, "reqnctapercluster"))
            parse_triple(parser, function->cluster);
        else if (ptx_accept_directive(parser, "explicitcluster"))
            function->explicit_cluster = true;
        else if (ptx_accept_directive(parser, "noreturn") ||
                 ptx_accept_directive(parser, "blocksareclusters"))
            continue;
        else if (ptx_accept_directive(parser, "minnctapersm") ||
                 ptx_accept_directive(parser, "maxnctapersm") ||
                 ptx_accept_directive(parser, "maxnreg") ||
                 ptx_accept_directive(parser, "maxclusterrank"))
            parse_triple(parser, ignored);
        else if (ptx_accept_directive(parser, "pragma"))
            ptx_skip_past(parser, ';');
        else
            expected(parser, "a performance directive, '{' or ';'");
    }
}

// The function of that name, declared or new.
static struct ptx_function *function_named(struct ptx_parser *parser, const char *name) {
    uint32_t index;
    struct ptx_symbol *symbol = ptx_scope_find(parser, name, strlen(name), &index);

    if (symbol != NULL && symbol->kind == SYM_FUNCTION) return symbol->function;
    struct ptx_function *function = emu_arena_alloc(&parser->tree->arena, sizeof *function);
    symbol = ptx_scope_add(parser, name, strlen(name), SYM_FUNCTION);
    symbol->function = function;
    function->name = symbol->name;
    function->line = symbol->line;
    function->number = ++parser->tree->function_count;
    function->next = parser->tree->functions;
    parser->tree->functions = function;
    return function;
}

static void open_scope(struct ptx_parser *parser) {
    if (parser->scope_count == parser->scope_capacity) expected(parser, "at most 64 nested scopes");
    parser->scopes[parser->scope_count++] = NULL;
}

static void parse_function(struct ptx_parser *parser, bool entry) {
    struct ptx_function parsed = {.entry = entry}, *function;

    parser->function = &parsed;
    open_scope(parser);
    if (!entry && parser->lexer->token.kind == PTX_PUNCT && parser->lexer->token.punct == '(')
        parsed.returns = parse_params(parser, &parsed.return_count);
    char *name = expect_name(parser, "the function's name");
    if (parser->lexer->token.kind == PTX_PUNCT && parser->lexer->token.punct == '(')
        parsed.params = parse_params(parser, &parsed.param_count);
    struct ptx_symbol *params = parser->scopes[parser->scope_count - 1];
    parser->scope_count--;
    function = function_named(parser, name);
    if (function->defined)
        ptx_lex_fail(parser->lexer, parser->lexer->token.line, parser->lexer->token.column,
                     "%s is defined twice", name);
    parsed.next = function->next;
    parsed.name = function->name;
    parsed.line = function->line;
    parsed.number = function->number;
    parsed.address_taken = function->address_taken;
    *function = parsed;
    parser->function = function;
    parse_performance(parser, function);
    if (!ptx_accept(parser, ';')) {
        ptx_expect(parser, '{');
        function->defined = true;
        open_scope(parser);
        parser->scopes[parser->scope_count - 1] = params;
        ptx_parse_body(parser);
        parser->scope_count--;
    }
    parser->function = NULL;
}

// ---- module ----

static void parse_file(struct ptx_parser *parser) {
    struct ptx_tree *tree = parser->tree;
    unsigned number = (unsigned)ptx_expect_integer(parser, "the file's number");

    if (parser->lexer->token.kind != PTX_STRING) expected(parser, "the file's name");
    if (tree->file_count == tree->file_capacity) {
        struct ptx_file_name *old = tree->files;
        tree->file_capacity = tree->file_capacity ? 2 * tree->file_capacity : 16;
        tree->files = emu_arena_alloc(&tree->arena, tree->file_capacity * sizeof *tree->files);
        if (old != NULL) memcpy(tree->files, old, tree->file_count * sizeof *old);
    }
    tree->files[tree->file_count++] = (struct ptx_file_name){
        number, emu_arena_text(&tree->arena, parser->lexer->token.at, parser->lexer->token.length)};
    ptx_lex_next(parser->lexer);
    if (ptx_accept(parser, ',')) {
        ptx_expect_integer(parser, "a time stamp");
        ptx_expect(parser, ',');
        ptx_expect_integer(parser, "a file size");
    }
}

// .section NAME { DWARF data }: skipped to the closing brace.
static void skip_section(struct ptx_parser *parser) {
    while (parser->lexer->token.kind != PTX_PUNCT || parser->lexer->token.punct != '{') {
        if (parser->lexer->token.kind == PTX_END) expected(parser, "'{'");
        ptx_lex_next(parser->lexer);
    }
    ptx_skip_past(parser, '}');
}

static void parse_version(struct ptx_parser *parser) {
    double version;

    if (parser->lexer->token.kind != PTX_FLOAT64) expected(parser, "the PTX version, like 8.5");
    memcpy(&version, &parser->lexer->token.value, 8);
    if (!(version < 100)) expected(parser, "the PTX version, like 8.5");
    parser->tree->version_major = (unsigned)version;
    parser->tree->version_minor = (unsigned)(version * 10 + 0.5) % 10;
    ptx_lex_next(parser->lexer);
}

static void parse_target(struct ptx_parser *parser) {
    parser->tree->target = expect_name(parser, "an architecture, like sm_90a");
    while (ptx_accept(parser, ',')) expect_name(parser, "a target option");
}

static void parse_directive(struct ptx_parser *parser) {
    bool external = false;

    while (ptx_accept_directive(parser, "visible") || ptx_accept_directive(parser, "weak") ||
           ptx_accept_directive(parser, "common") ||
           (parser->lexer->token.kind == PTX_DIRECTIVE &&
            ptx_token_is(&parser->lexer->token, "extern"))) {
        if (ptx_accept_directive(parser, "extern")) external = true;
    }
    if (ptx_accept_directive(parser, "entry")) {
        parse_function(parser, true);
    } else if (ptx_accept_directive(parser, "func")) {
        parse_function(parser, false);
    } else if (ptx_accept_directive(parser, "shared")) {
        ptx_parse_variable(parser, SPACE_SHARED, external);
        ptx_expect(parser, ';');
    } else if (ptx_accept_directive(parser, "global")) {
        ptx_parse_variable(parser, SPACE_GLOBAL, external);
        ptx_expect(parser, ';');
    } else if (ptx_accept_directive(parser, "const")) {
        ptx_parse_variable(parser, SPACE_CONST, external);
        ptx_expect(parser, ';');
    } else if (ptx_accept_directive(parser, "version")) {
        parse_version(parser);
    } else if (ptx_accept_directive(parser, "target")) {
        parse_target(parser);
    } else if (ptx_accept_directive(parser, "address_size")) {
        if (ptx_expect_integer(parser, "64") != 64)
            expected(parser, "64-bit addresses before this");
    } else if (ptx_accept_directive(parser, "file")) {
        parse_file(parser);
    } else if (ptx_accept_directive(parser, "section")) {
        skip_section(parser);
    } else if (ptx_accept_directive(parser, "pragma")) {
        ptx_skip_past(parser, ';');
    } else {
        expected(parser,
                 "a directive of module level (.entry, .func, .global, .shared, .const, ...)");
    }
}

void ptx_parse(struct ptx_lexer *lexer, struct ptx_tree *tree) {
    enum { SCOPES = 64 };
    struct ptx_parser parser = {.lexer = lexer, .tree = tree, .scope_capacity = SCOPES};

    parser.scopes = emu_arena_alloc(&tree->arena, SCOPES * sizeof *parser.scopes);
    parser.scope_count = 1;
    while (lexer->token.kind != PTX_END) {
        if (lexer->token.kind != PTX_DIRECTIVE) expected(&parser, "a directive");
        parse_directive(&parser);
    }
    tree->symbols = parser.scopes[0];
}

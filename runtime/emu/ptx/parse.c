// PTX at module level: functions, entries, and the directives around them.
// Variables are variable.c's, what stands between a function's braces body.c's.
#include "runtime/emu/ptx/ptx.h"

#include <string.h>

// ---- functions ----

static struct ptx_symbol **parse_params(struct ptx_parser *parser, uint32_t *count) {
    struct ptx_symbol *list[1024];

    *count = 0;
    ptx_expect(parser, '(');
    if (ptx_accept(parser, ')')) return NULL;
    do {
        if (ptx_accept_directive(parser, "reg"))
            ptx_expected(parser, "a .param (functions with .reg parameters are not implemented)");
        if (!ptx_accept_directive(parser, "param")) ptx_expected(parser, "'.param'");
        if (*count == sizeof list / sizeof *list) ptx_expected(parser, "at most 1024 parameters");
        ptx_parse_variable(parser, SPACE_PARAM, false);
        list[(*count)++] = parser->scopes[parser->scope_count - 1].last;
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

static unsigned parse_rank(struct ptx_parser *parser) {
    const struct ptx_token at = parser->lexer->token;
    const uint64_t rank = ptx_expect_integer(parser, "a number of CTAs");
    if (rank < 1 || rank > 65535)
        ptx_lex_fail(parser->lexer, at.line, at.column, "a cluster has 1 CTA or more");
    return (unsigned)rank;
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
                 ptx_accept_directive(parser, "maxnreg"))
            parse_triple(parser, ignored);
        else if (ptx_accept_directive(parser, "maxclusterrank"))
            function->max_cluster = parse_rank(parser);
        else if (ptx_accept_directive(parser, "pragma"))
            ptx_skip_past(parser, ';');
        else
            ptx_expected(parser, "a performance directive, '{' or ';'");
        if (function->max_cluster && function->cluster[0])
            ptx_lex_fail(parser->lexer, parser->lexer->token.line, parser->lexer->token.column,
                         "a kernel has .maxclusterrank or .reqnctapercluster, not both");
    }
}

// The function of that name, declared or new.
static struct ptx_function *function_named(struct ptx_parser *parser, const char *name) {
    char title[512];
    uint32_t index;
    struct ptx_symbol *symbol = ptx_scope_find(parser, name, strlen(name), &index);

    if (symbol != NULL && symbol->kind == SYM_FUNCTION) return symbol->function;
    struct ptx_function *function = emu_arena_alloc(&parser->tree->arena, sizeof *function);
    symbol = ptx_scope_add(parser, name, strlen(name), SYM_FUNCTION);
    symbol->function = function;
    function->name = symbol->name;
    const char *plain = emu_plain_name(function->name, title, sizeof title);
    function->title = plain == title ? emu_arena_text(&parser->tree->arena, title, strlen(title))
                                     : function->name;
    function->line = symbol->line;
    function->number = ++parser->tree->function_count;
    function->next = parser->tree->functions;
    parser->tree->functions = function;
    return function;
}

static void parse_function(struct ptx_parser *parser, bool entry) {
    struct ptx_function parsed = {.entry = entry}, *function;

    parser->function = &parsed;
    ptx_scope_open(parser);
    if (!entry && parser->lexer->token.kind == PTX_PUNCT && parser->lexer->token.punct == '(')
        parsed.returns = parse_params(parser, &parsed.return_count);
    char *name = ptx_expect_name(parser, "the function's name");
    if (parser->lexer->token.kind == PTX_PUNCT && parser->lexer->token.punct == '(')
        parsed.params = parse_params(parser, &parsed.param_count);
    struct ptx_scope params = parser->scopes[parser->scope_count - 1];
    parser->scope_count--;
    function = function_named(parser, name);
    if (function->defined)
        ptx_lex_fail(parser->lexer, parser->lexer->token.line, parser->lexer->token.column,
                     "%s is defined twice", name);
    parsed.next = function->next;
    parsed.name = function->name;
    parsed.title = function->title;
    parsed.line = function->line;
    parsed.number = function->number;
    parsed.address_taken = function->address_taken;
    *function = parsed;
    parser->function = function;
    parse_performance(parser, function);
    if (!ptx_accept(parser, ';')) {
        ptx_expect(parser, '{');
        function->defined = true;
        parser->scopes[parser->scope_count++] = params;
        ptx_parse_body(parser);
        parser->scope_count--;
    }
    parser->function = NULL;
}

// ---- module ----

static void parse_file(struct ptx_parser *parser) {
    struct ptx_tree *tree = parser->tree;
    unsigned number = (unsigned)ptx_expect_integer(parser, "the file's number");

    if (parser->lexer->token.kind != PTX_STRING) ptx_expected(parser, "the file's name");
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
        if (parser->lexer->token.kind == PTX_END) ptx_expected(parser, "'{'");
        ptx_lex_next(parser->lexer);
    }
    ptx_skip_past(parser, '}');
}

static void parse_version(struct ptx_parser *parser) {
    double version;

    if (parser->lexer->token.kind != PTX_FLOAT64) ptx_expected(parser, "the PTX version, like 8.5");
    memcpy(&version, &parser->lexer->token.value, 8);
    if (!(version < 100)) ptx_expected(parser, "the PTX version, like 8.5");
    parser->tree->version_major = (unsigned)version;
    parser->tree->version_minor = (unsigned)(version * 10 + 0.5) % 10;
    ptx_lex_next(parser->lexer);
}

static void parse_target(struct ptx_parser *parser) {
    struct ptx_token token = parser->lexer->token;
    const char *name = ptx_expect_name(parser, "an architecture, like sm_90a");

    parser->tree->arch = tmg_arch_find(name);
    if (parser->tree->arch == NULL)
        ptx_lex_fail(parser->lexer, token.line, token.column,
                     "target %s is not one that the emulator knows", name);
    while (ptx_accept(parser, ',')) ptx_expect_name(parser, "a target option");
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
            ptx_expected(parser, "64-bit addresses before this");
    } else if (ptx_accept_directive(parser, "file")) {
        parse_file(parser);
    } else if (ptx_accept_directive(parser, "section")) {
        skip_section(parser);
    } else if (ptx_accept_directive(parser, "pragma")) {
        ptx_skip_past(parser, ';');
    } else {
        ptx_expected(parser,
                     "a directive of module level (.entry, .func, .global, .shared, .const, ...)");
    }
}

void ptx_parse(struct ptx_lexer *lexer, struct ptx_tree *tree) {
    enum { SCOPES = 64 };
    struct ptx_parser parser = {.lexer = lexer, .tree = tree, .scope_capacity = SCOPES};

    parser.scopes = emu_arena_alloc(&tree->arena, SCOPES * sizeof *parser.scopes);
    parser.scope_count = 1;
    while (lexer->token.kind != PTX_END) {
        if (lexer->token.kind != PTX_DIRECTIVE) ptx_expected(&parser, "a directive");
        parse_directive(&parser);
    }
}

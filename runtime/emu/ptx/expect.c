// What the grammar expects next: punctuation, directives, names and numbers, taken or refused.
// The rest of the parser says what it wants in these words, so that all refusals read alike.
#include "runtime/emu/ptx/ptx.h"

#include <string.h>

bool ptx_token_is(const struct ptx_token *token, const char *text) {
    return token->length == strlen(text) && memcmp(token->at, text, token->length) == 0;
}

_Noreturn void ptx_expected(struct ptx_parser *parser, const char *what) {
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

    if (!ptx_accept(parser, punct)) ptx_expected(parser, what);
}

bool ptx_accept_directive(struct ptx_parser *parser, const char *text) {
    struct ptx_token *token = &parser->lexer->token;

    if (token->kind != PTX_DIRECTIVE || !ptx_token_is(token, text)) return false;
    ptx_lex_next(parser->lexer);
    return true;
}

uint64_t ptx_expect_integer(struct ptx_parser *parser, const char *what) {
    bool minus = ptx_accept(parser, '-');

    if (parser->lexer->token.kind != PTX_INTEGER) ptx_expected(parser, what);
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

char *ptx_expect_name(struct ptx_parser *parser, const char *what) {
    struct ptx_token token = parser->lexer->token;

    if (token.kind != PTX_NAME) ptx_expected(parser, what);
    ptx_lex_next(parser->lexer);
    return emu_arena_text(&parser->tree->arena, token.at, token.length);
}

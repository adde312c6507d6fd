// PTX tokens, each with its line and column, and the one way a parse error is reported.
// Numbers carry their bits: PTX writes floats as 0fXXXXXXXX so that no decimal conversion
// intervenes.
#include "runtime/emu/ptx/ptx.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void ptx_lex_fail(struct ptx_lexer *lexer, unsigned line, unsigned column, const char *format,
                  ...) {
    char message[700];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    snprintf(lexer->error->text, sizeof lexer->error->text, "%.200s:%u:%u: error: %s", lexer->name,
             line, column, message);
    longjmp(*lexer->fail, PTX_WRONG);
}

void ptx_lex_look(struct ptx_lexer *lexer, unsigned line) {
    enum { SELDOM = 1024 };
    char why[100];

    if (++lexer->looks % SELDOM == 0 && emu_limit_spent(lexer->limit, 0, why, sizeof why))
        ptx_lex_fail(lexer, line, 1, "the reading of it stops here: %s", why);
}

void ptx_lex_failed(const struct ptx_lexer *lexer, int how) {
    if (how == PTX_NO_ROOM)
        snprintf(lexer->error->text, sizeof lexer->error->text,
                 "%.200s: to read it takes more than the %llu MB that it may take (max_memory)",
                 lexer->name, (unsigned long long)lexer->limit->budget.memory >> 20);
    else if (how == PTX_NO_MEMORY)
        snprintf(lexer->error->text, sizeof lexer->error->text, "out of memory");
}

static bool is_name_start(char c) {
    return isalpha((unsigned char)c) || c == '_' || c == '$' || c == '%';
}

static bool is_name_part(char c) { return isalnum((unsigned char)c) || c == '_' || c == '$'; }

static void new_line(struct ptx_lexer *lexer) {
    lexer->line++;
    lexer->line_start = lexer->at + 1;
}

static unsigned column_here(const struct ptx_lexer *lexer) {
    return (unsigned)(lexer->at - lexer->line_start) + 1;
}

static void skip_block_comment(struct ptx_lexer *lexer) {
    unsigned line = lexer->line, column = column_here(lexer);

    for (lexer->at += 2; lexer->end - lexer->at >= 2; lexer->at++) {
        if (lexer->at[0] == '*' && lexer->at[1] == '/') {
            lexer->at += 2;
            return;
        }
        if (*lexer->at == '\n') new_line(lexer);
    }
    ptx_lex_fail(lexer, line, column, "comment without end");
}

static void skip_blank(struct ptx_lexer *lexer) {
    while (lexer->at < lexer->end) {
        bool pair = lexer->end - lexer->at >= 2;
        if (*lexer->at == '\n') {
            new_line(lexer);
            lexer->at++;
        } else if (isspace((unsigned char)*lexer->at)) {
            lexer->at++;
        } else if (pair && lexer->at[0] == '/' && lexer->at[1] == '/') {
            while (lexer->at < lexer->end && *lexer->at != '\n') lexer->at++;
        } else if (pair && lexer->at[0] == '/' && lexer->at[1] == '*') {
            skip_block_comment(lexer);
        } else {
            return;
        }
    }
}

// A name; %tid.x keeps its dimension, as the dot belongs to the special register's name.
static void lex_name(struct ptx_lexer *lexer) {
    struct ptx_token *token = &lexer->token;

    token->kind = PTX_NAME;
    lexer->at++;
    while (lexer->at < lexer->end && is_name_part(*lexer->at)) lexer->at++;
    if (*token->at == '%' && lexer->end - lexer->at >= 2 && lexer->at[0] == '.' &&
        strchr("xyzw", lexer->at[1]) != NULL &&
        (lexer->end - lexer->at == 2 || !is_name_part(lexer->at[2])))
        lexer->at += 2;
}

// .u32, .shared::cluster, .L2::128B, .16x256b
static void lex_directive(struct ptx_lexer *lexer) {
    lexer->token.kind = PTX_DIRECTIVE;
    lexer->token.at = ++lexer->at;
    while (lexer->at < lexer->end) {
        if (is_name_part(*lexer->at))
            lexer->at++;
        else if (lexer->end - lexer->at > 2 && lexer->at[0] == ':' && lexer->at[1] == ':')
            lexer->at += 2;
        else
            break;
    }
}

static bool lex_hex_float(struct ptx_lexer *lexer, unsigned digits, enum ptx_token_kind kind) {
    uint64_t value = 0;
    const char *at = lexer->at + 2;

    for (unsigned i = 0; i < digits; i++, at++) {
        if (at >= lexer->end || !isxdigit((unsigned char)*at)) return false;
        value = value * 16 +
                (uint64_t)(isdigit((unsigned char)*at) ? *at - '0' : (*at | 32) - 'a' + 10);
    }
    lexer->at = at;
    lexer->token.kind = kind;
    lexer->token.value = value;
    return true;
}

// A number's text is copied, since the source need not end in a NUL.
static void lex_number(struct ptx_lexer *lexer) {
    struct ptx_token *token = &lexer->token;
    char text[80], *end;
    size_t length = 0;
    bool binary = false, real = false;

    if (*lexer->at == '0' && lexer->end - lexer->at > 2) {
        char mark = (char)(lexer->at[1] | 32);
        if (mark == 'f' && lex_hex_float(lexer, 8, PTX_FLOAT32)) return;
        if (mark == 'd' && lex_hex_float(lexer, 16, PTX_FLOAT64)) return;
        binary = mark == 'b';
    }
    bool hex = lexer->end - lexer->at > 1 && (lexer->at[1] | 32) == 'x';
    while (lexer->at + length < lexer->end && length + 1 < sizeof text) {
        char c = lexer->at[length];
        bool sign = (c == '+' || c == '-') && !hex && length && (text[length - 1] | 32) == 'e';
        if (!isalnum((unsigned char)c) && c != '.' && !sign) break;
        real |= c == '.' || (!hex && (c | 32) == 'e');
        text[length++] = c;
    }
    text[length] = '\0';
    if (real) {
        double value = strtod(text, &end);
        token->kind = PTX_FLOAT64;
        memcpy(&token->value, &value, 8);
    } else {
        token->kind = PTX_INTEGER;
        token->value = strtoull(binary ? text + 2 : text, &end, binary ? 2 : 0);
        if (*end == 'U' || *end == 'u') end++;
    }
    if (*end != '\0') ptx_lex_fail(lexer, token->line, token->column, "'%s' is not a number", text);
    lexer->at += length;
}

static void lex_string(struct ptx_lexer *lexer) {
    const char *start = ++lexer->at;

    while (lexer->at < lexer->end && *lexer->at != '"' && *lexer->at != '\n')
        lexer->at += *lexer->at == '\\' && lexer->at + 1 < lexer->end ? 2 : 1;
    if (lexer->at >= lexer->end || *lexer->at != '"')
        ptx_lex_fail(lexer, lexer->token.line, lexer->token.column, "string without end");
    lexer->token.kind = PTX_STRING;
    lexer->token.at = start;
    lexer->token.length = (unsigned)(lexer->at - start);
    lexer->at++;
}

void ptx_lex_next(struct ptx_lexer *lexer) {
    struct ptx_token *token = &lexer->token;

    ptx_lex_look(lexer, lexer->line);
    skip_blank(lexer);
    *token = (struct ptx_token){.at = lexer->at, .line = lexer->line, .column = column_here(lexer)};
    if (lexer->at >= lexer->end) {
        token->kind = PTX_END;
        return;
    }
    char c = *lexer->at, following = lexer->end - lexer->at > 1 ? lexer->at[1] : '\0';
    if (c == '"') {
        lex_string(lexer);
        return;
    }
    if (is_name_start(c)) {
        lex_name(lexer);
    } else if (c == '.' && is_name_part(following)) {
        lex_directive(lexer);
    } else if (isdigit((unsigned char)c)) {
        lex_number(lexer);
    } else if (strchr("{}()[]<>,;:@!|+-*/=&~^?", c) != NULL) {
        token->kind = PTX_PUNCT;
        token->punct = c;
        lexer->at++;
    } else {
        ptx_lex_fail(lexer, token->line, token->column, "character 0x%02x is not PTX",
                     (unsigned char)c);
    }
    token->length = (unsigned)(lexer->at - token->at);
}

void ptx_lex_open(struct ptx_lexer *lexer, const char *name, const char *text, size_t length) {
    while (length && text[length - 1] == '\0')  // NVRTC counts the terminator
        length--;
    lexer->name = name;
    lexer->at = lexer->line_start = text;
    lexer->end = text + length;
    lexer->line = 1;
    ptx_lex_next(lexer);
}

// Translates templates: a line whose first character is $ is Lua, any other is text with ${values}.
// Bodies of blocks are indented in the template and not in the output; the shift is computed here.
#include "gen/expand.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "gen/lualex.h"
#include "gen/alloc.h"

enum { INDENT = 4 };

static const char CHUNK_ARGUMENTS[] = "local __text, __indent, include = ...; ";

struct chunk_text {
    char *data;
    size_t len, capacity;
};

struct translator {
    struct diag *diag;
    const char *file;
    struct chunk_text out;
    int line;
    const char *line_begin;
    int depth;  // blocks that are open before the current line
    bool failed;
};

static void put(struct chunk_text *b, const char *bytes, size_t len) {
    if (b->len + len + 1 > b->capacity) {
        b->capacity = 2 * (b->len + len + 1);
        b->data = mem_resize(b->data, b->capacity);
    }
    memcpy(b->data + b->len, bytes, len);
    b->len += len;
    b->data[b->len] = 0;
}

static void put_text(struct chunk_text *b, const char *text) { put(b, text, strlen(text)); }

static void put_number(struct chunk_text *b, int number) {
    char *text = mem_format("%d", number);
    put_text(b, text);
    free(text);
}

// As a Lua string constant, without its quotes.
static void put_escaped(struct chunk_text *b, const char *bytes, size_t len) {
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)bytes[i];
        char escape[4] = {'\\', (char)('0' + c / 100), (char)('0' + c / 10 % 10),
                          (char)('0' + c % 10)};
        if (c < 32 || c == '"' || c == '\\' || c == 127)
            put(b, escape, sizeof escape);
        else
            put(b, bytes + i, 1);
    }
}

static void fail(struct translator *t, const char *at, const char *message, const char *legal) {
    struct diag_place place = {.file = t->file, .line = t->line, .column = 1};
    place.column += (int)(at - t->line_begin);
    diag_error(t->diag, place, legal, "%s", message);
    t->failed = true;
}

// How a word of Lua changes the number of open blocks.
static int block_change(const struct lua_token *word) {
    static const struct {
        const char *word;
        int change;
    } changes[] = {
        {"then", 1}, {"do", 1},     {"function", 1}, {"repeat", 1},
        {"end", -1}, {"until", -1}, {"elseif", -1},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        if (lua_token_is(word, changes[i].word)) return changes[i].change;
    return 0;
}

// A line of Lua, [at] after its $. [spaces] is its indentation.
static void directive(struct translator *t, int spaces, const char *at, const char *end) {
    int depth = t->depth, lowest = t->depth;
    bool includes = false;
    struct lua_token word = lua_token_next(at, end);
    for (; word.kind != LUA_TOKEN_END; word = lua_token_next(word.end, end)) {
        if (word.kind == LUA_TOKEN_BROKEN)
            fail(t, word.begin, "a string or comment does not end on this line", NULL);
        depth += block_change(&word);
        int level = depth - lua_token_is(&word, "else");  // it stands where its if does
        if (level < lowest) lowest = level;
        includes |= lua_token_is(&word, "include");
    }
    if (includes) {
        int shifted = spaces - INDENT * lowest;
        put_text(&t->out, "__indent(");
        put_number(&t->out, shifted > 0 ? shifted : 0);
        put_text(&t->out, ") ");
    }
    put(&t->out, at, (size_t)(end - at));
    t->depth = depth > 0 ? depth : 0;
}

// The first bracket that closes what was not opened in the Lua from [at], such as the } of a ${.
// NULL: there is none before [end].
static const char *closing_bracket(const char *at, const char *end) {
    struct lua_token token = lua_token_next(at, end);
    for (int open = 0;; token = lua_token_next(token.end, end)) {
        bool comment = token.kind == LUA_TOKEN_TEXT && *token.begin == '-';
        if (token.kind == LUA_TOKEN_END || token.kind == LUA_TOKEN_BROKEN || comment) return NULL;
        if (token.kind != LUA_TOKEN_OTHER) continue;
        open += strchr("{([", *token.begin) != NULL;
        open -= strchr("})]", *token.begin) != NULL;
        if (open < 0) return token.begin;
    }
}

// The } of the ${ that begins at [at]. NULL after an error.
static const char *value_end(struct translator *t, const char *at, const char *end) {
    const char *close = closing_bracket(at + 2, end);
    const char *error = NULL;
    if (!close)
        error = "${ is not closed on this line";
    else if (*close != '}')
        error = "${ is not closed before another bracket is";
    else if (lua_token_next(at + 2, end).begin == close)
        error = "${} holds no expression";
    if (error) fail(t, at, error, "${expression}");
    return error ? NULL : close;
}

const char *expand_value(const char *line, const char *end, int index, const char **stop) {
    for (const char *at = line; at + 1 < end; at++) {
        if (at + 2 < end && !strncmp(at, "$${", 3)) at += 2;
        if (strncmp(at, "${", 2) != 0) continue;
        *stop = closing_bracket(at + 2, end);
        if (!*stop) return NULL;
        if (index-- == 0) return at + 2;
        at = *stop;
    }
    return NULL;
}

// The text from [at] up to the next ${ or [end] as the inside of a Lua string; returns that place.
static const char *plain_text(struct translator *t, const char *at, const char *end) {
    const char *start = at;
    for (; at < end && !(at[0] == '$' && at + 1 < end && at[1] == '{'); at++) {
        if (at + 2 >= end || strncmp(at, "$${", 3) != 0) continue;
        put_escaped(&t->out, start, (size_t)(at - start));
        start = ++at;  // the second $, which starts no value
    }
    put_escaped(&t->out, start, (size_t)(at - start));
    return at;
}

// A line of text: [spaces] of indentation, then [at] to [end].
static void text_line(struct translator *t, int spaces, const char *at, const char *end) {
    for (const char *p = at; p < end; p++)
        if (((unsigned char)*p < 32 && *p != '\t') || *p == 127)
            return fail(t, p, "a template holds no control characters", NULL);
    put_text(&t->out, "__text(");
    put_number(&t->out, t->line);
    put_text(&t->out, ",\"");
    for (int i = 0; i < spaces; i++) put_text(&t->out, " ");
    while (!t->failed) {
        at = plain_text(t, at, end);
        if (at == end) break;
        const char *close = value_end(t, at, end);
        if (!close) return;
        put_text(&t->out, "\",(");
        put(&t->out, at + 2, (size_t)(close - at - 2));
        put_text(&t->out, "),\"");
        at = close + 1;
    }
    put_text(&t->out, "\")");
}

// What is left of the indentation [begin, first) without that of the open blocks.
static int dedent(struct translator *t, const char *begin, const char *first) {
    int left = (int)(first - begin) - INDENT * t->depth;
    if (memchr(begin, '\t', (size_t)(first - begin)))
        fail(t, begin, "templates are indented with spaces", NULL);
    else if (left < 0)
        fail(t, first, "the text inside a block is indented by 4 more than its directive", NULL);
    return left;
}

static void translate_line(struct translator *t, const char *end) {
    const char *begin = t->line_begin, *first = begin;
    while (first < end && (*first == ' ' || *first == '\t')) first++;
    bool dollar = first < end && *first == '$';
    char second = dollar && first + 1 < end ? first[1] : 0;
    char third = second && first + 2 < end ? first[2] : 0;
    if (first == end)
        text_line(t, 0, end, end);
    else if (dollar && second != '$' && second != '{')
        directive(t, (int)(first - begin), first + 1, end);
    else if (second == '$' && third != '{')
        text_line(t, dedent(t, begin, first), first + 1, end);
    else
        text_line(t, dedent(t, begin, first), first, end);
}

char *expand_translate(struct diag *diag, const char *file, const char *text, size_t len,
                       size_t *chunk_len) {
    struct translator t = {.diag = diag, .file = file};
    bool any_failed = false;
    put_text(&t.out, CHUNK_ARGUMENTS);
    for (const char *at = text, *stop = text + len; at < stop;) {
        const char *newline = memchr(at, '\n', (size_t)(stop - at));
        const char *end = newline ? newline : stop;
        t.line++;
        t.line_begin = at;
        translate_line(&t, end > at && end[-1] == '\r' ? end - 1 : end);
        put_text(&t.out, "\n");
        any_failed |= t.failed;
        t.failed = false;
        at = newline ? newline + 1 : stop;
    }
    *chunk_len = t.out.len;
    if (!any_failed) return t.out.data;
    free(t.out.data);
    return NULL;
}

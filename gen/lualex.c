// Tokens of Lua within one line: words, texts to step over, single characters.
// Numbers and comments are texts too; nothing here cares what they say.
#include "gen/lualex.h"

#include <ctype.h>
#include <string.h>

static int is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

static struct lua_token token(enum lua_token_kind kind, const char *begin, const char *end) {
    return (struct lua_token){.kind = kind, .begin = begin, .end = end};
}

// The level of a long bracket "[==[" at [at]; -1: there is none.
static int long_bracket(const char *at, const char *end) {
    if (at >= end || *at++ != '[') return -1;
    int level = 0;
    for (; at < end && *at == '='; at++) level++;
    return at < end && *at == '[' ? level : -1;
}

// The end of the long text whose bracket of [level] starts at [at]; NULL: it has none.
static const char *long_end(const char *at, const char *end, int level) {
    for (at += level + 2; at < end; at++) {
        if (*at != ']') continue;
        const char *close = at + 1;
        while (close < end && *close == '=') close++;
        if (close - at - 1 == level && close < end && *close == ']') return close + 1;
    }
    return NULL;
}

static const char *quoted_end(const char *at, const char *end) {
    char quote = *at;
    for (at++; at < end && *at != quote; at++)
        if (*at == '\\') at++;
    return at < end ? at + 1 : NULL;
}

static struct lua_token text_until(const char *begin, const char *text_end, const char *end) {
    return text_end ? token(LUA_TOKEN_TEXT, begin, text_end) : token(LUA_TOKEN_BROKEN, begin, end);
}

static struct lua_token comment(const char *begin, const char *end) {
    int level = long_bracket(begin + 2, end);
    return text_until(begin, level < 0 ? end : long_end(begin + 2, end, level), end);
}

struct lua_token lua_token_next(const char *at, const char *end) {
    while (at < end && isspace((unsigned char)*at)) at++;
    if (at == end) return token(LUA_TOKEN_END, at, at);
    if (*at == '"' || *at == '\'') return text_until(at, quoted_end(at, end), end);
    if (*at == '-' && at + 1 < end && at[1] == '-') return comment(at, end);
    int level = long_bracket(at, end);
    if (level >= 0) return text_until(at, long_end(at, end, level), end);
    const char *stop = at;
    int number = isdigit((unsigned char)*at);
    while (stop < end && (is_word(*stop) || (number && *stop == '.'))) stop++;
    if (stop == at) return token(LUA_TOKEN_OTHER, at, at + 1);
    return token(number ? LUA_TOKEN_TEXT : LUA_TOKEN_WORD, at, stop);
}

int lua_token_is(const struct lua_token *t, const char *word) {
    size_t len = strlen(word);
    return t->kind == LUA_TOKEN_WORD && (size_t)(t->end - t->begin) == len &&
           !memcmp(t->begin, word, len);
}

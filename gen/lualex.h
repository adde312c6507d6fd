// Just enough of Lua's lexer to find where a piece of Lua ends and which blocks it opens.
// Templates mix Lua with CUDA, so braces and the word 'end' inside strings must not count.
#pragma once

enum lua_token_kind {
    LUA_TOKEN_END,     // nothing is left
    LUA_TOKEN_WORD,    // a name or keyword
    LUA_TOKEN_TEXT,    // a string, number or comment
    LUA_TOKEN_OTHER,   // one character
    LUA_TOKEN_BROKEN,  // a string or comment that does not end before [end]
};

struct lua_token {
    enum lua_token_kind kind;
    const char *begin, *end;
};

// The first token of [at, end).
struct lua_token lua_token_next(const char *at, const char *end);

// True where the token is the word [word].
int lua_token_is(const struct lua_token *, const char *word);

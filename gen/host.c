// What the generator's Lua asks of C: errors with places, families, templates, near words.
// The only door out of the sandbox; each function checks what it is given.
#include <ctype.h>
#include <lauxlib.h>
#include <string.h>

#include "gen/json.h"
#include "gen/prelude.h"
#include "gen/script.h"
#include "gen/suggest.h"

static bool is_family_name(const char *name) {
    return *name && !name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_")];
}

// Where [word] first stands in the file as a word of its own; line 0: nowhere.
static struct diag_place place_of_word(struct store_file file, const char *word) {
    struct diag_place place = {.file = file.name};
    const size_t len = strlen(word);
    const char *line = file.text;
    int number = 1;
    for (const char *at = file.text; at && len && *at; at++) {
        const bool begins = at == file.text || !(isalnum((unsigned char)at[-1]) || at[-1] == '_');
        if (begins && !strncmp(at, word, len) && !isalnum((unsigned char)at[len]) &&
            at[len] != '_') {
            place.line = number;
            place.column = (int)(at - line) + 1;
            return place;
        }
        if (*at == '\n') number++, line = at + 1;
    }
    return place;
}

// The place that the table on the stack says: {path=, word=}, a word of a file.
static struct diag_place place_of_table(lua_State *L, int index) {
    const char *why;
    lua_getfield(L, index, "path");
    lua_getfield(L, index, "word");
    struct store_file file = {0};
    if (lua_isstring(L, -2))
        file = store_find(script_store(script_of(L)), lua_tostring(L, -2), &why);
    if (file.text) script_know_file(script_of(L), file);
    struct diag_place place = place_of_word(file, lua_isstring(L, -1) ? lua_tostring(L, -1) : "");
    lua_pop(L, 2);
    return place;
}

// The place that argument [index] stands for: a node of the spec, a word of a file, the path of a
// file, or nil.
static struct diag_place place_argument(lua_State *L, int index) {
    struct diag_place place = {0};
    const char *why;
    if (lua_istable(L, index)) {
        lua_getfield(L, index, "node");
        const struct spec_node *node = lua_touserdata(L, -1);
        const bool is_node = lua_islightuserdata(L, -1);
        lua_pop(L, 1);
        place = is_node ? node->place : place_of_table(L, index);
    } else if (lua_type(L, index) == LUA_TSTRING) {
        place.file = store_find(script_store(script_of(L)), lua_tostring(L, index), &why).name;
    }
    return place;
}

// host.error(node, message, legal)
static int host_error(lua_State *L) {
    struct diag_place place = place_argument(L, 1);
    diag_error(script_diag(script_of(L)), place, luaL_optstring(L, 3, NULL), "%s",
               luaL_checkstring(L, 2));
    return 0;
}

// host.note(node, message)
static int host_note(lua_State *L) {
    struct diag_place place = place_argument(L, 1);
    diag_note(script_diag(script_of(L)), place, "%s", luaL_checkstring(L, 2));
    return 0;
}

// host.stop() gives up, after errors were reported
static int host_stop(lua_State *L) {
    lua_pushliteral(L, SCRIPT_STOP);
    return lua_error(L);
}

// host.nearest(word, words) -> the nearest of the words, or nil
static int host_nearest(lua_State *L) {
    struct suggest nearest = suggest_start(luaL_checkstring(L, 1));
    luaL_checktype(L, 2, LUA_TTABLE);
    for (lua_Integer i = 1; lua_rawgeti(L, 2, i) == LUA_TSTRING; i++, lua_pop(L, 1))
        suggest_offer(&nearest, lua_tostring(L, -1));
    lua_pushstring(L, nearest.best);
    return 1;
}

// host.families() -> their names, sorted
static int host_families(lua_State *L) {
    char **names = store_families(script_store(script_of(L)));
    lua_newtable(L);
    for (lua_Integer i = 0; names[i]; i++) {
        lua_pushstring(L, names[i]);
        lua_rawseti(L, -2, i + 1);
    }
    store_list_free(names);
    return 1;
}

// host.family(name) -> what templates/NAME/family.lua returns, or nil
static int host_family(lua_State *L) {
    const char *name = luaL_checkstring(L, 1);
    if (!is_family_name(name)) return 0;
    lua_pushvalue(L, 1);
    lua_setfield(L, LUA_REGISTRYINDEX, "family");
    const char *why, *path = lua_pushfstring(L, "templates/%s/family.lua", name);
    script_module(L, path);
    const struct store_file file = store_find(script_store(script_of(L)), path, &why);
    lua_pushboolean(L, file.text && store_embedded(path, file.text, file.len));
    return 2;
}

// host.has_others(table, fields) -> whether the table has a key that fields has not
static int host_has_others(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_checktype(L, 2, LUA_TTABLE);
    for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 2)) {
        lua_pushvalue(L, -2);
        if (lua_rawget(L, 2) == LUA_TNIL) return lua_pushboolean(L, 1), 1;
    }
    return 0;
}

// host.expand(folder, name, environment) -> the text, to be handed to C
static int host_expand(lua_State *L) {
    luaL_checktype(L, 3, LUA_TTABLE);
    template_run(L, luaL_checkstring(L, 1), luaL_checkstring(L, 2), 3);
    return 1;
}

// host.environment(values) -> a strict table of the values and of what the sandbox offers
static int host_environment(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    sandbox_environment(L, 1);
    return 1;
}

// host.arguments_of(text, name) -> what the text has in the parentheses behind the word, or nil
static int host_arguments_of(lua_State *L) {
    const struct text *text = template_text(L, 1);
    const char *name = luaL_checkstring(L, 2), *begin, *end;
    if (!text || !ptx_find_call(text->data, text->len, name, &begin, &end)) return 0;
    lua_pushlstring(L, begin, (size_t)(end - begin));
    return 1;
}

// Pushes the key of the table at [index] that is the text [name], or nothing.
static bool push_key(lua_State *L, int index, const char *name, size_t len) {
    for (lua_pushnil(L); lua_next(L, index);) {
        size_t key_len;
        const char *key = lua_tolstring(L, -2, &key_len);
        lua_pop(L, 1);
        if (key_len == len && !memcmp(key, name, len)) return true;
    }
    return false;
}

// host.functions_among(text, names) -> those keys of names that the text calls or declares as
// functions, as a set
static int host_functions_among(lua_State *L) {
    const struct text *text = template_text(L, 1);
    const char *at = text ? text->data : NULL, *end = text ? at + text->len : NULL, *name;
    size_t len;
    luaL_checktype(L, 2, LUA_TTABLE);
    lua_settop(L, 2);
    lua_newtable(L);
    while (ptx_next_function(&at, end, &name, &len)) {
        if (!push_key(L, 2, name, len)) continue;
        lua_pushboolean(L, 1);
        lua_rawset(L, 3);
    }
    return 1;
}

// host.library(name) -> the module of lib/
static int host_library(lua_State *L) {
    script_module(L, lua_pushfstring(L, "templates/lib/%s.lua", luaL_checkstring(L, 1)));
    return 1;
}

int host_open(lua_State *L) {
    static const luaL_Reg functions[] = {{"error", host_error},
                                         {"note", host_note},
                                         {"nearest", host_nearest},
                                         {"families", host_families},
                                         {"family", host_family},
                                         {"has_others", host_has_others},
                                         {"expand", host_expand},
                                         {"environment", host_environment},
                                         {"arguments_of", host_arguments_of},
                                         {"functions_among", host_functions_among},
                                         {"library", host_library},
                                         {"json", json_of},
                                         {"stop", host_stop},
                                         {NULL, NULL}};
    luaL_newlib(L, functions);
    lua_pushliteral(L, TMAGEN_VERSION);
    lua_setfield(L, -2, "version");
    return 1;
}

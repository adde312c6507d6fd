// A spec's tree as Lua tables. Each keeps a handle on its node, by which errors find their place.
#include <lauxlib.h>

#include "gen/script.h"

static void push_node(lua_State *L, const struct spec_node *node, int seen);

static void set_text(lua_State *L, const char *name, const char *text) {
    lua_pushstring(L, text);
    lua_setfield(L, -2, name);
}

static void set_integer(lua_State *L, const char *name, lua_Integer integer) {
    lua_pushinteger(L, integer);
    lua_setfield(L, -2, name);
}

// Sets the fields value and type: what the scalar means.
static void set_scalar(lua_State *L, const struct spec_node *node) {
    static const char *const types[] = {[SPEC_NULL] = "null",
                                        [SPEC_BOOL] = "bool",
                                        [SPEC_INT] = "int",
                                        [SPEC_FLOAT] = "float",
                                        [SPEC_STRING] = "string"};
    long long integer = 0;
    double real = 0;
    enum spec_type type = spec_scalar(node, &integer, &real);
    switch (type) {
    case SPEC_NULL: lua_pushnil(L); break;
    case SPEC_BOOL: lua_pushboolean(L, (int)integer); break;
    case SPEC_INT: lua_pushinteger(L, integer); break;
    case SPEC_FLOAT: lua_pushnumber(L, real); break;
    case SPEC_STRING: lua_pushlstring(L, node->text, node->len); break;
    }
    lua_setfield(L, -2, "value");
    set_text(L, "type", types[type]);
    set_text(L, "text", node->text);
}

// Sets items, the values; and for a map keys, the keys' nodes in the same order.
static void set_entries(lua_State *L, const struct spec_node *node, int seen) {
    lua_createtable(L, (int)node->count, 0);
    for (size_t i = 0; i < node->count; i++) {
        push_node(L, node->values[i], seen);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    lua_setfield(L, -2, "items");
    if (node->kind != SPEC_MAP) return;
    lua_createtable(L, (int)node->count, 0);
    for (size_t i = 0; i < node->count; i++) {
        push_node(L, node->keys[i], seen);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    lua_setfield(L, -2, "keys");
}

// [seen] is the stack index of the table from nodes to their tables.
static void push_node(lua_State *L, const struct spec_node *node, int seen) {
    static const char *const kinds[] = {"scalar", "list", "map"};
    static const char *const origins[] = {"spec", "base", "set"};
    luaL_checkstack(L, 8, "the spec is nested too deeply");
    if (lua_rawgetp(L, seen, node) == LUA_TTABLE) return;
    lua_pop(L, 1);
    lua_createtable(L, 0, 12);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, seen, node);
    lua_pushlightuserdata(L, (void *)node);
    lua_setfield(L, -2, "node");
    set_text(L, "kind", kinds[node->kind]);
    set_text(L, "origin", origins[node->origin]);
    set_text(L, "file", node->place.file);
    set_integer(L, "line", node->place.line);
    if (node->kind == SPEC_SCALAR)
        set_scalar(L, node);
    else
        set_entries(L, node, seen);
}

void script_push_spec(lua_State *L, const struct spec_node *node) {
    lua_newtable(L);
    push_node(L, node, lua_gettop(L));
    lua_remove(L, -2);
}

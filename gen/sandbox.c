// The part of Lua's standard library that families and templates may use.
// Nothing that reaches outside, and nothing that differs between two runs: pairs walks keys in
// order, addresses do not print, there is no random and no clock.
#include <lauxlib.h>
#include <lualib.h>
#include <stdlib.h>
#include <string.h>

#include "gen/script.h"
#include "gen/suggest.h"

enum { ENVIRONMENT_NAMES = 64 };  // or more

// What pairs sorts: numbers before texts before booleans.
struct key {
    int type;
    lua_Number number;
    const char *text;
    size_t len;
    int index;  // in the table of keys
};

static int compare_bytes(const struct key *a, const struct key *b) {
    const int order = memcmp(a->text, b->text, a->len < b->len ? a->len : b->len);
    return order ? order : (a->len > b->len) - (a->len < b->len);
}

static int compare_keys(const void *left, const void *right) {
    static const int rank[] = {[LUA_TNUMBER] = 1, [LUA_TSTRING] = 2, [LUA_TBOOLEAN] = 3};
    const struct key *a = left, *b = right;
    if (a->type != b->type) return rank[a->type] - rank[b->type];
    if (a->type == LUA_TSTRING) return compare_bytes(a, b);
    return (a->number > b->number) - (a->number < b->number);
}

static struct key read_key(lua_State *L, int index) {
    struct key key = {.type = lua_type(L, -1), .index = index};
    switch (key.type) {
    case LUA_TNUMBER: key.number = lua_tonumber(L, -1); break;
    case LUA_TSTRING: key.text = lua_tolstring(L, -1, &key.len); break;
    case LUA_TBOOLEAN: key.number = lua_toboolean(L, -1); break;
    default:
        luaL_error(L, "pairs needs keys that are texts or numbers, not a %s", luaL_typename(L, -1));
    }
    return key;
}

// upvalues: the table, its sorted keys, the number of keys that were visited
static int next_pair(lua_State *L) {
    lua_Integer at = lua_tointeger(L, lua_upvalueindex(3));
    for (;;) {
        lua_pushinteger(L, ++at);
        lua_replace(L, lua_upvalueindex(3));
        if (lua_rawgeti(L, lua_upvalueindex(2), at) == LUA_TNIL) return 1;
        lua_pushvalue(L, -1);
        if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 2;
        lua_pop(L, 2);  // taken out meanwhile
    }
}

static int sorted_pairs(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    int count = 0;
    lua_newtable(L);
    for (lua_pushnil(L); lua_next(L, 1); count++) {
        lua_pop(L, 1);
        lua_pushvalue(L, -1);
        lua_rawseti(L, 2, count + 1);
    }
    struct key *keys = lua_newuserdatauv(L, ((size_t)count + 1) * sizeof *keys, 0);
    for (int i = 0; i < count; i++) {
        lua_rawgeti(L, 2, i + 1);
        keys[i] = read_key(L, i + 1);
        lua_pop(L, 1);  // the table of keys still holds it
    }
    qsort(keys, (size_t)count, sizeof *keys, compare_keys);
    lua_pushvalue(L, 1);
    lua_createtable(L, count, 0);
    for (int i = 0; i < count; i++) {
        lua_rawgeti(L, 2, keys[i].index);
        lua_rawseti(L, -2, i + 1);
    }
    lua_pushinteger(L, 0);
    lua_pushcclosure(L, next_pair, 3);
    return 1;
}

static bool prints_address(lua_State *L, int index) {
    int type = lua_type(L, index);
    bool object = type == LUA_TTABLE || type == LUA_TFUNCTION || type == LUA_TUSERDATA;
    if (!object || !luaL_getmetafield(L, index, "__tostring")) return object;
    lua_pop(L, 1);
    return false;
}

static int plain_tostring(lua_State *L) {
    luaL_checkany(L, 1);
    if (prints_address(L, 1))
        lua_pushstring(L, luaL_typename(L, 1));
    else
        luaL_tolstring(L, 1, NULL);
    return 1;
}

// upvalue: Lua's own string.format
static int plain_format(lua_State *L) {
    const char *format = luaL_checkstring(L, 1);
    for (const char *at = format; (at = strchr(at, '%'));) {
        at += 1 + strspn(at + 1, "-+ #0123456789.");
        if (*at == 'p') return luaL_error(L, "string.format: %%p is not allowed");
        at += *at != 0;
    }
    for (int i = 2; i <= lua_gettop(L); i++)
        if (prints_address(L, i))
            return luaL_error(L, "string.format: a %s is no text", luaL_typename(L, i));
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, 1);
    return 1;
}

// upvalue: Lua's own setmetatable. A finaliser would run outside of all limits.
static int safe_setmetatable(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    if (lua_istable(L, 2)) {
        lua_pushliteral(L, "__gc");
        if (lua_rawget(L, 2) != LUA_TNIL) return luaL_error(L, "__gc is not allowed");
        lua_pop(L, 1);
    }
    if (luaL_getmetafield(L, 1, "__metatable")) return luaL_error(L, "the metatable is protected");
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, 1);
    return 1;
}

// Pushes the module [name] of the folder templates/FOLDER; nil where there is none.
static bool module_of(lua_State *L, const char *folder, const char *name) {
    script_module(L, lua_pushfstring(L, "templates/%s/%s.lua", folder, name));
    if (!lua_isnil(L, -1)) return true;
    lua_pop(L, 2);
    return false;
}

static const char *module_name(lua_State *L) {
    size_t len;
    const char *name = luaL_checklstring(L, 1, &len);
    if (strlen(name) != len || !store_is_path(name))
        luaL_error(L, "'%s' is no name of a module", name);
    return name;
}

// of a family and its templates: NAME.lua in the family's folder, else in lib/
static int require_module(lua_State *L) {
    const char *name = module_name(L);
    lua_getfield(L, LUA_REGISTRYINDEX, "family");
    const char *family = lua_tostring(L, -1);
    if (family && module_of(L, family, name)) return 1;
    if (module_of(L, "lib", name)) return 1;
    return luaL_error(L, "no module '%s' in the family's folder or in lib", name);
}

// of lib/: no family comes between its modules
static int require_lib(lua_State *L) {
    const char *name = module_name(L);
    return module_of(L, "lib", name) ? 1 : luaL_error(L, "no module '%s' in lib", name);
}

// of the generator's own Lua, to which alone the door out of the sandbox is open
static int require_engine(lua_State *L) {
    const char *name = luaL_checkstring(L, 1);
    if (!strcmp(name, "host")) return lua_getfield(L, LUA_REGISTRYINDEX, "host"), 1;
    script_module(L, lua_pushfstring(L, "gen/lua/%s.lua", name));
    return 1;
}

static int undefined_name(lua_State *L) {
    const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "?";
    struct suggest nearest = suggest_start(name);
    for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1))
        if (lua_type(L, -2) == LUA_TSTRING) suggest_offer(&nearest, lua_tostring(L, -2));
    if (!nearest.best) return luaL_error(L, "undefined name '%s'", name);
    return luaL_error(L, "undefined name '%s'; did you mean %s?", name, nearest.best);
}

static int undeclared_name(lua_State *L) {
    const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "?";
    return luaL_error(L, "'%s' is not declared; write: local %s", name, name);
}

void sandbox_strict(lua_State *L, int index) {
    index = lua_absindex(L, index);
    static const luaL_Reg guards[] = {
        {"__index", undefined_name}, {"__newindex", undeclared_name}, {NULL, NULL}};
    luaL_newlib(L, guards);
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_setmetatable(L, index);
}

// Replaces field [name] of the table on top by [wrapper], which gets the old one as its upvalue.
static void wrap(lua_State *L, const char *name, lua_CFunction wrapper) {
    lua_getfield(L, -1, name);
    lua_pushcclosure(L, wrapper, 1);
    lua_setfield(L, -2, name);
}

static void drop(lua_State *L, const char *const names[]) {
    for (; *names; names++) {
        lua_pushnil(L);
        lua_setfield(L, -2, *names);
    }
}

// Copies the fields of the table at [from] into that at [to].
static void copy_fields(lua_State *L, int from, int to) {
    for (lua_pushnil(L); lua_next(L, from);) {
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_rawset(L, to);
    }
}

void sandbox_environment(lua_State *L, int values) {
    values = lua_absindex(L, values);
    lua_createtable(L, 0, ENVIRONMENT_NAMES);
    lua_getfield(L, LUA_REGISTRYINDEX, SANDBOX_FAMILY);
    copy_fields(L, lua_gettop(L), lua_gettop(L) - 1);
    lua_pop(L, 1);
    copy_fields(L, values, lua_gettop(L));
    sandbox_strict(L, -1);
}

// Keeps a strict copy of the table on top, with this function as require.
static void keep_environment(lua_State *L, const char *realm, lua_CFunction require) {
    lua_createtable(L, 0, ENVIRONMENT_NAMES);
    copy_fields(L, lua_gettop(L) - 1, lua_gettop(L));
    lua_pushcfunction(L, require);
    lua_setfield(L, -2, "require");
    sandbox_strict(L, -1);
    lua_setfield(L, LUA_REGISTRYINDEX, realm);
}

void sandbox_open(lua_State *L) {
    static const char *const base[] = {"collectgarbage", "dofile", "load",  "loadfile",
                                       "next",           "pcall",  "print", "warn",
                                       "xpcall",         "_G",     NULL};
    static const char *const string[] = {"dump", NULL};
    static const char *const math[] = {"random", "randomseed", NULL};
    static const luaL_Reg libraries[] = {
        {"string", luaopen_string}, {"table", luaopen_table}, {"math", luaopen_math}};
    static const char *const *const dropped[] = {string, NULL, math};
    static const luaL_Reg own[] = {
        {"pairs", sorted_pairs}, {"tostring", plain_tostring}, {NULL, NULL}};
    luaL_requiref(L, "_G", luaopen_base, 0);
    drop(L, base);
    wrap(L, "setmetatable", safe_setmetatable);
    luaL_setfuncs(L, own, 0);
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        luaL_requiref(L, libraries[i].name, libraries[i].func, 0);
        if (dropped[i]) drop(L, dropped[i]);
        if (i == 0) wrap(L, "format", plain_format);
        lua_setfield(L, -2, libraries[i].name);
    }
    keep_environment(L, SANDBOX_ENGINE, require_engine);
    keep_environment(L, SANDBOX_LIB, require_lib);
    keep_environment(L, SANDBOX_FAMILY, require_module);
    lua_pop(L, 1);
}

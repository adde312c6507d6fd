// What a new script has open: the closed-off library, the functions of C, and the module json.
#include <lauxlib.h>

#include "gen/script.h"

// Opens the libraries; a function of its own, so that it can run out of memory in peace.
static int open_all(lua_State *L) {
    sandbox_open(L);
    luaL_requiref(L, "host", host_open, 0);
    lua_setfield(L, LUA_REGISTRYINDEX, "host");
    return 0;
}

// Makes the module json a name that every file below templates/ has.
static void share_json(struct script *s) {
    lua_State *L = script_lua(s);
    static const char *const realms[] = {SANDBOX_FAMILY, SANDBOX_LIB};
    if (!script_require(s, "json")) return;
    for (size_t i = 0; i < sizeof realms / sizeof *realms; i++) {
        lua_getfield(L, LUA_REGISTRYINDEX, realms[i]);
        lua_pushliteral(L, "json");
        lua_pushvalue(L, -3);
        lua_rawset(L, -3);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

struct script *script_new(struct store *store, struct diag *diag) {
    struct script *s = script_bare(store, diag);
    lua_pushcfunction(script_lua(s), open_all);
    if (script_call(s, 0, 0)) share_json(s);
    return s;
}

// JSON of Lua's values, with a stable order of keys, laid out to be read in a diff: what fits on a
// line is on one. In C, because in Lua it was a tenth of a generation.
#pragma once
#include <lua.h>

// host.json(value, tag, null, fault) -> the text: tables with the metatable [tag] are objects, of
// pairs {key, value}, and others arrays; [null] stands for null. fault(message), which does not
// return, is called where a value cannot be JSON.
int json_of(lua_State *);

// What Lua compiles a module or a template to: bytes that load several times faster than text does.
// What travels inside the program is compiled when that is built, what is the user's at first use.
#pragma once
#include <stddef.h>

#include <lua.h>

// Compiles the [len] bytes of Lua and pushes the function, or the message. Returns Lua's status.
// The chunk is called "#N", the [number] of its file in the store: Lua shortens long names in its
// messages, and who reads those finds the file by it.
int chunk_compile(lua_State *, size_t number, const char *text, size_t len);

// The bytes of the function on top of the stack, which load again on this machine; the caller's to
// free.
char *chunk_dump(lua_State *, size_t *len);

// Lua to bytes. Lines and names of variables stay in, since messages show them.
#include "gen/chunk.h"

#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "gen/alloc.h"

struct bytes {
    char *data;
    size_t len, capacity;
};

int chunk_compile(lua_State *L, size_t number, const char *text, size_t len) {
    char name[24];
    snprintf(name, sizeof name, "=#%zu", number);
    return luaL_loadbufferx(L, text, len, name, "t");
}

static int add(lua_State *L, const void *data, size_t len, void *context) {
    struct bytes *bytes = context;
    (void)L;
    if (bytes->len + len > bytes->capacity) {
        bytes->capacity = 2 * (bytes->len + len);
        bytes->data = mem_resize(bytes->data, bytes->capacity);
    }
    memcpy(bytes->data + bytes->len, data, len);
    bytes->len += len;
    return 0;
}

char *chunk_dump(lua_State *L, size_t *len) {
    struct bytes bytes = {0};
    lua_dump(L, add, &bytes, 0);
    *len = bytes.len;
    return bytes.data;
}

// Each value is tried on the rest of its line, which is given up where that ends.
#include "gen/json.h"

#include <ctype.h>
#include <lauxlib.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen/alloc.h"

enum { TAG = 2, NULL_VALUE, FAULT };  // arguments
enum { WIDTH = 120, LEVELS_MAX = 32, BYTES_MAX = 16 << 20 };
static const int64_t ANYWHERE = INT64_MAX;

static struct {
    char *data;
    int64_t len;
    size_t capacity;
} out;  // kept for the next document, which an error begins too

static struct {
    const char *key;  // of an object's item; NULL in a list
    lua_Integer number;
} places[LEVELS_MAX + 2];  // of the value that is put, by depth
static int place_count;

static void put(const char *text, size_t len) {
    if ((size_t)out.len + len > out.capacity) {
        out.capacity = 2 * ((size_t)out.len + len);
        out.data = mem_resize(out.data, out.capacity);
    }
    memcpy(out.data + out.len, text, len);
    out.len += (int64_t)len;
}

static void put_line(int indent) {
    put("\n", 1);
    for (; indent; indent -= 2) put("  ", 2);
}

// Ends with the message, before which stands where that is.
static void fault(lua_State *L, const char *message) {
    enum { LEVELS_SAID = 8 };
    luaL_checkstack(L, 3 * LEVELS_SAID, "JSON");
    lua_pushvalue(L, FAULT);
    const int first = lua_gettop(L);
    for (int i = 0; i < place_count && i < LEVELS_SAID; ++i) {
        if (places[i].key)
            lua_pushfstring(L, i ? ".%s" : "%s", places[i].key);
        else
            lua_pushfstring(L, "[%I]", (LUAI_UACINT)places[i].number);
    }
    if (place_count) lua_pushstring(L, place_count > LEVELS_SAID ? "...: " : ": ");
    lua_pushstring(L, message);
    lua_concat(L, lua_gettop(L) - first);
    lua_call(L, 1, 0);
}

static void put_text(lua_State *L, int index) {
    static const char special[] = "\"\\\n\r\t", escapes[] = "\"\\nrt";
    size_t len;
    const char *at = lua_tolstring(L, index, &len), *plain = at, *end = at + len;
    char escaped[8];
    for (put("\"", 1); at < end; plain = ++at) {
        while (at < end && !iscntrl((unsigned char)*at) && *at != '"' && *at != '\\') ++at;
        put(plain, (size_t)(at - plain));
        if (at == end) break;
        const char *found = *at ? strchr(special, *at) : NULL;
        put(escaped, found ? (size_t)snprintf(escaped, 8, "\\%c", escapes[found - special])
                           : (size_t)snprintf(escaped, 8, "\\u%04x", (unsigned char)*at));
    }
    put("\"", 1);
}

static void put_number(lua_State *L) {
    char text[40];
    const double value = lua_tonumber(L, -1);
    if (lua_isinteger(L, -1)) {
        snprintf(text, sizeof text, LUA_INTEGER_FMT, lua_tointeger(L, -1));
    } else {
        if (!isfinite(value)) fault(L, "a number that is not finite");
        snprintf(text, sizeof text, "%.15g", value);
        if (strtod(text, NULL) != value) snprintf(text, sizeof text, "%.17g", value);
        if (!strpbrk(text, ".e")) strcat(text, ".0");
    }
    put(text, strlen(text));
}

static bool put_value(lua_State *L, int indent, int64_t used, int depth, int64_t end);

// Puts the items of the table on top of the stack on lines of their own, or on one up to [end].
static bool put_items(lua_State *L, int indent, int depth, int64_t end) {
    const bool flat = end != ANYWHERE;
    const int top = lua_gettop(L);
    const int above = place_count;
    const bool object = lua_getmetatable(L, -1) && lua_rawequal(L, -1, TAG);
    bool first = true, fits = true;
    lua_settop(L, top);
    put(object ? "{" : "[", 1);
    if (!flat) put_line(indent + 2);
    for (lua_Integer i = 1; fits && lua_geti(L, top, i) != LUA_TNIL; i++, lua_settop(L, top)) {
        places[above].key = NULL, places[above].number = i;
        place_count = above + 1;
        if (object && lua_geti(L, -1, 1) != LUA_TSTRING) fault(L, "a key that is no text");
        if (object) places[above].key = lua_tostring(L, -1);
        if (object && lua_geti(L, -2, 2) == LUA_TNIL) continue;
        if (!first) put(", ", flat ? 2 : 1);
        if (!first && !flat) put_line(indent + 2);
        first = false;
        const int64_t begin = out.len;
        if (object) put_text(L, -2), put(": ", 2);
        fits = put_value(L, indent + 2, out.len - begin, depth + 1, end);
    }
    lua_settop(L, top);
    place_count = above;
    if (!flat) put_line(indent);
    put(object ? "}" : "]", 1);
    return fits;
}

static void put_table(lua_State *L, int indent, int64_t used, int depth, int64_t end) {
    const int64_t begin = out.len;
    luaL_checkstack(L, 8, "JSON");
    if (depth > LEVELS_MAX) fault(L, "JSON nested too deeply");
    if (end == ANYWHERE && depth) {
        const int64_t line_end = begin + WIDTH - indent - used;
        if (put_items(L, indent, depth, line_end) && out.len <= line_end) return;
        out.len = begin;
    }
    put_items(L, indent, depth, end);
}

// Puts the value on top of the stack, before which [used] of a line indented by [indent] is taken:
// up to [end] on that line, or ANYWHERE. False where [end] is behind it.
static bool put_value(lua_State *L, int indent, int64_t used, int depth, int64_t end) {
    const int type = lua_type(L, -1);
    if (out.len > BYTES_MAX) fault(L, "JSON that is too long");
    if (type == LUA_TSTRING)
        put_text(L, -1);
    else if (type == LUA_TNUMBER)
        put_number(L);
    else if (type == LUA_TBOOLEAN)
        put(lua_toboolean(L, -1) ? "true" : "false", lua_toboolean(L, -1) ? 4 : 5);
    else if (lua_rawequal(L, -1, NULL_VALUE))
        put("null", 4);
    else if (type == LUA_TTABLE)
        put_table(L, indent, used, depth, end);
    else
        fault(L, lua_pushfstring(L, "%s where JSON is due", lua_typename(L, type)));
    return out.len <= end;
}

int json_of(lua_State *L) {
    out.len = place_count = 0;
    lua_pushvalue(L, 1);
    put_value(L, 0, 0, 0, ANYWHERE);
    lua_pushlstring(L, out.data, (size_t)out.len);
    return 1;
}

// Runs a translated template: its text goes line by line into a struct text, with its origin.
// The form of each line is fixed here: indentation of partials, of values over several lines, and
// what counts as text.
#include <lauxlib.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen/expand.h"
#include "gen/script.h"

enum { INCLUDES_MAX = 16 };

// A userdata, since a template may keep its functions longer than it runs.
struct emitter {
    struct text *text;  // the script's
    bool finished;
    const char *folder;  // of the template, "templates/gemm"; the user value keeps it
    int indent;          // of the partial being expanded
    int next_indent;     // of an include to come
    int includes;        // that are open
};

// What all functions of a chunk have as upvalues.
enum { UP_EMITTER = 1, UP_FILE, UP_ENVIRONMENT };

static const char EMITTER[] = "text";

static struct emitter *emitter_of(lua_State *L) {
    struct emitter *e = lua_touserdata(L, lua_upvalueindex(UP_EMITTER));
    if (e->finished) luaL_error(L, "the template has ended");
    return e;
}

struct text *template_text(lua_State *L, int index) {
    struct emitter *e = luaL_testudata(L, index, EMITTER);
    return e ? e->text : NULL;
}

static void add_spaces(struct text *out, int count) {
    static const char spaces[] = "                                ";
    const int most = sizeof spaces - 1;
    for (; count > 0; count -= most) text_add(out, spaces, (size_t)(count < most ? count : most));
}

static size_t column(const struct text *out) {
    size_t at = out->len;
    while (at > 0 && out->data[at - 1] != '\n') at--;
    return out->len - at;
}

// Raises an error where [more] bytes would not fit; a value can be as large as Lua's memory.
static void need_room(lua_State *L, const struct text *out, size_t more) {
    if (out->len + more > TEXT_MAX)
        luaL_error(L, "the output is larger than %d MiB", TEXT_MAX >> 20);
}

// Adds text that may be of several lines; those after the first begin under the first.
static void add_lines(lua_State *L, struct text *out, const char *text, size_t len,
                      tmagen_source_line origin) {
    int indent = (int)column(out);
    const char *end = text + len;
    if (len && end[-1] == '\n') end--;
    for (;;) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *stop = newline ? newline : end;
        text_add(out, text, (size_t)(stop - text));
        if (!newline) return;
        need_room(L, out, (size_t)(end - newline) + (size_t)indent);
        text_end_line(out, origin);
        text = newline + 1;
        if (text < end && *text != '\n') add_spaces(out, indent);
    }
}

// The shortest text that reads back as [value]: 0.1 and not 0.10000000000000001.
static int format_float(char *text, size_t size, double value) {
    for (int digits = 15; digits < 17; digits++) {
        int len = snprintf(text, size, "%.*g", digits, value);
        if (strtod(text, NULL) == value) return len;
    }
    return snprintf(text, size, "%.17g", value);
}

// Raises an error about the value at stack index [index], naming its expression.
static void value_error(lua_State *L, int index, tmagen_source_line origin, const char *gives) {
    const char *end, *stop = NULL;
    const char *line = script_line(script_of(L), origin.file, origin.line, &end);
    const char *value = line ? expand_value(line, end, index / 2 - 1, &stop) : NULL;
    if (!value) luaL_error(L, "a value gives %s where text is due", gives);
    lua_pushlstring(L, value, (size_t)(stop - value));
    luaL_error(L, "'%s' gives %s where text is due", lua_tostring(L, -1), gives);
}

// True where a terminal, an editor or a compiler might do something else than show the text.
static bool has_control(const char *text, size_t len) {
    for (size_t i = 0; i < len; i++) {
        const unsigned char c = (unsigned char)text[i];
        if ((c < 32 && c != '\n' && c != '\t') || c == 127) return true;
    }
    return false;
}

static void add_value(lua_State *L, struct text *out, int index, tmagen_source_line origin) {
    char number[40];
    size_t len = 0;
    double value;
    switch (lua_type(L, index)) {
    case LUA_TNUMBER:
        value = lua_tonumber(L, index);
        if (lua_isinteger(L, index))
            len = (size_t)snprintf(number, sizeof number, LUA_INTEGER_FMT, lua_tointeger(L, index));
        else if (isfinite(value))
            len = (size_t)format_float(number, sizeof number, value);
        else
            value_error(L, index, origin, lua_tostring(L, index));
        text_add(out, number, len);
        return;
    case LUA_TSTRING: {
        const char *text = lua_tolstring(L, index, &len);
        if (has_control(text, len)) value_error(L, index, origin, "a control character");
        need_room(L, out, len);
        add_lines(L, out, text, len, origin);
        return;
    }
    default: value_error(L, index, origin, luaL_typename(L, index));
    }
}

static bool is_blank(const char *text, size_t len) { return strspn(text, " ") == len; }

// True where the line is one value alone, and that is the empty text: then there is no line.
static bool is_empty_value(lua_State *L) {
    size_t before, value, after;
    if (lua_gettop(L) != 4 || lua_type(L, 3) != LUA_TSTRING) return false;
    const char *first = lua_tolstring(L, 2, &before), *last = lua_tolstring(L, 4, &after);
    lua_tolstring(L, 3, &value);
    return value == 0 && is_blank(first, before) && is_blank(last, after);
}

// __text(line, text, value, text, ...)
static int emit_line(lua_State *L) {
    struct text *out = emitter_of(L)->text;
    tmagen_source_line origin = {.file = lua_touserdata(L, lua_upvalueindex(UP_FILE)),
                                 .line = (int)lua_tointeger(L, 1)};
    if (is_empty_value(L)) return 0;
    need_room(L, out, 0);
    add_spaces(out, emitter_of(L)->indent);
    for (int i = 2; i <= lua_gettop(L); i++) {
        size_t len;
        const char *text = i % 2 ? NULL : lua_tolstring(L, i, &len);
        if (text) {
            need_room(L, out, len);
            text_add(out, text, len);
        } else {
            add_value(L, out, i, origin);
        }
    }
    text_end_line(out, origin);
    return 0;
}

// __indent(spaces)
static int set_indent(lua_State *L) {
    emitter_of(L)->next_indent = (int)lua_tointeger(L, 1);
    return 0;
}

static int include(lua_State *L);

// Pushes a userdata with the Lua source that [file] means; empty where Lua compiled it already.
static void push_translated(lua_State *L, struct store_file file) {
    struct script *s = script_of(L);
    size_t len, compiled;
    if (store_compiled(script_store(s), file.number, &compiled)) {
        lua_newuserdatauv(L, 0, 0);
        return;
    }
    char *chunk = expand_translate(script_diag(s), file.name, file.text, file.len, &len);
    if (!chunk) {
        lua_pushliteral(L, SCRIPT_STOP);
        lua_error(L);
    }
    memcpy(lua_newuserdatauv(L, len, 0), chunk, len);  // Lua's, so that no error leaks it
    free(chunk);
}

// The file of the template [path], or an error.
static struct store_file find_file(lua_State *L, const char *path) {
    const char *why;
    struct store_file file = store_find(script_store(script_of(L)), path, &why);
    if (why) luaL_error(L, "cannot read %s: %s", path, why);
    if (!file.text) luaL_error(L, "there is no template '%s'", path);
    return file;
}

// Runs the template [file] with the emitter and the environment at these stack indices.
static void run(lua_State *L, struct store_file file, int emitter, int env) {
    static const lua_CFunction arguments[] = {emit_line, set_indent, include};
    script_know_file(script_of(L), file);
    push_translated(L, file);
    lua_pushvalue(L, env);
    script_load(L, file, lua_touserdata(L, -2), lua_rawlen(L, -2));
    lua_remove(L, -2);
    for (int i = 0; i < 3; i++) {
        lua_pushvalue(L, emitter);
        lua_pushlightuserdata(L, (void *)file.name);
        lua_pushvalue(L, env);
        lua_pushcclosure(L, arguments[i], 3);
    }
    lua_call(L, 3, 0);
}

// Pushes the path of the partial [name]: in the family's folder, else in lib/, else an error.
static const char *find_partial(lua_State *L, const char *folder, const char *name) {
    const char *const places[] = {folder, "templates/lib"}, *why;
    if (!store_is_path(name)) luaL_error(L, "'%s' must be a file of the family's folder", name);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const char *path = lua_pushfstring(L, "%s/%s", places[i], name);
        if (store_find(script_store(script_of(L)), path, &why).text || why) return path;
        lua_pop(L, 1);
    }
    luaL_error(L, "there is no template '%s' in %s or in lib", name, folder);
    return NULL;
}

// include(name): a partial, at the indentation of the directive
static int include(lua_State *L) {
    struct emitter *e = emitter_of(L);
    const char *name = luaL_checkstring(L, 1);
    if (e->includes == INCLUDES_MAX)
        return luaL_error(L, "'%s': templates include each other without end", name);
    const char *path = find_partial(L, e->folder, name);
    int indent = e->indent;
    e->indent += e->next_indent;
    e->includes++;
    run(L, find_file(L, path), lua_upvalueindex(UP_EMITTER), lua_upvalueindex(UP_ENVIRONMENT));
    e->includes--;
    e->indent = indent;
    return 0;
}

void template_run_file(lua_State *L, struct store_file file, const char *folder, int env) {
    env = lua_absindex(L, env);
    struct emitter *e = lua_newuserdatauv(L, sizeof *e, 1);
    *e = (struct emitter){.text = script_text(script_of(L))};
    if (luaL_newmetatable(L, EMITTER)) {
        lua_pushboolean(L, 0);
        lua_setfield(L, -2, "__metatable");
    }
    lua_setmetatable(L, -2);
    e->folder = lua_pushstring(L, folder);
    lua_setiuservalue(L, -2, 1);
    run(L, file, lua_gettop(L), env);
    e->finished = true;
    text_trim(e->text);
}

void template_run(lua_State *L, const char *folder, const char *name, int env) {
    env = lua_absindex(L, env);
    const char *path = lua_pushfstring(L, "%s/%s", folder, name), *why;
    struct store_file file = store_find(script_store(script_of(L)), path, &why);
    if (!file.text && !why) {
        lua_pushfstring(L, "there is no template %s", path);
        lua_error(L);
    }
    template_run_file(L, find_file(L, path), folder, env);
}

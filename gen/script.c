// The Lua state: limits, modules, and errors that name the user's file and line.
#include "gen/script.h"

#include <ctype.h>
#include <lauxlib.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "gen/alloc.h"
#include "gen/chunk.h"
#include "gen/pool.h"
#include "gen/utf8.h"

enum { HOOK_STEPS = 10000, FRAMES_MAX = 4, FREE_MS = 200, GARBAGE_KB = 16384 };

struct script {
    lua_State *lua;
    struct store *store;
    struct diag *diag;
    const char *subject;  // of errors without a place; or NULL
    struct pool pool;
    long steps;                            // left, once they are counted
    struct diag_place frames[FRAMES_MAX];  // where the last error came from, innermost first
    int frame_count;
    struct text **texts;
    size_t text_count, text_capacity;
    bool placed;  // the last error's message begins with where it is: no script made that up
};

static void *allocate(void *script, void *old, size_t old_size, size_t size) {
    if (!old) old_size = 0;  // Lua passes a type there
    return pool_resize(&((struct script *)script)->pool, old, old_size, size);
}

void script_set_subject(struct script *s, const char *file) { s->subject = file; }

struct script *script_of(lua_State *L) {
    void *context;
    lua_getallocf(L, &context);
    return context;
}

lua_State *script_lua(struct script *s) { return s->lua; }
struct diag *script_diag(struct script *s) {
    return s->diag;
}
struct store *script_store(struct script *s) {
    return s->store;
}

// Counting costs a tenth of all steps, so that it begins when a call has run for FREE_MS.
static void count_steps(lua_State *L, lua_Debug *unused) {
    (void)unused;
    struct script *s = script_of(L);
    s->steps -= HOOK_STEPS;
    if (s->steps >= 0) return;
    luaL_where(L, 0);
    lua_pushfstring(L, "the script runs too long: over %d steps", SCRIPT_STEPS_MAX);
    lua_concat(L, 2);
    lua_error(L);
}

struct script *script_bare(struct store *store, struct diag *diag) {
    struct script *s = mem_zero(sizeof *s);
    s->store = store;
    s->diag = diag;
    s->pool.left = SCRIPT_MEMORY_MAX;
    s->lua = lua_newstate(allocate, s);
    if (!s->lua) mem_alloc(SIZE_MAX);
    lua_gc(s->lua, LUA_GCINC, 400, 400, 0);
    lua_gc(s->lua, LUA_GCSTEP, -GARBAGE_KB);  // as if so much less had been allocated
    return s;
}

// No finaliser is open to scripts, and nothing of ours needs one: the state goes with its memory.
void script_free(struct script *s) {
    if (!s) return;
    for (size_t i = 0; i < s->text_count; i++) {
        text_free(s->texts[i]);
        free(s->texts[i]);
    }
    free(s->texts);
    pool_free(&s->pool);
    free(s);
}

struct text *script_text(struct script *s) {
    struct text *text = mem_zero(sizeof *text);
    MEM_PUSH(s->texts, s->text_count, s->text_capacity, text);
    return text;
}

void script_know_file(struct script *s, struct store_file file) {
    diag_source(s->diag, file.name, file.text, file.len);
}

// Reads "#N:LINE:" at *at and steps over it; false where it is not there.
static bool read_position(const struct script *s, const char **at, struct diag_place *place) {
    char *end;
    if (**at != '#' || !isdigit((unsigned char)(*at)[1])) return false;
    unsigned long number = strtoul(*at + 1, &end, 10);
    struct store_file file = store_known(s->store, number);
    if (!file.text || *end != ':' || !isdigit((unsigned char)end[1])) return false;
    *place = (struct diag_place){.file = file.name, .line = atoi(end + 1)};
    for (end++; isdigit((unsigned char)*end);) end++;
    if (*end != ':') return false;
    *at = end + 1 + (end[1] == ' ');
    return true;
}

const char *script_line(struct script *s, const char *file, int number, const char **end) {
    struct store_file known = store_named(s->store, file);
    if (!known.text) return NULL;
    const char *line = known.text, *stop = line + known.len;
    for (int n = 1; n < number && line < stop; n++) {
        const char *newline = memchr(line, '\n', (size_t)(stop - line));
        line = newline ? newline + 1 : stop;
    }
    const char *newline = memchr(line, '\n', (size_t)(stop - line));
    *end = newline ? newline : stop;
    return line;
}

// The column of the word that the message quotes in the line, else of the line's first character.
static int find_column(struct script *s, struct diag_place place, const char *message) {
    const char *end, *line = script_line(s, place.file, place.line, &end);
    if (!line) return 0;
    const char *at = line, *quote = strchr(message, '\'');
    size_t len = quote ? strcspn(quote + 1, "'") : 0;
    const char *found =
        len && line < end ? memmem(line, (size_t)(end - line), quote + 1, len) : NULL;
    while (at < end && isspace((unsigned char)*at)) at++;
    return (int)((found ? found : at) - line) + 1;
}

// Reports the error at the top of the stack.
static void report(struct script *s) {
    lua_State *L = s->lua;
    const char *message = lua_tostring(L, -1);
    struct diag_place place = {.file = s->subject};
    if (message && !strcmp(message, SCRIPT_STOP) && diag_errors(s->diag)) return;
    if (!message) message = "an error that is no text";
    if (s->placed && read_position(s, &message, &place))
        place.column = find_column(s, place, message);
    while (s->placed && read_position(s, &message, &(struct diag_place){0})) continue;
    diag_error(s->diag, place, NULL, "%s", message);
    for (int i = 0; i < s->frame_count; i++) {
        struct diag_place frame = s->frames[i];
        if (frame.line != place.line || strcmp(frame.file, place.file ? place.file : "") != 0)
            diag_note(s->diag, frame, "called from here");
    }
}

// True where the message names a line that some function on the stack is at.
static bool is_on_stack(lua_State *L, const char *message) {
    lua_Debug frame;
    for (int level = 0; message && lua_getstack(L, level, &frame); level++) {
        lua_getinfo(L, "Sl", &frame);
        if (*frame.source != '=' || frame.currentline < 1) continue;
        lua_pushfstring(L, "%s:%d:", frame.source + 1, frame.currentline);
        const bool found = !strncmp(message, lua_tostring(L, -1), lua_rawlen(L, -1));
        lua_pop(L, 1);
        if (found) return true;
    }
    return false;
}

// Message handler: remembers the lines of families and templates that led to the error.
static int remember_frames(lua_State *L) {
    struct script *s = script_of(L);
    lua_Debug frame;
    s->frame_count = 0;
    s->placed = s->placed || is_on_stack(L, lua_tostring(L, 1));
    for (int level = 1; s->frame_count < FRAMES_MAX && lua_getstack(L, level, &frame); level++) {
        lua_getinfo(L, "Sl", &frame);
        if (frame.source[0] != '=' || frame.source[1] != '#' || frame.currentline < 1) continue;
        struct store_file file = store_known(s->store, strtoul(frame.source + 2, NULL, 10));
        if (!file.text || !strncmp(file.name, "gen/lua/", 8)) continue;
        s->frames[s->frame_count++] =
            (struct diag_place){.file = file.name, .line = frame.currentline};
    }
    return 1;
}

static lua_State *volatile watched;

// The first tick of a call: from here on its steps are counted. The second is the end of one that
// counts none, such as a pattern that tries for ever. Nothing is written while scripts run, so
// ending here leaves nothing half done.
static void tick(int unused) {
    (void)unused;
    static const char message[] = "tmagen: error: a script of a family runs too long\n";
    if (watched && !lua_gethook(watched)) {
        lua_sethook(watched, count_steps, LUA_MASKCOUNT, HOOK_STEPS);
        return;
    }
    if (write(STDERR_FILENO, message, sizeof message - 1) < 0) _exit(3);
    _exit(1);
}

static void watch(lua_State *L) {
    const struct itimerval timer = {.it_value.tv_usec = FREE_MS * 1000,
                                    .it_interval.tv_sec = SCRIPT_SECONDS_MAX};
    lua_sethook(L, NULL, 0, 0);
    watched = L;
    signal(SIGVTALRM, tick);
    setitimer(ITIMER_VIRTUAL, &timer, NULL);
}

static void stop_watching(void) {
    const struct itimerval none = {0};
    setitimer(ITIMER_VIRTUAL, &none, NULL);
}

bool script_call(struct script *s, int arguments, int results) {
    lua_State *L = s->lua;
    int base = lua_gettop(L) - arguments;
    lua_pushcfunction(L, remember_frames);
    lua_insert(L, base);
    s->steps = SCRIPT_STEPS_MAX;
    s->frame_count = 0;
    s->placed = false;
    watch(L);
    int status = lua_pcall(L, arguments, results, base);
    stop_watching();
    if (status == LUA_ERRMEM)
        diag_error(s->diag, (struct diag_place){.file = s->subject}, NULL,
                   "a script needs more than %d MiB of memory", SCRIPT_MEMORY_MAX >> 20);
    else if (status != LUA_OK)
        report(s);
    lua_remove(L, base);
    if (status != LUA_OK) lua_settop(L, base - 1);
    return status == LUA_OK;
}

// Compiles [text] and keeps the result for the scripts to come.
static void compile(lua_State *L, struct store_file file, const char *text, size_t len) {
    if (len && *text == *LUA_SIGNATURE) {
        lua_pushfstring(L, "%s is no text", file.name);
        lua_error(L);
    }
    if (chunk_compile(L, file.number, text, len) != LUA_OK) {
        script_of(L)->placed = true;  // by Lua's own parser
        lua_error(L);
    }
    char *code = chunk_dump(L, &len);
    store_keep(script_of(L)->store, file.number, code, len);
}

void script_load(lua_State *L, struct store_file file, const char *chunk, size_t len) {
    size_t code_len;
    const char *code = store_compiled(script_of(L)->store, file.number, &code_len);
    if (!code)
        compile(L, file, chunk, len);
    else if (luaL_loadbufferx(L, code, code_len, "", "b") != LUA_OK)  // our own
        lua_error(L);
    lua_insert(L, -2);
    lua_setupvalue(L, -2, 1);
}

// Pushes what the module [path] finds as its names.
static void push_environment(lua_State *L, const char *path) {
    const char *realm = !strncmp(path, "gen/lua/", 8)          ? SANDBOX_ENGINE
                        : !strncmp(path, "templates/lib/", 14) ? SANDBOX_LIB
                                                               : SANDBOX_FAMILY;
    lua_getfield(L, LUA_REGISTRYINDEX, realm);
}

void script_module(lua_State *L, const char *path) {
    struct script *s = script_of(L);
    luaL_getsubtable(L, LUA_REGISTRYINDEX, "modules");
    if (lua_getfield(L, -1, path) == LUA_TNIL) {
        const char *why;
        struct store_file file = store_find(s->store, path, &why);
        if (why) luaL_error(L, "cannot read %s: %s", path, why);
        if (!file.text) {
            lua_remove(L, -2);
            return;
        }
        script_know_file(s, file);
        lua_pop(L, 1);
        lua_pushboolean(L, 0);  // while it runs
        lua_setfield(L, -2, path);
        push_environment(L, path);
        script_load(L, file, file.text, file.len);
        lua_call(L, 0, 1);
        lua_pushvalue(L, -1);
        lua_setfield(L, -3, path);
    } else if (lua_isboolean(L, -1)) {
        luaL_error(L, "module '%s' requires itself", path);
    }
    lua_remove(L, -2);
}

static int require_engine(lua_State *L) {
    script_module(L, lua_tostring(L, 1));
    if (lua_isnil(L, -1)) luaL_error(L, "no module '%s'", lua_tostring(L, 1));
    return 1;
}

bool script_require(struct script *s, const char *name) {
    lua_pushcfunction(s->lua, require_engine);
    lua_pushfstring(s->lua, "gen/lua/%s.lua", name);
    return script_call(s, 1, 1);
}

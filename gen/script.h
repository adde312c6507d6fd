// The Lua state in which families and templates run: bounded, closed off, and deterministic.
// Text chunks only; no io, os, debug, load, coroutine or random; limits on memory and steps.
#pragma once
#include <lua.h>
#include <stdbool.h>

#include "gen/diag.h"
#include "gen/spec.h"
#include "gen/store.h"
#include "gen/text.h"

enum {
    SCRIPT_MEMORY_MAX = 64 << 20,  // bytes
    SCRIPT_STEPS_MAX = 100000000,  // Lua instructions of one call from C
    SCRIPT_SECONDS_MAX = 2,        // of processor time, for what counts no instructions
};

// The Lua error of one who has reported already why it gives up.
#define SCRIPT_STOP "stop"

struct script;

// A state whose chunks come from [store] and whose errors go to [diag]; both are borrowed.
struct script *script_new(struct store *, struct diag *);
struct script *script_bare(struct store *, struct diag *);  // with nothing open
void script_free(struct script *);
lua_State *script_lua(struct script *);
struct diag *script_diag(struct script *);
struct store *script_store(struct script *);
struct script *script_of(lua_State *);

// An empty text that ends with the script.
struct text *script_text(struct script *);

// Calls the function below its [arguments] on the stack, with the limits. Returns true and leaves
// [results] values; or reports the error with its place and leaves nothing.
bool script_call(struct script *, int arguments, int results);

// Pushes the value that the module gen/lua/NAME.lua returns. Returns false after an error, with
// nothing pushed.
bool script_require(struct script *, const char *name);

// Makes a file of the store known, so that errors can name it and show its lines.
void script_know_file(struct script *, struct store_file);

// Line [number] of a known file up to *end, which is its newline or the file's end; NULL: none.
const char *script_line(struct script *, const char *file, int number, const char **end);

// Names what the scripts work on, for errors that have no place. Borrowed.
void script_set_subject(struct script *, const char *file);

// Loads [chunk], what [file] means as Lua, as a function whose environment is the top of the stack,
// and replaces that. [file] must be known; errors name it. Raises Lua errors.
void script_load(lua_State *, struct store_file file, const char *chunk, size_t len);

// Pushes the module [path] (a file of the store) after running it once; nil where there is no such
// file. Raises Lua errors.
void script_module(lua_State *, const char *path);

// Pushes a spec's tree: tables {kind=, value=, text=, items=, keys=, file=, line=, column=,
// origin=}, shared where aliases share.
void script_push_spec(lua_State *, const struct spec_node *);

// Who requires what: the names in the registry of the environments of files in gen/lua, in
// templates/lib, and in families.
#define SANDBOX_ENGINE "engine"
#define SANDBOX_LIB    "lib"
#define SANDBOX_FAMILY "environment"

// Opens the closed-off standard library in a new state, and makes the table at [index] one that
// answers an unknown name with an error and takes no new one (sandbox.c).
void sandbox_open(lua_State *);
void sandbox_strict(lua_State *, int index);

// Pushes a strict table of what families have and of the table at [values].
void sandbox_environment(lua_State *, int values);

// The functions that gen/lua calls, as the module "host" (host.c).
int host_open(lua_State *);

// Expands the template [name] of [folder] ("templates/gemm") with the environment at stack index
// [env], and pushes the text as a userdata. The folder is where its partials are looked for before
// lib/. Raises Lua errors (template.c).
void template_run(lua_State *, const char *folder, const char *name, int env);
void template_run_file(lua_State *, struct store_file, const char *folder, int env);

// The text that the value at [index] is; NULL: it is none. It lives as long as the value.
struct text *template_text(lua_State *, int index);

// Drives the stages for one spec: tree, Lua, prelude, and the kernels of its points in memory.
// The wrappers are kept for the process, since many specs share them; each spec has a Lua state of
// its own, so that none can change what another becomes.
#include "gen/points.h"

#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "gen/families.h"
#include "gen/file.h"
#include "gen/prelude.h"
#include "gen/script.h"
#include "runtime/directive.h"
#include "runtime/key.h"
#include "runtime/manifest.h"

// The wrappers of the store that they were read from.
static struct {
    struct store *store;
    struct ptx *ptx;
} shared;

// One spec at work.
struct generation {
    const struct gen_options *options;
    points_table *table;
    struct diag *diag;
    struct script *script;
    struct arena arena;
    struct spec_node *tree;
    struct gen_result *result;
    size_t capacity;
};

// The path as generated sources show it: "specs/X.yaml" in a folder of that name, else "X.yaml".
// It must not depend on where tmagen was started.
static char *shown_path(const char *path) {
    char *real = realpath(path, NULL);
    char *slash = real ? strrchr(real, '/') : NULL;
    bool in_specs = false;
    if (slash && slash > real) {
        *slash = 0;
        in_specs = !strcmp(file_base(real), "specs");
    }
    free(real);
    return mem_format("%s%s", in_specs ? "specs/" : "", file_base(path));
}

// [faulty]: reading the spec reported errors already.
static void push_options(lua_State *L, const struct gen_options *options, const char *path,
                         bool faulty) {
    char *stem = file_stem(path), *shown = shown_path(path);
    lua_newtable(L);
    lua_pushstring(L, stem);
    lua_setfield(L, -2, "stem");
    lua_pushstring(L, shown);
    lua_setfield(L, -2, "spec");
    if (options->table) {
        char *table = shown_path(options->table);
        lua_pushstring(L, table);
        lua_setfield(L, -2, "table");
        free(table);
    }
    lua_pushboolean(L, options->explain);
    lua_setfield(L, -2, "explain");
    lua_pushboolean(L, options->strict);
    lua_setfield(L, -2, "strict");
    lua_pushboolean(L, options->quiet);
    lua_setfield(L, -2, "quiet");
    lua_pushboolean(L, faulty);
    lua_setfield(L, -2, "faulty");
    lua_newtable(L);
    for (size_t i = 0; i < options->set_count; i++) {
        lua_pushstring(L, options->sets[i]);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    lua_setfield(L, -2, "sets");
    free(stem);
    free(shown);
}

// Pushes a function of the module generate.
static bool push_stage(struct generation *run, const char *name) {
    if (!script_require(run->script, "generate")) return false;
    lua_State *L = script_lua(run->script);
    lua_getfield(L, -1, name);
    lua_remove(L, -2);
    return true;
}

// generate.open: the number of points, 0 after errors
static int open_spec(struct generation *run, const struct spec_node *tree, const char *path) {
    lua_State *L = script_lua(run->script);
    if (!push_stage(run, "open")) return 0;
    script_push_spec(L, tree);
    push_options(L, run->options, path, diag_errors(run->diag) > 0);
    if (!script_call(run->script, 2, 1)) return 0;
    int count = (int)lua_tointeger(L, -1);
    lua_pop(L, 1);
    return diag_errors(run->diag) ? 0 : count;
}

static char *copy_field(lua_State *L, const char *name) {
    lua_getfield(L, -1, name);
    const char *text = lua_tostring(L, -1);
    char *copy = text ? mem_copy(text) : NULL;
    lua_pop(L, 1);
    return copy;
}

static int integer_field(lua_State *L, const char *name, int absent) {
    int type = lua_getfield(L, -1, name);
    int value = type == LUA_TNUMBER ? (int)lua_tointeger(L, -1) : absent;
    lua_pop(L, 1);
    return value;
}

static void copy_resources(lua_State *L, struct gen_output *out) {
    lua_getfield(L, -1, "resources");
    out->resource_count = lua_rawlen(L, -1);
    out->resources = mem_zero(out->resource_count * sizeof *out->resources);
    for (size_t i = 0; i < out->resource_count; i++) {
        lua_rawgeti(L, -1, (lua_Integer)i + 1);
        lua_rawgeti(L, -1, 1);
        lua_rawgeti(L, -2, 2);
        out->resources[i].name = mem_copy(lua_tostring(L, -2));
        out->resources[i].value = mem_copy(lua_tostring(L, -1));
        lua_pop(L, 3);
    }
    lua_pop(L, 1);
}

static void add_header(struct text *source, const char *header) {
    while (*header) {
        size_t len = strcspn(header, "\n");
        text_add(source, header, len);
        text_end_line(source, (tmagen_source_line){0});
        header += len + (header[len] == '\n');
    }
}

// Header, wrappers and kernel as one source; from the variant on top of the stack.
static void assemble(struct script *s, struct gen_output *out) {
    lua_State *L = script_lua(s);
    struct text source = {0};
    lua_getfield(L, -1, "header");
    add_header(&source, lua_tostring(L, -1));
    lua_getfield(L, -2, "kernel");
    struct text *kernel = template_text(L, -1);
    ptx_prelude(shared.ptx, s, kernel, &source);
    text_end_line(&source, (tmagen_source_line){0});
    text_append(&source, kernel);
    lua_pop(L, 2);
    out->source = source.data;
    out->source_len = source.len;
    out->lines = source.lines;
    out->line_count = source.line_count;
}

// Turns the variant on top of the stack into an output. All fields were set by generate.lua, and
// what a family gave was held to be text or number there.
static struct gen_output take_variant(struct script *s) {
    lua_State *L = script_lua(s);
    struct gen_output out = {.name = copy_field(L, "name"),
                             .family = copy_field(L, "family"),
                             .arch = copy_field(L, "arch"),
                             .point = copy_field(L, "point"),
                             .knobs = copy_field(L, "knobs"),
                             .explain = copy_field(L, "explain"),
                             .phase = integer_field(L, "phase", -1),
                             .block_threads = integer_field(L, "threads", 0),
                             .shared_memory = integer_field(L, "shared_memory", 0)};
    lua_getfield(L, -1, "budget");
    out.budget_registers = integer_field(L, "registers", 0);
    out.budget_spill_bytes = integer_field(L, "spill_bytes", -1);
    lua_pop(L, 1);
    out.store = script_store(s);
    copy_resources(L, &out);
    assemble(s, &out);
    return out;
}

// Reports a kernel that is called as something that its source names: n, or a wrapper, or float.
static void check_name(struct generation *run, const struct gen_output *out) {
    if (ptx_count_name(out->source, out->source_len, out->name) <= 1) return;
    const struct spec_node *name = spec_get(run->tree, "name");
    diag_error(run->diag, (name ? name : run->tree)->place,
               "name: an identifier that the source does not use",
               "a kernel cannot be called %s: its own source uses that name", out->name);
}

// Reports a source that takes in a file: what is compiled must be what was generated.
static void check_whole(struct generation *run, const struct gen_output *out) {
    const char *word;
    const int line = tmg_source_asks(out->source, out->source_len, &word);
    if (!line) return;
    const tmagen_source_line from = out->lines[line - 1];
    diag_error(run->diag, (struct diag_place){.file = from.file, .line = from.line},
               "a source that is whole; what kernels share is a wrapper or an included template",
               "%s: line %d asks for another file by %s%s", out->name, line,
               *word == '_' ? "" : "#", word);
}

// The manifest of [out], from the variant on top of the stack: it names the source's digest, so
// that the two cannot be taken for a pair with those of another run. NULL after an error.
static char *take_manifest(struct generation *run, const struct gen_output *out) {
    lua_State *L = script_lua(run->script);
    char digest[TMAGEN_KEY_CHARS];
    tmg_digest_text(out->source, out->source_len, digest);
    if (!push_stage(run, "manifest")) return NULL;
    lua_pushvalue(L, -2);
    lua_pushstring(L, digest);
    if (!script_call(run->script, 2, 1)) return NULL;
    char *text = mem_copy(lua_tostring(L, -1));
    lua_pop(L, 1);
    return text;
}

// Reports a manifest that the library would refuse at load: its author is here, and not there.
static void check_manifest(struct generation *run, const struct gen_output *out) {
    struct tmg_manifest *manifest = NULL;
    const char *why;
    if (!out->manifest) return;
    if (!tmg_manifest_parse(out->manifest, strlen(out->manifest), "manifest", &manifest))
        return tmg_manifest_free(manifest);
    char *path = mem_format("templates/%s/family.lua", out->family);
    struct store_file file = store_find(script_store(run->script), path, &why);
    diag_error(run->diag, (struct diag_place){.file = file.name}, NULL, "%s", tmagen_error_last());
    free(path);
}

// Loads what kernels share, for the first variant, which is on top of the stack.
static bool load_wrappers(struct script *s) {
    lua_State *L = script_lua(s);
    lua_getfield(L, -1, "kernel");
    if (shared.store != script_store(s)) {
        ptx_free(shared.ptx);
        shared.ptx = NULL;
    }
    shared.store = script_store(s);
    if (!shared.ptx) shared.ptx = ptx_load(s, template_text(L, -1));
    lua_pop(L, 1);
    return shared.ptx != NULL;
}

static void generate_point(struct generation *run, int number) {
    lua_State *L = script_lua(run->script);
    if (!push_stage(run, "point")) return;
    lua_pushinteger(L, number);
    if (!script_call(run->script, 1, 1)) return;
    if (lua_istable(L, -1)) {
        if (load_wrappers(run->script)) {
            struct gen_output out = take_variant(run->script);
            check_name(run, &out);
            check_whole(run, &out);
            out.manifest = take_manifest(run, &out);
            check_manifest(run, &out);
            MEM_PUSH(run->result->outputs, run->result->output_count, run->capacity, out);
        }
    }
    lua_pop(L, 1);
}

// [text] is the spec where it is no file.
static void generate_all(struct generation *run, const char *path, const char *text) {
    char **sets = run->options->sets;
    size_t set_count = run->options->set_count;
    struct spec_node *tree =
        text ? spec_read_text(&run->arena, run->diag, path, text, sets, set_count)
             : spec_read(&run->arena, run->diag, path, sets, set_count);
    if (!tree) return;
    run->tree = tree;
    if (tree->kind == SPEC_MAP && spec_get(tree, "dispatch")) {
        if (run->table) return run->table(run->diag, tree, path, run->options, run->result);
        diag_error(run->diag, tree->place, "specs", "a table cannot be one of a table's kernels");
        return;
    }
    int count = open_spec(run, tree, path);
    for (int i = 1; i <= count && !diag_errors(run->diag); i++) generate_point(run, i);
    if (count && !diag_errors(run->diag) && push_stage(run, "close"))
        script_call(run->script, 0, 0);
}

int points_generate(const char *text, const struct gen_options *options, points_table *table,
                    struct gen_result *result) {
    struct generation run = {
        .options = options, .table = table, .diag = diag_new(), .result = result};
    run.script = script_new(gen_store(options), run.diag);
    script_set_subject(run.script, result->spec);
    generate_all(&run, result->spec, text);
    const struct spec_node *kernel = run.tree ? spec_get(run.tree, "kernel") : NULL;
    if (kernel && kernel->kind == SPEC_SCALAR) families_note(run.diag, options, kernel->text);
    int failed = diag_errors(run.diag) > 0;
    struct gen_over *over = options->over;
    if (over) over->why = diag_move(run.diag, "--set", over->diag, over->places, over->count);
    diag_print(run.diag, stderr);
    script_free(run.script);
    diag_free(run.diag);
    arena_free(&run.arena);
    if (failed) gen_result_free(result);
    return failed;
}

static void free_output(struct gen_output *out) {
    for (size_t i = 0; i < out->resource_count; i++) {
        free(out->resources[i].name);
        free(out->resources[i].value);
    }
    free(out->resources);
    free(out->name);
    free(out->family);
    free(out->arch);
    free(out->point);
    free(out->knobs);
    free(out->source);
    free(out->manifest);
    free(out->explain);
    free(out->lines);
}

void gen_result_free(struct gen_result *result) {
    for (size_t i = 0; i < result->output_count; i++) free_output(&result->outputs[i]);
    free(result->outputs);
    free(result->table.name);
    free(result->table.text);
    free(result->spec);
    *result = (struct gen_result){0};
}

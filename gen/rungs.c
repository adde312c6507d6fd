// Reads a ladder from the family's table of phases by ladder.lua, and generates a rung's kernel.
// A rung's spec is looked for by its name alone, so that out-of-tree families can have them too.
#include "gen/rungs.h"

#include <stdlib.h>
#include <string.h>

#include "gen/diag.h"
#include "gen/file.h"
#include "gen/script.h"

// The text [name] of the table on top of the stack, to be freed.
static char *copy_text(lua_State *L, const char *name) {
    lua_getfield(L, -1, name);
    char *copy = mem_copy(lua_tostring(L, -1));
    lua_pop(L, 1);
    return copy;
}

// Reads the list on top of the stack; ladder.lua and family.lua hold every field to its type.
static void read_rungs(lua_State *L, struct gen_ladder *ladder) {
    ladder->count = lua_rawlen(L, -1);
    ladder->rungs = mem_zero(ladder->count * sizeof *ladder->rungs);
    for (size_t i = 0; i < ladder->count; i++) {
        lua_rawgeti(L, -1, (lua_Integer)i + 1);
        lua_getfield(L, -1, "number");
        int number = (int)lua_tointeger(L, -1);
        lua_pop(L, 1);
        ladder->rungs[i] = (struct gen_rung){.number = number,
                                             .title = copy_text(L, "title"),
                                             .doc = copy_text(L, "doc"),
                                             .predict = copy_text(L, "predict")};
        lua_pop(L, 1);
    }
}

int gen_ladder_read(const char *family, const struct gen_options *options,
                    struct gen_ladder *ladder) {
    *ladder = (struct gen_ladder){0};
    struct diag *diag = diag_new();
    struct script *script = script_new(gen_store(options), diag);
    lua_State *L = script_lua(script);
    bool good = script_require(script, "ladder");
    if (good) {
        lua_getfield(L, -1, "rungs");
        lua_pushstring(L, family);
        good = script_call(script, 1, 1);
    }
    if (good && lua_istable(L, -1)) read_rungs(L, ladder);
    diag_print(diag, stderr);
    bool failed = diag_errors(diag) > 0;
    script_free(script);
    diag_free(diag);
    if (!failed && !ladder->count) diag_say("the family %s has no ladder", family);
    return failed || !ladder->count;
}

void gen_ladder_free(struct gen_ladder *ladder) {
    for (size_t i = 0; i < ladder->count; i++) {
        free(ladder->rungs[i].title);
        free(ladder->rungs[i].doc);
        free(ladder->rungs[i].predict);
    }
    free(ladder->rungs);
    *ladder = (struct gen_ladder){0};
}

static int generate(const char *family, int number, const struct gen_options *options,
                    struct gen_result *result) {
    char *path = mem_format("specs/%s_phase%d.yaml", family, number);
    char *text = mem_format("kernel: %s\nphase: %d\n", family, number);
    int failed = file_exists(path) ? gen_spec(path, options, result)
                                   : gen_text(strchr(path, '/') + 1, text, options, result);
    free(path);
    free(text);
    return failed;
}

int gen_rung_kernel(const char *family, int number, const struct gen_options *options,
                    struct gen_result *result) {
    if (generate(family, number, options, result)) return 1;
    const struct gen_output *out = result->outputs;
    const char *why = NULL;
    if (result->output_count != 1)
        why = "must be one kernel, and is a sweep";
    else if (strcmp(out->family, family) != 0)
        why = "is of another family";
    else if (out->phase != number)
        why = "is another rung; phase is not what its name says";
    if (!why) return 0;
    diag_say("rung %d: %s %s", number, result->spec, why);
    gen_result_free(result);
    return 1;
}

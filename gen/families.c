// The families that there are, and what is asked of one without a spec.
#include "gen/families.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen/file.h"
#include "gen/script.h"

// What lives for the process, for the same folders of templates.
static struct {
    char *templates;
    struct store *store;
    size_t compared;  // of the store's files, with those of ./templates
} shared;

struct store *gen_store(const struct gen_options *options) {
    const char *folders = options->templates ? options->templates : "";
    if (shared.store && !strcmp(shared.templates, folders)) return shared.store;
    // The old store stays: lines of results that were handed out name its files.
    free(shared.templates);
    shared.compared = 0;
    shared.templates = mem_copy(folders);
    shared.store = store_new(folders);
    return shared.store;
}

void families_note(struct diag *diag, const struct gen_options *options, const char *family) {
    static bool noted;
    char *path = mem_format("templates/%s/family.lua", family);
    const char *other = NULL;
    if (!noted && !options->templates && file_exists(path))
        other = store_outdated(shared.store, "templates", &shared.compared);
    if (other)
        diag_note(diag, (struct diag_place){.file = other},
                  "differs from the one inside tmagen, which was used; --templates templates takes "
                  "this one, make builds it in");
    noted |= other != NULL;
    free(path);
}

bool gen_family_exists(const char *name, const struct gen_options *options) {
    char **families = store_families(gen_store(options));
    bool found = false;
    for (size_t i = 0; families[i]; i++) found |= !strcmp(families[i], name);
    store_list_free(families);
    return found;
}

// What the function [name] of [module] says of [family], to be freed; NULL after errors, which are
// printed.
static char *ask_family(const char *family, const char *module, const char *name,
                        const struct gen_options *options) {
    struct diag *diag = diag_new();
    struct script *script = script_new(gen_store(options), diag);
    lua_State *L = script_lua(script);
    char *text = NULL;
    bool good = script_require(script, module);
    if (good) {
        lua_getfield(L, -1, name);
        lua_pushstring(L, family);
        good = script_call(script, 1, 1);
    }
    if (good && lua_isstring(L, -1)) text = mem_copy(lua_tostring(L, -1));
    families_note(diag, options, family);
    diag_print(diag, stderr);
    if (diag_errors(diag)) {
        free(text);
        text = NULL;
    }
    script_free(script);
    diag_free(diag);
    return text;
}

int gen_explain_family(const char *family, const struct gen_options *options) {
    char *text = ask_family(family, "explain", "family", options);
    if (text) fputs(text, stdout);
    free(text);
    return text == NULL;
}

char *gen_family_sweeps(const char *family, const struct gen_options *options) {
    return ask_family(family, "tune", "sweeps", options);
}

char *gen_family_home(const char *family, const struct gen_options *options) {
    return ask_family(family, "family", "home_of", options);
}

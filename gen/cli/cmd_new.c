// tmagen new FAMILY: makes a family of kernels that works, to be changed from there on.
// What it is made of lies in templates/lib/skeleton, where FAMILY stands for its name.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen/cli/command.h"
#include "gen/diag.h"
#include "gen/file.h"
#include "gen/alloc.h"
#include "gen/store.h"

static const char SKELETON[] = "templates/lib/skeleton", WORD[] = "FAMILY", SPEC[] = "spec.yaml";

struct new_files {
    struct file_pending *files;
    size_t count, capacity;
};

// The text with [name] for every WORD.
static char *fill_in(const char *text, const char *name) {
    char *result = mem_copy("");
    for (const char *at = text;;) {
        const char *word = strstr(at, WORD);
        const size_t len = word ? (size_t)(word - at) : strlen(at);
        char *more = mem_format("%s%.*s%s", result, (int)len, at, word ? name : "");
        free(result);
        result = more;
        if (!word) return result;
        at = word + strlen(WORD);
    }
}

// Prepares FOLDER/FILE. Returns 1 after an error.
static int prepare(struct new_files *all, const char *folder, const char *file, const char *text) {
    char *path = mem_format("%s/%s", folder, file);
    struct file_pending pending = {0};
    const char *why = file_exists(path) ? "it is there already" : file_make_folder(folder);
    if (!why) why = file_prepare(path, text, strlen(text), &pending);
    if (why)
        diag_say("cannot make %s: %s", path, why);
    else
        MEM_PUSH(all->files, all->count, all->capacity, pending);
    free(path);
    return why != NULL;
}

// Gives all files their names, or none where [failed]. Returns 1 where that fails.
static int finish(struct new_files *all, int failed) {
    for (size_t i = 0; i < all->count; i++) {
        if (failed) {
            file_abandon(&all->files[i]);
            continue;
        }
        char *path = mem_copy(all->files[i].path);
        const char *why = file_commit(&all->files[i]);
        if (why)
            diag_say("cannot make %s: %s", path, why);
        else
            puts(path);
        failed |= why != NULL;
        free(path);
    }
    free(all->files);
    return failed;
}

static int make(const char *name, const char *folder, const struct gen_options *options) {
    struct store *store = gen_store(options);
    struct new_files all = {0};
    char **paths = store_list(store, SKELETON);
    char *home = mem_format("%s/%s", folder, name), *spec = mem_format("%s.yaml", name);
    int failed = 0;
    for (size_t i = 0; paths[i] && !failed; i++) {
        const char *why, *file = paths[i] + sizeof SKELETON;
        const bool is_spec = !strcmp(file, SPEC);
        char *text = fill_in(store_find(store, paths[i], &why).text, name);
        failed = prepare(&all, is_spec ? "specs" : home, is_spec ? spec : file, text);
        free(text);
    }
    store_list_free(paths);
    free(home);
    free(spec);
    return finish(&all, failed);
}

// Why [name] cannot be a family's; NULL: it can.
static const char *refuse(const char *name, const struct gen_options *options) {
    if (!*name || name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_")] || *name < 'a')
        return "a family is called by small letters, digits and _, a letter first";
    if (!strcmp(name, "lib") || !strcmp(name, "ptx")) return "families share a folder of that name";
    if (gen_family_exists(name, options)) return "there is a family of that name";
    return NULL;
}

int cmd_new(int argc, char **argv) {
    static const struct command_line command_line = {
        .makes_templates = true,
        .usage = "FAMILY",
        .doc = "Makes the family of kernels FAMILY in the folder of --templates (default: "
               "templates), and specs/FAMILY.yaml: one rung, one knob, one check and a reference, "
               "which generate, compile and verify."};
    struct spec_arguments a;
    spec_arguments_parse(&a, &command_line, NULL, argc, argv);
    char *folder = a.options.templates_given
                       ? mem_copy_n(a.options.templates, strcspn(a.options.templates, ":"))
                       : mem_copy("templates");
    const char *name = a.specs[0], *why = a.spec_count == 1 ? refuse(name, &a.options) : NULL;
    int code = EXIT_USER;
    if (why)
        diag_say("%s: %s", name, why);
    else if (a.spec_count != 1)
        diag_say("new takes one family"), code = EXIT_USAGE;
    else if (!make(name, folder, &a.options))
        code = EXIT_FINE;
    if (code == EXIT_FINE)
        printf("now: tmagen verify --templates %s specs/%s.yaml\n", folder, name);
    free(folder);
    spec_arguments_free(&a);
    return code;
}

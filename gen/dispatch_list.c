// Finds the tables of a family among the specs, those that were installed too.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen/alloc.h"
#include "gen/dispatch.h"
#include "gen/file.h"

static int is_yaml(const struct dirent *entry) {
    const char *dot = strrchr(entry->d_name, '.');
    return *entry->d_name != '.' && dot && !strcmp(dot, ".yaml");
}

// Whether the file is a table of [family]; one that cannot be read is none.
static bool dispatches(const char *path, const char *family) {
    struct arena arena = {0};
    struct diag *diag = diag_new();
    const struct spec_node *tree = spec_read(&arena, diag, path, NULL, 0);
    const struct spec_node *node = tree ? spec_get(tree, "dispatch") : NULL;
    const bool found = node && node->kind == SPEC_SCALAR && !strcmp(node->text, family);
    diag_free(diag);
    arena_free(&arena);
    return found;
}

// Adds the tables of [family] in [folder] to [list], but those of a name that is there already.
static char **add_tables(const char *folder, const char *family, char **list, size_t *count) {
    struct dirent **entries = NULL;
    const int found = scandir(folder, &entries, is_yaml, alphasort);
    const size_t before = *count;
    list = mem_resize(list, (*count + (size_t)(found > 0 ? found : 0) + 1) * sizeof *list);
    for (int i = 0; i < found; i++) {
        char *path = mem_format("%s/%s", folder, entries[i]->d_name);
        bool taken = false;
        for (size_t j = 0; j < before; j++)
            taken = taken || !strcmp(file_base(list[j]), entries[i]->d_name);
        if (!taken && dispatches(path, family))
            list[(*count)++] = path;
        else
            free(path);
        free(entries[i]);
    }
    free(entries);
    list[*count] = NULL;
    return list;
}

char **table_list(const char *family) {
    size_t count = 0;
    char *installed = file_installed("specs"), **list = add_tables("specs", family, NULL, &count);
    if (installed) list = add_tables(installed, family, list, &count);
    free(installed);
    return list;
}

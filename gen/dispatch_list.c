// Finds the tables of a family among the specs.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen/alloc.h"
#include "gen/dispatch.h"

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

char **table_list(const char *family) {
    struct dirent **entries = NULL;
    const int found = scandir("specs", &entries, is_yaml, alphasort);
    char **list = mem_zero((size_t)(found > 0 ? found + 1 : 1) * sizeof *list);
    size_t count = 0;
    for (int i = 0; i < found; i++) {
        char *path = mem_format("specs/%s", entries[i]->d_name);
        if (dispatches(path, family))
            list[count++] = path;
        else
            free(path);
        free(entries[i]);
    }
    free(entries);
    return list;
}

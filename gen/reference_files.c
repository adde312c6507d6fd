#include "gen/reference_files.h"

#include <stdlib.h>
#include <string.h>

#include "gen/alloc.h"

// Adds the file [path], of which others say [said]; false: there is none.
static bool add(struct store *store, struct reference_text *text, const char *path,
                const char *said) {
    const char *why;
    const struct store_file file = store_find(store, path, &why);
    if (!file.text || text->count == REFERENCE_FILES) return false;
    if (!store_embedded(path, file.text, file.len)) text->built = NULL;
    text->files[text->count] = (struct reference_file){.path = file.name, .text = file.text};
    memcpy(text->files[text->count++].name, said, strlen(said) + 1);
    return true;
}

static void add_header(struct store *store, struct reference_text *text, const char *said) {
    if (!store_is_path(said) || reference_file(text, said)) return;
    char *own = mem_format("templates/%s/%s", text->family, said);
    char *shared = mem_format("templates/lib/%s", said);
    if (!add(store, text, own, said)) add(store, text, shared, said);
    free(own);
    free(shared);
}

struct reference_text reference_files(struct store *store, const char *family) {
    struct reference_text text = {.family = family, .built = reference_built(family)};
    char *path = mem_format("templates/%s/reference.c", family);
    add(store, &text, path, "reference.c");
    free(path);
    for (int i = 0; i < text.count; ++i) {
        struct reference_include include = {0};
        while (reference_include(text.files[i].text, &include))
            add_header(store, &text, include.name);
    }
    return text;
}

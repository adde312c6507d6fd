// Rows are found by the places of their values, so that comments and layout stay.
#include "gen/cli/table_rows.h"

#include <stdlib.h>
#include <string.h>

#include "gen/alloc.h"
#include "gen/dispatch_words.h"
#include "gen/file.h"
#include "gen/spec.h"

static bool is_one_of(const struct tune_thinned *thinned, const int64_t *shape) {
    for (unsigned i = 0; i < thinned->count; i++)
        if (!memcmp(thinned->shapes[i], shape, thinned->dim_count * sizeof *shape)) return true;
    return false;
}

// Whether the row is of one of those shapes.
static bool is_gone(const struct tune_thinned *thinned, const struct spec_node *row) {
    const struct spec_node *shape = row->kind == SPEC_MAP ? spec_get(row, "shape") : NULL;
    int64_t sizes[TMG_MAX_TABLE_DIMS];
    return shape && shape->kind == SPEC_SCALAR &&
           words_shape(shape->text, (int)thinned->dim_count, sizes) && is_one_of(thinned, sizes);
}

// Prints what is left of [text]: a row goes from its line to that of the next, the last one to the
// next line that is not indented.
static void print_rest(const char *text, const struct spec_node *list,
                       const struct tune_thinned *thinned, FILE *out) {
    size_t row = 0;
    bool gone = false;
    int line = 1;
    for (const char *at = text; *at; line++) {
        const size_t length = strcspn(at, "\n"), whole = length + (at[length] == '\n');
        if (row < list->count && list->values[row]->place.line == line)
            gone = is_gone(thinned, list->values[row++]);
        else if (row == list->count && *at != ' ' && *at != '\n')
            gone = false;
        if (!gone) fwrite(at, 1, whole, out);
        at += whole;
    }
}

static bool has_own_lines(const char *path, const struct spec_node *list) {
    if (list->kind != SPEC_LIST) return false;
    for (size_t i = 0; i < list->count; i++) {
        const struct diag_place *place = &list->values[i]->place;
        const int before = i ? list->values[i - 1]->place.line : list->place.line - 1;
        if (strcmp(place->file, path) || place->line <= before) return false;
    }
    return true;
}

int table_rows_without(const char *path, const struct tune_thinned *thinned, FILE *out) {
    struct arena arena = {0};
    struct diag *diag = diag_new();
    const char *why = NULL;
    const struct spec_node *tree = spec_read(&arena, diag, path, NULL, 0),
                           *list = tree ? spec_get(tree, "measured") : NULL;
    struct file_bytes bytes = file_read(path, SPEC_BYTES_MAX, &why);
    bool fine = false;
    if (!bytes.data)
        diag_say("%s: %s", path, why);
    else if (!list || !has_own_lines(path, list))
        diag_say("%s: has no rows of measured in lines of their own", path);
    else
        print_rest(bytes.data, list, thinned, out), fine = true;
    free(bytes.data);
    diag_free(diag);
    arena_free(&arena);
    return !fine;
}

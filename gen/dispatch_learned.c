// Hands what a table has learnt on to the library, and says where that is out of date.
#include "gen/dispatch_learned.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/key.h"

void learned_of(const char *text, char of[LEARNED_OF_CHARS]) {
    char digest[TMAGEN_KEY_CHARS] = "";
    json_t *table = json_loads(text, 0, NULL);
    json_t *parts =
        json_pack("[O?, O?]", json_object_get(table, "rates"), json_object_get(table, "measured"));
    char *seen = json_dumps(parts, JSON_COMPACT | JSON_SORT_KEYS);
    if (seen) tmg_digest_text(seen, strlen(seen), digest);
    snprintf(of, LEARNED_OF_CHARS, "%.*s", LEARNED_OF_CHARS - 1, digest);
    free(seen);
    json_decref(parts);
    json_decref(table);
}

void learned_check(struct diag *diag, const struct spec_node *table) {
    const struct spec_node *list = spec_get(table, "learned");
    if (list && list->kind != SPEC_LIST)
        diag_error(diag, list->place, "as 'tmagen tune learn' prints it",
                   "learned: must be a list of rows");
    else if (list && !spec_get(table, "measured"))
        diag_error(diag, list->place, NULL,
                   "learned: is of what is measured, and measured is missing");
}

static const char *text_of(const struct spec_node *list, size_t row) {
    return list->values[row]->kind == SPEC_SCALAR ? list->values[row]->text : "";
}

// What the first row says of what the others were learnt; NULL: nothing.
static const char *says_of(const struct spec_node *list) {
    const char *row = list->count ? text_of(list, 0) : "";
    return row[0] == 'o' && row[1] == 'f' && row[2] == ' ' ? row + 3 : NULL;
}

void learned_compare(const struct spec_node *table, const char *path, const char *text) {
    const struct spec_node *list = spec_get(table, "learned"), *rows = spec_get(table, "measured");
    char of[LEARNED_OF_CHARS];
    if (!list || (strcmp(list->place.file, path) && strcmp(rows->place.file, path))) return;
    learned_of(text, of);
    if (says_of(list) && !strcmp(says_of(list), of)) return;
    fprintf(stderr,
            "%s:%d: warning: learned: was fitted to other measurements or rates, or kernels that "
            "cost something else: tmagen tune learn %s\n",
            list->place.file, list->place.line, path);
}

void learned_write(const struct spec_node *list, FILE *out) {
    if (!list || list->kind != SPEC_LIST) return;
    fprintf(out, ",\n  \"learned\": [");
    const size_t first = says_of(list) ? 1 : 0;
    for (size_t i = first; i < list->count; i++) {
        json_t *value = json_string(text_of(list, i));
        char *text = value ? json_dumps(value, JSON_ENCODE_ANY) : NULL;
        fprintf(out, "%s\n    %s", i > first ? "," : "", text ? text : "\"\"");
        free(text);
        json_decref(value);
    }
    fputs("\n  ]", out);
}

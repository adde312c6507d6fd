// Hands what a table has learnt on to the library.
#include "gen/dispatch_learned.h"

#include <jansson.h>
#include <stdlib.h>

void learned_check(struct diag *diag, const struct spec_node *table) {
    const struct spec_node *list = spec_get(table, "learned");
    if (list && list->kind != SPEC_LIST)
        diag_error(diag, list->place, "as 'tmagen tune learn' prints it",
                   "learned: must be a list of rows");
    else if (list && !spec_get(table, "measured"))
        diag_error(diag, list->place, NULL,
                   "learned: is of what is measured, and measured is missing");
}

void learned_write(const struct spec_node *list, FILE *out) {
    if (!list || list->kind != SPEC_LIST) return;
    fprintf(out, ",\n  \"learned\": [");
    for (size_t i = 0; i < list->count; i++) {
        const char *row = list->values[i]->kind == SPEC_SCALAR ? list->values[i]->text : "";
        json_t *value = json_string(row);
        char *text = value ? json_dumps(value, JSON_ENCODE_ANY) : NULL;
        fprintf(out, "%s\n    %s", i ? "," : "", text ? text : "\"\"");
        free(text);
        json_decref(value);
    }
    fputs("\n  ]", out);
}

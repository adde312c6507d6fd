// Fields of a YAML map by name and type. One function a type, all errors in the same words.
#include "gen/fields.h"

#include <stdio.h>
#include <string.h>

#include "gen/suggest.h"

enum { LEGAL = 512 };

// [words] as "a, b or c".
static const char *join(const char *const *words, char text[LEGAL]) {
    size_t used = 0;
    text[0] = 0;
    for (; *words && used < LEGAL; words++)
        used += (size_t)snprintf(text + used, LEGAL - used, "%s%s",
                                 !used      ? ""
                                 : words[1] ? ", "
                                            : " or ",
                                 *words);
    return text;
}

void fields_only(const struct fields *f, const char *const *keys) {
    char legal[LEGAL];
    for (size_t i = 0; i < f->map->count; i++) {
        const struct spec_node *key = f->map->keys[i];
        struct suggest near = suggest_start(key->text);
        bool known = false;
        for (const char *const *word = keys; *word; word++) {
            known |= !strcmp(key->text, *word);
            suggest_offer(&near, *word);
        }
        if (known) continue;
        diag_error(f->diag, key->place, join(keys, legal), "%s%s: unknown key%s%s%s", f->path,
                   key->text, near.best ? "; did you mean " : "", near.best ? near.best : "",
                   near.best ? "?" : "");
    }
}

void fields_need(const struct fields *f, const char *key) {
    if (!spec_get(f->map, key))
        diag_error(f->diag, f->map->place, NULL, "%s%s: is missing", f->path, key);
}

// An error at [node] that is no [what] within the limits.
static void refuse(const struct fields *f, const char *key, const struct spec_node *node,
                   const char *what, long long least, long long most) {
    char legal[64];
    snprintf(legal, sizeof legal, "%lld..%lld", least, most);
    if (node->kind == SPEC_SCALAR)
        diag_error(f->diag, node->place, legal, "%s%s: %s is not %s", f->path, key, node->text,
                   what);
    else
        diag_error(f->diag, node->place, legal, "%s%s: must be %s", f->path, key, what);
}

static bool read_int(const struct fields *f, const char *key, const struct spec_node *node,
                     long long least, long long most, long long *value) {
    double real;
    if (node->kind == SPEC_SCALAR && spec_scalar(node, value, &real) == SPEC_INT &&
        *value >= least && *value <= most)
        return true;
    char what[64];
    snprintf(what, sizeof what, "an integer in %lld..%lld", least, most);
    refuse(f, key, node, what, least, most);
    return false;
}

long long fields_int(const struct fields *f, const char *key, long long least, long long most,
                     long long otherwise) {
    const struct spec_node *node = spec_get(f->map, key);
    long long value;
    return node && read_int(f, key, node, least, most, &value) ? value : otherwise;
}

const char *fields_text(const struct fields *f, const char *key) {
    const struct spec_node *node = spec_get(f->map, key);
    if (!node) return NULL;
    if (node->kind == SPEC_SCALAR && node->len) return node->text;
    diag_error(f->diag, node->place, NULL, "%s%s: must be a text", f->path, key);
    return NULL;
}

int fields_word(const struct fields *f, const char *key, const char *const *words, int otherwise) {
    const char *text = fields_text(f, key);
    if (!text) return otherwise;
    for (int i = 0; words[i]; i++)
        if (!strcmp(words[i], text)) return i;
    char legal[LEGAL];
    diag_error(f->diag, spec_get(f->map, key)->place, join(words, legal), "%s%s: %s is not known",
               f->path, key, text);
    return otherwise;
}

int fields_ints(const struct fields *f, const char *key, long long least, long long most,
                int longest, int64_t *list) {
    const struct spec_node *node = spec_get(f->map, key);
    if (!node) return -1;
    if (node->kind == SPEC_MAP || (node->kind == SPEC_LIST && node->count > (size_t)longest)) {
        diag_error(f->diag, node->place, NULL, "%s%s: must be a list of at most %d integers",
                   f->path, key, longest);
        return -1;
    }
    const int count = node->kind == SPEC_LIST ? (int)node->count : 1;
    int good = 0;
    for (int i = 0; i < count; i++) {
        long long value;
        const struct spec_node *item = node->kind == SPEC_LIST ? node->values[i] : node;
        if (!read_int(f, key, item, least, most, &value)) continue;
        list[i] = value;
        good++;
    }
    return good == count ? count : -1;
}

// Checked reading of a JSON document.
// Only the first error is kept: a manifest is generated, so the others follow from it.
#include "runtime/node.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/error.h"

// Writes the way to [node], as "params[2].box", to [text].
static void print_path(const struct tmg_node *node, char *text, size_t size) {
    text[0] = 0;
    if (!node->parent) return;
    print_path(node->parent, text, size);
    size_t used = strlen(text);
    if (node->key)
        snprintf(text + used, size - used, "%s%.64s", used ? "." : "", node->key);
    else
        snprintf(text + used, size - used, "[%zu]", node->index);
}

void tmg_node_fail(const struct tmg_node *node, const char *format, ...) {
    if (node->document->status) return;
    char path[512], text[1024];
    print_path(node, path, sizeof path);
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    node->document->status = tmg_fail(node->document->code, "%s: %s%s%s", node->document->origin,
                                      path, *path ? " " : "", text);
}

struct tmg_node tmg_node_parse(struct tmg_document *document, const char *text, size_t bytes,
                               size_t most) {
    struct tmg_node root = {.document = document};
    json_error_t error;
    if (bytes > most) return tmg_node_fail(&root, "is larger than %zu bytes", most), root;
    errno = 0;
    root.value = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
    if (errno == ENOMEM) {  // then jansson blames the text, or loses a byte of it and reads on
        json_decref(root.value);
        root.value = NULL;
        document->status = tmg_fail_memory();
        return root;
    }
    if (!root.value)
        document->status = tmg_fail(document->code, "%s:%d:%d: %s", document->origin, error.line,
                                    error.column, error.text);
    else if (!json_is_object(root.value))
        tmg_node_fail(&root, "is no JSON object");
    return root;
}

struct tmg_node tmg_node_member(const struct tmg_node *object, const char *key) {
    if (object->value && !json_is_object(object->value)) tmg_node_fail(object, "is no object");
    return (struct tmg_node){.document = object->document,
                             .parent = object,
                             .key = key,
                             .value = json_object_get(object->value, key)};
}

struct tmg_node tmg_node_array(const struct tmg_node *object, const char *key, size_t least,
                               size_t most, unsigned *count) {
    struct tmg_node array = tmg_node_member(object, key);
    const size_t items = json_array_size(array.value);
    *count = 0;
    if (!array.value && least)
        tmg_node_fail(&array, "is missing");
    else if (array.value && !json_is_array(array.value))
        tmg_node_fail(&array, "is no array");
    else if (array.value && (items < least || items > most))
        tmg_node_fail(&array, "has %zu items; legal: %zu to %zu", items, least, most);
    else if (!object->document->status)
        *count = (unsigned)items;
    return array;
}

struct tmg_node tmg_node_item(const struct tmg_node *array, size_t index) {
    return (struct tmg_node){.document = array->document,
                             .parent = array,
                             .index = index,
                             .value = json_array_get(array->value, index)};
}

// Whether [word] is one of [list], separated by single spaces.
static int is_listed(const char *list, const char *word) {
    for (;;) {
        const char *at = word;
        while (*list && *list == *at) ++list, ++at;
        if (!*at && (!*list || *list == ' ')) return 1;
        while (*list && *list != ' ') ++list;
        if (!*list++) return 0;
    }
}

void tmg_node_keys(const struct tmg_node *object, const char *legal) {
    const char *key;
    json_t *value;
    if (!json_is_object(object->value)) {
        tmg_node_fail(object, object->value ? "is no object" : "is missing");
        return;
    }
    json_object_foreach(object->value, key, value) {
        (void)value;
        if (!is_listed(legal, key))
            tmg_node_fail(
                object, "has the unknown member '%.64s', of a newer tmagen or misspelt; legal: %s",
                key, legal);
    }
}

int64_t tmg_node_integer(const struct tmg_node *node, int64_t least, int64_t most,
                         int64_t fallback) {
    const int64_t value = json_integer_value(node->value);
    if (!node->value && fallback != TMG_REQUIRED_INTEGER) return fallback;
    if (!node->value)
        tmg_node_fail(node, "is missing");
    else if (!json_is_integer(node->value))
        tmg_node_fail(node, "is no integer");
    else if (value < least || value > most)
        tmg_node_fail(node, "is %lld; legal: %lld to %lld", (long long)value, (long long)least,
                      (long long)most);
    else
        return value;
    return least;
}

double tmg_node_number(const struct tmg_node *node) {
    double value = json_number_value(node->value);
    if (json_is_number(node->value) && isfinite(value)) return value;
    tmg_node_fail(node, node->value ? "is no number" : "is missing");
    return 0;
}

// The length of the name that [text] is; 0: it is none.
static size_t name_length(const char *text) {
    size_t at = 0;
    while ((text[at] >= 'a' && text[at] <= 'z') || (text[at] >= 'A' && text[at] <= 'Z') ||
           (text[at] >= '0' && text[at] <= '9') || text[at] == '_' || text[at] == '-' ||
           (text[at] == '.' && at))
        ++at;
    return text[at] ? 0 : at;
}

void tmg_node_name(const struct tmg_node *node, char *text, size_t size) {
    const char *value = json_string_value(node->value);
    const size_t length = value ? name_length(value) : 0;
    text[0] = 0;
    if (!node->value)
        tmg_node_fail(node, "is missing");
    else if (!length || length >= size)
        tmg_node_fail(node, "is no name; legal: 1 to %zu letters, digits and any of _.-", size - 1);
    else
        memcpy(text, value, length + 1);
}

int tmg_node_choice(const struct tmg_node *node, const char *const names[], int fallback) {
    const char *value = json_string_value(node->value);
    if (!node->value && fallback >= 0) return fallback;
    for (int i = 0; value && names[i]; ++i)
        if (!strcmp(value, names[i])) return i;
    char list[512] = "";
    for (int i = 0; names[i]; ++i) {
        const size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", names[i]);
    }
    tmg_node_fail(node, "is %s%.64s%s; legal: %s", value ? "'" : "", value ? value : "no text",
                  value ? "'" : "", list);
    return 0;
}

int tmg_node_flag(const struct tmg_node *node, int fallback) {
    if (!node->value) return fallback;
    if (!json_is_boolean(node->value)) tmg_node_fail(node, "is neither true nor false");
    return json_is_true(node->value);
}

// Reading a JSON document that is not trusted: every access checks type and range, and the first
// thing wrong becomes the error, with its place in the document. After an error all readers return
// harmless values, so that callers check once, at the end.
#pragma once

#include <jansson.h>
#include <stdint.h>

struct tmg_document {
    const char *origin;  // names the document in messages
    int code;            // the status after an error
    int status;
};

// A value and the way to it.
struct tmg_node {
    struct tmg_document *document;
    const struct tmg_node *parent;
    const char *key;  // in an object, else NULL
    size_t index;     // in an array
    json_t *value;    // NULL: absent
};

#define TMG_REQUIRED_INTEGER INT64_MIN

// Reports what is wrong with [node] if nothing was before.
void tmg_node_fail(const struct tmg_node *node, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// The root of [document], whose text has [most] bytes or too many; its value, which the caller
// gives back, is NULL where that is no JSON.
struct tmg_node tmg_node_parse(struct tmg_document *document, const char *text, size_t bytes,
                               size_t most);

// The member [key] of [object]; an error when [object] is none.
struct tmg_node tmg_node_member(const struct tmg_node *object, const char *key);

// The array [key] of [object], with [least] to [most] items, whose number is written to [count].
// Absent is an empty one when [least] is 0.
struct tmg_node tmg_node_array(const struct tmg_node *object, const char *key, size_t least,
                               size_t most, unsigned *count);
struct tmg_node tmg_node_item(const struct tmg_node *array, size_t index);

// An error for every member of [object] that is not among [legal], separated by spaces.
void tmg_node_keys(const struct tmg_node *object, const char *legal);

// The integer [node], least to most; [fallback] where it is absent (TMG_REQUIRED_INTEGER: an
// error).
int64_t tmg_node_integer(const struct tmg_node *node, int64_t least, int64_t most,
                         int64_t fallback);

double tmg_node_number(const struct tmg_node *node);  // any finite number, required

// The text [node], copied to [text]: 1 to [size] - 1 letters, digits and any of _.-
void tmg_node_name(const struct tmg_node *node, char *text, size_t size);

// The index of the text [node] in [names], a list that ends in NULL; [fallback] where absent (-1:
// error).
int tmg_node_choice(const struct tmg_node *node, const char *const names[], int fallback);

int tmg_node_flag(const struct tmg_node *node, int fallback);  // true or false

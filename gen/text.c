// A growing text with the origin of each of its lines.
// Blank lines are normalised here, so that no template cares which of its parts came out empty.
#include "gen/text.h"

#include <stdlib.h>
#include <string.h>

#include "gen/alloc.h"

static void reserve(struct text *t, size_t more) {
    if (t->len + more + 1 <= t->capacity) return;
    t->capacity = 2 * (t->len + more + 1);
    t->data = mem_resize(t->data, t->capacity);
}

void text_add(struct text *t, const char *bytes, size_t len) {
    reserve(t, len);
    memcpy(t->data + t->len, bytes, len);
    t->len += len;
    t->data[t->len] = 0;
}

static bool at_blank_line(const struct text *t) {
    return t->len == 0 ||
           (t->len >= 2 && t->data[t->len - 1] == '\n' && t->data[t->len - 2] == '\n');
}

void text_end_line(struct text *t, tmagen_source_line origin) {
    while (t->len && (t->data[t->len - 1] == ' ' || t->data[t->len - 1] == '\t')) t->len--;
    bool blank = t->len == 0 || t->data[t->len - 1] == '\n';
    if (blank && at_blank_line(t)) return;
    text_add(t, "\n", 1);
    MEM_PUSH(t->lines, t->line_count, t->line_capacity, origin);
}

void text_append(struct text *t, const struct text *other) {
    if (!other->len) return;
    text_add(t, other->data, other->len);
    for (size_t i = 0; i < other->line_count; i++)
        MEM_PUSH(t->lines, t->line_count, t->line_capacity, other->lines[i]);
}

void text_trim(struct text *t) {
    while (t->len >= 2 && t->data[t->len - 1] == '\n' && t->data[t->len - 2] == '\n') {
        t->data[--t->len] = 0;
        t->line_count--;
    }
}

void text_free(struct text *t) {
    free(t->data);
    free(t->lines);
    *t = (struct text){0};
}

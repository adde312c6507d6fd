// A growing text that remembers, line by line, where it came from.
// Generated source is made of these, so that a compiler's message finds its way to the template.
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "gen/generate.h"

struct text {
    char *data;  // ends in NUL where not NULL
    size_t len, capacity;
    tmagen_source_line *lines;
    size_t line_count, line_capacity;
};

enum { TEXT_MAX = 16 << 20 };  // bytes; more is a runaway template

// Appends bytes that hold no newline.
void text_add(struct text *, const char *, size_t len);

// Ends the line, which came from [origin]: trailing spaces go, and so does a second blank line.
void text_end_line(struct text *, tmagen_source_line origin);

// Appends all lines of [other]; a text's last line is always ended.
void text_append(struct text *, const struct text *other);

// Drops blank lines at the end.
void text_trim(struct text *);
void text_free(struct text *);

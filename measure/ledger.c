// Finds the markers line by line and copies around them.
// A damaged ledger is refused and never mended: what is between stray markers may be a person's.
#include "measure/ledger.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_LENGTH = 64 };

static const char opening[] = "<!-- ladder ", begins[] = ": begin -->", ends[] = ": end -->";

static size_t name_length(const char *text, size_t len) {
    size_t count = 0;
    while (count < len &&
           (isalnum((unsigned char)text[count]) || text[count] == '_' || text[count] == '-'))
        ++count;
    return count;
}

bool ledger_takes(const char *family) {
    const size_t len = strlen(family);
    return len && len <= NAME_MAX_LENGTH && name_length(family, len) == len;
}

enum marker { NO_MARKER, BEGIN, END, STRAY };

struct ledger_line {
    size_t start, next;  // of this line and the one after it
    int number;
    enum marker kind;
    char name[NAME_MAX_LENGTH + 1];
};

// What is being read, and where the family's section is.
struct ledger {
    const char *text;
    size_t len;
    char open[NAME_MAX_LENGTH + 1];  // the section that has begun; "" outside
    int open_line;
    bool found;
    size_t begin, end;
    char *error;
    size_t error_size;
};

static bool fail(struct ledger *ledger, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static bool fail(struct ledger *ledger, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(ledger->error, ledger->error_size, format, arguments);
    va_end(arguments);
    return false;
}

static bool is(const char *text, size_t len, const char *word) {
    return len == strlen(word) && !memcmp(text, word, len);
}

// Says what the line of [len] bytes is. A line that only begins as a marker does is a stray.
static void classify(struct ledger_line *line, const char *text, size_t len) {
    const size_t prefix = sizeof opening - 1;
    while (len && isspace((unsigned char)text[len - 1])) --len;
    line->kind = NO_MARKER;
    if (len < prefix || memcmp(text, opening, prefix) != 0) return;
    text += prefix;
    len -= prefix;
    const size_t name = name_length(text, len);
    line->kind = STRAY;
    if (!name || name > NAME_MAX_LENGTH) return;
    memcpy(line->name, text, name);
    line->name[name] = 0;
    if (is(text + name, len - name, begins)) line->kind = BEGIN;
    if (is(text + name, len - name, ends)) line->kind = END;
}

// Moves on to the next line; false at the end of the text.
static bool read_line(const struct ledger *ledger, struct ledger_line *line) {
    line->start = line->next;
    if (line->start >= ledger->len) return false;
    const char *text = ledger->text + line->start;
    const char *newline = memchr(text, '\n', ledger->len - line->start);
    const size_t len = newline ? (size_t)(newline - text) : ledger->len - line->start;
    line->next = line->start + len + (newline != NULL);
    ++line->number;
    classify(line, text, len);
    return true;
}

static bool begin_section(struct ledger *ledger, const struct ledger_line *line,
                          const char *family) {
    if (*ledger->open)
        return fail(ledger, "line %d: ladder %s begins inside ladder %s, which began in line %d",
                    line->number, line->name, ledger->open, ledger->open_line);
    strcpy(ledger->open, line->name);
    ledger->open_line = line->number;
    if (strcmp(line->name, family) != 0) return true;
    if (ledger->found)
        return fail(ledger, "line %d: ladder %s begins a second time", line->number, family);
    ledger->found = true;
    ledger->begin = line->start;
    return true;
}

static bool end_section(struct ledger *ledger, const struct ledger_line *line, const char *family) {
    if (strcmp(ledger->open, line->name) != 0)
        return fail(ledger, "line %d: ladder %s ends here and has not begun", line->number,
                    line->name);
    *ledger->open = 0;
    if (!strcmp(line->name, family)) ledger->end = line->next;
    return true;
}

// Reads all markers; false with the reason where they are not in pairs.
static bool read_markers(struct ledger *ledger, const char *family) {
    struct ledger_line line = {0};
    if (ledger->len && memchr(ledger->text, 0, ledger->len))
        return fail(ledger, "it is no text: it holds a NUL");
    while (read_line(ledger, &line)) {
        if (line.kind == STRAY)
            return fail(ledger, "line %d: a marker is %sNAME%s or %sNAME%s", line.number, opening,
                        begins, opening, ends);
        if (line.kind == BEGIN && !begin_section(ledger, &line, family)) return false;
        if (line.kind == END && !end_section(ledger, &line, family)) return false;
    }
    if (*ledger->open)
        return fail(ledger, "line %d: ladder %s begins and never ends", ledger->open_line,
                    ledger->open);
    return true;
}

char *ledger_replace(const char *old, size_t old_len, const char *family, const char *section,
                     size_t *len, char *error, size_t error_size) {
    struct ledger ledger = {.text = old, .len = old_len, .error = error, .error_size = error_size};
    if (!read_markers(&ledger, family)) return NULL;
    const char *gap = "";
    if (!ledger.found) {
        ledger.begin = ledger.end = old_len;
        if (old_len) gap = old[old_len - 1] == '\n' ? "\n" : "\n\n";
    }
    char *text = NULL;
    FILE *out = open_memstream(&text, len);
    if (out) {
        fwrite(old, 1, ledger.begin, out);
        fprintf(out, "%s%s%s%s\n%s%s%s%s\n", gap, opening, family, begins, section, opening, family,
                ends);
        fwrite(old + ledger.end, 1, old_len - ledger.end, out);
        if (fclose(out) == 0) return text;
    }
    free(text);
    fail(&ledger, "out of memory");
    return NULL;
}

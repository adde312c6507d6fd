// Collects errors with their places and prints them with the source line and a caret.
// One module, because the form of an error is a promise: scripts and editors parse it.
#include "gen/diag.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "gen/alloc.h"
#include "gen/utf8.h"

enum { PRINTED_MAX = 100, LINE_WIDTH = 96 };

struct diag_record {
    struct diag_place place;
    bool note;
    char *message, *legal;
};

struct source {
    const char *file, *text;
    size_t len;
};

struct diag {
    struct diag_record *records;
    size_t count, capacity, errors;
    bool repeated;  // the last error was there already
    struct source *sources;
    size_t source_count, source_capacity;
};

struct diag *diag_new(void) {
    return mem_zero(sizeof(struct diag));
}

void diag_free(struct diag *d) {
    if (!d) return;
    for (size_t i = 0; i < d->count; i++) {
        free(d->records[i].message);
        free(d->records[i].legal);
    }
    free(d->records);
    free(d->sources);
    free(d);
}

void diag_source(struct diag *d, const char *file, const char *text, size_t len) {
    for (size_t i = 0; i < d->source_count; i++)
        if (d->sources[i].file == file || d->sources[i].text == text) return;
    MEM_PUSH(d->sources, d->source_count, d->source_capacity,
             ((struct source){.file = file, .text = text, .len = len}));
}

static bool same(const struct diag_record *a, const struct diag_record *b) {
    return a->place.line == b->place.line && a->place.column == b->place.column &&
           a->note == b->note && !strcmp(a->message, b->message) &&
           !strcmp(a->place.file, b->place.file);
}

static void add(struct diag *d, struct diag_record record) {
    if (!record.place.file) record.place.file = "";
    for (size_t i = 0; i < d->count; i++) {
        if (!same(&d->records[i], &record)) continue;
        d->repeated |= !record.note;
        free(record.message);
        free(record.legal);
        return;
    }
    if (!record.note) d->repeated = false;
    if (d->repeated) {  // a remark on an error that is there already
        free(record.message);
        return;
    }
    d->errors += !record.note;
    MEM_PUSH(d->records, d->count, d->capacity, record);
}

void diag_error(struct diag *d, struct diag_place place, const char *legal, const char *format,
                ...) {
    va_list args;
    va_start(args, format);
    add(d, (struct diag_record){.place = place,
                                .message = mem_vformat(format, args),
                                .legal = legal ? mem_copy(legal) : NULL});
    va_end(args);
}

void diag_note(struct diag *d, struct diag_place place, const char *format, ...) {
    va_list args;
    va_start(args, format);
    add(d,
        (struct diag_record){.place = place, .note = true, .message = mem_vformat(format, args)});
    va_end(args);
}

char *diag_move(struct diag *d, const char *file, struct diag *to, const struct diag_place *places,
                size_t count) {
    size_t kept = 0;
    char *first = NULL;
    bool moves = false;
    struct diag_place place = {0};
    for (size_t i = 0; i < d->count; i++) {
        struct diag_record record = d->records[i];
        const int line = record.place.line;
        if (!record.note)
            moves = !strcmp(record.place.file, file) && line > 0 && (size_t)line <= count;
        if (!moves) {
            d->records[kept++] = record;
            continue;
        }
        if (!record.note) {
            place = places[line - 1];
            d->errors--;
            if (!first) first = mem_copy(record.message);
        }
        record.place = place;
        add(to, record);
    }
    d->count = kept;
    return first;
}

size_t diag_errors(const struct diag *d) { return d->errors; }

// The source [file]: two may be called the same, but then their names lie apart. NULL: not known.
static const struct source *find_source(const struct diag *d, const char *file) {
    const struct source *found = NULL;
    for (size_t i = 0; i < d->source_count; i++) {
        if (d->sources[i].file == file) return &d->sources[i];
        if (!found && !strcmp(d->sources[i].file, file)) found = &d->sources[i];
    }
    return found;
}

// The line [number] of the source [file]; false where it is not known.
static bool find_line(const struct diag *d, const char *file, int number, const char **line,
                      const char **end) {
    const struct source *s = find_source(d, file);
    if (!s) return false;
    const char *at = s->text, *stop = s->text + s->len;
    for (; number > 1 && at < stop; number--) {
        const char *newline = memchr(at, '\n', (size_t)(stop - at));
        at = newline ? newline + 1 : stop;
    }
    const char *newline = memchr(at, '\n', (size_t)(stop - at));
    *line = at;
    *end = newline ? newline : stop;
    return number == 1 && at <= stop;
}

// Prints [text] up to [end], at most [limit] characters; bytes that a terminal might obey or that
// are no UTF-8 become '?'.
static void print_clean(FILE *out, const char *text, const char *end, int limit) {
    for (int n = 0; text < end && n < limit; n++) {
        size_t len = utf8_length(text, end);
        if (len == 0 || (len == 1 && ((unsigned char)*text < 32 || *text == 127)))
            fputc(*text == '\t' ? ' ' : '?', out);
        else
            fwrite(text, 1, len, out);
        text += len ? len : 1;
    }
}

static void print_text(FILE *out, const char *text) {
    print_clean(out, text, text + strlen(text), 2000);
}

// Shows the source line and the caret. Of a long line, the part around the caret.
static void print_line(const struct diag *d, const struct diag_place *place, FILE *out) {
    const char *line, *end;
    if (place->line < 1 || !find_line(d, place->file, place->line, &line, &end)) return;
    int skipped = 0;
    while (place->column - skipped > LINE_WIDTH && line < end) {
        size_t len = utf8_length(line, end);
        line += len ? len : 1;
        skipped++;
    }
    if (line == end) return;
    fputs("  ", out);
    print_clean(out, line, end, LINE_WIDTH);
    if (place->column > 0) fprintf(out, "\n  %*s", place->column - skipped, "^");
    fputc('\n', out);
}

static void print_place(FILE *out, const struct diag_place *place) {
    if (!*place->file) return;
    print_text(out, place->file);
    if (place->line > 0) fprintf(out, ":%d", place->line);
    if (place->line > 0 && place->column > 0) fprintf(out, ":%d", place->column);
    fputs(": ", out);
}

// Closes [from], whose text goes to [out] in one piece: other processes may write there too.
static void put_whole(FILE *out, FILE *from, char **text, const size_t *len) {
    if (fclose(from) == 0) fwrite(*text, 1, *len, out);
    free(*text);
}

static void print_record(const struct diag *d, const struct diag_record *r, FILE *out) {
    print_place(out, &r->place);
    fputs(r->note ? "note: " : "error: ", out);
    print_text(out, r->message);
    fputc('\n', out);
    if (!r->note) print_line(d, &r->place, out);
    if (!r->legal) return;
    fputs("  legal: ", out);
    print_text(out, r->legal);
    fputc('\n', out);
}

// An error and where it belongs in the print; the notes that follow it come along.
struct order {
    size_t record, file;
    int line, column;
};

static int by_place(const void *left, const void *right) {
    const struct order *a = left, *b = right;
    if (a->file != b->file) return a->file < b->file ? -1 : 1;
    if (a->line != b->line) return a->line - b->line;
    if (a->column != b->column) return a->column - b->column;
    return a->record < b->record ? -1 : 1;
}

// The number of the first record of the same file.
static size_t first_of_file(const struct diag *d, const char *file) {
    size_t i = 0;
    while (strcmp(d->records[i].place.file, file) != 0) i++;
    return i;
}

void diag_print(const struct diag *d, FILE *out) {
    struct order *order = mem_alloc(d->count * sizeof *order);
    for (size_t i = 0; i < d->count; i++) {
        const struct diag_record *r = &d->records[i];
        order[i] =
            (struct order){i, first_of_file(d, r->place.file), r->place.line, r->place.column};
        if (!r->note || i == 0) continue;
        order[i] = order[i - 1];
        order[i].record = i;
    }
    if (d->count) qsort(order, d->count, sizeof *order, by_place);
    size_t shown = d->count < PRINTED_MAX ? d->count : PRINTED_MAX;
    char *text = NULL;
    size_t len;
    FILE *whole = open_memstream(&text, &len);
    for (size_t i = 0; whole && i < shown; i++)
        print_record(d, &d->records[order[i].record], whole);
    free(order);
    if (whole && shown < d->count) fprintf(whole, "... and %zu more\n", d->count - shown);
    if (whole) put_whole(out, whole, &text, &len);
}

void diag_say(const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *message = mem_vformat(format, args), *text = NULL;
    va_end(args);
    size_t len;
    FILE *out = open_memstream(&text, &len);
    if (out) {
        fputs("tmagen: error: ", out);
        print_text(out, message);
        fputc('\n', out);
        put_whole(stderr, out, &text, &len);
    }
    free(message);
}

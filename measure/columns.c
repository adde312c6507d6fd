// Cells are kept as text in one growing array, so that widths are known before anything is printed.
// A table that runs out of memory prints what it has.
#include "measure/columns.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct table {
    size_t columns;
    char **cells;  // the titles first
    size_t count, capacity;
};

static void append(struct table *table, char *cell) {
    if (table->count == table->capacity) {
        const size_t capacity = table->capacity ? 2 * table->capacity : 64;
        char **grown = realloc(table->cells, capacity * sizeof *grown);
        if (!grown) {
            free(cell);
            return;
        }
        table->cells = grown;
        table->capacity = capacity;
    }
    table->cells[table->count++] = cell;
}

struct table *table_new(const char *const *titles) {
    struct table *table = calloc(1, sizeof *table);
    for (; table && titles[table->columns]; ++table->columns) {
        append(table, strdup(titles[table->columns]));
    }
    return table;
}

void table_free(struct table *table) {
    if (!table) return;
    for (size_t i = 0; i < table->count; ++i) free(table->cells[i]);
    free(table->cells);
    free(table);
}

void table_cell(struct table *table, const char *format, ...) {
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    append(table, strdup(text));
}

void table_end_row(struct table *table) {
    while (table->count % table->columns) append(table, strdup(""));
}

static const char *text_of(const struct table *table, size_t cell, bool *right) {
    const char *title = table->cells[cell % table->columns];
    *right = title && title[0] == '>';
    const char *text = table->cells[cell] ? table->cells[cell] : "";
    return cell < table->columns && *right ? text + 1 : text;
}

// Characters, not bytes: continuation bytes of UTF-8 take no place.
static int width_of(const char *text) {
    int width = 0;
    for (; *text; ++text) width += (*text & 0xc0) != 0x80;
    return width;
}

void table_print(const struct table *table, FILE *out) {
    bool right;
    for (size_t cell = 0; cell < table->count; ++cell) {
        const size_t column = cell % table->columns;
        int width = 0;
        for (size_t i = column; i < table->count; i += table->columns) {
            const int cell_width = width_of(text_of(table, i, &right));
            if (cell_width > width) width = cell_width;
        }
        const char *text = text_of(table, cell, &right);
        const int pad = width - width_of(text);
        const bool last = column == table->columns - 1;
        if (right) fprintf(out, "%*s", pad, "");
        fputs(text, out);
        if (!right && !last) fprintf(out, "%*s", pad, "");
        fputs(last ? "\n" : "  ", out);
    }
}

void progress(const char *format, ...) {
    if (!isatty(STDERR_FILENO)) return;
    char text[120];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\r\033[K%s", text);
    fflush(stderr);
}

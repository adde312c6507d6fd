// A table on a terminal: columns as wide as their widest cell, numbers to the right.
// Rows are printed when all are known; long work shows a progress line meanwhile.
#pragma once
#include <stdbool.h>
#include <stdio.h>

struct table;

// [titles] ends in NULL; a title that begins with '>' makes its column right-aligned.
struct table *table_new(const char *const *titles);
void table_free(struct table *);

// The next cell, row by row.
void table_cell(struct table *, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Fills the row that was begun with empty cells.
void table_end_row(struct table *);
void table_print(const struct table *, FILE *);

// Shows a line on stderr that the next one overwrites, where stderr is a terminal; "" removes it.
void progress(const char *format, ...) __attribute__((format(printf, 1, 2)));

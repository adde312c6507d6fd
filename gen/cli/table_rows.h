// The file of a dispatch table, without some of the shapes that it has measured.
#pragma once
#include <stdio.h>

#include "measure/tune.h"

// Prints the file [path] without the rows of `measured` that are of those shapes, all else as it
// stands there. 0, or 1 after an error, which is printed: rows that are not in lines of their own,
// or stand in a base.
int table_rows_without(const char *path, const struct tune_thinned *thinned, FILE *out);

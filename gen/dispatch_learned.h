// The part `learned` of a dispatch table: rows of thousandths, as `tmagen tune learn` prints them.
#pragma once
#include <stdio.h>

#include "gen/spec.h"

// Errors of what only the file can be blamed for; of the numbers the library says what is wrong.
void learned_check(struct diag *, const struct spec_node *table);

// Writes them as a member of the table's JSON, behind another; nothing where [list] is NULL.
void learned_write(const struct spec_node *list, FILE *out);

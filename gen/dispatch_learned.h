// The part `learned` of a dispatch table: what it was learnt from, and rows of thousandths, as
// `tmagen tune learn` prints them.
#pragma once
#include <stdio.h>

#include "gen/spec.h"

enum { LEARNED_OF_CHARS = 13 };

// What can be learnt of the table whose JSON is [text], in a few digits: of its rates, and of how
// far off the model is of each launch at each measured shape.
void learned_of(const char *text, char of[LEARNED_OF_CHARS]);

// Errors of what only the file can be blamed for; of the numbers the library says what is wrong.
void learned_check(struct diag *, const struct spec_node *table);

// Warns where the table at [path], whose JSON is [text], was learnt of something else. What a table
// has from its base is the base's matter.
void learned_compare(const struct spec_node *table, const char *path, const char *text);

// Writes the numbers as a member of the table's JSON, behind another; nothing where [list] is NULL.
void learned_write(const struct spec_node *list, FILE *out);

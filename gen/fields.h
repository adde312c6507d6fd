// Typed access to the fields of a YAML map, for files that are read in C and not by a family's Lua.
// Every mistake becomes an error at its place, and the reading goes on with a harmless value.
#pragma once
#include <stdint.h>

#include "gen/spec.h"

struct fields {
    struct diag *diag;
    const struct spec_node *map;
    const char *path;  // "args[2].struct." before the names in messages; "" at the top
};

// An error at each key that is not in [keys], which ends in NULL.
void fields_only(const struct fields *, const char *const *keys);

// An error where [key] is missing.
void fields_need(const struct fields *, const char *key);

// The integer at [key]; [otherwise] where there is none, or none within the limits.
long long fields_int(const struct fields *, const char *key, long long least, long long most,
                     long long otherwise);

// The text at [key]; NULL where there is none.
const char *fields_text(const struct fields *, const char *key);

// The index of the word at [key] in [words], which ends in NULL; [otherwise] where there is none.
int fields_word(const struct fields *, const char *key, const char *const *words, int otherwise);

// The list of integers at [key], or the one integer, into [list]. Returns how many there are; -1
// where there is no such key, or it is wrong.
int fields_ints(const struct fields *, const char *key, long long least, long long most,
                int longest, int64_t *list);

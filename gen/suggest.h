// "did you mean ...?": the nearest of some words to one that is not known.
// Families, knobs and names in templates are all misspelt alike.
#pragma once
#include <stddef.h>

struct suggest {
    const char *word;
    const char *best;  // NULL: none is near
    size_t distance;
};

struct suggest suggest_start(const char *word);

// Offers a candidate; kept (borrowed) where it is nearer than all before it.
void suggest_offer(struct suggest *, const char *candidate);

// The library of wrappers in templates/ptx, and what of it a kernel needs.
// A source carries the wrappers that it names, and those they name, and nothing else.
#pragma once
#include "gen/script.h"
#include "gen/text.h"

struct ptx;

// Reads templates/ptx of the script's store for [kernel] and others to come; NULL after an error,
// which is reported. It borrows the store, and nothing else.
struct ptx *ptx_load(struct script *, const struct text *kernel);
void ptx_free(struct ptx *);

// Appends to [out] the items that [kernel] names, in the library's order; templates of the library
// that can make more than they have are run for that. Errors are reported.
void ptx_prelude(struct ptx *, struct script *, const struct text *kernel, struct text *out);

// How often the code of [source] names [word]; comments and quoted texts do not count.
size_t ptx_count_name(const char *source, size_t len, const char *word);

// Steps over the next word of [*at, end) that is called or declared as a function, or a template,
// to what follows it; false: there is none.
bool ptx_next_function(const char **at, const char *end, const char **name, size_t *len);

// Finds the first parenthesis that follows [word] in the code of [source]: what is in it goes to
// [*begin, *end). False: there is none.
bool ptx_find_call(const char *source, size_t len, const char *word, const char **begin,
                   const char **end);

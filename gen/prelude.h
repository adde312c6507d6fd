// The library of wrappers in templates/ptx, and what of it a kernel needs.
// A source carries the wrappers that it names, and those they name, and nothing else.
#pragma once
#include "gen/script.h"
#include "gen/text.h"

struct ptx;

// Reads templates/ptx of the script's store; NULL after an error, which is reported. It borrows the
// store, and nothing else.
struct ptx *ptx_load(struct script *);
void ptx_free(struct ptx *);

// Appends to [out] the items that [kernel] names, in the library's order.
void ptx_prelude(struct ptx *, const struct text *kernel, struct text *out);

// How often the code of [source] names [word]; comments and quoted texts do not count.
size_t ptx_count_name(const char *source, size_t len, const char *word);

// Whether [word] is called or declared as a function, or a template, in the code of [source].
bool ptx_has_function(const char *source, size_t len, const char *word);

// Finds the first parenthesis that follows [word] in the code of [source]: what is in it goes to
// [*begin, *end). False: there is none.
bool ptx_find_call(const char *source, size_t len, const char *word, const char **begin,
                   const char **end);

// What the compiler says of a generated source, with the template lines that it is about.
// Shared by the commands that compile.
#pragma once
#include "gen/generate.h"

// Prints [log] to stderr, and below each line that names one of the source, or one of the PTX made
// of it, where in the templates that is from.
void compiler_log_print(const struct gen_output *, const char *log);

// Compiles [out] to PTX, which is not kept in the cache, as text to be freed; NULL: it cannot be,
// and tmagen_error_last() says why.
char *compiler_ptx(const struct gen_output *);

// Results on disk: OUT/NAME.cu and OUT/NAME.json; of a table OUT/NAME.json.
// All results of a run are written together, after the last spec was found to be right.
#pragma once
#include "gen/generate.h"

// Writes all outputs of [count] results into [folder], each file only where it changes. Two outputs
// of one name are an error. Returns 0, or 1 after an error, which is printed.
int output_write(const struct gen_result *results, size_t count, const char *folder);

// Prints an error for each name that two outputs claim. Returns 1 where there is one.
int output_check_names(const struct gen_result *results, size_t count);

// The path of a file, FOLDER/NAME.SUFFIX; the caller frees it.
char *output_path(const char *name, const char *folder, const char *suffix);

// Whether an output is a table's kernel that its own spec, or a table before, has in the run too.
bool output_repeats(const struct gen_result *results, size_t count, size_t result, size_t output);

// Generates every spec; errors of all are printed. Returns the results, owned by the caller, or
// NULL where any failed.
struct gen_result *output_generate(char *const *specs, size_t count, const struct gen_options *);
void output_free(struct gen_result *, size_t count);

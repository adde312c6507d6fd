// From one spec to the kernels of its points; a spec that is no sweep has one.
#pragma once
#include "gen/diag.h"
#include "gen/generate.h"
#include "gen/spec.h"

// Who takes a [tree] that is no spec but a dispatch table, read from [path], into [result].
typedef void points_table(struct diag *, const struct spec_node *tree, const char *path,
                          const struct gen_options *, struct gen_result *result);

// Fills [result], whose spec is set to a path, from that file, or from [text] where there is one. A
// table goes to [table]; NULL: it is an error. Returns 0, or 1 with an empty result; errors are
// printed.
int points_generate(const char *text, const struct gen_options *, points_table *table,
                    struct gen_result *result);

// A dispatch table: YAML with the key `dispatch`, checked with its kernels, and the JSON that the
// library reads. It stands for its kernels wherever specs do, and is itself what launches by shape.
#pragma once
#include "gen/generate.h"
#include "gen/spec.h"

// Generates the kernels and the table of [tree], which is read from [path], into [result]. All
// errors go to the diag; those of a kernel's own spec are printed.
void table_generate(struct diag *, const struct spec_node *tree, const char *path,
                    const struct gen_options *, struct gen_result *result);

// The tables of [family] in specs/, then those that were installed under other names, as paths in
// order; ends with NULL. Free each, and the list.
char **table_list(const char *family);

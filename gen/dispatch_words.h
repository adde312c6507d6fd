// What a dispatch table's YAML writes shapes, kernels and times as.
#pragma once
#include <stdint.h>

#include "gen/spec.h"

// Reads "4096x4096x512" into [shape]. Returns whether it is a shape of that many dims.
bool words_shape(const char *text, int dims, int64_t *shape);

// Whether [text], of [length] characters, is the name [kernel], or that without the [suffix] that
// the table adds to it: so a table's entries are also those of a table that has it as its base.
bool words_name(const char *kernel, const char *suffix, const char *text, size_t length);

// The splits of "NAME/SPLITS", whose name has [length] characters: 0 of "NAME" alone, -1 where what
// follows is no number of splits.
int words_splits(const char *text, size_t length);

// The positive number [node], in microseconds; 0 where it is NULL, or wrong, which is an error at
// [path].
double words_us(struct diag *, const struct spec_node *node, const char *path);

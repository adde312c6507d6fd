// The unified diff of two texts, line by line.
// tmagen shows what a changed knob changes, and must not need a diff program for it.
#pragma once
#include <stdbool.h>
#include <stdio.h>

// Prints to [out] how [new_text] differs from [old_text], with three lines of context. Prints
// nothing where they are equal. Returns whether they differ.
bool diff_print(FILE *out, const char *old_name, const char *old_text, const char *new_name,
                const char *new_text);

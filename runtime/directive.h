// Whether a source takes in what is not in it: #include, and whatever else asks for a file.
// A compile's key holds the source alone, so such a source could hit with what a file once held.
#pragma once

#include <stddef.h>

// The line, from 1, on which [source] of [bytes] bytes asks for a file, and at *word what it asks
// with, as "include"; 0 where it does not. Strings and comments may say what they like.
int tmg_source_asks(const char *source, size_t bytes, const char **word);

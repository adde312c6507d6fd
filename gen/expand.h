// A template becomes one Lua chunk, line for line, so that Lua's own messages name the template's
// lines. Running the chunk is template.c's part.
#pragma once
#include <stddef.h>

#include "gen/diag.h"

// Translates the template [text] of [len] bytes, named [file] in errors. Returns the chunk's Lua
// source, owned by the caller, *chunk_len bytes; NULL after an error, of which all are reported.
//
// Each line of text calls __text(line, text, value, text, ...) with the indentation of open blocks
// taken off; a line of Lua that includes calls __indent(spaces) first. The chunk gets both, and
// include, as its arguments.
char *expand_translate(struct diag *, const char *file, const char *text, size_t len,
                       size_t *chunk_len);

// Finds value number [index], from 0, of the template's line [line, end): what stands
// between its ${ and }. Returns NULL where there is no such value; the value's end goes to *stop.
const char *expand_value(const char *line, const char *end, int index, const char **stop);

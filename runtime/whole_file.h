// Reading a whole file.
// It is not trusted to be small, or to be a plain file at all.
#pragma once

#include <stddef.h>

// Reads the plain file at [path], of at most [most] bytes, into *text, which ends in a zero that is
// not counted and is the caller's to free. TMAGEN_ERROR_FILE with the reason when that cannot be
// done.
int tmg_file_read(const char *path, size_t most, char **text, size_t *bytes);

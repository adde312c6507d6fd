// Finding a vendor's library that the loader doesn't know: in CUDA's folders and in Python's
// wheels.
#pragma once
#include <stddef.h>

// Loads the first library that can be: the file in $[variable], then [names] (ended by NULL) by the
// loader, then in the folders where CUDA and pip put them. Returns dlopen's handle, with its path
// in [path], or NULL with all places in [error].
void *library_find(const char *variable, const char *const *names, char *path, size_t path_size,
                   char *error, size_t error_size);

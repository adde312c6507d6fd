// Reading what users wrote and writing what they will read, with no half-written file left behind.
// Every read is bounded and refuses what is no regular file: a spec may be any path at all.
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct file_bytes {
    char *data;  // ends in NUL; NULL where reading failed
    size_t len;
};

// Reads at most [limit] bytes of the regular file [path]. On failure data is NULL and *why says why,
// without the path; it is a constant string.
struct file_bytes file_read(const char *path, size_t limit, const char **why);

bool file_exists(const char *path);

// Writes [len] bytes to [path] through a temporary file and a rename; leaves a file alone that holds
// them already. Returns NULL, or why it failed (a constant string); then [path] is as it was.
const char *file_write(const char *path, const char *data, size_t len);

// Makes the folder [path] and those above it. Returns NULL, or why it failed.
const char *file_make_folder(const char *path);

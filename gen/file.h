// Reading what users wrote and writing what they will read, with no half-written file left behind.
// Every read is bounded and refuses what is no regular file: a spec may be any path at all.
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct file_bytes {
    char *data;  // ends in NUL; NULL where reading failed
    size_t len;
};

// Reads at most [limit] bytes of the regular file [path]. On failure data is NULL and *why says
// why, without the path; it is a constant string.
struct file_bytes file_read(const char *path, size_t limit, const char **why);

bool file_exists(const char *path);

// What [path] calls its file, behind the folders; borrowed. And that without what follows its last
// dot, to be freed.
const char *file_base(const char *path);
char *file_stem(const char *path);

// Where `make install` puts [path] of the tree, beside the folder of this program; the caller frees
// it. NULL where the program cannot tell where it is.
char *file_installed(const char *path);

// A file that is written, but does not have its name yet. Empty: there is nothing to do.
struct file_pending {
    char *path, *temporary;
};

// Writes [len] bytes into a temporary file beside [path]; does nothing where [path] holds them
// already. Returns NULL, or why it failed (a constant string): a device or a pipe is not replaced.
// Every prepared file must be committed or abandoned.
const char *file_prepare(const char *path, const char *data, size_t len, struct file_pending *);

// Gives the file its name, in one step. Returns NULL, or why it failed; [path] is then as it was.
const char *file_commit(struct file_pending *);
void file_abandon(struct file_pending *);

// Writes [path] in one step and syncs it, file and folder: after a power cut it is what it was or
// what it is now. Returns NULL, or why it failed.
const char *file_replace(const char *path, const char *data, size_t len);

// Makes the folder [path] and those above it. Returns NULL, or why it failed.
const char *file_make_folder(const char *path);

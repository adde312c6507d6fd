// The cache of compiled kernels: a private folder with one file an entry, named by its key.
// Files are only ever renamed into place whole; whatever is wrong with one makes it a miss.
#pragma once

#include <sys/stat.h>

#include "runtime/entry.h"

enum { TMG_CACHE_PATH = 4096 };

struct tmg_cache {
    int folder;  // file descriptor
    char path[TMG_CACHE_PATH];
};

// An entry in memory. [block] is what the caller must free().
struct tmg_stored {
    void *block;
    struct tmg_entry entry;
    char key[TMAGEN_KEY_CHARS];
};

// Writes the folder's path for [directory] (NULL: by the environment) into [path].
int tmg_cache_path(const char *directory, char path[TMG_CACHE_PATH]);

// Opens the folder, creating it with [create]. Fails with TMAGEN_ERROR_FILE when it is missing, is
// a symbolic link, belongs to another user than this one and root, or others may write to it.
int tmg_cache_open(const char *directory, int create, struct tmg_cache *cache);
void tmg_cache_close(struct tmg_cache *cache);

// Looks [request] up: made by [compiler], or, with [any_compiler], the latest used by any other
// when there is none by it ([compiler] may then be NULL). Returns NULL and [stored], or why it is a
// miss.
const char *tmg_cache_load(const struct tmg_cache *cache, const struct tmg_request *request,
                           const char *compiler, int any_compiler, struct tmg_stored *stored);

// Writes [entry] under its key. TMAGEN_ERROR_FILE with the error set when that is not possible.
int tmg_cache_store(const struct tmg_cache *cache, const struct tmg_entry *entry);

// Waits for the lock of [key], which makes one process compile it, for ten seconds at most. Returns
// -1 when it cannot be had, with a warning where that is for its holder's sake, and when somebody
// stored an entry meanwhile. Either way the caller looks again, and compiles what is not there.
int tmg_cache_lock(const struct tmg_cache *cache, const char *key);
void tmg_cache_unlock(const struct tmg_cache *cache, const char *key, int lock);

// Whether the temporary or lock [name] is nobody's: neither just being made nor held by a process.
int tmg_cache_is_left_over(const struct tmg_cache *cache, const char *name,
                           const struct stat *about);

// Removes such a file. Returns -1 with errno EWOULDBLOCK where somebody has come to hold it.
int tmg_cache_remove_left_over(const struct tmg_cache *cache, const char *name);

// Removes the least recently used entries beyond the configured limit; called after a store.
void tmg_cache_trim(const struct tmg_cache *cache);

extern const char tmg_cache_no_entry[];   // the fault of what is not there
extern const char tmg_cache_no_memory[];  // that of what there was no room for

// Whether [fault] is the entry's own, and not that of who could not look at it.
int tmg_cache_is_of_entry(const char *fault);

// Opens [name] in the folder for reading if it is a plain file of this user or root. [bytes] gets
// its size. Returns the file descriptor, or -1 and why in [fault].
int tmg_cache_open_file(const struct tmg_cache *cache, const char *name, uint64_t *bytes,
                        const char **fault);

// Whether the entry of which [about] tells is pinned: neither the limit nor a clear removes it.
int tmg_cache_is_pinned(const struct stat *about);

// Why the open [file] of [bytes] bytes is not the entry that [key] names, or NULL. All is read.
const char *tmg_cache_verify(int file, uint64_t bytes, const char *key);

// True where [name] is that of an entry: 64 hexadecimal digits.
int tmg_cache_is_key(const char *name);

// Reads [bytes] bytes of [file] at its start into [data]; false when there are fewer.
int tmg_cache_read(int file, void *data, size_t bytes);

// Reads the whole [file] of [bytes] bytes into *block, the caller's to free. Returns NULL, or the
// fault, and then *block is NULL.
const char *tmg_cache_read_all(int file, uint64_t bytes, uint8_t **block);

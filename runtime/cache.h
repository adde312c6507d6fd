// The cache of compiled kernels: a private folder with one file an entry, named by its key.
// Files are only ever renamed into place whole; whatever is wrong with one makes it a miss.
#pragma once

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

// Waits for the lock of [key], which makes one process compile it. Returns -1 when it cannot be
// had, and then the caller compiles without. The system releases it when its holder dies.
int tmg_cache_lock(const struct tmg_cache *cache, const char *key);
void tmg_cache_unlock(const struct tmg_cache *cache, const char *key, int lock);

// Removes the least recently used entries beyond the configured limit; called after a store.
void tmg_cache_trim(const struct tmg_cache *cache);

// Opens [name] in the folder for reading if it is a plain file of this user or root. [bytes] gets
// its size. Returns the file descriptor, or -1 and why in [fault].
int tmg_cache_open_file(const struct tmg_cache *cache, const char *name, uint64_t *bytes,
                        const char **fault);

// True where [name] is that of an entry: 64 hexadecimal digits.
int tmg_cache_is_key(const char *name);

// Reads [bytes] bytes of [file] at its start into [data]; false when there are fewer.
int tmg_cache_read(int file, void *data, size_t bytes);

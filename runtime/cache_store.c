// Storing an entry, and pinning one.
// A write goes to a temporary and is renamed, so that a killed process leaves no half entry. It is
// not synced: after a power cut an entry may be torn, which its digest and the comparison of its
// source show, and it is compiled anew. To sync file and folder would take four times as long (.41
// ms for .09 of 90 kB on ext4, more on a disk that must turn) for what can be made again. What
// cannot, where programs fail on a miss, is pinned, and pinning does sync.
#include "runtime/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runtime/error.h"

static int write_all(int file, const uint8_t *data, size_t bytes) {
    while (bytes) {
        ssize_t done = write(file, data, bytes);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return -1;
        data += done;
        bytes -= (size_t)done;
    }
    return 0;
}

// Creates a temporary with a name of its own. It is locked while its writer lives: see
// cache_lock.c.
static int create_temporary(const struct tmg_cache *cache, char name[64]) {
    static atomic_uint counter;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(name, 64, ".new-%d-%u-%lx", (int)getpid(), atomic_fetch_add(&counter, 1u),
             (unsigned long)now.tv_nsec);
    int file =
        openat(cache->folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file >= 0) flock(file, LOCK_EX | LOCK_NB);
    return file;
}

// ---- Pinning: a pinned entry is a file that its owner may not write

int tmg_cache_is_pinned(const struct stat *about) {
    return S_ISREG(about->st_mode) && !(about->st_mode & S_IWUSR);
}

static int is_pinned(const struct tmg_cache *cache, const char *key) {
    struct stat about;
    return !fstatat(cache->folder, key, &about, AT_SYMLINK_NOFOLLOW) && tmg_cache_is_pinned(&about);
}

static int pin_file(int file, int pinned) {
    return fchmod(file, pinned ? 0400 : 0600) || (pinned && fsync(file)) ? -1 : 0;
}

// Pins the file of [key], or lets it go. Returns NULL, or the fault.
static const char *pin_key(const struct tmg_cache *cache, const char *key, int pinned) {
    const char *fault;
    uint64_t bytes = 0;
    int file = tmg_cache_open_file(cache, key, &bytes, &fault);
    if (file < 0) return fault;
    if (pinned) fault = tmg_cache_verify(file, bytes, key);
    if (!fault && (pin_file(file, pinned) || (pinned && fsync(cache->folder))))
        fault = strerror(errno);
    close(file);
    return fault;
}

int tmagen_cache_pin(const char *directory, const char *key, int pinned) {
    struct tmg_cache cache;
    if (!key || !tmg_cache_is_key(key))
        return tmg_fail(TMAGEN_ERROR_ARGUMENT, "a key is %d hexadecimal digits",
                        TMAGEN_KEY_CHARS - 1);
    int status = tmg_cache_open(directory, 0, &cache);
    if (status) return status;
    const char *fault = pin_key(&cache, key, pinned);
    tmg_cache_close(&cache);
    if (!fault) return TMAGEN_OK;
    return tmg_fail(TMAGEN_ERROR_MISS, "cache directory %s: %.16s... cannot be %s: %s", cache.path,
                    key, pinned ? "pinned" : "unpinned", fault);
}

// ---- Storing

static int store_bytes(const struct tmg_cache *cache, const char *key, const uint8_t *data,
                       size_t bytes) {
    char name[64];
    int file = create_temporary(cache, name);
    if (file < 0) return -1;
    int pinned = is_pinned(cache, key);  // and damaged, or it would not be stored again
    int status = write_all(file, data, bytes);
    if (!status && pinned) status = pin_file(file, 1);
    if (!status) status = renameat(cache->folder, name, cache->folder, key);
    if (!status && pinned) status = fsync(cache->folder);
    int reason = errno;
    if (status) unlinkat(cache->folder, name, 0);
    close(file);
    errno = reason;
    return status;
}

int tmg_cache_store(const struct tmg_cache *cache, const struct tmg_entry *entry) {
    char key[TMAGEN_KEY_CHARS];
    size_t bytes = tmg_entry_size(entry);
    uint8_t *data = malloc(bytes);
    if (!data) return tmg_fail_memory();
    tmg_entry_write(entry, data);
    tmg_entry_key(entry, key);
    int status = store_bytes(cache, key, data, bytes);
    int reason = errno;
    free(data);
    if (!status) return TMAGEN_OK;
    return tmg_fail(TMAGEN_ERROR_FILE, "the cache directory %s cannot be written: %s", cache->path,
                    strerror(reason));
}

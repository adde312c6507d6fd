// Storing an entry, and the lock that lets one process compile a key while the others wait.
// A write goes to a temporary and is renamed, so that a killed process leaves no half entry.
#include "runtime/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "runtime/error.h"

enum { LOCK_PATIENCE_MS = 120000, LOCK_POLL_MS = 5 };

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

// Creates a temporary with a name of its own. It is locked while its writer lives (see
// cache_care.c).
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

static int store_bytes(const struct tmg_cache *cache, const char *key, const uint8_t *data,
                       size_t bytes) {
    char name[64];
    int file = create_temporary(cache, name);
    if (file < 0) return -1;
    int status = write_all(file, data, bytes);
    if (!status) status = renameat(cache->folder, name, cache->folder, key);
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

static void lock_name(const char *key, char name[80]) { snprintf(name, 80, "%s.lock", key); }

static double now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

// Takes the lock of [file], waiting for a holder for a bounded time: it may be stopped, not dead.
static int wait_for(int file) {
    double end = now_ms() + LOCK_PATIENCE_MS;
    while (flock(file, LOCK_EX | LOCK_NB)) {
        if (errno != EWOULDBLOCK && errno != EINTR) return -1;
        if (now_ms() > end) return -1;
        nanosleep(&(struct timespec){0, LOCK_POLL_MS * 1000000L}, NULL);
    }
    return 0;
}

int tmg_cache_lock(const struct tmg_cache *cache, const char *key) {
    char name[80];
    lock_name(key, name);
    int file = openat(cache->folder, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0) return -1;
    if (!wait_for(file)) return file;
    close(file);
    return -1;
}

// The file goes while the lock is held: whoever waits on it then finds the entry stored.
void tmg_cache_unlock(const struct tmg_cache *cache, const char *key, int lock) {
    if (lock < 0) return;
    char name[80];
    lock_name(key, name);
    unlinkat(cache->folder, name, 0);
    close(lock);
}

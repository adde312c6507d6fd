// The locks of the cache: one process compiles a key while the others wait, and a temporary is its
// writer's while that lives. The system gives up a dead process's locks, so that a file left behind
// is one whose lock is free; where a file system has no locks, its age must do.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runtime/cache.h"
#include "runtime/error.h"

// A compile takes well under a second. Who waits for longer waits for a stopped process.
enum { PATIENCE_MS = 10000, POLL_MS = 5, YOUNG_SECONDS = 2, ABANDONED_SECONDS = 3600 };

// Whether [file] is what [name] names now: a lock on a removed file keeps nobody out.
static int is_named(const struct tmg_cache *cache, const char *name, int file) {
    struct stat own, there;
    return !fstat(file, &own) && !fstatat(cache->folder, name, &there, AT_SYMLINK_NOFOLLOW) &&
           own.st_ino == there.st_ino && own.st_dev == there.st_dev;
}

static void lock_name(const char *key, char name[80]) { snprintf(name, 80, "%s.lock", key); }

// What tells an entry from one stored later under the same key; 0 where there is none.
static ino_t entry_number(const struct tmg_cache *cache, const char *key) {
    struct stat about;
    return fstatat(cache->folder, key, &about, AT_SYMLINK_NOFOLLOW) ? 0 : about.st_ino;
}

enum attempt { TAKEN, HELD, IMPOSSIBLE };

// Tries to take the lock [name]; *lock is its file where it is taken.
static enum attempt try_lock(const struct tmg_cache *cache, const char *name, int *lock) {
    *lock = openat(cache->folder, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (*lock < 0) return IMPOSSIBLE;
    if (!flock(*lock, LOCK_EX | LOCK_NB)) {
        if (is_named(cache, name, *lock)) return TAKEN;
    } else if (errno != EWOULDBLOCK && errno != EINTR) {  // no locks here: leave no file either
        unlinkat(cache->folder, name, 0);
        close(*lock);
        return IMPOSSIBLE;
    }
    close(*lock);
    return HELD;
}

int tmg_cache_lock(const struct tmg_cache *cache, const char *key) {
    char name[80];
    lock_name(key, name);
    ino_t before = entry_number(cache, key);
    for (int waited = 0; waited < PATIENCE_MS; waited += POLL_MS) {
        int lock;
        enum attempt attempt = try_lock(cache, name, &lock);
        if (attempt != HELD) return attempt == TAKEN ? lock : -1;
        if (entry_number(cache, key) != before) return -1;
        nanosleep(&(struct timespec){0, POLL_MS * 1000000L}, NULL);
    }
    tmg_warn("the holder of %s/%s has been at it for %d seconds (stopped?): not waited for",
             cache->path, name, PATIENCE_MS / 1000);
    return -1;
}

// The file goes while the lock is held: whoever takes it later finds that it is not the named one.
void tmg_cache_unlock(const struct tmg_cache *cache, const char *key, int lock) {
    if (lock < 0) return;
    char name[80];
    lock_name(key, name);
    unlinkat(cache->folder, name, 0);
    close(lock);
}

// ---- What is left of killed processes

// Takes the lock of the file [name] if it is free. Returns -1 with errno: EWOULDBLOCK where it is
// held, ENOENT where there is no such file. Without locks the file must be an hour old, or be
// dated as far ahead.
static int take_left_over(const struct tmg_cache *cache, const char *name) {
    int file = openat(cache->folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    struct stat about;
    if (file < 0) return -1;
    int reason = fstat(file, &about) ? errno : 0;
    if (!reason && flock(file, LOCK_EX | LOCK_NB)) {
        int old = llabs((long long)(time(NULL) - about.st_mtime)) > ABANDONED_SECONDS;
        reason = errno == EWOULDBLOCK || !old ? EWOULDBLOCK : 0;
    }
    if (!reason && !is_named(cache, name, file)) reason = ENOENT;
    if (!reason) return file;
    close(file);
    errno = reason;
    return -1;
}

int tmg_cache_is_left_over(const struct tmg_cache *cache, const char *name,
                           const struct stat *about) {
    if (llabs((long long)(time(NULL) - about->st_mtime)) < YOUNG_SECONDS) return 0;
    int file = take_left_over(cache, name);
    if (file < 0) return 0;
    close(file);
    return 1;
}

int tmg_cache_remove_left_over(const struct tmg_cache *cache, const char *name) {
    int file = take_left_over(cache, name);
    if (file < 0) return -1;
    int status = unlinkat(cache->folder, name, 0);
    int reason = errno;
    close(file);
    errno = reason;
    return status;
}

// Bounded reads and atomic writes.
// A killed generator leaves the old file or the new one; an unchanged file keeps its time stamp.
#include "gen/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gen/alloc.h"

enum { TEMPORARIES_MAX = 1000 };

// Reads until the end, which is likely to be behind [size] bytes, or until one more than [limit].
static struct file_bytes drain(int fd, size_t size, size_t limit, const char **why) {
    struct file_bytes bytes = {0};
    size_t capacity = 0;
    while (!size || bytes.len != size) {
        if (bytes.len + 1 >= capacity) {
            capacity = capacity ? 2 * capacity : 8192;
            bytes.data = mem_resize(bytes.data, capacity);
        }
        ssize_t got = read(fd, bytes.data + bytes.len, capacity - bytes.len - 1);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) *why = strerror(errno);
        if (got <= 0) break;
        bytes.len += (size_t)got;
        if (bytes.len > limit) {
            *why = "the file is too large";
            break;
        }
    }
    bytes.data[bytes.len] = 0;
    return bytes;
}

struct file_bytes file_read(const char *path, size_t limit, const char **why) {
    *why = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) < 0)
        *why = strerror(errno);
    else if (S_ISDIR(status.st_mode))
        *why = "it is a folder";
    else if (!S_ISREG(status.st_mode))
        *why = "it is no regular file";
    struct file_bytes bytes = {0};
    if (!*why) bytes = drain(fd, (size_t)status.st_size, limit, why);
    if (fd >= 0) close(fd);
    if (*why) {
        free(bytes.data);
        bytes = (struct file_bytes){0};
    }
    return bytes;
}

bool file_exists(const char *path) { return access(path, F_OK) == 0; }

char *file_installed(const char *path) {
    char *program = realpath("/proc/self/exe", NULL), *installed = NULL;
    for (int level = 0; program && level < 2; level++) {
        char *slash = strrchr(program, '/');
        if (slash) *slash = 0;
    }
    if (program) installed = mem_format("%s/share/tmagen/%s", program, path);
    free(program);
    return installed;
}

const char *file_base(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

char *file_stem(const char *path) {
    const char *base = file_base(path), *dot = strrchr(base, '.');
    return mem_copy_n(base, dot && dot > base ? (size_t)(dot - base) : strlen(base));
}

static bool holds(const char *path, const char *data, size_t len) {
    const char *why;
    struct file_bytes old = file_read(path, len, &why);
    bool equal = old.data && old.len == len && !memcmp(old.data, data, len);
    free(old.data);
    return equal;
}

static bool write_all(int fd, const char *data, size_t len) {
    while (len) {
        ssize_t put = write(fd, data, len);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return false;
        data += put;
        len -= (size_t)put;
    }
    return true;
}

static void file_forget(struct file_pending *pending) {
    free(pending->path);
    free(pending->temporary);
    *pending = (struct file_pending){0};
}

// Opens a new file beside [path]. What a killed process of the same number left is passed by.
static int open_temporary(const char *path, char **temporary) {
    int fd = -1;
    errno = EEXIST;
    *temporary = NULL;
    for (int i = 0; i < TEMPORARIES_MAX && fd < 0 && errno == EEXIST; i++) {
        free(*temporary);
        *temporary = mem_format("%s.%ld.%d.tmp", path, (long)getpid(), i);
        fd = open(*temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    }
    return fd;
}

// A device or a pipe would be replaced by a file: /dev/null, for everybody.
static bool is_special(const char *path) {
    struct stat about;
    return !stat(path, &about) && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode);
}

const char *file_prepare(const char *path, const char *data, size_t len,
                         struct file_pending *pending) {
    *pending = (struct file_pending){0};
    if (is_special(path)) return "is no plain file";
    if (holds(path, data, len)) return NULL;
    char *temporary;
    int fd = open_temporary(path, &temporary);
    bool done = fd >= 0 && write_all(fd, data, len);
    if (fd >= 0 && close(fd) < 0) done = false;
    const char *why = done ? NULL : strerror(errno);
    pending->path = mem_copy(path);
    pending->temporary = temporary;
    if (!done && fd >= 0)
        file_abandon(pending);
    else if (!done)
        file_forget(pending);  // it is not ours
    return why;
}

const char *file_commit(struct file_pending *pending) {
    const char *why = NULL;
    if (pending->path && rename(pending->temporary, pending->path) < 0) {
        why = strerror(errno);
        unlink(pending->temporary);
    }
    file_forget(pending);
    return why;
}

void file_abandon(struct file_pending *pending) {
    if (pending->path) unlink(pending->temporary);
    file_forget(pending);
}

static const char *sync_path(const char *path, int flags) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC | flags);
    const char *why = fd < 0 || fsync(fd) < 0 ? strerror(errno) : NULL;
    if (fd >= 0) close(fd);
    return why;
}

static const char *sync_folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    char *folder = slash ? mem_copy_n(path, (size_t)(slash - path) + 1) : mem_copy(".");
    const char *why = sync_path(folder, O_DIRECTORY);
    free(folder);
    return why;
}

const char *file_replace(const char *path, const char *data, size_t len) {
    struct file_pending file;
    const char *why = file_prepare(path, data, len, &file);
    if (!why && file.temporary) why = sync_path(file.temporary, 0);
    if (why) return file_abandon(&file), why;
    why = file_commit(&file);
    return why ? why : sync_folder_of(path);
}

const char *file_make_folder(const char *path) {
    char *copy = mem_copy(path);
    for (char *at = copy + 1; *copy && *at; at++) {
        if (*at != '/') continue;
        *at = 0;
        mkdir(copy, 0777);  // the last one tells
        *at = '/';
    }
    struct stat status;
    const char *why = NULL;
    if (mkdir(copy, 0777) < 0 && (errno != EEXIST || stat(copy, &status) < 0))
        why = strerror(errno);
    else if (stat(copy, &status) == 0 && !S_ISDIR(status.st_mode))
        why = "it is no folder";
    free(copy);
    return why;
}

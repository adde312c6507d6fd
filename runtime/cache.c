// The cache's folder, and looking entries up in it.
// Everything is opened relative to one checked folder and without following links.
#include "runtime/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runtime/error.h"

enum { LARGEST_FILE = 1 << 29, TOUCH_SECONDS = 60 };

const char tmg_cache_no_entry[] = "there is no such entry";
const char tmg_cache_no_memory[] = "out of memory";
static const char not_opened[] = "it cannot be opened";

// Where the cache is: the first of these whose variable is set.
static const struct {
    const char *variable, *folder;
} homes[] = {{"TMAGEN_CACHE", ""}, {"XDG_CACHE_HOME", "/tmagen"}, {"HOME", "/.cache/tmagen"}};

int tmg_cache_path(const char *directory, char path[TMG_CACHE_PATH]) {
    const char *folder = "";
    for (size_t i = 0; i < sizeof homes / sizeof *homes && !directory; ++i) {
        directory = secure_getenv(homes[i].variable);
        if (directory && (!*directory || (i > 0 && *directory != '/'))) directory = NULL;
        folder = homes[i].folder;
    }
    if (!directory)
        return tmg_fail(TMAGEN_ERROR_FILE,
                        "no cache directory: none of TMAGEN_CACHE, XDG_CACHE_HOME and HOME is set");
    if (snprintf(path, TMG_CACHE_PATH, "%s%s", directory, folder) >= TMG_CACHE_PATH)
        return tmg_fail(TMAGEN_ERROR_FILE, "the cache directory's path is too long");
    return TMAGEN_OK;
}

// Makes the folder [path] and its parents, all private.
static void make_folders(char *path) {
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(path, 0700);
        *slash = '/';
    }
    mkdir(path, 0700);
}

// Files of root are as trustworthy as the system; those of other users are not.
static int trusted(const struct stat *about) {
    return (about->st_uid == geteuid() || about->st_uid == 0) &&
           !(about->st_mode & (S_IWGRP | S_IWOTH));
}

int tmg_cache_open(const char *directory, int create, struct tmg_cache *cache) {
    int status = tmg_cache_path(directory, cache->path);
    if (status) return status;
    int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    cache->folder = open(cache->path, flags);
    if (cache->folder < 0 && errno == ENOENT && create) {
        make_folders(cache->path);
        cache->folder = open(cache->path, flags);
    }
    if (cache->folder < 0)
        return tmg_fail(TMAGEN_ERROR_FILE, "cache directory %s: %s", cache->path,
                        errno == ELOOP || errno == ENOTDIR ? "not a folder of its own"
                                                           : strerror(errno));
    struct stat about;
    if (fstat(cache->folder, &about) || !trusted(&about)) {
        tmg_cache_close(cache);
        return tmg_fail(TMAGEN_ERROR_FILE,
                        "cache directory %s: belongs to another user, or others may write to it",
                        cache->path);
    }
    return TMAGEN_OK;
}

void tmg_cache_close(struct tmg_cache *cache) {
    if (cache->folder >= 0) close(cache->folder);
    cache->folder = -1;
}

int tmg_cache_is_key(const char *name) {
    return strspn(name, "0123456789abcdef") == TMAGEN_KEY_CHARS - 1 && !name[TMAGEN_KEY_CHARS - 1];
}

int tmg_cache_open_file(const struct tmg_cache *cache, const char *name, uint64_t *bytes,
                        const char **fault) {
    int file = openat(cache->folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    struct stat about;
    *fault = NULL;
    if (file < 0)
        *fault = errno == ENOENT  ? tmg_cache_no_entry
                 : errno == ELOOP ? "it is no plain file"
                                  : not_opened;
    else if (fstat(file, &about))
        *fault = not_opened;
    else if (!S_ISREG(about.st_mode))
        *fault = "it is no plain file";
    else if (!trusted(&about))
        *fault = "it is another user's, or others may write to it";
    else if (about.st_size > LARGEST_FILE)
        *fault = "it is too large";
    if (!*fault) {
        *bytes = (uint64_t)about.st_size;
        return file;
    }
    if (file >= 0) close(file);
    return -1;
}

const char *tmg_cache_read_all(int file, uint64_t bytes, uint8_t **block) {
    *block = malloc(bytes ? bytes : 1);
    if (!*block) return tmg_cache_no_memory;
    if (tmg_cache_read(file, *block, bytes)) return NULL;
    free(*block);
    *block = NULL;
    return "it cannot be read";
}

const char *tmg_cache_verify(int file, uint64_t bytes, const char *name) {
    struct tmg_entry entry;
    uint8_t *data;
    const char *fault = tmg_cache_read_all(file, bytes, &data);
    if (!fault) fault = tmg_entry_parse(data, bytes, &entry);
    char key[TMAGEN_KEY_CHARS];
    if (!fault) tmg_entry_key(&entry, key);
    if (!fault && strcmp(key, name)) fault = "it is not what its name says";
    free(data);
    return fault;
}

int tmg_cache_is_of_entry(const char *fault) {
    return fault && fault != tmg_cache_no_entry && fault != not_opened &&
           fault != tmg_cache_no_memory;
}

int tmg_cache_read(int file, void *data, size_t bytes) {
    size_t done = 0;
    while (done < bytes) {
        ssize_t got = pread(file, (char *)data + done, bytes - done, (off_t)done);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return 0;
        done += (size_t)got;
    }
    return 1;
}

// Marks the entry as used now, seldom enough to cost nothing. A date ahead of the clock is as wrong
// as an old one.
static void touch(int file) {
    struct stat about;
    if (fstat(file, &about)) return;
    if (llabs((long long)(time(NULL) - about.st_mtime)) > TOUCH_SECONDS) futimens(file, NULL);
}

// Loads the file [key], which must hold exactly [request]. Returns NULL, or the fault.
static const char *load_key(const struct tmg_cache *cache, const char *key,
                            const struct tmg_request *request, struct tmg_stored *stored) {
    uint64_t bytes = 0;
    const char *fault;
    int file = tmg_cache_open_file(cache, key, &bytes, &fault);
    if (file < 0) return fault;
    uint8_t *block;
    fault = tmg_cache_read_all(file, bytes, &block);
    if (!fault) fault = tmg_entry_parse(block, bytes, &stored->entry);
    if (!fault && !tmg_entry_matches(&stored->entry, request)) fault = "it is another kernel's";
    char own[TMAGEN_KEY_CHARS];
    if (!fault) {  // the request is known to match: only the compiler's part is left to check
        tmg_compiler_key(stored->entry.compiler, own);
        if (strcmp(own, key + TMG_REQUEST_HEX)) fault = "it is another compiler's";
    }
    if (!fault) {
        touch(file);
        stored->block = block;
        memcpy(stored->key, key, TMAGEN_KEY_CHARS);
        block = NULL;
    }
    free(block);
    close(file);
    return fault;
}

// An entry on the way from the latest used to the earliest; the name decides between equals.
struct use_order {
    char key[TMAGEN_KEY_CHARS];
    struct timespec used;
};

static int is_later(const struct use_order *one, const struct use_order *other) {
    if (one->used.tv_sec != other->used.tv_sec) return one->used.tv_sec > other->used.tv_sec;
    if (one->used.tv_nsec != other->used.tv_nsec) return one->used.tv_nsec > other->used.tv_nsec;
    return strcmp(one->key, other->key) > 0;
}

// Moves [at] to the latest used entry before it whose key starts as [key]; with an empty key there,
// to the latest of all. Returns whether there is one.
static int find_next(const struct tmg_cache *cache, const char *key, struct use_order *at) {
    int copy = openat(cache->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = copy < 0 ? NULL : fdopendir(copy);
    if (!list) {
        if (copy >= 0) close(copy);
        return 0;
    }
    struct use_order best = {0};
    for (struct dirent *item; (item = readdir(list));) {
        struct stat about;
        if (!tmg_cache_is_key(item->d_name) || memcmp(item->d_name, key, TMG_REQUEST_HEX)) continue;
        if (fstatat(cache->folder, item->d_name, &about, AT_SYMLINK_NOFOLLOW)) continue;
        struct use_order here = {.used = about.st_mtim};
        memcpy(here.key, item->d_name, sizeof here.key);
        if (*at->key && !is_later(at, &here)) continue;
        if (!*best.key || is_later(&here, &best)) best = here;
    }
    closedir(list);
    *at = best;
    return *best.key != 0;
}

// Tries all entries whose key starts as [key], the latest used first. Returns NULL, or the first
// fault.
static const char *load_any(const struct tmg_cache *cache, const char *key,
                            const struct tmg_request *request, struct tmg_stored *stored) {
    struct use_order at = {0};
    const char *first = NULL;
    while (find_next(cache, key, &at)) {
        const char *fault = load_key(cache, at.key, request, stored);
        if (!fault) return NULL;
        if (!first) first = fault;
    }
    return first ? first : tmg_cache_no_entry;
}

const char *tmg_cache_load(const struct tmg_cache *cache, const struct tmg_request *request,
                           const char *compiler, int any_compiler, struct tmg_stored *stored) {
    char key[TMAGEN_KEY_CHARS];
    const char *fault = tmg_cache_no_entry;
    tmg_request_key(request, compiler, key);
    if (compiler) fault = load_key(cache, key, request, stored);
    return fault && any_compiler ? load_any(cache, key, request, stored) : fault;
}

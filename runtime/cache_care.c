// The cache's own care: listing, verifying, removing what is old, damaged or left behind.
// It takes no lock: a file that vanishes under it was removed by somebody else, which is fine.
#include "runtime/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runtime/error.h"

enum { DEFAULT_LIMIT_MIB = 1024, YOUNG_SECONDS = 2 };

struct file {
    char name[80];
    int64_t bytes;
    struct timespec used;
    int stale;  // no entry, and nobody's
};

struct listing {
    struct file *files;
    size_t count, room;
};

static int is_ours(const char *name) {
    size_t length = strlen(name);
    return !strncmp(name, ".new-", 5) || (length > 5 && !strcmp(name + length - 5, ".lock"));
}

// A temporary or lock is stale when no process holds it, and it is not just being made.
static int is_stale(const struct tmg_cache *cache, const char *name, const struct stat *about) {
    if (time(NULL) - about->st_mtime < YOUNG_SECONDS) return 0;
    int file = openat(cache->folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return 0;
    int free_of_holders = !flock(file, LOCK_EX | LOCK_NB);
    close(file);
    return free_of_holders;
}

static int add_file(struct listing *list, const struct file *file) {
    if (list->count == list->room) {
        size_t room = list->room ? list->room * 2 : 64;
        struct file *files = realloc(list->files, room * sizeof *files);
        if (!files) return tmg_fail_memory();
        list->files = files;
        list->room = room;
    }
    list->files[list->count++] = *file;
    return TMAGEN_OK;
}

static int newest_first(const void *a, const void *b) {
    const struct file *x = a, *y = b;
    if (x->used.tv_sec != y->used.tv_sec) return x->used.tv_sec < y->used.tv_sec ? 1 : -1;
    if (x->used.tv_nsec != y->used.tv_nsec) return x->used.tv_nsec < y->used.tv_nsec ? 1 : -1;
    return strcmp(x->name, y->name);
}

// Adds the file [name] if it is an entry or stale; other people's files are left alone.
static int add_name(const struct tmg_cache *cache, const char *name, struct listing *list) {
    struct stat about;
    struct file file = {0};
    int entry = tmg_cache_is_key(name);
    if ((!entry && !is_ours(name)) || strlen(name) >= sizeof file.name) return TMAGEN_OK;
    if (fstatat(cache->folder, name, &about, AT_SYMLINK_NOFOLLOW)) return TMAGEN_OK;
    if (!entry && !is_stale(cache, name, &about)) return TMAGEN_OK;
    strcpy(file.name, name);
    file.bytes = about.st_size;
    file.used = about.st_mtim;
    file.stale = !entry;
    return add_file(list, &file);
}

// Lists entries and stale files, the latest used first. The caller frees list->files.
static int list_files(const struct tmg_cache *cache, struct listing *list) {
    *list = (struct listing){0};
    int copy = openat(cache->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = copy < 0 ? NULL : fdopendir(copy);
    if (!folder) {
        if (copy >= 0) close(copy);
        return tmg_fail(TMAGEN_ERROR_FILE, "cache directory %s: %s", cache->path, strerror(errno));
    }
    int status = TMAGEN_OK;
    for (struct dirent *item; !status && (item = readdir(folder));)
        status = add_name(cache, item->d_name, list);
    closedir(folder);
    if (list->count) qsort(list->files, list->count, sizeof *list->files, newest_first);
    return status;
}

static int64_t configured_limit(void) {
    const char *text = getenv("TMAGEN_CACHE_LIMIT");
    char *end = NULL;
    long long mib = text ? strtoll(text, &end, 10) : 0;
    if (!text || end == text || *end || mib < 0 || mib > INT64_MAX >> 20) mib = DEFAULT_LIMIT_MIB;
    return mib << 20;
}

static void remove_file(const struct tmg_cache *cache, const struct file *file,
                        tmagen_cache_stats *stats) {
    if (unlinkat(cache->folder, file->name, 0)) return;
    ++stats->removed;
    stats->removed_bytes += file->bytes;
}

// Keeps the latest used entries up to [limit] bytes, and always [keep] of them.
static void remove_beyond(const struct tmg_cache *cache, const struct listing *list, int64_t limit,
                          size_t keep, tmagen_cache_stats *stats) {
    int64_t bytes = 0;
    for (size_t i = 0; i < list->count; ++i) {
        const struct file *file = &list->files[i];
        int fits = !file->stale && (stats->entries < (int64_t)keep || bytes + file->bytes <= limit);
        if (!fits) {
            remove_file(cache, file, stats);
            continue;
        }
        bytes += file->bytes;
        ++stats->entries;
    }
    stats->bytes = bytes;
}

static int64_t total_bytes(const struct listing *list) {
    int64_t bytes = 0;
    for (size_t i = 0; i < list->count; ++i) bytes += list->files[i].bytes;
    return bytes;
}

void tmg_cache_trim(const struct tmg_cache *cache) {
    struct listing list;
    tmagen_cache_stats stats = {0};
    int64_t limit = configured_limit();
    // To nine tenths, so that not every store has to remove something.
    if (!list_files(cache, &list) && total_bytes(&list) > limit)
        remove_beyond(cache, &list, limit / 10 * 9, 1, &stats);
    free(list.files);
}

static void copy_text(char *to, size_t size, const char *from) {
    if (!memccpy(to, from, 0, size)) to[size - 1] = 0;
}

// Why the whole file is not the entry that its name says, or NULL.
static const char *verify_file(int file, uint64_t bytes, const char *name) {
    struct tmg_entry entry;
    uint8_t *data = malloc(bytes ? bytes : 1);
    const char *fault = data ? NULL : "out of memory";
    if (!fault && !tmg_cache_read(file, data, bytes)) fault = "it cannot be read";
    if (!fault) fault = tmg_entry_parse(data, bytes, &entry);
    char key[TMAGEN_KEY_CHARS];
    if (!fault) tmg_entry_key(&entry, key);
    if (!fault && strcmp(key, name)) fault = "it is not what its name says";
    free(data);
    return fault;
}

// Fills [item] from the file's head, and from all of it with [verify].
static void describe(const struct tmg_cache *cache, const struct file *file, int verify,
                     tmagen_cache_entry *item) {
    uint8_t head[TMG_ENTRY_HEAD_BYTES];
    struct tmg_entry entry;
    uint64_t bytes = 0;
    *item = (tmagen_cache_entry){.bytes = file->bytes, .last_used = file->used.tv_sec};
    copy_text(item->key, sizeof item->key, file->name);
    int handle = tmg_cache_open_file(cache, file->name, &bytes, &item->fault);
    if (handle < 0) return;
    size_t wanted = bytes < sizeof head ? bytes : sizeof head;
    if (!tmg_cache_read(handle, head, wanted))
        item->fault = "it cannot be read";
    else
        item->fault = tmg_entry_parse_head(head, wanted, bytes, &entry);
    if (!item->fault) {
        item->kind = strcmp(entry.request.kind, "ptx") ? TMAGEN_CUBIN : TMAGEN_PTX;
        copy_text(item->name, sizeof item->name, entry.request.name);
        copy_text(item->arch, sizeof item->arch, entry.request.arch);
        copy_text(item->compiler, sizeof item->compiler, entry.info.compiler);
        item->resources = entry.info.resources;
        if (verify) item->fault = verify_file(handle, bytes, file->name);
    }
    close(handle);
}

int tmagen_cache_list(const char *directory, int verify,
                      int (*visit)(const tmagen_cache_entry *entry, void *context), void *context) {
    struct tmg_cache cache;
    struct listing list;
    int status = visit ? tmg_cache_open(directory, 1, &cache)
                       : tmg_fail(TMAGEN_ERROR_ARGUMENT, "there is nobody to visit the entries");
    if (status) return status;
    status = list_files(&cache, &list);
    for (size_t i = 0; i < list.count && !status; ++i) {
        tmagen_cache_entry item;
        if (list.files[i].stale) continue;
        describe(&cache, &list.files[i], verify, &item);
        status = visit(&item, context);
    }
    free(list.files);
    tmg_cache_close(&cache);
    return status;
}

// Opens the cache, lists it, fills what [stats] says before anything is removed, calls [act].
static int with_files(const char *directory, tmagen_cache_stats *stats,
                      void (*act)(const struct tmg_cache *, const struct listing *, int64_t,
                                  tmagen_cache_stats *),
                      int64_t limit) {
    struct tmg_cache cache;
    struct listing list;
    tmagen_cache_stats result = {.limit = configured_limit()};
    int status = stats ? tmg_cache_open(directory, 1, &cache)
                       : tmg_fail(TMAGEN_ERROR_ARGUMENT, "there is no room for the numbers");
    if (status) return status;
    copy_text(result.directory, sizeof result.directory, cache.path);
    status = list_files(&cache, &list);
    for (size_t i = 0; i < list.count; ++i) result.stale_files += list.files[i].stale;
    if (!status) act(&cache, &list, limit < 0 ? result.limit : limit, &result);
    free(list.files);
    tmg_cache_close(&cache);
    if (!status) *stats = result;
    return status;
}

static void act_count(const struct tmg_cache *cache, const struct listing *list, int64_t limit,
                      tmagen_cache_stats *stats) {
    (void)cache, (void)limit;
    for (size_t i = 0; i < list->count; ++i) stats->entries += !list->files[i].stale;
    stats->bytes = total_bytes(list);
}

static void act_collect(const struct tmg_cache *cache, const struct listing *list, int64_t limit,
                        tmagen_cache_stats *stats) {
    remove_beyond(cache, list, limit, 0, stats);
}

static void act_clear(const struct tmg_cache *cache, const struct listing *list, int64_t limit,
                      tmagen_cache_stats *stats) {
    (void)limit;
    for (size_t i = 0; i < list->count; ++i) remove_file(cache, &list->files[i], stats);
}

static void act_prune(const struct tmg_cache *cache, const struct listing *list, int64_t limit,
                      tmagen_cache_stats *stats) {
    (void)limit;
    for (size_t i = 0; i < list->count; ++i) {
        tmagen_cache_entry item = {0};
        if (!list->files[i].stale) describe(cache, &list->files[i], 1, &item);
        if (list->files[i].stale || item.fault) {
            remove_file(cache, &list->files[i], stats);
            continue;
        }
        ++stats->entries;
        stats->bytes += list->files[i].bytes;
    }
}

int tmagen_cache_stat(const char *directory, tmagen_cache_stats *stats) {
    return with_files(directory, stats, act_count, -1);
}

int tmagen_cache_gc(const char *directory, int64_t limit, tmagen_cache_stats *stats) {
    return with_files(directory, stats, act_collect, limit);
}

int tmagen_cache_clear(const char *directory, tmagen_cache_stats *stats) {
    return with_files(directory, stats, act_clear, 0);
}

int tmagen_cache_prune(const char *directory, tmagen_cache_stats *stats) {
    return with_files(directory, stats, act_prune, -1);
}

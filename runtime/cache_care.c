// The cache's own care: listing, verifying, removing what is old, damaged or left behind.
// It takes no lock: an entry that vanishes under it was removed by somebody else, which is fine.
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
#include "runtime/sized.h"

enum { DEFAULT_LIMIT_MIB = 1024, CLOCK_SKEW_SECONDS = 60, MAX_ENTRY = 1 << 16 };

struct file {
    char name[80];
    int64_t bytes;
    struct timespec used;
    int stale;  // no entry, and nobody's
    int ahead;  // its date lies in the future, and [used] is now
    int pinned;
};

struct listing {
    struct file *files;
    size_t count, room;
};

static int is_ours(const char *name) {
    size_t length = strlen(name);
    return !strncmp(name, ".new-", 5) || (length > 5 && !strcmp(name + length - 5, ".lock"));
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

// A date ahead of the clock would make an entry the latest used for as long as it lasts.
static void bound_date(struct file *file) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    file->ahead = file->used.tv_sec > now.tv_sec + CLOCK_SKEW_SECONDS;
    if (file->ahead) file->used = now;
}

// Adds the file [name] if it is an entry or stale; other people's files are left alone.
static int add_name(const struct tmg_cache *cache, const char *name, struct listing *list) {
    struct stat about;
    struct file file = {0};
    int entry = tmg_cache_is_key(name);
    if ((!entry && !is_ours(name)) || strlen(name) >= sizeof file.name) return TMAGEN_OK;
    if (fstatat(cache->folder, name, &about, AT_SYMLINK_NOFOLLOW)) return TMAGEN_OK;
    if (!entry && !tmg_cache_is_left_over(cache, name, &about)) return TMAGEN_OK;
    strcpy(file.name, name);
    file.bytes = about.st_size;
    file.used = about.st_mtim;
    file.stale = !entry;
    file.pinned = entry && tmg_cache_is_pinned(&about);
    bound_date(&file);
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
    const char *text = secure_getenv("TMAGEN_CACHE_LIMIT");
    char *end = NULL;
    long long mib = text ? strtoll(text, &end, 10) : 0;
    if (!text || end == text || *end || mib < 0 || mib > INT64_MAX >> 20) mib = DEFAULT_LIMIT_MIB;
    return mib << 20;
}

// What an action works on, and what came of it.
struct care {
    const struct tmg_cache *cache;
    struct listing list;
    int64_t limit;
    tmagen_cache_stats stats;
    int stuck;  // files that could not be removed; why the first of them could not:
    char why[256];
};

static void count_entry(struct care *care, const struct file *file) {
    ++care->stats.entries;
    care->stats.bytes += file->bytes;
    care->stats.pinned += file->pinned;
    care->stats.pinned_bytes += file->pinned ? file->bytes : 0;
}

static int64_t evictable_bytes(const struct care *care) {
    return care->stats.bytes - care->stats.pinned_bytes;
}

// Removes [file], or counts it where that is not possible. One that is gone, or that somebody has
// come to hold, was none of ours to remove.
static void remove_file(struct care *care, const struct file *file) {
    int status = file->stale ? tmg_cache_remove_left_over(care->cache, file->name)
                             : unlinkat(care->cache->folder, file->name, 0);
    if (!status) {
        ++care->stats.removed;
        care->stats.removed_bytes += file->bytes;
    } else if (errno != ENOENT && errno != EWOULDBLOCK) {
        if (!care->stuck++)
            snprintf(care->why, sizeof care->why, "%s: %s", file->name, strerror(errno));
        if (!file->stale) count_entry(care, file);
    }
}

// Whether the actions did all they were asked to.
static int report_stuck(const struct care *care) {
    if (!care->stuck) return TMAGEN_OK;
    return tmg_fail(TMAGEN_ERROR_FILE, "cache directory %s: %d files cannot be removed; %s",
                    care->cache->path, care->stuck, care->why);
}

// Keeps the pinned and the latest used entries up to the limit, and always [keep] of the latter.
static void remove_beyond(struct care *care, int64_t keep) {
    for (size_t i = 0; i < care->list.count; ++i) {
        const struct file *file = &care->list.files[i];
        int fits = care->stats.entries - care->stats.pinned < keep ||
                   evictable_bytes(care) + file->bytes <= care->limit;
        if (file->stale || (!fits && !file->pinned)) {
            remove_file(care, file);
            continue;
        }
        count_entry(care, file);
        if (file->ahead)  // from now on it ages
            utimensat(care->cache->folder, file->name, NULL, AT_SYMLINK_NOFOLLOW);
    }
}

static void act_count(struct care *care) {
    for (size_t i = 0; i < care->list.count; ++i)
        if (!care->list.files[i].stale) count_entry(care, &care->list.files[i]);
}

void tmg_cache_trim(const struct tmg_cache *cache) {
    struct care care = {.cache = cache, .limit = configured_limit()};
    if (!list_files(cache, &care.list)) act_count(&care);
    if (evictable_bytes(&care) > care.limit) {
        care.stats = (tmagen_cache_stats){0};
        care.limit = care.limit / 10 * 9;  // so that not every store has to remove something
        remove_beyond(&care, 1);
    }
    if (report_stuck(&care)) tmg_warn("%s", tmagen_error_last());
    free(care.list.files);
}

static void copy_text(char *to, size_t size, const char *from) {
    if (!memccpy(to, from, 0, size)) to[size - 1] = 0;
}

// Fills [item] from the file's head, and from all of it with [verify]. Returns whether there still
// is such a file.
static int describe(const struct tmg_cache *cache, const struct file *file, int verify,
                    tmagen_cache_entry *item) {
    uint8_t head[TMG_ENTRY_HEAD_BYTES];
    struct tmg_entry entry;
    uint64_t bytes = 0;
    *item = (tmagen_cache_entry){
        .bytes = file->bytes, .last_used = file->used.tv_sec, .pinned = file->pinned};
    copy_text(item->key, sizeof item->key, file->name);
    int handle = tmg_cache_open_file(cache, file->name, &bytes, &item->fault);
    if (handle < 0) return item->fault != tmg_cache_no_entry;
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
        if (verify) item->fault = tmg_cache_verify(handle, bytes, file->name);
    }
    close(handle);
    return 1;
}

// Who sees the entries, each in the visitor's own layout.
struct visitor {
    int (*visit)(const tmagen_cache_entry *entry, void *context);
    void *context;
    tmagen_cache_entry *room;
    size_t size;  // of room
};

static int visit_all(const char *directory, int verify, const struct visitor *visitor) {
    struct tmg_cache cache;
    struct listing list;
    int status = tmg_cache_open(directory, 1, &cache);
    if (status) return status;
    status = list_files(&cache, &list);
    for (size_t i = 0; i < list.count && !status; ++i) {
        tmagen_cache_entry item;
        if (list.files[i].stale || !describe(&cache, &list.files[i], verify, &item)) continue;
        status = tmg_give_struct("tmagen_cache_entry", &item, sizeof item, visitor->room,
                                 visitor->size, sizeof item);
        if (!status) status = visitor->visit(visitor->room, visitor->context);
    }
    free(list.files);
    tmg_cache_close(&cache);
    return status;
}

int tmagen_cache_list_sized(const char *directory, int verify,
                            int (*visit)(const tmagen_cache_entry *entry, void *context),
                            void *context, size_t entry_size) {
    if (!visit) return tmg_fail(TMAGEN_ERROR_ARGUMENT, "there is nobody to visit the entries");
    int status = tmg_check_size("tmagen_cache_entry", entry_size, sizeof(tmagen_cache_entry));
    if (!status && entry_size > MAX_ENTRY)
        status = tmg_fail(TMAGEN_ERROR_ARGUMENT, "tmagen_cache_entry: its size is %zu bytes",
                          entry_size);
    if (status) return status;
    struct visitor visitor = {visit, context, malloc(entry_size), entry_size};
    if (!visitor.room) return tmg_fail_memory();
    status = visit_all(directory, verify, &visitor);
    free(visitor.room);
    return status;
}

// Opens the cache, lists it, calls [act], and gives the numbers to [stats], which has [size] bytes.
static int with_files(const char *directory, tmagen_cache_stats *stats, size_t size,
                      void (*act)(struct care *care), int64_t limit) {
    struct tmg_cache cache;
    struct care care = {.cache = &cache, .stats.limit = configured_limit()};
    int status = stats ? tmg_check_size("tmagen_cache_stats", size, sizeof care.stats)
                       : tmg_fail(TMAGEN_ERROR_ARGUMENT, "there is no room for the numbers");
    if (!status) status = tmg_cache_open(directory, 1, &cache);
    if (status) return status;
    care.limit = limit < 0 ? care.stats.limit : limit;
    copy_text(care.stats.directory, sizeof care.stats.directory, cache.path);
    status = list_files(&cache, &care.list);
    for (size_t i = 0; i < care.list.count; ++i) care.stats.stale_files += care.list.files[i].stale;
    if (!status) {
        act(&care);
        tmg_give_struct("tmagen_cache_stats", &care.stats, sizeof care.stats, stats, size,
                        sizeof care.stats);
        status = report_stuck(&care);
    }
    free(care.list.files);
    tmg_cache_close(&cache);
    return status;
}

static void act_collect(struct care *care) { remove_beyond(care, 0); }

static void act_clear(struct care *care) {
    for (size_t i = 0; i < care->list.count; ++i)
        if (care->list.files[i].pinned)
            count_entry(care, &care->list.files[i]);
        else
            remove_file(care, &care->list.files[i]);
}

static void act_prune(struct care *care) {
    for (size_t i = 0; i < care->list.count; ++i) {
        const struct file *file = &care->list.files[i];
        tmagen_cache_entry item = {0};
        if (!file->stale && !describe(care->cache, file, 1, &item)) continue;
        if (file->stale || tmg_cache_is_of_entry(item.fault))
            remove_file(care, file);
        else
            count_entry(care, file);
    }
}

int tmagen_cache_stat_sized(const char *directory, tmagen_cache_stats *stats, size_t stats_size) {
    return with_files(directory, stats, stats_size, act_count, -1);
}

int tmagen_cache_gc_sized(const char *directory, int64_t limit, tmagen_cache_stats *stats,
                          size_t stats_size) {
    return with_files(directory, stats, stats_size, act_collect, limit);
}

int tmagen_cache_clear_sized(const char *directory, tmagen_cache_stats *stats, size_t stats_size) {
    return with_files(directory, stats, stats_size, act_clear, 0);
}

int tmagen_cache_prune_sized(const char *directory, tmagen_cache_stats *stats, size_t stats_size) {
    return with_files(directory, stats, stats_size, act_prune, -1);
}

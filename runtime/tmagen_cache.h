/* A part of libtmagen's interface, which tmagen.h includes: looking after the cache. */
#ifndef TMAGEN_CACHE_H
#define TMAGEN_CACHE_H

#include "tmagen.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The cache's own care ----
 * [directory] is as tmagen_compile_options.cache_dir. */
typedef struct tmagen_cache_entry {
    char key[TMAGEN_KEY_CHARS];
    tmagen_kind kind;
    char name[128], arch[32], compiler[64];
    tmagen_resources resources;
    int64_t bytes;     /* of the file */
    int64_t last_used; /* seconds since the epoch */
    const char *fault; /* NULL, or why the entry is unusable; such an entry is a miss */
    int pinned;
} tmagen_cache_entry;

/* Calls [visit] for each entry, the latest used first, until it returns non-zero, which is
 * returned. With [verify] every digest is recomputed, else only headers are read. The entry is
 * the visitor's while it looks. */
TMAGEN_API int tmagen_cache_list_sized(const char *directory, int verify,
                                       int (*visit)(const tmagen_cache_entry *entry, void *context),
                                       void *context, size_t entry_size);
static inline int tmagen_cache_list(const char *directory, int verify,
                                    int (*visit)(const tmagen_cache_entry *entry, void *context),
                                    void *context) {
    return tmagen_cache_list_sized(directory, verify, visit, context, sizeof(tmagen_cache_entry));
}

typedef struct tmagen_cache_stats {
    char directory[4096];
    int64_t entries, bytes, limit;  /* [limit]: $TMAGEN_CACHE_LIMIT in MiB, else 1 GiB; in bytes */
    int64_t stale_files;            /* temporaries and locks that no process holds */
    int64_t removed, removed_bytes; /* by the call */
    int64_t pinned, pinned_bytes;   /* of the entries; the limit is for the others */
} tmagen_cache_stats;

TMAGEN_API int tmagen_cache_stat_sized(const char *directory, tmagen_cache_stats *stats,
                                       size_t stats_size);
static inline int tmagen_cache_stat(const char *directory, tmagen_cache_stats *stats) {
    return tmagen_cache_stat_sized(directory, stats, sizeof *stats);
}

/* Removes the least recently used entries until at most [limit] bytes are left (negative: the
 * configured limit), and what killed processes left behind. tmagen_cache_clear() removes all but
 * the pinned. TMAGEN_ERROR_FILE where a file cannot be removed; [stats] says what was done. */
TMAGEN_API int tmagen_cache_gc_sized(const char *directory, int64_t limit,
                                     tmagen_cache_stats *stats, size_t stats_size);
static inline int tmagen_cache_gc(const char *directory, int64_t limit, tmagen_cache_stats *stats) {
    return tmagen_cache_gc_sized(directory, limit, stats, sizeof *stats);
}
TMAGEN_API int tmagen_cache_clear_sized(const char *directory, tmagen_cache_stats *stats,
                                        size_t stats_size);
static inline int tmagen_cache_clear(const char *directory, tmagen_cache_stats *stats) {
    return tmagen_cache_clear_sized(directory, stats, sizeof *stats);
}

/* Removes what fails verification, pinned or not. */
TMAGEN_API int tmagen_cache_prune_sized(const char *directory, tmagen_cache_stats *stats,
                                        size_t stats_size);
static inline int tmagen_cache_prune(const char *directory, tmagen_cache_stats *stats) {
    return tmagen_cache_prune_sized(directory, stats, sizeof *stats);
}

/* Pins the entry [key] (of tmagen_code, tmagen_kernel_info or tmagen_cache_entry): neither the
 * limit nor a clear removes it, and it is synced to the disk. With [pinned] 0 it is like others
 * again. A pinned entry is a file that its owner may not write, which `ls -l` and `cp -p` know too.
 * TMAGEN_ERROR_MISS where there is no intact entry of this key. */
TMAGEN_API int tmagen_cache_pin(const char *directory, const char *key, int pinned);

/* Explains in [text] whether compiling [source] with [options] would hit, and if not, which part of
 * the key differs from the nearest entry, with the first differing line of the source. */
TMAGEN_API int tmagen_cache_why_sized(const char *source, size_t bytes,
                                      const tmagen_compile_options *options, size_t options_size,
                                      char *text, size_t size);
static inline int tmagen_cache_why(const char *source, size_t bytes,
                                   const tmagen_compile_options *options, char *text, size_t size) {
    return tmagen_cache_why_sized(source, bytes, options, sizeof *options, text, size);
}

#ifdef __cplusplus
}
#endif

#endif

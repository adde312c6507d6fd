// Explains a miss: which part of the key differs from the entry that comes nearest.
// Entries carry the parts of their key in full, the source too, so the answer can name the line.
#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/cache.h"
#include "runtime/error.h"
#include "runtime/nvrtc.h"
#include "runtime/request.h"
#include "runtime/sized.h"

enum { SHOWN = 100, FAR = 1000 };

// The answer as it grows.
struct report {
    char *text;
    size_t size;
};

__attribute__((format(printf, 2, 3))) static void say(struct report *report, const char *format,
                                                      ...) {
    size_t used = strlen(report->text);
    va_list args;
    va_start(args, format);
    vsnprintf(report->text + used, report->size - used, format, args);
    va_end(args);
}

// How far an entry is from [request] by the parts in its head; FAR for another kernel's.
static int distance(const struct tmg_entry *entry, const struct tmg_request *request) {
    const struct tmg_request *own = &entry->request;
    if (strcmp(own->name, request->name)) return FAR;
    return (strcmp(own->kind, request->kind) ? 4 : 0) + (strcmp(own->arch, request->arch) ? 2 : 0) +
           (strcmp(own->options, request->options) ? 1 : 0);
}

// Searches the listed entry [item] for one nearer than those before; they come latest used first.
struct nearest_entry {
    const struct tmg_cache *cache;
    const struct tmg_request *request;
    int best;
    char key[TMAGEN_KEY_CHARS];
};

static int consider(const tmagen_cache_entry *item, void *context) {
    struct nearest_entry *search = context;
    uint8_t head[TMG_ENTRY_HEAD_BYTES];
    struct tmg_entry entry;
    uint64_t bytes = 0;
    const char *fault;
    int file = item->fault ? -1 : tmg_cache_open_file(search->cache, item->key, &bytes, &fault);
    if (file < 0) return 0;
    size_t wanted = bytes < sizeof head ? bytes : sizeof head;
    if (tmg_cache_read(file, head, wanted) && !tmg_entry_parse_head(head, wanted, bytes, &entry)) {
        int far = distance(&entry, search->request);
        if (far < search->best) {
            search->best = far;
            memcpy(search->key, item->key, sizeof search->key);
        }
    }
    close(file);
    return 0;
}

// A line of a source, without its end.
struct source_line {
    const char *text;
    size_t length;
};

static int next_line(const char **at, const char *end, struct source_line *line) {
    if (*at >= end) return 0;
    const char *stop = memchr(*at, '\n', (size_t)(end - *at));
    *line = (struct source_line){*at, (size_t)((stop ? stop : end) - *at)};
    *at = stop ? stop + 1 : end;
    return 1;
}

static void say_line(struct report *report, const char *where, int there,
                     const struct source_line *line) {
    if (there)
        say(report, "      %s %.*s\n", where, (int)(line->length < SHOWN ? line->length : SHOWN),
            line->text);
    else
        say(report, "      %s (ends before)\n", where);
}

static int is_comment(const struct source_line *line) {
    size_t blank = 0;
    while (blank < line->length && line->text[blank] == ' ') ++blank;
    return blank + 2 <= line->length && !memcmp(line->text + blank, "//", 2);
}

// The first line in which two sources differ, and both versions of it. [number] 0: there is none.
struct difference {
    int number;
    int has_here, has_there;
    struct source_line here, there;
};

// With [code], lines that are comments in both are passed over.
static struct difference find_difference(const struct tmg_request *mine,
                                         const struct tmg_request *theirs, int code) {
    struct difference it = {.number = 1};
    const char *here = mine->source, *there = theirs->source;
    for (;; ++it.number) {
        it.has_here = next_line(&here, mine->source + mine->source_bytes, &it.here);
        it.has_there = next_line(&there, theirs->source + theirs->source_bytes, &it.there);
        if (!it.has_here && !it.has_there) return (struct difference){0};
        if (!it.has_here || !it.has_there) return it;
        if (code && is_comment(&it.here) && is_comment(&it.there)) continue;
        if (it.here.length != it.there.length ||
            memcmp(it.here.text, it.there.text, it.here.length))
            return it;
    }
}

// The generated header repeats the knobs, so the first difference of code says more.
static void compare_sources(struct report *report, const struct tmg_request *mine,
                            const struct tmg_request *theirs) {
    struct difference it = find_difference(mine, theirs, 1);
    if (!it.number) it = find_difference(mine, theirs, 0);
    if (!it.number) return;
    say(report, "    source: differs in line %d\n", it.number);
    say_line(report, "here: ", it.has_here, &it.here);
    say_line(report, "there:", it.has_there, &it.there);
}

static void compare_part(struct report *report, const char *what, const char *here,
                         const char *there) {
    if (strcmp(here, there)) say(report, "    %s: '%s' here, '%s' there\n", what, here, there);
}

static void compare(struct report *report, const struct tmg_request *mine, const char *compiler,
                    const struct tmg_entry *entry) {
    const struct tmg_request *theirs = &entry->request;
    compare_part(report, "kind", mine->kind, theirs->kind);
    compare_part(report, "name", mine->name, theirs->name);
    compare_part(report, "arch", mine->arch, theirs->arch);
    compare_part(report, "options", mine->options, theirs->options);
    if (compiler) compare_part(report, "compiler", compiler, entry->compiler);
    compare_sources(report, mine, theirs);
}

// Reads the whole entry [key] and says how it differs.
static void explain_nearest(struct report *report, const struct tmg_cache *cache, const char *key,
                            const struct tmg_request *request, const char *compiler) {
    struct tmg_entry entry;
    uint64_t bytes = 0;
    const char *fault;
    uint8_t *data = NULL;
    int file = tmg_cache_open_file(cache, key, &bytes, &fault);
    if (!fault) fault = tmg_cache_read_all(file, bytes, &data);
    if (!fault) fault = tmg_entry_parse(data, bytes, &entry);
    if (!fault) {
        say(report, "  nearest entry: %.16s... (%s, by %s)\n", key, entry.request.name,
            entry.info.compiler);
        compare(report, request, compiler, &entry);
    } else {
        say(report, "  nearest entry: %.16s..., but %s\n", key, fault);
    }
    free(data);
    if (file >= 0) close(file);
}

static int explain_miss(struct report *report, const char *directory, const struct tmg_cache *cache,
                        const struct tmg_request *request, const char *compiler) {
    struct nearest_entry search = {.cache = cache, .request = request, .best = FAR};
    int status = tmagen_cache_list(directory, 0, consider, &search);
    if (status) return status;
    if (search.best == FAR)
        say(report, "  no other entry is of this kernel\n");
    else
        explain_nearest(report, cache, search.key, request, compiler);
    return TMAGEN_OK;
}

// Says in [text] whether [source] would hit, and what is different from the nearest entry if not.
static int explain(const char *source, size_t bytes, const tmagen_compile_options *options,
                   char *text, size_t size) {
    struct tmg_request_text request;
    struct tmg_cache cache;
    struct tmg_stored stored;
    int status = tmg_request_describe(source, bytes, options, NULL, &request);
    if (!status) status = tmg_cache_open(options->cache_dir, 1, &cache);
    if (status) return status;
    const struct tmg_nvrtc_place *place = tmg_nvrtc_find();
    const char *compiler = place ? place->id : NULL;
    const char *fault = tmg_cache_load(&cache, &request.request, compiler, !compiler, &stored);
    struct report report = {text, size};
    char key[TMAGEN_KEY_CHARS];
    *text = 0;
    tmg_request_key(&request.request, compiler, key);
    if (!fault) {
        say(&report, "hit: %s, compiled by %s\n", stored.key, stored.entry.info.compiler);
        free(stored.block);
    } else {
        say(&report, "miss: %s: %s\n", key, fault);
        status = explain_miss(&report, options->cache_dir, &cache, &request.request, compiler);
    }
    tmg_cache_close(&cache);
    return status;
}

int tmagen_cache_why_sized(const char *source, size_t bytes, const tmagen_compile_options *options,
                           size_t options_size, char *text, size_t size) {
    tmagen_compile_options own;
    if (!options) return tmg_fail(TMAGEN_ERROR_ARGUMENT, "the compile options are missing");
    if (!text || !size) return tmg_fail(TMAGEN_ERROR_ARGUMENT, "there is no room for an answer");
    const int status = tmg_take_struct("tmagen_compile_options", options, options_size, &own,
                                       sizeof own, sizeof own);
    return status ? status : explain(source, bytes, &own, text, size);
}

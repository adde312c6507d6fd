// tmagen cache ACTION: what is in the cache of compiled kernels, why something is not, and its
// care. All the work is libtmagen's; here are the words.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gen/cli/command.h"
#include "gen/diag.h"
#include "gen/output.h"
#include "runtime/tmagen.h"

enum { KEY_LIMIT = 0x2000, KEY_PTX, WHY_BYTES = 8192 };

struct cache_arguments {
    struct spec_arguments specs;  // the first of them is the action
    long long limit_mib;          // negative: as configured
    bool ptx;
};

static const struct argp_option options[] = {
    {"limit", KEY_LIMIT, "MIB", 0,
     "gc: the size to shrink to (default: $TMAGEN_CACHE_LIMIT, or 1024)", 0},
    {"ptx", KEY_PTX, NULL, 0, "why: ask for the PTX that the emulator runs, not for the cubin", 0},
    {0},
};

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct cache_arguments *a = state->input;
    char *end = NULL;
    switch (key) {
    case KEY_PTX: a->ptx = true; return 0;
    case KEY_LIMIT:
        a->limit_mib = strtoll(argument, &end, 10);
        if (end == argument || *end || a->limit_mib < 0 || a->limit_mib > INT64_MAX >> 20)
            argp_error(state, "--limit: '%s' is no number of MiB", argument);
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static int fail(void) {
    diag_say("%s", tmagen_error_last());
    return EXIT_ENVIRONMENT;
}

// ---- Listing

static const char *age(int64_t then, char text[32]) {
    static const struct {
        int64_t seconds;
        const char *unit;
    } units[] = {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}};
    int64_t seconds = (int64_t)time(NULL) - then;
    size_t i = 0;
    if (seconds < 1) seconds = 1;
    while (seconds < units[i].seconds) ++i;
    snprintf(text, 32, "%lld %s", (long long)(seconds / units[i].seconds), units[i].unit);
    return text;
}

static int print_entry(const tmagen_cache_entry *entry, void *context) {
    size_t *damaged = context;
    char used[32];
    printf("%.16s  ", entry->key);
    if (entry->fault) {
        ++*damaged;
        printf("unusable: %s\n", entry->fault);
        return 0;
    }
    printf("%-32s %-5s %-8s %7.1f KiB  %8s ago  %s%s\n", entry->name,
           entry->kind == TMAGEN_PTX ? "ptx" : "cubin", entry->arch, (double)entry->bytes / 1024,
           age(entry->last_used, used), entry->compiler, entry->pinned ? "  pinned" : "");
    return 0;
}

static int list(const struct cache_arguments *a) {
    size_t damaged = 0;
    (void)a;
    return tmagen_cache_list(NULL, 0, print_entry, &damaged) ? fail() : EXIT_FINE;
}

static int verify(const struct cache_arguments *a) {
    size_t damaged = 0;
    (void)a;
    if (tmagen_cache_list(NULL, 1, print_entry, &damaged)) return fail();
    printf("%zu unusable; they are compiled anew when needed, 'tmagen cache gc' removes them\n",
           damaged);
    return damaged ? EXIT_USER : EXIT_FINE;
}

// ---- Sums

static void print_stats(const tmagen_cache_stats *stats) {
    printf("directory  %s\n", stats->directory);
    printf("entries    %" PRId64 ", %.1f MiB of %.1f\n", stats->entries,
           (double)stats->bytes / 0x1p20, (double)stats->limit / 0x1p20);
    if (stats->pinned)
        printf("pinned     %" PRId64 " of them, %.1f MiB, beyond the limit's reach\n",
               stats->pinned, (double)stats->pinned_bytes / 0x1p20);
}

static int stat(const struct cache_arguments *a) {
    tmagen_cache_stats stats;
    (void)a;
    if (tmagen_cache_stat(NULL, &stats)) return fail();
    print_stats(&stats);
    printf("left over  %" PRId64 " files of killed processes\n", stats.stale_files);
    return EXIT_FINE;
}

static void print_removed(const tmagen_cache_stats *stats, int64_t removed, int64_t bytes) {
    if (!*stats->directory) return;  // nothing came of it
    print_stats(stats);
    printf("removed    %" PRId64 " files, %.1f MiB\n", removed, (double)bytes / 0x1p20);
}

// Removes first what no key can use, then what has not been used for longest.
static int collect(const struct cache_arguments *a) {
    tmagen_cache_stats pruned = {0}, stats = {0};
    int64_t limit = a->limit_mib < 0 ? -1 : (int64_t)a->limit_mib << 20;
    int code = tmagen_cache_prune(NULL, &pruned) ? fail() : EXIT_FINE;
    if (!*pruned.directory) return code;
    if (tmagen_cache_gc(NULL, limit, &stats)) code = fail();
    print_removed(&stats, pruned.removed + stats.removed,
                  pruned.removed_bytes + stats.removed_bytes);
    return code;
}

static int clear(const struct cache_arguments *a) {
    tmagen_cache_stats stats = {0};
    (void)a;
    int code = tmagen_cache_clear(NULL, &stats) ? fail() : EXIT_FINE;
    print_removed(&stats, stats.removed, stats.removed_bytes);
    return code;
}

// ---- What is there of a spec's kernels

// Calls [act] with how each kernel of the specs would be compiled, until one does not end well.
static int for_each_kernel(const struct cache_arguments *a, tmagen_mode mode,
                           int (*act)(const struct gen_output *out,
                                      const tmagen_compile_options *compile)) {
    size_t count = a->specs.spec_count - 1;
    struct gen_result *results = output_generate(a->specs.specs + 1, count, &a->specs.options);
    int code = results ? EXIT_FINE : EXIT_USER;
    for (size_t i = 0; results && i < count && !code; i++)
        for (size_t j = 0; j < results[i].output_count && !code; j++) {
            const struct gen_output *out = &results[i].outputs[j];
            char file[512];
            snprintf(file, sizeof file, "%s.cu", out->name);
            code = act(out, &(tmagen_compile_options){.kind = a->ptx ? TMAGEN_PTX : TMAGEN_CUBIN,
                                                      .mode = mode,
                                                      .arch = out->arch,
                                                      .name = file});
        }
    output_free(results, count);
    return code;
}

static int explain(const struct gen_output *out, const tmagen_compile_options *compile) {
    char text[WHY_BYTES];
    if (tmagen_cache_why(out->source, out->source_len, compile, text, sizeof text)) return fail();
    printf("%s: %s", out->name, text);
    return EXIT_FINE;
}

static int why(const struct cache_arguments *a) {
    return for_each_kernel(a, TMAGEN_COMPILE_ON_MISS, explain);
}

static int set_pin(const struct gen_output *out, const tmagen_compile_options *compile, bool pin) {
    tmagen_code code;
    int status = tmagen_compile(out->source, out->source_len, compile, &code);
    if (status == TMAGEN_ERROR_MISS) {
        diag_say("%s", tmagen_error_last());
        return EXIT_USER;
    }
    if (status) return fail();
    status = tmagen_cache_pin(NULL, code.key, pin);
    if (!status) printf("%s: %s %.16s\n", out->name, pin ? "pinned" : "let go", code.key);
    tmagen_code_free(&code);
    return status ? fail() : EXIT_FINE;
}

static int pin_kernel(const struct gen_output *out, const tmagen_compile_options *compile) {
    return set_pin(out, compile, true);
}

static int unpin_kernel(const struct gen_output *out, const tmagen_compile_options *compile) {
    return set_pin(out, compile, false);
}

static int pin(const struct cache_arguments *a) {
    return for_each_kernel(a, TMAGEN_FAIL_ON_MISS, pin_kernel);
}

static int unpin_entry(const tmagen_cache_entry *entry, void *context) {
    (void)context;
    return entry->pinned ? tmagen_cache_pin(NULL, entry->key, 0) : TMAGEN_OK;
}

static int unpin(const struct cache_arguments *a) {
    if (a->specs.spec_count > 1) return for_each_kernel(a, TMAGEN_FAIL_ON_MISS, unpin_kernel);
    return tmagen_cache_list(NULL, 0, unpin_entry, NULL) ? fail() : EXIT_FINE;
}

// ---- The command

enum takes { NO_SPEC, SPECS, ANY_SPECS };

static const struct {
    const char *name;
    int (*act)(const struct cache_arguments *);
    enum takes takes;
} actions[] = {
    {"ls", list, NO_SPEC},       {"stat", stat, NO_SPEC},     {"why", why, SPECS},
    {"pin", pin, SPECS},         {"gc", collect, NO_SPEC},    {"clear", clear, NO_SPEC},
    {"unpin", unpin, ANY_SPECS}, {"verify", verify, NO_SPEC},
};

static const char DOC[] =
    "Looks after compiled kernels: $TMAGEN_CACHE, else $XDG_CACHE_HOME/tmagen, else "
    "~/.cache/tmagen."
    "\v  ls      the entries, the latest used first\n"
    "  stat    how many there are, and what killed processes left\n"
    "  why     whether the kernels of each SPEC are there; if not, what differs\n"
    "          from the nearest entry\n"
    "  pin     keeps the kernels of each SPEC from gc, clear and the limit\n"
    "  unpin   lets them go again; without a SPEC, all\n"
    "  gc      removes unusable entries, then the longest unused ones\n"
    "  clear   removes all entries that are not pinned\n"
    "  verify  reads every entry and recomputes its digests";

// Runs the action that is the first argument. Returns EXIT_USAGE where there is none of that name.
static int run(const struct cache_arguments *a) {
    const char *name = a->specs.specs[0];
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        if (strcmp(actions[i].name, name)) continue;
        bool has_specs = a->specs.spec_count > 1;
        if (actions[i].takes == ANY_SPECS || has_specs == (actions[i].takes == SPECS))
            return actions[i].act(a);
        diag_say(has_specs ? "cache %s takes no SPEC" : "cache %s needs a SPEC", name);
        return EXIT_USAGE;
    }
    diag_say("cache: no action is called '%s'; legal: ls, stat, why, pin, unpin, gc, clear, verify",
             name);
    return EXIT_USAGE;
}

int cmd_cache(int argc, char **argv) {
    struct cache_arguments a = {.limit_mib = -1};
    static const struct command_line command_line = {
        .options = options, .parse = parse, .usage = "ACTION [SPEC...]", .doc = DOC};
    spec_arguments_parse(&a.specs, &command_line, &a, argc, argv);
    int code = run(&a);
    spec_arguments_free(&a.specs);
    return code;
}

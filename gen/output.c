// Writes generated sources and manifests, all or nothing: first every file beside its place, then
// every name. Names are compared before, since two specs may claim one.
#include "gen/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "gen/diag.h"
#include "gen/file.h"
#include "gen/alloc.h"

enum { LOCK_WAIT_US = 10000, LOCK_TRIES = 1000 };

struct gen_result *output_generate(char *const *specs, size_t count,
                                   const struct gen_options *options) {
    struct gen_result *results = mem_zero((count + 1) * sizeof *results);
    int failed = 0;
    for (size_t i = 0; i < count; i++) failed |= gen_spec(specs[i], options, &results[i]);
    if (!failed) return results;
    output_free(results, count);
    return NULL;
}

void output_free(struct gen_result *results, size_t count) {
    for (size_t i = 0; results && i < count; i++) gen_result_free(&results[i]);
    free(results);
}

char *output_path(const char *name, const char *folder, const char *suffix) {
    return mem_format("%s/%s.%s", folder, name, suffix);
}

bool output_repeats(const struct gen_result *results, size_t count, size_t result, size_t output) {
    const struct gen_output *out = &results[result].outputs[output];
    for (size_t i = 0; out->borrowed && i < count; i++)
        for (size_t j = 0; j < results[i].output_count; j++)
            if ((i < result || !results[i].outputs[j].borrowed) &&
                !strcmp(results[i].outputs[j].name, out->name))
                return true;
    return false;
}

struct claim {
    const char *name, *spec;
};

static int by_name(const void *a, const void *b) {
    return strcmp(((const struct claim *)a)->name, ((const struct claim *)b)->name);
}

int output_check_names(const struct gen_result *results, size_t count) {
    struct claim *claims = NULL;
    size_t claimed = 0, capacity = 0;
    int failed = 0;
    for (size_t i = 0; i < count; i++) {
        if (results[i].table.name)
            MEM_PUSH(claims, claimed, capacity,
                     ((struct claim){results[i].table.name, results[i].spec}));
        for (size_t j = 0; j < results[i].output_count; j++)
            if (!results[i].outputs[j].borrowed)
                MEM_PUSH(claims, claimed, capacity,
                         ((struct claim){results[i].outputs[j].name, results[i].spec}));
    }
    if (claimed) qsort(claims, claimed, sizeof *claims, by_name);
    for (size_t i = 1; i < claimed; i++) {
        if (strcmp(claims[i - 1].name, claims[i].name) != 0) continue;
        diag_say("%s and %s both make a kernel named %s", claims[i - 1].spec, claims[i].spec,
                 claims[i].name);
        failed = 1;
    }
    free(claims);
    return failed;
}

// All files of a run, on their way to their names.
struct batch {
    struct file_pending *files;
    size_t count, capacity;
};

static int prepare(struct batch *batch, const char *name, const char *folder, const char *suffix,
                   const char *text, size_t len) {
    struct file_pending file;
    char *path = output_path(name, folder, suffix);
    const char *why = file_prepare(path, text, len, &file);
    if (why)
        diag_say("cannot write %s: %s", path, why);
    else
        MEM_PUSH(batch->files, batch->count, batch->capacity, file);
    free(path);
    return why != NULL;
}

static int prepare_all(struct batch *batch, const struct gen_result *results, size_t count,
                       size_t index, const char *folder) {
    const struct gen_result *result = &results[index];
    const struct gen_table *table = &result->table;
    int failed = table->text &&
                 prepare(batch, table->name, folder, "json", table->text, strlen(table->text));
    for (size_t i = 0; i < result->output_count && !failed; i++) {
        const struct gen_output *out = &result->outputs[i];
        if (output_repeats(results, count, index, i)) continue;
        failed = prepare(batch, out->name, folder, "cu", out->source, out->source_len) ||
                 prepare(batch, out->name, folder, "json", out->manifest, strlen(out->manifest));
    }
    return failed;
}

// Gives all files their names, or none where [failed]. Returns 1 where that fails.
static int finish(struct batch *batch, int failed) {
    for (size_t i = 0; i < batch->count; i++) {
        if (failed) file_abandon(&batch->files[i]);
        const char *why = file_commit(&batch->files[i]);
        if (why) diag_say("cannot write the output: %s", why);
        failed |= why != NULL;
    }
    free(batch->files);
    return failed;
}

// Locks [folder] against other writers, so that no source stays beside another run's manifest: the
// two files of a pair get their names one after the other. Returns what to close, or -1 where there
// is no lock to be had: who reads a pair recognises one that does not belong together.
static int lock_folder(const char *folder) {
    const int held = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int tries = LOCK_TRIES, got = -1;
    while (held >= 0 && (got = flock(held, LOCK_EX | LOCK_NB)) && errno == EWOULDBLOCK && --tries)
        usleep(LOCK_WAIT_US);
    if (held >= 0 && got && errno == EWOULDBLOCK)
        diag_say("%s: another process has been writing there for %d s; not waiting longer", folder,
                 LOCK_TRIES / (1000000 / LOCK_WAIT_US));
    return held;
}

int output_write(const struct gen_result *results, size_t count, const char *folder) {
    if (output_check_names(results, count)) return 1;
    const char *why = file_make_folder(folder);
    if (why) {
        diag_say("cannot make the folder %s: %s", folder, why);
        return 1;
    }
    struct batch batch = {0};
    int failed = 0;
    const int lock = lock_folder(folder);
    for (size_t i = 0; i < count && !failed; i++)
        failed = prepare_all(&batch, results, count, i, folder);
    failed = finish(&batch, failed);
    if (lock >= 0) close(lock);
    return failed;
}

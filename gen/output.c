// Writes generated sources and manifests, all or nothing as far as a file system lets us.
// Names are compared before the first write, since two specs may claim one name.
#include "gen/output.h"

#include <stdlib.h>
#include <string.h>

#include "gen/diag.h"
#include "gen/file.h"
#include "gen/memory.h"

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

char *output_path(const struct gen_output *out, const char *folder, const char *suffix) {
    return mem_format("%s/%s.%s", folder, out->name, suffix);
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
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < results[i].output_count; j++)
            MEM_PUSH(claims, claimed, capacity,
                     ((struct claim){results[i].outputs[j].name, results[i].spec}));
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

static int write_one(const struct gen_output *out, const char *folder, const char *suffix,
                     const char *text, size_t len) {
    char *path = output_path(out, folder, suffix);
    const char *why = file_write(path, text, len);
    if (why) diag_say("cannot write %s: %s", path, why);
    free(path);
    return why != NULL;
}

int output_write(const struct gen_result *results, size_t count, const char *folder) {
    if (output_check_names(results, count)) return 1;
    const char *why = file_make_folder(folder);
    if (why) diag_say("cannot make the folder %s: %s", folder, why);
    int failed = why != NULL;
    for (size_t i = 0; i < count && !failed; i++) {
        for (size_t j = 0; j < results[i].output_count && !failed; j++) {
            const struct gen_output *out = &results[i].outputs[j];
            failed = write_one(out, folder, "cu", out->source, out->source_len) ||
                     write_one(out, folder, "json", out->manifest, strlen(out->manifest));
        }
    }
    return failed;
}

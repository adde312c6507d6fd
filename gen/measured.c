// Arguments and generated outputs, as verify, bench and ladder take them.
// A separate file, so that measure/ needs no header of the generator.
#include "gen/measured.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gen/alloc.h"
#include "gen/diag.h"
#include "gen/output.h"
#include "gen/reference_files.h"
#include "gen/store.h"

struct kernel_text kernel_of(const struct gen_output *output) {
    return (struct kernel_text){.name = output->name,
                                .source = output->source,
                                .manifest = output->manifest,
                                .lines = output->lines,
                                .line_count = output->line_count,
                                .reference = reference_files(output->store, output->family)};
}

struct kernel_text *kernels_of(const struct gen_result *results, size_t count, size_t *kernels) {
    struct kernel_text *texts = NULL;
    size_t capacity = 0;
    *kernels = 0;
    for (size_t i = 0; i < count; ++i) {
        for (size_t j = 0; j < results[i].output_count; ++j) {
            if (output_repeats(results, count, i, j)) continue;
            const struct kernel_text text = kernel_of(&results[i].outputs[j]);
            MEM_PUSH(texts, *kernels, capacity, text);
        }
    }
    return texts;
}

// A table as a subject; its reference is that of its kernels, which are of one family.
static struct kernel_text table_of(const struct gen_result *result) {
    size_t count;
    struct kernel_text *kernels = kernels_of(result, 1, &count);
    struct table_text *table = mem_alloc(sizeof *table);
    *table = (struct table_text){result->table.text, kernels, count};
    return (struct kernel_text){
        .name = result->table.name, .table = table, .reference = kernels[0].reference};
}

struct kernel_text *subjects_of(const struct gen_result *results, size_t count, size_t *subjects) {
    struct kernel_text *texts = NULL;
    size_t capacity = 0;
    *subjects = 0;
    for (size_t i = 0; i < count; ++i) {
        if (results[i].table.name) {
            const struct kernel_text table = table_of(&results[i]);
            MEM_PUSH(texts, *subjects, capacity, table);
        }
        for (size_t j = 0; !results[i].table.name && j < results[i].output_count; ++j) {
            const struct kernel_text text = kernel_of(&results[i].outputs[j]);
            MEM_PUSH(texts, *subjects, capacity, text);
        }
    }
    return texts;
}

void subjects_free(struct kernel_text *subjects, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        if (!subjects[i].table) continue;
        free((void *)subjects[i].table->kernels);
        free((void *)subjects[i].table);
    }
    free(subjects);
}

double argument_number(struct argp_state *state, const char *text, double least, double most) {
    char *end;
    const double value = strtod(text, &end);
    if (end == text || *end || !(value >= least && value <= most)) {
        argp_error(state, "%s is not a number in %g..%g", text, least, most);
    }
    return value;
}

const char *argument_name(struct argp_state *state, const char *option, const char *text) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    if (!*text || strspn(text, letters) != strlen(text))
        argp_error(state, "%s: '%s' is no name; legal: letters, digits and _", option, text);
    return text;
}

int read_rates(const char *name, const struct gen_options *options, struct predict_gpu *gpu) {
    const char *why, *none = "there is no such file among the templates";
    char *path = mem_format("templates/lib/gpus/%s.json", name);
    const struct store_file file = store_find(gen_store(options), path, &why);
    const int failed = !file.text || predict_read(file.text, file.name, gpu);
    if (failed) diag_say("%s: %s", path, file.text ? tmagen_error_last() : why ? why : none);
    free(path);
    return failed;
}

void argument_shape(struct argp_state *state, const char *text, struct shape_list *shapes) {
    char error[300];
    if (shapes_parse(shapes, text, error, sizeof error)) argp_error(state, "%s", error);
}

void argument_shapes(struct argp_state *state, const char *path, struct shape_list *shapes) {
    char error[300];
    if (shapes_read(shapes, path, error, sizeof error)) argp_error(state, "%s", error);
}

void argument_random(struct argp_state *state, const char *text, struct shape_list *shapes) {
    enum { SHAPES_MOST = 100000 };
    char *end;
    const unsigned long long count = strtoull(text, &end, 10);
    const char *seed_text = *end == '/' ? end + 1 : "1";
    const bool counted = isdigit((unsigned char)*text) && count >= 1 && count <= SHAPES_MOST;
    if (*end == '/' || !*end) {
        errno = 0;
        const unsigned long long seed = strtoull(seed_text, &end, 10);
        if (counted && isdigit((unsigned char)*seed_text) && !*end && !errno) {
            if (shapes_draw(shapes, count, seed)) argp_error(state, "out of memory");
            return;
        }
    }
    argp_error(state, "--random: '%s' is not N or N/SEED, N in 1..%d", text, SHAPES_MOST);
}

// Asks the model about the shapes that were measured.
#include "gen/dispatch_measured.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen/alloc.h"
#include "gen/dispatch_words.h"
#include "gen/fields.h"
#include "runtime/choose.h"

static const char *const row_keys[] = {"shape", "us", NULL};

// A row says nothing of what it does not name and nobody would take: what is predicted to take
// so many times as long as its best.
#define LIKELY 1.7

struct measured {
    struct diag *diag;
    const struct tmg_table *table;
    const char *suffix;
    const bool *all;  // of each kernel: whether every row measured it
    double *us;       // of each launch of the row being read; 0: it is not named
    double *misses;   // measured by predicted; 0: unknown
    double slowest;   // of those named that every row has measured
    double best;      // of all named
    int64_t *shapes;  // of the rows read so far
    size_t count;
};

static bool in_all_rows(const struct measured *measured, int launch) {
    for (unsigned i = measured->table->kernel_count; i-- > 0;)
        if (measured->table->kernels[i].first_launch <= (unsigned)launch) return measured->all[i];
    return false;
}

// The kernel of that name, or of that name behind "FAMILY_"; -1 where the table has none.
static int find_kernel(const struct measured *measured, const char *text, size_t length) {
    const struct tmg_table *table = measured->table;
    int found = -1;
    for (unsigned i = table->kernel_count; i-- > 0;) {
        const char *name = table->kernels[i].name;
        if (words_name(name, measured->suffix, text, length)) return (int)i;
        const char *bare = tmg_table_short_name(name, table->family);
        if (words_name(bare, measured->suffix, text, length)) found = (int)i;
    }
    return found;
}

// The launch of "KERNEL" or "KERNEL/SPLITS"; -1 where the table has none of that name.
static int find_launch(const struct measured *measured, const char *text) {
    const size_t length = strcspn(text, "/");
    const int splits = words_splits(text, length),
              kernel = splits < 0 ? -1 : find_kernel(measured, text, length);
    if (kernel < 0 || !measured->table->kernels[kernel].split_count != !splits) return -1;
    return tmg_table_launch(measured->table, kernel, splits);
}

static void read_times(struct measured *measured, const struct spec_node *us) {
    const size_t launches = measured->table->launch_count;
    memset(measured->us, 0, launches * sizeof *measured->us);
    measured->slowest = 0;
    measured->best = INFINITY;
    if (us->kind != SPEC_MAP || !us->count)
        diag_error(measured->diag, us->place, "{NAME: 38.2, NAME/4: 40}",
                   "measured.us: must be a map of kernels");
    for (size_t i = 0; us->kind == SPEC_MAP && i < us->count; i++) {
        const int launch = find_launch(measured, us->keys[i]->text);
        const double time = words_us(measured->diag, us->values[i], "measured.us");
        if (launch < 0)
            diag_error(measured->diag, us->keys[i]->place,
                       "a kernel of the table, with its splits where the table lists some",
                       "measured.us: %s is none of the kernels", us->keys[i]->text);
        else
            measured->us[launch] = time;
        const bool bounds = launch >= 0 && in_all_rows(measured, launch);
        if (bounds && time > measured->slowest) measured->slowest = time;
        if (launch >= 0 && time < measured->best) measured->best = time;
    }
}

// Asks the model about every launch of the shape. Returns the class of its alignment; 0 after an
// error.
static int ask(struct measured *measured, const struct spec_node *node, const int64_t *shape) {
    static struct tmg_choice choices[TMG_CHOICES];
    const struct tmg_table *table = measured->table;
    struct tmg_asked asked;
    struct tmg_binding binding;
    unsigned count = 0;
    const struct tmg_question question = {.table = table,
                                          .launch = &asked.launch,
                                          .capacity = {.sms = table->sms},
                                          .kernel = -1,
                                          .workspace = -1};
    tmg_ask_at(&asked, table->interface, table->dims, shape, table->dim_count);
    if (tmg_choose(&question, choices, &count) ||
        tmg_bind(table->interface, &asked.launch, &binding)) {
        diag_error(measured->diag, node->place, NULL, "measured: %s", tmagen_error_last());
        return 0;
    }
    memset(measured->misses, 0, table->launch_count * sizeof *measured->misses);
    for (unsigned i = 0; i < count; i++) {
        const int launch = tmg_table_launch(table, choices[i].kernel, choices[i].splits);
        if (launch < 0 || !(choices[i].us < 1e12)) continue;
        const double us = measured->us[launch], predicted = choices[i].us;
        if (us > 0)
            measured->misses[launch] = us / predicted;
        else if (measured->all[choices[i].kernel] && predicted < LIKELY * measured->best)
            measured->misses[launch] = fmax(1, measured->slowest / predicted);
    }
    return tmg_alignment_class(&binding);
}

enum { MOST_UNKNOWN = 26 };  // launches in a row that a letter says nothing is known of

// As the library reads it: "MxNxK ALIGNMENT MISSES".
static void write_row(const struct measured *measured, const int64_t *shape, int alignment,
                      FILE *out) {
    const struct tmg_table *table = measured->table;
    bool digits = false;
    unsigned unknown = 0;
    fprintf(out, "%s\n    \"", measured->count ? "," : "");
    for (unsigned i = 0; i < table->dim_count; i++)
        fprintf(out, "%s%lld", i ? "x" : "", (long long)shape[i]);
    fprintf(out, " %d ", alignment);
    for (unsigned i = 0; i < table->launch_count; i++) {
        const double miss = fmax(1, round(1000 * measured->misses[i]));
        const bool known = measured->misses[i] > 0, same = !(miss < 1000 || miss > 1000);
        unknown += !known;
        if (unknown && (known || unknown == MOST_UNKNOWN || i + 1 == table->launch_count)) {
            fputc((int)('a' + unknown - 1), out);
            unknown = 0, digits = false;
        }
        if (!known) continue;
        if (same)
            fputc('=', out);
        else
            fprintf(out, "%s%.0f", digits ? " " : "", miss);
        digits = !same;
    }
    fputc('"', out);
}

static bool repeats(const struct measured *measured, const int64_t *shape) {
    const size_t dims = measured->table->dim_count;
    for (size_t i = 0; i < measured->count; i++)
        if (!memcmp(measured->shapes + i * dims, shape, dims * sizeof *shape)) return true;
    return false;
}

static void read_row(struct measured *measured, const struct spec_node *node, FILE *out) {
    const struct fields fields = {measured->diag, node, "measured."};
    int64_t *shape = measured->shapes + measured->count * measured->table->dim_count;
    const size_t errors = diag_errors(measured->diag);
    if (node->kind != SPEC_MAP) {
        diag_error(measured->diag, node->place, "{shape: 4096x4096x512, us: {NAME: 38.2}}",
                   "measured: must be a map");
        return;
    }
    fields_only(&fields, row_keys);
    fields_need(&fields, "shape");
    fields_need(&fields, "us");
    const char *text = fields_text(&fields, "shape");
    if (text && !words_shape(text, (int)measured->table->dim_count, shape))
        diag_error(measured->diag, spec_get(node, "shape")->place, "as in 4096x4096x512",
                   "measured.shape: %s is no shape", text);
    else if (text && repeats(measured, shape))
        diag_error(measured->diag, node->place, NULL, "measured: %s stands there twice", text);
    if (spec_get(node, "us")) read_times(measured, spec_get(node, "us"));
    if (diag_errors(measured->diag) != errors) return;
    const int alignment = ask(measured, node, shape);
    if (alignment) write_row(measured, shape, alignment, out), measured->count++;
}

char *measured_lines(struct diag *diag, const struct spec_node *list, const struct tmg_table *table,
                     const char *suffix, const bool *all) {
    struct measured measured = {.diag = diag, .table = table, .suffix = suffix, .all = all};
    char *text = NULL;
    size_t size;
    if (list->kind != SPEC_LIST) {
        diag_error(diag, list->place, "measured: [{shape: 4096x4096x512, us: {NAME: 38.2}}]",
                   "measured: must be a list");
        return mem_copy("");
    }
    FILE *out = open_memstream(&text, &size);
    if (!out) return mem_copy("");
    measured.us = mem_zero(table->launch_count * sizeof *measured.us);
    measured.misses = mem_zero(table->launch_count * sizeof *measured.misses);
    measured.shapes = mem_zero((list->count + 1) * table->dim_count * sizeof *measured.shapes);
    for (size_t i = 0; i < list->count; i++) read_row(&measured, list->values[i], out);
    fclose(out);
    free(measured.us);
    free(measured.misses);
    free(measured.shapes);
    return text;
}

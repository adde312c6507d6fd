// What is read out of databases of tunings. They come from anywhere: what is printed of their texts
// is printable, and what becomes YAML is an identifier or a number.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/stats.h"
#include "measure/columns.h"
#include "measure/tune.h"
#include "measure/tune_db.h"
#include "runtime/error.h"
#include "runtime/manifest.h"

// [text] without what a terminal would take for more than a letter.
static const char *plain(const char *text, char *to, size_t size) {
    size_t at = 0;
    for (; text[at] && at + 1 < size; ++at)
        to[at] = text[at] < ' ' || text[at] == 127 ? '?' : text[at];
    to[at] = 0;
    return to;
}

void tune_name(const char *kernel, int splits, char *text, size_t size) {
    if (splits)
        snprintf(text, size, "%s/%d", kernel, splits);
    else
        snprintf(text, size, "%s", kernel);
}

static int open_for_reading(const char *path, struct tune_db **db) {
    if (tune_db_open(path, TUNE_DB_READ, db) == TMAGEN_OK) return 0;
    kernel_complain("");
    tune_db_close(*db);
    return 1;
}

// ---- Shape by shape

// What is known of a shape of a family and type on a device. Rows come by device, type, family and
// shape.
struct group {
    char device[128], family[64], dtype[32], shape[128];
    char name[200];                 // the best launch
    double ms, lower, upper, next;  // next: of the next in the same contest
    int level, rounds, good, bad;
};

struct group_walk {
    struct group group;
    void (*end)(void *context, const struct group *);
    void *context;
};

static void begin_group(struct group *g, const struct tune_result *row,
                        const struct tune_kernel *kernel) {
    *g = (struct group){.good = 0};
    plain(row->device, g->device, sizeof g->device);
    plain(kernel->family, g->family, sizeof g->family);
    plain(row->dtype, g->dtype, sizeof g->dtype);
    plain(row->shape, g->shape, sizeof g->shape);
}

static bool same_group(const struct group *a, const struct group *b) {
    return !strcmp(a->device, b->device) && !strcmp(a->family, b->family) &&
           !strcmp(a->dtype, b->dtype) && !strcmp(a->shape, b->shape);
}

// Whoever won more contests is the better one, whatever its time was then.
static bool is_better(const struct group *g, const struct tune_result *row) {
    return !g->good || row->level > g->level || (row->level == g->level && row->ms < g->ms);
}

static void add_to_group(struct group *g, const struct tune_result *row,
                         const struct tune_kernel *kernel) {
    char name[160];
    g->bad += row->verdict != TUNE_OK;
    if (row->verdict != TUNE_OK) return;
    if (is_better(g, row)) {
        g->next = g->good && row->level == g->level ? g->ms : 0;
        g->ms = row->ms, g->lower = row->lower, g->upper = row->upper;
        g->level = row->level, g->rounds = row->rounds;
        tune_name(plain(kernel->name, name, sizeof name), row->splits, g->name, sizeof g->name);
    } else if (row->level == g->level && (!(g->next > 0) || row->ms < g->next)) {
        g->next = row->ms;
    }
    ++g->good;
}

static void end_group(struct group_walk *walk) {
    if (walk->group.good || walk->group.bad) walk->end(walk->context, &walk->group);
}

static int add_row(void *context, const struct tune_result *row, const struct tune_kernel *kernel) {
    struct group_walk *walk = context;
    struct group next;
    begin_group(&next, row, kernel);
    if (!same_group(&next, &walk->group)) {
        end_group(walk);
        walk->group = next;
    }
    add_to_group(&walk->group, row, kernel);
    return 0;
}

// Calls [end] for each shape of the database at [path]. An exit code.
static int walk_groups(const char *path, void (*end)(void *, const struct group *), void *context) {
    struct tune_db *db;
    struct group_walk walk = {.end = end, .context = context};
    if (open_for_reading(path, &db)) return 1;
    const int status = tune_db_results(db, add_row, &walk);
    end_group(&walk);
    if (status != TMAGEN_OK) kernel_complain("");
    tune_db_close(db);
    return status != TMAGEN_OK;
}

static void show_group(void *context, const struct group *g) {
    struct table *table = context;
    table_cell(table, "%s", g->device);
    table_cell(table, "%s", g->dtype);
    table_cell(table, "%s", g->shape);
    table_cell(table, "%s", g->good ? g->name : "none");
    if (g->good) {
        table_cell(table, "%.4g", g->ms);
        table_cell(table, "%.2f%%", 50 * (g->upper - g->lower) / g->ms);
        table_cell(table, "%d", g->rounds);
    }
    for (int i = 0; i < 3 && !g->good; ++i) table_cell(table, "%s", "");
    if (g->next > 0)
        table_cell(table, "%.3f", g->next / g->ms);
    else
        table_cell(table, "%s", "");
    table_cell(table, "%d", g->good);
    table_cell(table, "%d", g->bad);
}

int tune_show(const char *path, FILE *out) {
    static const char *const titles[] = {"device",  "type",  "shape",  "best", ">ms", ">spread",
                                         ">rounds", ">next", ">tried", ">bad", NULL};
    struct table *table = table_new(titles);
    const int code = walk_groups(path, show_group, table);
    table_print(table, out);
    table_free(table);
    return code;
}

// ---- merge

// What became of a database that was to be brought into another.
enum merged { MERGED, UNREADABLE, UNWRITABLE };

static enum merged merge_one(struct tune_db *into, const char *path) {
    struct tune_db *from;
    if (open_for_reading(path, &from)) return UNREADABLE;
    int status = tune_db_begin(into);
    if (status == TMAGEN_OK) status = tune_db_merge(into, from);
    if (status == TMAGEN_OK) status = tune_db_commit(into);
    if (status != TMAGEN_OK) {
        kernel_complain(path);
        tune_db_rollback(into);
    }
    tune_db_close(from);
    return status == TMAGEN_OK ? MERGED : UNWRITABLE;
}

// Goes on behind those that cannot be read; a disk that is full is so for all that follow. A part
// of what was to be merged would look like the whole: where we made the database none is kept.
int tune_merge(const char *into, char *const *from, size_t count) {
    struct tune_db *db;
    size_t merged = 0;
    enum merged last = MERGED;
    if (tune_db_open(into, TUNE_DB_WRITE, &db) != TMAGEN_OK) {
        kernel_complain("");
        last = UNWRITABLE;
    }
    for (size_t i = 0; i < count && last != UNWRITABLE; ++i) {
        last = merge_one(db, from[i]);
        merged += last == MERGED;
    }
    if (last == UNWRITABLE)
        tune_db_discard(db);
    else
        tune_db_close(db);
    return merged != count;
}

// ---- The error of the model

// Relative errors, as logarithms of predicted over measured.
struct errors {
    double *values;
    size_t count, capacity;
};

// A shape: the fastest that was measured, and what the model would have taken.
struct choice {
    struct group group;
    double best_ms, first_us, first_ms;
    int count;
};

struct judging {
    const struct predict_gpu *model;
    struct errors all, near, by_bound[TMG_BOUNDS];  // near: within 1.1 of the best of their shape
    struct errors choices;                          // how many times as long as the best
    struct choice choice;
    int unknown;
};

static void add_error(struct errors *errors, double value) {
    if (errors->count == errors->capacity) {
        const size_t capacity = errors->capacity ? 2 * errors->capacity : 256;
        double *grown = realloc(errors->values, capacity * sizeof *grown);
        if (!grown) return;
        errors->values = grown;
        errors->capacity = capacity;
    }
    errors->values[errors->count++] = value;
}

// What the model says of a row. 0, or -1 where it says nothing.
static int judge(const struct predict_gpu *model, const struct tune_result *row,
                 const struct tune_kernel *kernel, struct tmg_estimate *estimate) {
    struct tmg_manifest *manifest = NULL;
    struct reference reference;
    struct shape_list list = {0};
    int64_t dims[TMG_MAX_DIMS];
    char error[200];
    int failed =
        tmg_manifest_parse(kernel->manifest, strlen(kernel->manifest), "manifest", &manifest) ||
        reference_read(manifest, &reference) ||
        shapes_parse(&list, row->shape, error, sizeof error) || !list.count ||
        shape_dims(list.shapes, &reference, manifest, dims, error, sizeof error) ||
        predict_launch(manifest, dims, row->splits, model, estimate);
    shapes_free(&list);
    tmg_manifest_free(manifest);
    return failed ? -1 : 0;
}

static void end_choice(struct judging *judging) {
    const struct choice *choice = &judging->choice;
    if (choice->count > 1) add_error(&judging->choices, log(choice->first_ms / choice->best_ms));
}

static int judge_row(void *context, const struct tune_result *row,
                     const struct tune_kernel *kernel) {
    struct judging *judging = context;
    struct tmg_estimate estimate;
    struct choice *choice = &judging->choice;
    struct group group;
    if (row->verdict != TUNE_OK || strcmp(row->device, judging->model->name)) return 0;
    if (judge(judging->model, row, kernel, &estimate) || !(estimate.us > 0))
        return ++judging->unknown, 0;
    begin_group(&group, row, kernel);
    if (!same_group(&group, &choice->group)) {
        end_choice(judging);
        *choice = (struct choice){.group = group, .best_ms = row->ms, .first_us = INFINITY};
    }
    const double off = log(estimate.us / (row->ms * 1000));
    add_error(&judging->all, off);
    if (row->ms < 1.1 * choice->best_ms) add_error(&judging->near, off);
    add_error(&judging->by_bound[estimate.binds], off);
    if (estimate.us < choice->first_us) {
        choice->first_us = estimate.us;
        choice->first_ms = row->ms;
    }
    ++choice->count;
    return 0;
}

static void print_errors(struct table *table, const char *of, const struct errors *errors) {
    if (!errors->count) return;
    double *sizes = malloc(errors->count * sizeof *sizes);
    if (!sizes) return;
    for (size_t i = 0; i < errors->count; ++i) sizes[i] = fabs(errors->values[i]);
    const struct stats off = stats_of(errors->values, errors->count);
    const struct stats size = stats_of(sizes, errors->count);
    table_cell(table, "%s", of);
    table_cell(table, "%zu", errors->count);
    table_cell(table, "%.1f%%", 100 * expm1(size.median));
    table_cell(table, "%.1f%%", 100 * expm1(size.upper));
    table_cell(table, "%+.1f%%", 100 * expm1(off.median));
    free(sizes);
}

static void print_choices(const struct errors *choices, FILE *out) {
    double sum = 0;
    int slow = 0;
    if (!choices->count) return;
    for (size_t i = 0; i < choices->count; ++i) {
        sum += choices->values[i];
        slow += choices->values[i] > log(1 / .95);
    }
    fprintf(out,
            "what the model ranks first is %.3f as fast as the best (geometric mean of %zu shapes; "
            "%d below .95, the worst %.2f)\n",
            exp(-sum / (double)choices->count), choices->count, slow,
            exp(-stats_of(choices->values, choices->count).greatest));
}

static void print_judgement(struct judging *judging, FILE *out) {
    static const char *const titles[] = {"of",        ">times",  ">median error",
                                         ">quartile", ">median", NULL};
    struct table *table = table_new(titles);
    print_errors(table, "all", &judging->all);
    print_errors(table, "within 1.1 of a shape's best", &judging->near);
    for (int i = 0; i < TMG_BOUNDS; ++i) {
        char of[64];
        snprintf(of, sizeof of, "bound by %s", tmg_bound_name((enum tmg_bound)i));
        print_errors(table, of, &judging->by_bound[i]);
    }
    table_print(table, out);
    table_free(table);
    print_choices(&judging->choices, out);
}

int tune_error(const char *path, const struct predict_gpu *model, FILE *out) {
    struct tune_db *db;
    struct judging judging = {.model = model};
    if (open_for_reading(path, &db)) return 1;
    const int status = tune_db_results(db, judge_row, &judging);
    end_choice(&judging);
    if (status == TMAGEN_OK && judging.all.count) print_judgement(&judging, out);
    if (status != TMAGEN_OK) kernel_complain("");
    if (status == TMAGEN_OK && !judging.all.count)
        fprintf(stderr, "tmagen: error: %s: holds no time on %s of a kernel that says its costs\n",
                path, model->name);
    const int code = status != TMAGEN_OK || !judging.all.count;
    free(judging.all.values);
    free(judging.near.values);
    free(judging.choices.values);
    for (int i = 0; i < TMG_BOUNDS; ++i) free(judging.by_bound[i].values);
    tune_db_close(db);
    return code;
}

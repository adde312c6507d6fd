// Rows of a dispatch table, from a database: the best of each shape, and what was measured there,
// which corrects the model nearby. A row of the latter says of whatever it does not name that it
// took longer, so that only shapes at which all was tried have one.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/kernels.h"
#include "measure/tune.h"
#include "measure/tune_db.h"
#include "runtime/error.h"
#include "runtime/table.h"

enum { LINE = 118 };              // columns of the file
static const double share = 1.7;  // times a shape's best: what its row names
static const double all = 0.9;    // of the launches of the shape with the most
// A later contest of large shapes runs at the lower clock that power leaves: its winner, who won
// the ones before, is as much faster than all of these at least; but clocks differ by no more.
static const double ahead = 1.015, slowest_clock = .75;

struct tried {
    char name[200];
    int level;
    double us;
};

// What is known of a shape of a family and type on a device.
struct shape_rows {
    char device[128], family[64], dtype[32], shape[128];
    struct tried *list;
    size_t count, capacity;
};

struct table_walk {
    FILE *out;
    struct shape_rows now;
    void (*print)(struct table_walk *, const struct shape_rows *);
    const char *section;
    bool fresh;   // of device, family and type at hand nothing was printed
    size_t most;  // launches of a shape
    int column;
};

static void begin_row(struct table_walk *walk, const struct shape_rows *now) {
    if (walk->fresh)
        fprintf(walk->out, "# %s, %s, %s\n%s:\n", now->device, now->family, now->dtype,
                walk->section);
    walk->fresh = false;
}

static void print_tuned(struct table_walk *walk, const struct shape_rows *now) {
    const struct tried *best = &now->list[0];
    for (size_t i = 1; i < now->count; ++i) {
        const struct tried *next = &now->list[i];
        if (next->level > best->level || (next->level == best->level && next->us < best->us))
            best = next;
    }
    if (now->count > walk->most) walk->most = now->count;
    begin_row(walk, now);
    fprintf(walk->out, "  - {shape: %s, kernel: %s, us: %.4g}\n", now->shape, best->name, best->us);
}

static int slower(const void *a, const void *b) {
    const struct tried *x = a, *y = b;
    return (x->us > y->us) - (x->us < y->us);
}

static void print_piece(struct table_walk *walk, const char *piece) {
    if (walk->column + 1 + (int)strlen(piece) > LINE) {
        fputs("\n    ", walk->out);
        walk->column = 4;
    }
    walk->column += fprintf(walk->out, " %s", piece);
}

static int by_level(const void *a, const void *b) {
    const struct tried *x = a, *y = b;
    return x->level != y->level ? (x->level > y->level) - (x->level < y->level) : slower(a, b);
}

// Times of all levels as if they had been taken at the clock of the first.
static void bring_to_one_clock(const struct shape_rows *now) {
    double best = INFINITY, factor = 1;
    qsort(now->list, now->count, sizeof *now->list, by_level);
    for (size_t i = 0; i < now->count; ++i) {
        struct tried *tried = &now->list[i];
        if (i == 0 || tried->level != tried[-1].level)
            factor = fmax(slowest_clock, fmin(1, best / ahead / tried->us));
        tried->us *= factor;
        best = fmin(best, tried->us);
    }
}

static void print_measured(struct table_walk *walk, const struct shape_rows *now) {
    char piece[260];
    if (now->count < 2 || (double)now->count < all * (double)walk->most) return;
    bring_to_one_clock(now);
    qsort(now->list, now->count, sizeof *now->list, slower);
    begin_row(walk, now);
    walk->column = fprintf(walk->out, "  - {shape: %s, us:", now->shape);
    for (size_t i = 0; i < now->count && now->list[i].us <= share * now->list[0].us; ++i) {
        const bool last = i + 1 == now->count || now->list[i + 1].us > share * now->list[0].us;
        snprintf(piece, sizeof piece, "%s%s: %.4g%s", i ? "" : "{",
                 tmg_table_short_name(now->list[i].name, now->family), now->list[i].us,
                 last ? "}}" : ",");
        print_piece(walk, piece);
    }
    fputc('\n', walk->out);
}

// ---- Shape by shape

static bool is_word(const char *text, const char *more) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    while (*text && (strchr(letters, *text) || strchr(more, *text))) ++text;
    return !*text;
}

static void end_shape(struct table_walk *walk) {
    if (walk->now.count) walk->print(walk, &walk->now);
    walk->now.count = 0;
}

// Goes on with the shape of a row. Rows come by device, type, family and shape.
static void come_to(struct table_walk *walk, const struct tune_result *row, const char *family) {
    struct shape_rows *now = &walk->now;
    const bool same = !strcmp(now->device, row->device) && !strcmp(now->family, family) &&
                      !strcmp(now->dtype, row->dtype);
    if (same && !strcmp(now->shape, row->shape)) return;
    end_shape(walk);
    walk->fresh |= !same;
    snprintf(now->device, sizeof now->device, "%s", row->device);
    snprintf(now->family, sizeof now->family, "%s", family);
    snprintf(now->dtype, sizeof now->dtype, "%s", row->dtype);
    snprintf(now->shape, sizeof now->shape, "%s", row->shape);
}

static int add_row(void *context, const struct tune_result *row, const struct tune_kernel *kernel) {
    struct table_walk *walk = context;
    struct shape_rows *now = &walk->now;
    if (row->verdict != TUNE_OK || !is_word(kernel->name, "") || !is_word(kernel->family, "") ||
        !is_word(row->shape, "/") || !is_word(row->dtype, "") || !is_word(row->device, " -."))
        return 0;
    come_to(walk, row, kernel->family);
    if (now->count == now->capacity) {
        const size_t capacity = now->capacity ? 2 * now->capacity : 64;
        struct tried *grown = realloc(now->list, capacity * sizeof *grown);
        if (!grown) return tmg_fail_memory();
        now->list = grown;
        now->capacity = capacity;
    }
    struct tried *tried = &now->list[now->count++];
    *tried = (struct tried){.level = row->level, .us = row->ms * 1000};
    tune_name(kernel->name, row->splits, tried->name, sizeof tried->name);
    return 0;
}

static int walk_section(struct tune_db *db, struct table_walk *walk, const char *section,
                        void (*print)(struct table_walk *, const struct shape_rows *)) {
    *walk->now.device = 0;
    walk->section = section;
    walk->print = print;
    const int status = tune_db_results(db, add_row, walk);
    end_shape(walk);
    return status;
}

int tune_table(const char *path, FILE *out) {
    struct tune_db *db;
    struct table_walk walk = {.out = out};
    int status = tune_db_open(path, TUNE_DB_READ, &db);
    if (status == TMAGEN_OK) status = walk_section(db, &walk, "tuned", print_tuned);
    if (status == TMAGEN_OK) status = walk_section(db, &walk, "measured", print_measured);
    if (status != TMAGEN_OK) kernel_complain("");
    tune_db_close(db);
    free(walk.now.list);
    return status != TMAGEN_OK;
}

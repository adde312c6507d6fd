// What a dispatch table takes at a shape, as the library would without a device: the choice and why
// it is made in a sentence, and the first few of the ranking below it.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/predict.h"
#include "measure/reference.h"
#include "measure/columns.h"
#include "runtime/error.h"
#include "runtime/set.h"

enum { SHOWN = 3 };

int predict_open(const struct kernel_text *text, struct tmg_table **out) {
    const struct table_text *from = text->table;
    struct tmg_table *table = NULL;
    int status = tmg_table_parse(from->text, strlen(from->text), text->name, &table);
    for (unsigned i = 0; !status && i < table->kernel_count; ++i)
        status =
            tmg_table_take(table, i, from->kernels[i].manifest, strlen(from->kernels[i].manifest));
    if (!status) status = tmg_table_finish(table);
    if (status) return tmg_table_free(table), status;
    *out = table;
    return TMAGEN_OK;
}

// What $TMAGEN_PICK makes a launch take, as a set does; kernel -1: nothing.
static struct tmg_pin read_environment(const struct tmg_table *table) {
    const char *pick = getenv("TMAGEN_PICK");
    struct tmg_pin pin = {.kernel = -1};
    if (pick && *pick && tmg_choice_read(table, pick, &pin.kernel, &pin.splits))
        fprintf(stderr, "tmagen: warning: $TMAGEN_PICK: %s\n", tmagen_error_last());
    return pin;
}

// Whether [shape] is as the family's reference has them: its numbers, and the word behind them. 0,
// or -1 with the error set.
static int check_shape(const struct tmg_table *table, const struct shape *shape) {
    struct reference reference = {0};
    int64_t dims[TMG_MAX_DIMS];
    char error[160];
    if (shape->count != (int)table->dim_count)
        return tmg_fail(TMAGEN_ERROR_ARGUMENT, "%s: a shape is %u numbers, and %d are given",
                        table->name, table->dim_count, shape->count);
    if (!*shape->inputs) return 0;
    const int status = reference_read(table->interface, &reference);
    if (!status && shape_dims(shape, &reference, table->interface, dims, error, sizeof error))
        return tmg_fail(TMAGEN_ERROR_ARGUMENT, "%s: %s", table->name, error);
    return status;
}

// The choices at [shape], whose dims have the table's own names, or the pin's. 0, or -1 with the
// error set.
static int ask(const struct tmg_table *table, const struct tmg_pin *pin, const struct shape *shape,
               struct tmg_choice *choices, unsigned *count) {
    struct tmg_asked asked;
    const struct tmg_question question = {
        .table = table,
        .launch = &asked.launch,
        .capacity = {.sms = table->sms, .semaphore_bytes = TMG_SEMAPHORES},
        .kernel = pin->kernel,
        .splits = pin->splits,
        .why = pin->kernel < 0 ? 0 : TMAGEN_BY_ENVIRONMENT,
        .workspace = -1};
    if (check_shape(table, shape)) return -1;
    tmg_ask_at(&asked, table->interface, table->dims, shape->numbers, table->dim_count);
    return tmg_choose(&question, choices, count);
}

int predict_ranking(const struct tmg_table *table, const struct shape *shape,
                    struct tmg_choice choices[TMG_CHOICES], unsigned *count) {
    const struct tmg_pin none = {.kernel = -1};
    return ask(table, &none, shape, choices, count);
}

static void print_head(const struct tmg_table *table, const struct shape *shape,
                       const struct tmg_choice *choice, FILE *out) {
    const char *kernel = table->kernels[choice->kernel].name;
    fprintf(out, "%s on %s, ", table->name, table->gpu);
    shape_print(shape, out);
    fprintf(out, ": %s", kernel);
    if (choice->splits > 1) fprintf(out, "/%d", choice->splits);
    if (choice->why == TMAGEN_BY_TUNING)
        fprintf(out, ", tuned: it took %.4g us\n", choice->tuned_us);
    else if (choice->binds == TMG_BOUNDS)
        fprintf(out, ", %s; it has no model\n",
                choice->why == TMAGEN_BY_ENVIRONMENT ? "by $TMAGEN_PICK"
                                                     : "which alone takes the shape");
    else
        fprintf(out, ", by %s: %.4g us, bound by %s\n",
                choice->why == TMAGEN_BY_ENVIRONMENT ? "$TMAGEN_PICK" : "the model", choice->us,
                tmg_bound_name(choice->binds));
}

static void print_choice(struct table *rows, const struct tmg_table *table,
                         const struct tmg_choice *choice, double first) {
    table_cell(rows, "%s", table->kernels[choice->kernel].name);
    table_cell(rows, "%d", choice->splits);
    table_cell(rows, choice->tuned_us > 0 ? "%.4g" : "-", choice->tuned_us);
    if (choice->binds == TMG_BOUNDS) {
        table_cell(rows, "-"), table_cell(rows, "-"), table_cell(rows, "no model");
    } else {
        table_cell(rows, "%.4g", choice->us);
        table_cell(rows, "%.3f", choice->us / first);
        table_cell(rows, "%s", tmg_bound_name(choice->binds));
    }
    table_cell(rows, "%lld", (long long)choice->workspace);
}

// 0, or 1 where nothing serves the shape; that is said as a [remark].
static int print_pick(const struct tmg_table *table, const struct tmg_pin *pin,
                      const struct shape *shape, const char *remark, FILE *out) {
    static const char *const titles[] = {"kernel",    ">splits",  ">measured us", ">model us",
                                         ">to first", "bound by", ">workspace",   NULL};
    struct tmg_choice choices[TMG_CHOICES];
    unsigned count;
    if (ask(table, pin, shape, choices, &count)) {
        fprintf(stderr, "tmagen: %s: %s\n", remark, tmagen_error_last());
        return 1;
    }
    if (!count) return 0;
    print_head(table, shape, &choices[0], out);
    struct table *rows = table_new(titles);
    for (unsigned i = 0; rows && i < count && i < SHOWN; ++i)
        print_choice(rows, table, &choices[i], choices[0].us);
    table_print(rows, out);
    table_free(rows);
    return 0;
}

// Whether the shape names another type than the table's.
static bool is_for(const struct shape *shape, const struct tmg_table *table) {
    return shape_is_for(shape, table->interface);
}

int predict_pick(const struct kernel_text *text, const struct shape_list *shapes, bool *answered,
                 FILE *out) {
    struct tmg_table *table = NULL;
    size_t asked = 0, refused = 0;
    if (predict_open(text, &table)) return kernel_complain(text->name), 1;
    if (strcmp(table->version, tmagen_version()))
        fprintf(stderr,
                "tmagen: warning: the table %s is by tmagen %s, and this is %s: its entries "
                "are hints\n",
                table->name, table->version, tmagen_version());
    const struct tmg_pin pin = read_environment(table);
    for (size_t i = 0; i < shapes->count; ++i) {
        if (!is_for(&shapes->shapes[i], table)) continue;
        ++asked;
        const int failed =
            print_pick(table, &pin, &shapes->shapes[i], answered ? "note" : "error", out);
        refused += (size_t)failed;
        if (answered && !failed) answered[i] = true;
    }
    tmg_table_free(table);
    return answered || !refused ? 0 : refused == asked ? 2 : 1;
}

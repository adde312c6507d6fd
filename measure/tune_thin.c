// Which of a dispatch table's measured shapes the others foretell: by a table of these the choice
// there takes as long as the best that was measured, so that their rows say nothing that it needs.
// A part drawn by lot stays, so that what lies near is known everywhere; the others are asked in
// turn, each of a table of what has stayed until then. The same table gives the same answer.
#include <math.h>
#include <stdlib.h>

#include "measure/predict.h"
#include "measure/random.h"
#include "measure/tune.h"
#include "runtime/error.h"
#include "runtime/learned.h"
#include "runtime/set.h"
#include "runtime/table_measured.h"

// Fitted to what 687 other shapes were chosen by (out/EXPERIMENTS.md): a quarter fewer rows choose
// as well.
static const double by_lot = .6, as_long = 1.005;

enum { LOT = 3 };  // the seed

// What the measured launches of a shape take by its row, in us; 0: nothing is known.
static void list_times(struct tmg_scene *scene, const struct tmg_measured *measured, double *us) {
    const struct tmg_table *table = scene->table;
    for (unsigned i = 0; i < table->launch_count; ++i) us[i] = 0;
    for (unsigned i = measured->first; i < measured->end; ++i) {
        const struct tmg_miss *miss = &table->misses[i];
        const struct tmg_listed *listed = &table->listed[miss->launch];
        int64_t counts[TMG_PER_COUNT];
        struct tmg_estimate estimate;
        if (!tmg_scene_estimate(scene, &table->kernels[listed->kernel], listed->splits, INFINITY,
                                counts, &estimate) &&
            estimate.us < INFINITY)
            us[miss->launch] = estimate.us * exp((double)miss->log);
    }
}

// Whether the table as it is chooses at the shape what takes no longer than the best of its row.
static int foretells(const struct tmg_table *table, const struct tmg_measured *measured) {
    struct tmg_scene scene = {.table = table,
                              .capacity = {.sms = table->sms, .semaphore_bytes = TMG_SEMAPHORES}};
    struct tmg_asked asked;
    struct tmg_choice choice;
    const struct tmg_near none = {.table = table};
    double us[TMG_MAX_LAUNCHES], best = INFINITY;
    unsigned count = 0;
    tmg_measured_shape(table, measured, scene.shape);
    tmg_ask_at(&asked, table->interface, table->dims, scene.shape, table->dim_count);
    const struct tmg_question question = {.table = table,
                                          .launch = &asked.launch,
                                          .capacity = scene.capacity,
                                          .kernel = -1,
                                          .workspace = -1,
                                          .most = 1};
    if (tmg_choose(&question, &choice, &count) || !count ||
        tmg_bind(table->interface, &asked.launch, &scene.binding))
        return 0;
    tmg_scene_fill(&scene, &none, 0);
    list_times(&scene, measured, us);
    for (unsigned i = 0; i < table->launch_count; ++i)
        if (us[i] > 0) best = fmin(best, us[i]);
    const int launch = tmg_table_launch(table, choice.kernel, choice.splits);
    return launch >= 0 && us[launch] > 0 && us[launch] <= as_long * best;
}

static void draw_lots(unsigned *order, unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
        const int64_t at = random_below(LOT, i, i + 1);
        order[i] = order[at];
        order[at] = i;
    }
}

// Whether its row names a kernel that is for the rest: few rows do, and they are all that is known
// of what it takes.
static bool names_last(const struct tmg_table *table, const struct tmg_measured *measured) {
    for (unsigned i = measured->first; i < measured->end; ++i)
        if (table->listed[table->misses[i].launch].last) return true;
    return false;
}

// Leaves hidden what the others foretell. What came back may be near what had gone before it, which
// is asked once more.
static void thin(struct tmg_table *table, bool *foretold) {
    const unsigned count = table->measured_count, stay = (unsigned)ceil(by_lot * count);
    unsigned *order = calloc(count + 1, sizeof *order);
    if (!order) abort();
    draw_lots(order, count);
    for (unsigned i = stay; i < count; ++i) {
        foretold[order[i]] = !names_last(table, table->by_place[order[i]]);
        if (foretold[order[i]]) tmg_measured_hide(table, order[i], 1);
    }
    for (unsigned i = stay; i < 2 * count - stay; ++i) {
        const unsigned row = order[i < count ? i : i - count + stay];
        if (!foretold[row] || foretells(table, table->by_place[row])) continue;
        foretold[row] = false;
        tmg_measured_hide(table, row, 0);
    }
    free(order);
}

int tune_thin(const struct kernel_text *text, struct tune_thinned *thinned) {
    struct tmg_table *table = NULL;
    *thinned = (struct tune_thinned){0};
    if (predict_open(text, &table)) return kernel_complain(text->name), 1;
    const unsigned count = table->measured_count;
    bool *foretold = calloc(count + 1, sizeof *foretold);
    thinned->shapes = calloc(count + 1, sizeof *thinned->shapes);
    if (!foretold || !thinned->shapes) abort();
    thinned->dim_count = table->dim_count;
    thin(table, foretold);
    for (unsigned i = 0; i < count; ++i)
        if (foretold[i])
            tmg_measured_shape(table, table->by_place[i], thinned->shapes[thinned->count++]);
    free(foretold);
    tmg_table_free(table);
    return 0;
}

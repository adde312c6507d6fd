// All rungs are verified before the first is measured: verifying takes processes of its own, which
// can be had only while this one holds no GPU. Then two rungs a run, in alternation.
#include "measure/ladder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/bench.h"
#include "measure/verify_all.h"
#include "runtime/manifest.h"

enum { VERIFY_RUNS = 4 };

// ---- The rule

static const double clear_gain = 1.05;

enum ladder_decision ladder_decide(struct stats ratio) {
    const double spread = (ratio.upper - ratio.lower) / 2, gain = ratio.median - 1;
    if (!ratio.count || isnan(ratio.median)) return LADDER_NONE;
    if (ratio.median > clear_gain) return LADDER_KEEP;
    if (gain < 0) return LADDER_REVERT;
    return spread < gain ? LADDER_KEEP : LADDER_UNCLEAR;
}

enum ladder_decision ladder_overall(const struct ladder *ladder, size_t index, int *shapes) {
    int counts[LADDER_NONE + 1] = {0};
    *shapes = 0;
    for (size_t i = 0; i < ladder->row_count; ++i) {
        const struct ladder_row *row = &ladder->rows[i];
        if (row->rung != index || !row->ratio.count) continue;
        ++counts[ladder_decide(row->ratio)];
        ++*shapes;
    }
    if (!*shapes) return LADDER_NONE;
    if (counts[LADDER_KEEP] == *shapes) return LADDER_KEEP;
    if (counts[LADDER_KEEP]) return LADDER_MIXED;
    return counts[LADDER_REVERT] ? LADDER_REVERT : LADDER_UNCLEAR;
}

// ---- Rows

static struct ladder_row *new_row(struct ladder *ladder, size_t rung, const char *shape) {
    if (ladder->row_count == ladder->row_capacity) {
        const size_t capacity = ladder->row_capacity ? 2 * ladder->row_capacity : 16;
        struct ladder_row *grown = realloc(ladder->rows, capacity * sizeof *grown);
        if (!grown) return NULL;
        ladder->rows = grown;
        ladder->row_capacity = capacity;
    }
    struct ladder_row *row = &ladder->rows[ladder->row_count++];
    *row = (struct ladder_row){.rung = rung, .against = -1, .since_first = NAN};
    snprintf(row->shape, sizeof row->shape, "%s", shape);
    return row;
}

// The row of rung [index] at [shape], or NULL.
static const struct ladder_row *find_row(const struct ladder *ladder, size_t index,
                                         const char *shape) {
    for (size_t i = 0; i < ladder->row_count; ++i) {
        const struct ladder_row *row = &ladder->rows[i];
        if (row->rung == index && !strcmp(row->shape, shape)) return row;
    }
    return NULL;
}

static bool first_at(const struct ladder *ladder, const char *shape) {
    for (size_t i = 0; i < ladder->row_count; ++i)
        if (!strcmp(ladder->rows[i].shape, shape) && ladder->rows[i].ms.count) return false;
    return true;
}

// A pair of rungs in a run.
struct rung_pair {
    struct ladder *ladder;
    size_t rung, before;
};

// The rung before, where the shape's first run has just measured it too: what all else stands on.
static void add_base(const struct rung_pair *pair, const char *shape, struct stats ms) {
    if (!first_at(pair->ladder, shape)) return;
    struct ladder_row *row = new_row(pair->ladder, pair->before, shape);
    if (!row) return;
    row->ms = ms;
    row->since_first = 1;
}

// The factor by which rung [index] is faster than the shape's first one.
static double since_first(const struct ladder *ladder, size_t index, const char *shape) {
    const struct ladder_row *row = find_row(ladder, index, shape);
    return row ? row->since_first : NAN;
}

static void take_ratio(const struct rung_pair *pair, const struct bench_shape *shape,
                       const struct bench_entry *own, const struct bench_entry *other,
                       struct ladder_row *row) {
    row->against = (long)pair->before;
    row->before = bench_times(shape, other);
    row->ratio = bench_ratio(shape, own, other);
    row->since_first = since_first(pair->ladder, pair->before, row->shape) * row->ratio.median;
}

static void visit(void *context, const struct bench_session *session,
                  const struct bench_shape *shape) {
    const struct rung_pair *pair = context;
    struct ladder *ladder = pair->ladder;
    const struct bench_entry *own = &shape->entries[0], *other = &shape->entries[1];
    char name[140];
    snprintf(name, sizeof name, "%s %s", shape->dtype, shape->text);
    snprintf(ladder->gpu, sizeof ladder->gpu, "%s, %d SMs", session->gpu.info.name,
             session->gpu.info.sms);
    if (bench_measured(other)) add_base(pair, name, bench_times(shape, other));
    const bool first = first_at(ladder, name);
    struct ladder_row *row = new_row(ladder, pair->rung, name);
    if (!row) return;
    if (bench_measured(own)) row->ms = bench_times(shape, own);
    if (bench_measured(own) && bench_measured(other)) {
        take_ratio(pair, shape, own, other, row);
    } else if (bench_measured(own)) {
        snprintf(row->reason, sizeof row->reason, "rung %d: %s", ladder->rungs[pair->before].number,
                 other->refused);
        if (first) row->since_first = 1;
    } else {
        snprintf(row->reason, sizeof row->reason, "%s",
                 *own->refused ? own->refused : "not measured");
    }
}

// ---- The run

int ladder_check(const struct ladder *ladder, const struct shape_list *shapes) {
    const struct kernel_text *kernel = &ladder->rungs[0].kernel;
    struct tmg_manifest *manifest;
    int wanted = shapes->count == 0, code = 0;
    if (tmg_manifest_parse(kernel->manifest, strlen(kernel->manifest), kernel->name, &manifest)) {
        kernel_complain(kernel->name);
        return 1;
    }
    struct reference reference;
    if (reference_read(manifest, &reference)) {
        kernel_complain(kernel->name);
        code = 1;
    }
    for (size_t i = 0; code == 0 && i < shapes->count; ++i) {
        int64_t dims[TMG_MAX_DIMS];
        char error[200];
        if (!shape_is_for(&shapes->shapes[i], manifest)) continue;
        wanted = 1;
        code = shape_dims(&shapes->shapes[i], &reference, manifest, dims, error, sizeof error) != 0;
        if (code) fprintf(stderr, "tmagen: error: %s\n", error);
    }
    if (code == 0 && !wanted) {
        fputs("tmagen: error: no shape is for these kernels\n", stderr);
        code = 1;
    }
    tmg_manifest_free(manifest);
    return code;
}

// Marks the rungs that are wrong. Returns an exit code: 3, or whether any is wrong.
static int verify_rungs(struct ladder *ladder, const struct ladder_plan *plan) {
    int worst = 0;
    for (size_t i = 0; i < ladder->rung_count; ++i) {
        struct ladder_rung *rung = &ladder->rungs[i];
        const struct verify_plan verify = {.device = plan->device,
                                           .kernels = &rung->kernel,
                                           .kernel_count = 1,
                                           .shapes = plan->shapes,
                                           .seed = plan->seed,
                                           .runs = VERIFY_RUNS,
                                           .timeout = plan->timeout};
        printf("rung %d, %s\n", rung->number, rung->title);
        const int code = verify_all(&verify);
        if (code == 3) return 3;
        rung->wrong = code != 0;
        worst |= code;
    }
    return worst;
}

static int measure_pair(struct ladder *ladder, const struct ladder_plan *plan, size_t rung,
                        size_t before) {
    struct rung_pair pair = {ladder, rung, before};
    const struct kernel_text kernels[] = {ladder->rungs[rung].kernel, ladder->rungs[before].kernel};
    const struct bench_plan bench = {.device = plan->device,
                                     .kernels = kernels,
                                     .kernel_count = 2,
                                     .own_count = 1,
                                     .shapes = plan->shapes,
                                     .seconds = plan->seconds,
                                     .seed = plan->seed,
                                     .timeout = plan->timeout,
                                     .visit = visit,
                                     .context = &pair};
    const int code = bench_all(&bench);
    return code == 2 ? 1 : code;  // shapes are the ladder's own
}

int ladder_run(struct ladder *ladder, const struct ladder_plan *plan) {
    int worst = verify_rungs(ladder, plan);
    long before = -1;
    for (size_t i = 0; i < ladder->rung_count && worst != 3; ++i) {
        if (ladder->rungs[i].wrong) continue;
        const int code = before < 0 ? 0 : measure_pair(ladder, plan, i, (size_t)before);
        worst = code == 3 ? 3 : worst | code;
        before = (long)i;
    }
    return worst;
}

void ladder_free(struct ladder *ladder) {
    free(ladder->rows);
    ladder->rows = NULL;
    ladder->row_count = ladder->row_capacity = 0;
}

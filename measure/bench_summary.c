// What bench shows at the end: a row a shape, the best of our kernels against the peers, and over
// several shapes the geometric means.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "measure/bench.h"
#include "measure/columns.h"

static const struct bench_entry *peer_of_role(const struct bench_shape *shape,
                                              enum bench_role role) {
    for (int i = 0; i < shape->entry_count; ++i) {
        if (shape->entries[i].role == role && bench_measured(&shape->entries[i])) {
            return &shape->entries[i];
        }
    }
    return NULL;
}

static bool has_peers(const struct bench_session *session) {
    return session->cublaslt || session->plan->own_count < session->plan->kernel_count;
}

int bench_summary_new(const struct bench_session *session, struct bench_summary *summary) {
    static const char *const alone[] = {"shape", "best spec", ">ms",     ">TFLOP/s",
                                        ">TB/s", ">of roof",  ">spread", NULL};
    static const char *const with_peer[] = {"shape",    "best spec", ">ms",     ">TFLOP/s",
                                            ">TB/s",    ">of roof",  ">spread", ">first ms",
                                            ">best ms", ">x first",  ">x best", NULL};
    *summary = (struct bench_summary){.table = table_new(has_peers(session) ? with_peer : alone)};
    return summary->table ? 0 : -1;
}

void bench_summary_free(struct bench_summary *summary) { table_free(summary->table); }

static void put_peer(struct table *summary, const struct bench_entry *peer,
                     const struct bench_shape *shape) {
    table_cell(summary, peer ? "%.4g" : "-", peer ? bench_times(shape, peer).median : 0);
}

static void put_ratio(struct bench_summary *summary, const struct bench_shape *shape,
                      const struct bench_entry *own, const struct bench_entry *peer,
                      struct bench_mean *mean) {
    const double ratio = peer ? bench_ratio(shape, own, peer).median : 0;
    table_cell(summary->table, peer ? "%.3f" : "-", ratio);
    if (!(ratio > 0)) return;
    mean->logarithms += log(ratio);
    if (mean->count++ && ratio >= mean->least) return;
    mean->least = ratio;
    snprintf(mean->least_at, sizeof mean->least_at, "%s", shape->text);
}

static void put_peers(struct bench_summary *summary, const struct bench_shape *shape,
                      const struct bench_entry *own) {
    const struct bench_entry *best = peer_of_role(shape, BENCH_BEST);
    const struct bench_entry *first = peer_of_role(shape, BENCH_FIRST);
    if (!first) first = best;
    if (!best) first = best = peer_of_role(shape, BENCH_OTHER);
    put_peer(summary->table, first, shape);
    put_peer(summary->table, best, shape);
    put_ratio(summary, shape, own, first, &summary->first);
    put_ratio(summary, shape, own, best, &summary->best);
}

void bench_summary_add(struct bench_summary *summary, const struct bench_session *session,
                       const struct bench_shape *shape) {
    struct table *table = summary->table;
    const struct bench_entry *own = bench_best(shape);
    table_cell(table, "%s %s", shape->dtype, shape->text);
    if (!own) {
        table_cell(table, "none");
        table_end_row(table);
        return;
    }
    const struct stats ms = bench_times(shape, own);
    const struct bench_floor floor = bench_floor_of(session, shape);
    bench_put_name(table, own);
    table_cell(table, "%.4g", ms.median);
    table_cell(table, "%.1f", shape->flops / ms.median / 1e9);
    table_cell(table, "%.2f", shape->bytes / ms.median / 1e9);
    table_cell(table, "%.1f%% %s", 100 * floor.ms / ms.median, floor.roof);
    table_cell(table, "+-%.2f%%", 100 * stats_spread(ms));
    if (has_peers(session)) put_peers(summary, shape, own);
}

static void print_mean(const char *name, const struct bench_mean *mean) {
    if (mean->count < 2) return;
    printf("%s: geometric mean of %d shapes %.4f, least %.3f at %s\n", name, mean->count,
           exp(mean->logarithms / mean->count), mean->least, mean->least_at);
}

void bench_summary_print(const struct bench_summary *summary) {
    printf("\n");
    table_print(summary->table, stdout);
    print_mean("x first", &summary->first);
    print_mean("x best", &summary->best);
}

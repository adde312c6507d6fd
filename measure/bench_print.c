// What bench shows of a shape as soon as it is measured.
// With --json the blocks are objects, one a line, that hold every figure the table is made of.
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/bench.h"
#include "measure/cublaslt.h"
#include "measure/columns.h"

bool bench_measured(const struct bench_entry *entry) { return entry->contestant.ms != NULL; }

static bool is_peer(const struct bench_entry *entry) { return entry->role != BENCH_OWN; }

struct stats bench_times(const struct bench_shape *shape, const struct bench_entry *entry) {
    return stats_of(entry->contestant.ms, (size_t)shape->contest.done);
}

struct stats bench_ratio(const struct bench_shape *shape, const struct bench_entry *entry,
                         const struct bench_entry *peer) {
    return stats_of_ratios(peer->contestant.ms, entry->contestant.ms, (size_t)shape->contest.done);
}

const struct bench_entry *bench_best(const struct bench_shape *shape) {
    const struct bench_entry *best = NULL;
    for (int i = 0; i < shape->entry_count; ++i) {
        const struct bench_entry *entry = &shape->entries[i];
        if (entry->role != BENCH_OWN || !bench_measured(entry)) continue;
        if (!best || bench_times(shape, entry).median < bench_times(shape, best).median) {
            best = entry;
        }
    }
    return best;
}

struct bench_floor bench_floor_of(const struct bench_session *session,
                                  const struct bench_shape *shape) {
    const struct bench_roofs *roofs = &session->roofs;
    const tmagen_device_info *info = &session->gpu.info;
    const double l1_rate = 128.0 * info->sms * info->clock_khz * 1e3;  // bytes a second
    const struct bench_floor floors[] = {
        {roofs->copy_bytes > 0 ? shape->bytes / roofs->copy_bytes * 1e3 : 0, "copy"},
        {shape->matrix && roofs->matrix_flops > 0 ? shape->flops / roofs->matrix_flops * 1e3 : 0,
         "matrix"},
        {l1_rate > 0 ? shape->l1_bytes / l1_rate * 1e3 : 0, "L1"},
    };
    struct bench_floor highest = floors[0];
    for (size_t i = 1; i < sizeof floors / sizeof *floors; ++i) {
        if (floors[i].ms > highest.ms) highest = floors[i];
    }
    return highest;
}

// ---- Text

static void print_head_text(const struct bench_session *session) {
    const tmagen_device_info *info = &session->gpu.info;
    printf("%s, %d SMs, driver %d.%d%s%s\n", info->name, info->sms, info->driver_version / 1000,
           info->driver_version % 1000 / 10, session->cublaslt ? ", " : "",
           session->cublaslt ? cublaslt_name(session->cublaslt) : "");
    printf("roofs of this run: copy %.2f TB/s", session->roofs.copy_bytes / 1e12);
    if (session->roofs.matrix_flops > 0) {
        printf(", matrix %.0f TFLOP/s (%s)", session->roofs.matrix_flops / 1e12,
               session->roofs.matrix_source);
    }
    printf("\n");
}

void bench_put_name(struct table *table, const struct bench_entry *entry) {
    const char *picked = entry->role == BENCH_OWN ? entry->picked : "";
    table_cell(table, "%s%s%s", entry->contestant.name, *picked ? ": " : "", picked);
}

static void put_entry(struct table *table, const struct bench_shape *shape,
                      const struct bench_entry *entry, struct bench_floor floor) {
    const struct stats ms = bench_times(shape, entry);
    table_cell(table, entry == bench_best(shape) ? "  *" : "");
    bench_put_name(table, entry);
    table_cell(table, "%.5g ms", ms.median);
    table_cell(table, "+-%.2f%%", 100 * stats_spread(ms));
    table_cell(table, "%.1f TFLOP/s", shape->flops / ms.median / 1e9);
    table_cell(table, "%.2f TB/s", shape->bytes / ms.median / 1e9);
    table_cell(table, "%.1f%% of %s", 100 * floor.ms / ms.median, floor.roof);
    for (int i = 0; i < shape->entry_count; ++i) {
        const struct bench_entry *peer = &shape->entries[i];
        if (!is_peer(peer) || !bench_measured(peer)) continue;
        const struct stats r = bench_ratio(shape, entry, peer);
        if (peer == entry) {
            table_cell(table, "%s", "");
        } else {
            table_cell(table, "%.3f [%.3f, %.3f]", r.median, r.lower, r.upper);
        }
    }
}

// Who was not measured, once for each reason.
static void print_refused(const struct bench_shape *shape) {
    for (int i = 0; i < shape->entry_count; ++i) {
        const char *reason = shape->entries[i].refused;
        bool said = !*reason;
        for (int j = 0; j < i; ++j) said |= !strcmp(shape->entries[j].refused, reason);
        if (said) continue;
        printf("  -  %s:", reason);
        for (int j = i; j < shape->entry_count; ++j) {
            if (strcmp(shape->entries[j].refused, reason)) continue;
            printf("%s %s", j > i ? "," : "", shape->entries[j].contestant.name);
        }
        printf("\n");
    }
}

static const char *short_name(const struct bench_entry *peer) {
    return peer->role == BENCH_FIRST  ? "first"
           : peer->role == BENCH_BEST ? "best"
                                      : peer->contestant.name;
}

static void print_shape_text(const struct bench_session *session, const struct bench_shape *shape) {
    const struct bench_floor floor = bench_floor_of(session, shape);
    const char *titles[8 + BENCH_ENTRIES_MAX] = {"  ", "", ">", ">", ">", ">", ">"};
    char ratios[BENCH_ENTRIES_MAX][180];
    int columns = 7;
    for (int i = 0; i < shape->entry_count; ++i) {
        const struct bench_entry *peer = &shape->entries[i];
        if (!is_peer(peer) || !bench_measured(peer)) continue;
        snprintf(ratios[i], sizeof ratios[i], ">x %s", short_name(peer));
        titles[columns++] = ratios[i];
    }
    printf("\n%s %s  (%d input sets, %d rounds", shape->dtype, shape->text, shape->sets,
           shape->contest.done);
    if (shape->contest.clock_mhz) printf(", SM %d MHz", shape->contest.clock_mhz);
    if (shape->contest.power_watts) printf(", %d W", shape->contest.power_watts);
    printf(")\n");
    struct table *table = table_new(titles);
    for (int i = 0; table && i < shape->entry_count; ++i) {
        const struct bench_entry *entry = &shape->entries[i];
        if (bench_measured(entry)) put_entry(table, shape, entry, floor);
    }
    if (table) table_print(table, stdout);
    table_free(table);
    print_refused(shape);
}

// ---- JSON

static void print_line(json_t *object) {
    char *text = object ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(7)) : NULL;
    if (text) puts(text);
    free(text);
    json_decref(object);
}

static json_t *stats_json(struct stats stats) {
    return json_pack("{sf sf sf sf sf}", "median", stats.median, "lower", stats.lower, "upper",
                     stats.upper, "least", stats.least, "greatest", stats.greatest);
}

static json_t *entry_json(const struct bench_session *session, const struct bench_shape *shape,
                          const struct bench_entry *entry) {
    static const char *const roles[] = {"own", "other", "cublaslt first", "cublaslt best"};
    json_t *object =
        json_pack("{ss ss}", "name", entry->contestant.name, "role", roles[entry->role]);
    if (!bench_measured(entry)) {
        json_object_set_new(object, "refused", json_string(entry->refused));
        json_object_set_new(object, "failed", json_boolean(entry->failed));
        return object;
    }
    const struct stats ms = bench_times(shape, entry);
    const struct bench_floor floor = bench_floor_of(session, shape);
    if (*entry->picked) json_object_set_new(object, "picked", json_string(entry->picked));
    json_object_set_new(object, "ms", stats_json(ms));
    json_object_set_new(object, "tflops", json_real(shape->flops / ms.median / 1e9));
    json_object_set_new(object, "tbytes", json_real(shape->bytes / ms.median / 1e9));
    json_object_set_new(object, "roof", json_string(floor.roof));
    json_object_set_new(object, "roof_share", json_real(floor.ms / ms.median));
    json_t *ratios = json_object();
    for (int i = 0; i < shape->entry_count; ++i) {
        const struct bench_entry *peer = &shape->entries[i];
        if (!is_peer(peer) || !bench_measured(peer) || peer == entry) continue;
        json_object_set_new(ratios, peer->contestant.name,
                            stats_json(bench_ratio(shape, entry, peer)));
    }
    json_object_set_new(object, "times_as_fast_as", ratios);
    return object;
}

static void print_shape_json(const struct bench_session *session, const struct bench_shape *shape) {
    json_t *entries = json_array();
    for (int i = 0; i < shape->entry_count; ++i) {
        json_array_append_new(entries, entry_json(session, shape, &shape->entries[i]));
    }
    print_line(json_pack("{ss ss sf sf si si si si so}", "shape", shape->text, "dtype",
                         shape->dtype, "flops", shape->flops, "bytes", shape->bytes, "sets",
                         shape->sets, "rounds", shape->contest.done, "sm_mhz",
                         shape->contest.clock_mhz, "watts", shape->contest.power_watts, "entries",
                         entries));
}

static void print_head_json(const struct bench_session *session) {
    const tmagen_device_info *info = &session->gpu.info;
    print_line(json_pack("{ss si si ss sf sf}", "device", info->name, "sms", info->sms, "driver",
                         info->driver_version, "peer",
                         session->cublaslt ? cublaslt_name(session->cublaslt) : "",
                         "copy_bytes_per_second", session->roofs.copy_bytes,
                         "matrix_flops_per_second", session->roofs.matrix_flops));
}

// ---- Either

void bench_print_head(const struct bench_session *session) {
    if (session->plan->json) {
        print_head_json(session);
    } else {
        print_head_text(session);
    }
}

void bench_print_shape(const struct bench_session *session, const struct bench_shape *shape) {
    if (session->plan->json) {
        print_shape_json(session, shape);
    } else {
        print_shape_text(session, shape);
    }
}

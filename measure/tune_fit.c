// The rates of a GPU from the times of a database: least squares of logarithms, by a search that
// asks for no derivatives, since the model has none where another unit begins to bind. A time
// weighs by how near it is to the best of its shape, since kernels are chosen among those.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/stats.h"
#include "measure/tune.h"
#include "measure/tune_db.h"
#include "runtime/error.h"
#include "runtime/manifest.h"

enum { SWEEPS_MOST = 150, TIMES_LEAST = 50 };
static const double first_step = 0.3, coarse = 0.05, fine = 0.002;
static const double outlier = 0.3;  // an error beyond this weighs as it does, not as its square
static const double strange = 0.2;  // a kernel whose median error is beyond this is left out

// A time, with what the model needs to predict it.
struct fit_time {
    int64_t dims[TMG_MAX_DIMS];
    size_t kernel;
    int splits;
    double us, weight;
};

struct fit_kernel {
    struct tmg_manifest *manifest;
    char key[TMAGEN_KEY_CHARS];
    bool out;  // what the model says of it fits to no rates
};

struct fit {
    const struct predict_gpu *start;
    struct fit_time *times;
    size_t count, capacity;
    struct fit_kernel *kernels;  // so far
    size_t kernel_count, kernel_capacity;
    char group[256];  // family, type and shape of the last row; rows come by these, the best first
    double best;      // time of that group
    double within;    // of it, what is fitted to; 0: all
};

static void *grow(void *list, size_t count, size_t *capacity, size_t bytes) {
    if (count < *capacity) return list;
    *capacity = *capacity ? 2 * *capacity : 64;
    void *grown = realloc(list, *capacity * bytes);
    if (!grown) free(list);
    return grown;
}

// The place of [kernel], whose manifest is parsed once; -1 where it cannot be.
static long place_of(struct fit *fit, const struct tune_kernel *kernel) {
    struct tmg_manifest *manifest = NULL;
    for (size_t i = fit->kernel_count; i-- > 0;)
        if (!strcmp(fit->kernels[i].key, kernel->key)) return (long)i;
    if (tmg_manifest_parse(kernel->manifest, strlen(kernel->manifest), "manifest", &manifest))
        return -1;
    fit->kernels =
        grow(fit->kernels, fit->kernel_count, &fit->kernel_capacity, sizeof *fit->kernels);
    if (!fit->kernels) abort();
    struct fit_kernel *row = &fit->kernels[fit->kernel_count];
    *row = (struct fit_kernel){.manifest = manifest};
    snprintf(row->key, sizeof row->key, "%s", kernel->key);
    return (long)fit->kernel_count++;
}

static int predict_time(const struct fit *fit, const struct fit_time *time,
                        const struct predict_gpu *gpu, struct tmg_estimate *estimate) {
    return predict_launch(fit->kernels[time->kernel].manifest, time->dims, time->splits, gpu,
                          estimate);
}

// Whether the kernel takes the shape that [text] says, and a model knows it. Parts without a step
// are none that are ever chosen.
static bool read_time(const struct fit *fit, const char *text, struct fit_time *time) {
    const struct tmg_manifest *manifest = fit->kernels[time->kernel].manifest;
    struct reference reference;
    struct shape_list list = {0};
    struct tmg_estimate estimate;
    char error[200];
    const bool good =
        !reference_read(manifest, &reference) && !shapes_parse(&list, text, error, sizeof error) &&
        list.count &&
        !shape_dims(list.shapes, &reference, manifest, time->dims, error, sizeof error) &&
        !predict_time(fit, time, fit->start, &estimate) && estimate.steps >= 1;
    shapes_free(&list);
    return good;
}

static int add_time(void *context, const struct tune_result *row,
                    const struct tune_kernel *kernel) {
    struct fit *fit = context;
    if (row->verdict != TUNE_OK || strcmp(row->device, fit->start->name)) return 0;
    const long place = place_of(fit, kernel);
    if (place < 0) return 0;
    char group[sizeof fit->group];
    snprintf(group, sizeof group, "%.63s %.31s %.127s", kernel->family, row->dtype, row->shape);
    if (strcmp(fit->group, group)) {
        memcpy(fit->group, group, sizeof group);
        fit->best = row->ms;
    }
    if (fit->within > 0 && row->ms > fit->within * fit->best) return 0;
    struct fit_time time = {.kernel = (size_t)place,
                            .splits = row->splits,
                            .us = row->ms * 1000,
                            .weight = fit->best / row->ms};
    if (!read_time(fit, row->shape, &time)) return 0;
    fit->times = grow(fit->times, fit->count, &fit->capacity, sizeof *fit->times);
    if (!fit->times) return tmg_fail_memory();
    fit->times[fit->count++] = time;
    return 0;
}

// How far [rates] are off: the weighted mean of squared logarithms, outliers held down.
static double loss(const struct fit *fit, const struct tmg_rates *rates) {
    struct predict_gpu gpu = *fit->start;
    double sum = 0, weights = 0;
    gpu.rates = *rates;
    for (size_t i = 0; i < fit->count; ++i) {
        const struct fit_time *time = &fit->times[i];
        struct tmg_estimate estimate;
        if (fit->kernels[time->kernel].out || predict_time(fit, time, &gpu, &estimate)) continue;
        const double off = fabs(log(estimate.us / time->us));
        sum += time->weight * (off < outlier ? off * off : outlier * (2 * off - outlier));
        weights += time->weight;
    }
    return sum / weights;
}

// Tries a step of each rate by itself, up and down; the loss then.
static double step_each(const struct fit *fit, struct tmg_rates *rates, double least, double step) {
    for (int rate = 0; rate < TMG_RATES; ++rate) {
        for (int sign = -1; sign <= 1; sign += 2) {
            struct tmg_rates other = *rates;
            if (!(rates->of[rate] > 0)) break;  // not of this GPU
            other.of[rate] *= exp(sign * step);
            const double now = loss(fit, &other);
            if (!(now < least)) continue;
            least = now, *rates = other;
            break;
        }
    }
    return least;
}

// Makes [rates] better until no step does: steps of each, then all of them once more as one, which
// follows valleys that lie across (Hooke and Jeeves 1961). The loss then.
static double descend(const struct fit *fit, struct tmg_rates *rates, double last_step) {
    double least = loss(fit, rates), step = first_step;
    for (int sweep = 0; sweep < SWEEPS_MOST && step > last_step; ++sweep) {
        const struct tmg_rates from = *rates;
        const double now = step_each(fit, rates, least, step);
        if (!(now < least)) step /= 2;
        least = now;
        struct tmg_rates further = *rates;
        for (int rate = 0; rate < TMG_RATES; ++rate)
            if (from.of[rate] > 0) further.of[rate] *= rates->of[rate] / from.of[rate];
        const double then = step_each(fit, &further, loss(fit, &further), step);
        if (then < least) least = then, *rates = further;
    }
    return least;
}

// Leaves out the kernels that [rates] miss by far: what they spend is none of what is counted, as
// where lanes and not the tensor cores do the work. Returns how many times are left.
static size_t leave_out(struct fit *fit, const struct tmg_rates *rates) {
    struct predict_gpu gpu = *fit->start;
    size_t left = fit->count;
    double *errors = malloc(fit->count * sizeof *errors);
    gpu.rates = *rates;
    for (size_t i = 0; errors && i < fit->kernel_count; ++i) {
        struct fit_kernel *kernel = &fit->kernels[i];
        struct tmg_estimate estimate;
        size_t count = 0;
        for (size_t j = 0; j < fit->count; ++j)
            if (fit->times[j].kernel == i && !predict_time(fit, &fit->times[j], &gpu, &estimate))
                errors[count++] = fabs(log(estimate.us / fit->times[j].us));
        const double median = count ? stats_of(errors, count).median : 0;
        kernel->out = median > strange;
        if (!kernel->out) continue;
        left -= count;
        fprintf(stderr, "left out: %s, of %zu times, which the model misses by %.0f%%\n",
                kernel->manifest->name, count, 100 * expm1(median));
    }
    free(errors);
    return left;
}

static void print_rates(const struct predict_gpu *gpu, const struct tmg_rates *rates, FILE *out) {
    fprintf(out, "{\n  \"tmagen_rates\": 1,\n  \"gpu\": \"%s\",\n  \"sms\": %d,\n  \"rates\": {\n",
            gpu->name, gpu->capacity.sms);
    for (int rate = 0; rate < TMG_RATES; ++rate)
        if (rates->of[rate] > 0)
            fprintf(out, "%s    \"%s\": %.4g", rate ? ",\n" : "",
                    tmg_rate_name((enum tmg_rate)rate), rates->of[rate]);
    fputs("\n  }\n}\n", out);
}

static int fit_and_print(struct fit *fit, const char *path, FILE *out) {
    struct tmg_rates rates = fit->start->rates;
    if (fit->count < TIMES_LEAST) {
        fprintf(stderr, "tmagen: error: %s: holds %zu times on %s that the model knows, of %d\n",
                path, fit->count, fit->start->name, TIMES_LEAST);
        return 1;
    }
    descend(fit, &rates, coarse);
    const size_t left = leave_out(fit, &rates);
    if (left < TIMES_LEAST) {
        fprintf(stderr, "tmagen: error: %s: rates explain %zu of its %zu times on %s, of %d\n",
                path, left, fit->count, fit->start->name, TIMES_LEAST);
        return 1;
    }
    const double before = loss(fit, &fit->start->rates), after = descend(fit, &rates, fine);
    fprintf(stderr, "%zu times: root of the mean square error %.1f%% before, %.1f%% now\n", left,
            100 * sqrt(before), 100 * sqrt(after));
    print_rates(fit->start, &rates, out);
    return 0;
}

int tune_calibrate(const char *path, const struct predict_gpu *start, double within, FILE *out) {
    struct fit fit = {.start = start, .within = within};
    struct tune_db *db;
    int status = tune_db_open(path, TUNE_DB_READ, &db);
    if (status == TMAGEN_OK) status = tune_db_results(db, add_time, &fit);
    if (status != TMAGEN_OK) kernel_complain("");
    const int code = status == TMAGEN_OK ? fit_and_print(&fit, path, out) : 1;
    for (size_t i = 0; i < fit.kernel_count; ++i) tmg_manifest_free(fit.kernels[i].manifest);
    free(fit.kernels);
    free(fit.times);
    tune_db_close(db);
    return code;
}

// The rates of a GPU from the times of a database: least squares of logarithms, by a search that
// asks for no derivatives, since the model has none where another unit begins to bind.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/tune.h"
#include "measure/tune_db.h"
#include "runtime/error.h"
#include "runtime/manifest.h"

enum { SWEEPS_MOST = 150, TIMES_LEAST = 50 };
static const double first_step = 0.3, last_step = 0.002;
static const double outlier = 0.5;  // an error beyond this weighs as it does, not as its square

// A time, with what the model needs to predict it.
struct fit_time {
    const struct tmg_manifest *manifest;
    int64_t dims[TMG_MAX_DIMS];
    int splits;
    double us;
};

struct fit {
    const struct predict_gpu *start;
    struct fit_time *times;
    size_t count, capacity;
    struct tmg_manifest **manifests;  // of the kernels so far
    char (*keys)[TMAGEN_KEY_CHARS];
    size_t kernels, kernel_capacity;
};

static void *grow(void *list, size_t count, size_t *capacity, size_t bytes) {
    if (count < *capacity) return list;
    *capacity = *capacity ? 2 * *capacity : 64;
    void *grown = realloc(list, *capacity * bytes);
    if (!grown) free(list);
    return grown;
}

// The manifest of [kernel], parsed once; NULL where it cannot be.
static const struct tmg_manifest *manifest_of(struct fit *fit, const struct tune_kernel *kernel) {
    struct tmg_manifest *manifest = NULL;
    for (size_t i = fit->kernels; i-- > 0;)
        if (!strcmp(fit->keys[i], kernel->key)) return fit->manifests[i];
    if (tmg_manifest_parse(kernel->manifest, strlen(kernel->manifest), "manifest", &manifest))
        return NULL;
    size_t capacity = fit->kernel_capacity;
    fit->keys = grow(fit->keys, fit->kernels, &capacity, sizeof *fit->keys);
    fit->manifests =
        grow(fit->manifests, fit->kernels, &fit->kernel_capacity, sizeof(struct tmg_manifest *));
    if (!fit->keys || !fit->manifests) abort();
    snprintf(fit->keys[fit->kernels], sizeof *fit->keys, "%s", kernel->key);
    return fit->manifests[fit->kernels++] = manifest;
}

// Whether the kernel takes the shape that [text] says, and a model knows it.
static bool read_time(const struct fit *fit, const char *text, struct fit_time *time) {
    struct reference reference;
    struct shape_list list = {0};
    struct tmg_estimate estimate;
    char error[200];
    const bool good =
        time->manifest && !reference_read(time->manifest, &reference) &&
        !shapes_parse(&list, text, error, sizeof error) && list.count &&
        !shape_dims(list.shapes, &reference, time->manifest, time->dims, error, sizeof error) &&
        !predict_launch(time->manifest, time->dims, time->splits, fit->start, &estimate);
    shapes_free(&list);
    return good;
}

static int add_time(void *context, const struct tune_result *row,
                    const struct tune_kernel *kernel) {
    struct fit *fit = context;
    if (row->verdict != TUNE_OK || strcmp(row->device, fit->start->name)) return 0;
    struct fit_time time = {.splits = row->splits, .us = row->ms * 1000};
    time.manifest = manifest_of(fit, kernel);
    if (!read_time(fit, row->shape, &time)) return 0;
    fit->times = grow(fit->times, fit->count, &fit->capacity, sizeof *fit->times);
    if (!fit->times) return tmg_fail_memory();
    fit->times[fit->count++] = time;
    return 0;
}

// How far [rates] are off: the mean of squared logarithms, outliers held down.
static double loss(const struct fit *fit, const struct tmg_rates *rates) {
    struct predict_gpu gpu = *fit->start;
    double sum = 0;
    gpu.rates = *rates;
    for (size_t i = 0; i < fit->count; ++i) {
        const struct fit_time *time = &fit->times[i];
        struct tmg_estimate estimate;
        if (predict_launch(time->manifest, time->dims, time->splits, &gpu, &estimate)) continue;
        const double off = fabs(log(estimate.us / time->us));
        sum += off < outlier ? off * off : outlier * (2 * off - outlier);
    }
    return sum / (double)fit->count;
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
static double descend(const struct fit *fit, struct tmg_rates *rates) {
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

static void print_rates(const struct predict_gpu *gpu, const struct tmg_rates *rates, FILE *out) {
    fprintf(out, "{\n  \"tmagen_rates\": 1,\n  \"gpu\": \"%s\",\n  \"sms\": %d,\n  \"rates\": {\n",
            gpu->name, gpu->capacity.sms);
    for (int rate = 0; rate < TMG_RATES; ++rate)
        if (rates->of[rate] > 0)
            fprintf(out, "%s    \"%s\": %.4g", rate ? ",\n" : "",
                    tmg_rate_name((enum tmg_rate)rate), rates->of[rate]);
    fputs("\n  }\n}\n", out);
}

static int fit_and_print(const struct fit *fit, const char *path, FILE *out) {
    struct tmg_rates rates = fit->start->rates;
    if (fit->count < TIMES_LEAST) {
        fprintf(stderr, "tmagen: error: %s: holds %zu times on %s that the model knows, of %d\n",
                path, fit->count, fit->start->name, TIMES_LEAST);
        return 1;
    }
    const double before = loss(fit, &rates), after = descend(fit, &rates);
    fprintf(stderr, "%zu times: root of the mean square error %.1f%% before, %.1f%% now\n",
            fit->count, 100 * sqrt(before), 100 * sqrt(after));
    print_rates(fit->start, &rates, out);
    return 0;
}

int tune_calibrate(const char *path, const struct predict_gpu *start, FILE *out) {
    struct fit fit = {.start = start};
    struct tune_db *db;
    int status = tune_db_open(path, TUNE_DB_READ, &db);
    if (status == TMAGEN_OK) status = tune_db_results(db, add_time, &fit);
    if (status != TMAGEN_OK) kernel_complain("");
    const int code = status == TMAGEN_OK ? fit_and_print(&fit, path, out) : 1;
    for (size_t i = 0; i < fit.kernels; ++i) tmg_manifest_free(fit.manifests[i]);
    free(fit.manifests);
    free(fit.keys);
    free(fit.times);
    tune_db_close(db);
    return code;
}

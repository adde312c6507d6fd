// Three looks at a result: every element was written and is a number; samples, corners and edges of
// tiles equal the reference; and where the reference has a check of the whole, what it doubts does.
#include "measure/compare.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "measure/numbers.h"
#include "measure/parallel.h"
#include "measure/random.h"

enum { SAMPLES = 4096, NOTED_A_PIECE = 4096, SCAN_PIECE = 4096 };
static const double exhaustive_budget = 4e9;  // operations of the reference, about a second
static const double suspects_budget = 2e10;

struct job {
    const struct ref_problem *problem;
    struct comparison *comparison;
    uint8_t poison;
    const int64_t *list;  // elements to compute, or NULL: those from [first] on
    int64_t first;
    pthread_mutex_t lock;
};

// Keeps the findings that come first in the output. Call with the lock held.
static void keep_first(struct comparison *comparison, const struct finding *finding) {
    size_t at = comparison->first_count;
    while (at > 0 && comparison->first[at - 1].linear > finding->linear) --at;
    if (at > 0 && comparison->first[at - 1].linear == finding->linear) return;
    if (at == COMPARE_FIRST) return;
    const size_t last =
        comparison->first_count < COMPARE_FIRST ? comparison->first_count++ : COMPARE_FIRST - 1;
    memmove(&comparison->first[at + 1], &comparison->first[at],
            (last - at) * sizeof comparison->first[0]);
    comparison->first[at] = *finding;
}

static void note(struct job *job, const struct finding *finding) {
    int64_t index[TMAGEN_MAX_RANK];
    ref_index(job->comparison->output, finding->linear, index);
    pthread_mutex_lock(&job->lock);
    keep_first(job->comparison, finding);
    if (job->comparison->pattern) pattern_add(job->comparison->pattern, index);
    pthread_mutex_unlock(&job->lock);
}

static bool is_poison(const unsigned char *element, size_t bytes, uint8_t poison) {
    for (size_t i = 0; i < bytes; ++i) {
        if (element[i] != poison) return false;
    }
    return true;
}

// What can be said of an element without knowing what it should be; FINDING_KINDS: nothing.
static enum finding_kind judge(const struct ref_tensor *output, const int64_t *index,
                               uint8_t poison, double *value) {
    const size_t bytes = num_types[output->dtype].bytes;
    const unsigned char *element =
        (const unsigned char *)output->data + (size_t)ref_offset(output, index) * bytes;
    *value = num_value(output->dtype, element);
    if (is_poison(element, bytes, poison)) return FINDING_UNWRITTEN;
    return isfinite(*value) ? FINDING_KINDS : FINDING_NOT_FINITE;
}

static void judge_range(struct job *job, int64_t first, int64_t last, int64_t *found) {
    const struct ref_tensor *output = job->comparison->output;
    int64_t index[TMAGEN_MAX_RANK], noted = 0;
    for (int64_t i = first; i < last; ++i) {
        struct finding finding = {.linear = i, .want = NAN, .tolerance = NAN};
        ref_index(output, i, index);
        finding.kind = judge(output, index, job->poison, &finding.got);
        if (finding.kind == FINDING_KINDS) continue;
        ++found[finding.kind];
        if (noted++ < NOTED_A_PIECE) note(job, &finding);
    }
}

// True where all of [count] contiguous elements are finite, found without looking at each: adding
// x - x of them gives 0. An unwritten element is not finite where the poison is not.
static bool all_finite(const struct ref_tensor *output, int64_t first, int64_t count) {
    float values[SCAN_PIECE], sum = 0;
    const size_t bytes = num_types[output->dtype].bytes;
    num_decode(output->dtype, (const char *)output->data + (size_t)first * bytes, values,
               (size_t)count);
    for (int64_t i = 0; i < count; ++i) sum += values[i] - values[i];
    return sum == 0;
}

static bool contiguous(const struct ref_tensor *tensor) {
    return (size_t)tensor->count * num_types[tensor->dtype].bytes == tensor->bytes;
}

static void scan_range(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    struct job *job = context;
    const struct ref_tensor *output = job->comparison->output;
    const unsigned char poison[8] = {job->poison, job->poison, job->poison, job->poison,
                                     job->poison, job->poison, job->poison, job->poison};
    const bool fast = contiguous(output) && output->dtype != NUM_FP64 &&
                      !isfinite(num_value(output->dtype, poison));
    int64_t found[FINDING_KINDS] = {0};
    for (int64_t piece = begin; piece < end; ++piece) {
        const int64_t first = piece * SCAN_PIECE, rest = output->count - first;
        const int64_t count = rest < SCAN_PIECE ? rest : SCAN_PIECE;
        if (fast && all_finite(output, first, count)) continue;
        judge_range(job, first, first + count, found);
    }
    pthread_mutex_lock(&job->lock);
    for (int i = 0; i < FINDING_KINDS; ++i) job->comparison->found[i] += found[i];
    pthread_mutex_unlock(&job->lock);
}

// Computes elements by the reference and compares. What the scan found already is left out.
static void compute_range(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    struct job *job = context;
    const struct ref_tensor *output = job->comparison->output;
    int64_t index[TMAGEN_MAX_RANK], wrong = 0;
    double worst = 0;
    for (int64_t i = begin; i < end; ++i) {
        struct finding finding = {FINDING_WRONG, job->list ? job->list[i] : job->first + i, 0, 0,
                                  0};
        ref_index(output, finding.linear, index);
        if (judge(output, index, job->poison, &finding.got) != FINDING_KINDS) continue;
        const struct ref_value want = job->problem->reference->element(job->problem, output, index);
        finding.want = want.value, finding.tolerance = want.tolerance;
        const double error = fabs(finding.got - want.value) / want.tolerance;
        if (error > worst) worst = error;
        if (error <= 1) continue;  // NaN is no pass
        if (wrong++ < NOTED_A_PIECE) note(job, &finding);
    }
    pthread_mutex_lock(&job->lock);
    job->comparison->checked += end - begin;
    job->comparison->found[FINDING_WRONG] += wrong;
    if (worst > job->comparison->worst) job->comparison->worst = worst;
    pthread_mutex_unlock(&job->lock);
}

static void compute(struct job *job, const int64_t *list, int64_t first, int64_t count) {
    job->list = list;
    job->first = first;
    parallel_for(count, 16, compute_range, job);
}

// A coordinate that is likely to show an error: at an end of the axis or of a tile.
static int64_t edge(int64_t size, int64_t tile, uint64_t bits) {
    const int64_t tiles = (size + tile - 1) / tile;
    const int64_t start = (int64_t)((bits >> 8) % (uint64_t)tiles) * tile;
    const int64_t places[] = {0,         size - 1,           start, start + tile - 1, size / 2,
                              start + 8, (tiles - 1) * tile, 1};
    const int64_t place = places[bits % 8];
    return place < size ? place : size - 1;
}

// Element [i] of the sample: first the corners of the output, then mixtures of edges and chance.
static int64_t sample(const struct ref_problem *problem, const struct ref_tensor *output,
                      uint64_t seed, int64_t i) {
    int64_t linear = 0;
    for (int axis = 0; axis < output->rank; ++axis) {
        const int64_t size = output->dims[axis];
        const struct tmg_extent *extent = &output->declared->dims[axis];
        const int64_t tile =
            extent->dim >= 0
                ? ref_tile(problem->manifest, problem->manifest->dims[extent->dim].name, size)
                : size;
        const uint64_t bits = random_bits(seed, (uint64_t)i * TMAGEN_MAX_RANK + (uint64_t)axis);
        int64_t place =
            (bits & 1) ? edge(size, tile, bits >> 1) : (int64_t)((bits >> 1) % (uint64_t)size);
        if (i < INT64_C(1) << output->rank) place = i >> axis & 1 ? size - 1 : 0;
        linear = linear * size + place;
    }
    return linear;
}

static int ascending(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int compute_samples(struct job *job, uint64_t seed) {
    int64_t *list = malloc(SAMPLES * sizeof *list);
    if (!list) return -1;
    for (int64_t i = 0; i < SAMPLES; ++i) {
        list[i] = sample(job->problem, job->comparison->output, seed, i);
    }
    qsort(list, SAMPLES, sizeof *list, ascending);
    int64_t unique = 0;
    for (int64_t i = 0; i < SAMPLES; ++i) {
        if (!unique || list[unique - 1] != list[i]) list[unique++] = list[i];
    }
    compute(job, list, 0, unique);
    free(list);
    return 0;
}

// Computes what the check of the whole doubts, evenly chosen where that is too much.
static int compute_suspects(struct job *job, uint64_t seed, double cost) {
    struct ref_spans spans = {0};
    if (job->problem->reference->suspects(job->problem, job->comparison->output, seed, &spans)) {
        ref_spans_free(&spans);
        return -1;
    }
    job->comparison->suspects = spans.total;
    job->comparison->whole = true;
    double total = 0;
    for (size_t i = 0; i < spans.count; ++i) total += cost * (double)spans.spans[i].count;
    const size_t step = total > suspects_budget ? (size_t)(total / suspects_budget) + 1 : 1;
    for (size_t i = 0; i < spans.count; i += step) {
        compute(job, NULL, spans.spans[i].first, spans.spans[i].count);
    }
    ref_spans_free(&spans);
    return 0;
}

int compare(const struct ref_problem *problem, const struct ref_tensor *output, uint8_t poison,
            uint64_t seed, struct comparison *comparison) {
    *comparison = (struct comparison){.output = output};
    comparison->pattern = pattern_new(problem->manifest, output);
    if (!comparison->pattern) return -1;
    struct job job = {.problem = problem, .comparison = comparison, .poison = poison};
    pthread_mutex_init(&job.lock, NULL);
    parallel_for((output->count + SCAN_PIECE - 1) / SCAN_PIECE, 16, scan_range, &job);
    const double cost = problem->reference->element_cost(problem);
    int status = 0;
    if (cost * (double)output->count <= exhaustive_budget) {
        compute(&job, NULL, 0, output->count);
        comparison->whole = true;
    } else {
        status = compute_samples(&job, random_seed(seed, 1));
        if (status == 0 && problem->reference->suspects) {
            status = compute_suspects(&job, random_seed(seed, 2), cost);
        }
    }
    pthread_mutex_destroy(&job.lock);
    return status;
}

bool compare_passed(const struct comparison *comparison) {
    for (int i = 0; i < FINDING_KINDS; ++i) {
        if (comparison->found[i]) return false;
    }
    return true;
}

void compare_free(struct comparison *comparison) {
    pattern_free(comparison->pattern);
    comparison->pattern = NULL;
}

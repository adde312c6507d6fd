// Three looks at a result: every element was written and is a number; samples, corners and edges of
// tiles equal the reference; and where the reference has a check of the whole, what it doubts does.
#include "measure/compare.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define REFERENCE_DATA_ONLY
#include "templates/lib/reference.h"

#include "measure/numbers.h"
#include "measure/parallel.h"
#include "measure/random.h"
#include "runtime/error.h"

enum { SAMPLES = 4096, NOTED_A_PIECE = 4096, SCAN_PIECE = 4096 };
enum { ODD_MAX = 1 << 16 };
// Values asked for at once; with each question a kernel takes the whole problem to its device.
enum { VALUES_OF_CODE = 1 << 16, VALUES_OF_A_KERNEL = 1 << 22 };
static const double exhaustive_budget = 4e9;  // operations of the reference, about a second
static const double suspects_budget = 2e10;

struct compare_job {
    const struct ref_problem *problem;
    struct comparison *comparison;
    uint8_t poison;
    const int64_t *list;  // elements to compare; NULL: those from [first] on
    int64_t first;
    const struct ref_value *values;  // what they should be
    int64_t *odd;                    // elements that are no finite numbers, ODD_MAX or fewer
    int64_t odd_count, odd_listed;   // of how many
    uint64_t odd_thinned;            // listed are those in whose random bits all of these are 0
    bool leaves;  // an element may be as it was, or be the poison by chance: the reference tells
    bool finite;  // all elements were found to be finite numbers, which the poison is not
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

static void note(struct compare_job *job, const struct finding *finding) {
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

static bool contiguous(const struct ref_tensor *tensor) {
    return (size_t)tensor->count * tmg_dtype_bytes(tensor->dtype) == tensor->bytes;
}

static const unsigned char *element_at(const struct ref_tensor *output, int64_t linear) {
    int64_t index[TMAGEN_MAX_RANK], offset = linear;
    if (!contiguous(output)) {
        ref_index(output, linear, index);
        offset = ref_offset(output, index);
    }
    return (const unsigned char *)output->data + (size_t)offset * tmg_dtype_bytes(output->dtype);
}

static bool is_unwritten(const struct ref_tensor *output, int64_t linear, uint8_t poison) {
    return is_poison(element_at(output, linear), tmg_dtype_bytes(output->dtype), poison);
}

// What can be said of an element without knowing what it should be; FINDING_KINDS: nothing.
static enum finding_kind judge(const struct ref_tensor *output, int64_t linear, uint8_t poison,
                               double *value) {
    *value = num_value(output->dtype, element_at(output, linear));
    if (is_unwritten(output, linear, poison)) return FINDING_UNWRITTEN;
    return isfinite(*value) ? FINDING_KINDS : FINDING_NOT_FINITE;
}

static bool odd_is_listed(const struct compare_job *job, int64_t linear) {
    return (random_bits(ODD_MAX, (uint64_t)linear) & job->odd_thinned) == 0;
}

// Drops about half of the list, by chance but the same half every time.
static void thin_odd(struct compare_job *job) {
    int64_t kept = 0;
    job->odd_thinned = 2 * job->odd_thinned + 1;
    for (int64_t i = 0; i < job->odd_listed; ++i) {
        if (odd_is_listed(job, job->odd[i])) job->odd[kept++] = job->odd[i];
    }
    job->odd_listed = kept;
}

// Lists an element that is infinite or NaN, or was left, as it may have to be: the reference tells.
static void note_odd(struct compare_job *job, int64_t linear) {
    pthread_mutex_lock(&job->lock);
    while (job->odd_listed == ODD_MAX && odd_is_listed(job, linear)) thin_odd(job);
    if (odd_is_listed(job, linear)) job->odd[job->odd_listed++] = linear;
    ++job->odd_count;
    pthread_mutex_unlock(&job->lock);
}

static void judge_range(struct compare_job *job, int64_t first, int64_t last, int64_t *found) {
    const struct ref_tensor *output = job->comparison->output;
    int64_t noted = 0;
    for (int64_t i = first; i < last; ++i) {
        struct finding finding = {.linear = i, .want = NAN, .tolerance = NAN};
        finding.kind = judge(output, i, job->poison, &finding.got);
        if (finding.kind == FINDING_KINDS) continue;
        if (finding.kind == FINDING_NOT_FINITE || job->leaves) {
            note_odd(job, i);
            continue;
        }
        ++found[finding.kind];
        if (noted++ < NOTED_A_PIECE) note(job, &finding);
    }
}

// Whether an element of the poison is a finite number.
static bool poison_is_finite(const struct ref_tensor *output, uint8_t poison) {
    const unsigned char element[8] = {poison, poison, poison, poison,
                                      poison, poison, poison, poison};
    return isfinite(num_value(output->dtype, element));
}

// True where all of [count] contiguous elements are finite, found without looking at each: adding
// x - x of them gives 0. An unwritten element is not finite where the poison is not.
static bool all_finite(const struct ref_tensor *output, int64_t first, int64_t count) {
    float values[SCAN_PIECE], sum = 0;
    const size_t bytes = tmg_dtype_bytes(output->dtype);
    num_decode(output->dtype, (const char *)output->data + (size_t)first * bytes, values,
               (size_t)count);
    for (int64_t i = 0; i < count; ++i) sum += values[i] - values[i];
    return sum == 0;
}

static void scan_range(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    struct compare_job *job = context;
    const struct ref_tensor *output = job->comparison->output;
    const bool fast = contiguous(output) && output->dtype != TMG_DTYPE_FP64 &&
                      !poison_is_finite(output, job->poison);
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

// Decodes elements begin..end-1 of what is compared at once, where nothing else is to be found out
// about them. False: one by one.
static bool decode_range(const struct compare_job *job, int64_t begin, int64_t end, float *to) {
    const struct ref_tensor *output = job->comparison->output;
    const struct tmg_dtype *type = &tmg_dtypes[output->dtype];
    if (!job->finite || job->list || !contiguous(output) || type->kind != TMG_KIND_FLOAT ||
        type->bits > 32)
        return false;
    num_decode(output->dtype, element_at(output, job->first + begin), to, (size_t)(end - begin));
    return true;
}

// Compares elements with what the reference says, which may be that nothing is written there.
static void compute_range(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    struct compare_job *job = context;
    const struct ref_tensor *output = job->comparison->output;
    int64_t wrong[FINDING_KINDS] = {0}, noted = 0;
    double worst = 0;
    float decoded[PARALLEL_GRAIN];
    const bool at_once = decode_range(job, begin, end, decoded);
    for (int64_t i = begin; i < end; ++i) {
        const int64_t linear = job->list ? job->list[i] : job->first + i;
        struct finding finding = {FINDING_WRONG, linear, 0, 0, 0};
        enum finding_kind kind = FINDING_KINDS;
        if (at_once)
            finding.got = decoded[i - begin];
        else
            kind = judge(output, linear, job->poison, &finding.got);
        const struct ref_value want = job->values[i];
        if (kind == FINDING_UNWRITTEN && want.tolerance == LEFT) continue;
        finding.kind = kind == FINDING_KINDS ? FINDING_WRONG : kind;
        finding.want = want.value, finding.tolerance = want.tolerance;
        double error = reference_error(output->dtype, want, finding.got);
        // a number that is right may be the poison by chance: runs on another one tell
        const bool unwritten = kind == FINDING_UNWRITTEN && !isfinite(finding.got);
        if (unwritten || want.tolerance == LEFT) error = INFINITY;
        if (error > worst) worst = error;
        if (error <= 1) continue;  // NaN is no pass
        ++wrong[finding.kind];
        if (noted++ < NOTED_A_PIECE) note(job, &finding);
    }
    pthread_mutex_lock(&job->lock);
    job->comparison->checked += end - begin;
    for (int i = 0; i < FINDING_KINDS; ++i) job->comparison->found[i] += wrong[i];
    if (worst > job->comparison->worst) job->comparison->worst = worst;
    pthread_mutex_unlock(&job->lock);
}

static int ascending(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

// Asks the reference for [count] elements, [list] or those from [first] on, and compares them.
// 0, or -1 with tmagen_error_last() set.
static int compute_list(struct compare_job *job, const int64_t *list, int64_t first,
                        int64_t count) {
    struct ref_value *values = malloc((size_t)(count + 1) * sizeof *values);
    int status = values ? TMAGEN_OK : tmg_fail_memory();
    if (status == TMAGEN_OK && count) {
        status =
            reference_values(job->problem, job->comparison->output, list, first, count, values);
    }
    job->list = list;
    job->first = first;
    job->values = values;
    if (status == TMAGEN_OK) parallel_for(count, parallel_grain(count), compute_range, job);
    free(values);
    return status == TMAGEN_OK ? 0 : -1;
}

// The same for elements [list], or those from [first] on where it is NULL, a piece at a time. What
// was never written is wrong whatever it should be, and asked for nothing, unless it may be left.
static int compute(struct compare_job *job, const int64_t *list, int64_t first, int64_t count) {
    const int64_t limit = job->problem->reference->code ? VALUES_OF_CODE : VALUES_OF_A_KERNEL;
    const int64_t most = count < limit ? count : limit;
    const struct ref_tensor *output = job->comparison->output;
    int64_t *piece = malloc((size_t)(most + 1) * sizeof *piece);
    int status = piece ? 0 : (tmg_fail_memory(), -1);
    for (int64_t done = 0; status == 0 && done < count; done += most) {
        const int64_t end = count - done < most ? count : done + most;
        const bool all = job->leaves || job->finite;
        int64_t picked = all ? end - done : 0;
        for (int64_t i = done; !all && i < end; ++i) {
            const int64_t linear = list ? list[i] : first + i;
            if (!is_unwritten(output, linear, job->poison)) piece[picked++] = linear;
        }
        const int64_t *from = !all ? piece : list ? list + done : NULL;
        status = compute_list(job, from, first + done, picked);
    }
    free(piece);
    return status;
}

// Computes what is infinite or NaN, where not all is computed anyway; of too many, some from
// everywhere, which tell of the others.
static int compute_odd(struct compare_job *job) {
    int64_t *wrong = &job->comparison->found[FINDING_NOT_FINITE];
    const int64_t listed = job->odd_listed;
    qsort(job->odd, (size_t)listed, sizeof *job->odd, ascending);
    if (compute(job, job->odd, 0, listed)) return -1;
    if (*wrong == listed) *wrong = job->odd_count;
    return 0;
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

static bool is_odd(const struct compare_job *job, int64_t linear) {
    double value;
    return judge(job->comparison->output, linear, job->poison, &value) == FINDING_NOT_FINITE;
}

static int compute_samples(struct compare_job *job, uint64_t seed) {
    int64_t *list = malloc(SAMPLES * sizeof *list);
    if (!list) return tmg_fail_memory(), -1;
    for (int64_t i = 0; i < SAMPLES; ++i) {
        list[i] = sample(job->problem, job->comparison->output, seed, i);
    }
    qsort(list, SAMPLES, sizeof *list, ascending);
    int64_t unique = 0;
    for (int64_t i = 0; i < SAMPLES; ++i) {
        if (!unique || list[unique - 1] != list[i]) list[unique++] = list[i];
    }
    for (int64_t i = 0; i < unique; ++i) {
        if (is_odd(job, list[i])) list[i--] = list[--unique];  // that was computed already
    }
    const int status = compute(job, list, 0, unique);
    free(list);
    return status;
}

// Computes what the check of the whole doubts, evenly chosen where that is too much.
static int compute_suspects(struct compare_job *job, uint64_t seed, double cost) {
    struct ref_spans spans = {0};
    int status = reference_suspects(job->problem, job->comparison->output, seed, &spans,
                                    &job->comparison->whole);
    job->comparison->suspects = spans.total;
    int64_t total = 0, picked = 0;
    for (size_t i = 0; i < spans.count; ++i) total += spans.spans[i].count;
    const double most = suspects_budget / cost;
    const size_t step = (double)total > most ? (size_t)((double)total / most) + 1 : 1;
    int64_t *list = malloc((size_t)(total + 1) * sizeof *list);
    if (status == TMAGEN_OK && !list) status = tmg_fail_memory();
    for (size_t i = 0; list && i < spans.count; i += step) {
        for (int64_t k = 0; k < spans.spans[i].count; ++k)
            list[picked++] = spans.spans[i].first + k;
    }
    if (status == TMAGEN_OK) status = compute(job, list, 0, picked);
    free(list);
    ref_spans_free(&spans);
    return status ? -1 : 0;
}

// Begins a comparison and looks at every element once. 0, or -1.
static int begin(struct compare_job *job, const struct ref_problem *problem,
                 const struct ref_tensor *output, uint8_t poison, struct comparison *comparison) {
    *comparison = (struct comparison){.output = output};
    comparison->pattern = pattern_new(problem->manifest, output);
    *job = (struct compare_job){.problem = problem, .comparison = comparison, .poison = poison};
    // one byte in 256 is what poison is, where that is a number; a second run has another one
    const bool numbers =
        tmg_dtype_bytes(output->dtype) == 1 && isfinite(num_value(output->dtype, &poison));
    job->leaves = numbers || reference_leaves(problem->reference, output->declared->name);
    job->odd = malloc(ODD_MAX * sizeof *job->odd);
    pthread_mutex_init(&job->lock, NULL);
    if (!comparison->pattern || !job->odd) return tmg_fail_memory(), -1;
    parallel_for((output->count + SCAN_PIECE - 1) / SCAN_PIECE, 16, scan_range, job);
    job->finite = !job->odd_count && !comparison->found[FINDING_UNWRITTEN] &&
                  !poison_is_finite(output, poison);
    return 0;
}

static int end(struct compare_job *job, int status) {
    free(job->odd);
    pthread_mutex_destroy(&job->lock);
    return status;
}

int compare_written(const struct ref_problem *problem, const struct ref_tensor *output,
                    uint8_t poison, struct comparison *comparison) {
    struct compare_job job;
    return end(&job, begin(&job, problem, output, poison, comparison));
}

int compare_equal(const struct ref_problem *problem, const struct ref_tensor *output,
                  const void *other, double ulps, uint8_t poison, struct comparison *comparison) {
    struct compare_job job;
    const size_t bytes = tmg_dtype_bytes(output->dtype);
    int status = begin(&job, problem, output, poison, comparison);
    for (int64_t i = 0; status == 0 && i < output->count; ++i) {
        int64_t index[TMAGEN_MAX_RANK];
        uint64_t got = 0, want = 0;
        ref_index(output, i, index);
        const size_t at = (size_t)ref_offset(output, index) * bytes;
        memcpy(&got, (const char *)output->data + at, bytes);
        memcpy(&want, (const char *)other + at, bytes);
        if (is_poison((const unsigned char *)&got, bytes, poison)) continue;
        if (num_distance(output->dtype, got, want) <= ulps) continue;
        ++comparison->found[FINDING_WRONG];
        const struct finding finding = {FINDING_WRONG, i, num_value(output->dtype, &got),
                                        num_value(output->dtype, &want), 0};
        note(&job, &finding);
    }
    comparison->checked = output->count;
    comparison->whole = true;
    return end(&job, status);
}

int compare(const struct ref_problem *problem, const struct ref_tensor *output, uint8_t poison,
            uint64_t seed, struct comparison *comparison) {
    struct compare_job job;
    int status = begin(&job, problem, output, poison, comparison);
    if (status) return end(&job, status);
    const double cost = reference_cost(problem);
    if (cost * (double)output->count <= exhaustive_budget) {
        status = compute(&job, NULL, 0, output->count);
        comparison->whole = true;
    } else {
        status = compute_odd(&job);
        if (status == 0) status = compute_samples(&job, random_seed(seed, 1));
        if (status == 0) status = compute_suspects(&job, random_seed(seed, 2), cost);
    }
    return end(&job, status);
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

// The roofs of a run and cuBLASLt as a contestant: its first choice and the best of all it offers.
// The best is found in two steps: a quick time for each, then a short contest of the quickest.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/bench.h"
#include "measure/cublaslt.h"
#include "runtime/error.h"
#include "measure/watchdog.h"

enum { FINALISTS = 4, FINAL_ROUNDS = 12 };

// ---- cuBLASLt on a rotation

struct peer {
    struct cublaslt_plan *plan;
    const struct rotation *rotation;
    int algo;
};

static tmagen_address address_of(const struct rotation *rotation, int set, const char *tensor) {
    const int index = tmg_manifest_tensor(rotation->problem.manifest, tensor);
    return index < 0 ? 0 : rotation_address(rotation, set, (unsigned)index);
}

static int launch_peer(void *context, CUstream stream, int set) {
    const struct peer *peer = context;
    const struct rotation *from = peer->rotation;
    const struct cublaslt_tensors tensors = {.a = address_of(from, set, "a"),
                                             .b = address_of(from, set, "b"),
                                             .bias = address_of(from, set, "bias"),
                                             .residual = address_of(from, set, "residual"),
                                             .d = address_of(from, set, "d"),
                                             .a_scales = address_of(from, set, "a_scales"),
                                             .b_scales = address_of(from, set, "b_scales")};
    return cublaslt_launch(peer->plan, peer->algo, stream, &tensors);
}

static struct peer peer_of(struct cublaslt_plan *plan, const struct rotation *rotation, int algo) {
    return (struct peer){plan, rotation, algo};
}

struct candidate {
    int algo;
    double ms;
};

static int quicker(const void *a, const void *b) {
    const double x = ((const struct candidate *)a)->ms, y = ((const struct candidate *)b)->ms;
    return (x > y) - (x < y);
}

// A quick time of one algorithm in ms; infinite where it fails.
static double try_algo(struct gpu *gpu, struct cublaslt_plan *plan, const struct rotation *rotation,
                       int algo) {
    struct peer peer = peer_of(plan, rotation, algo);
    struct contestant contestant = {.launch = launch_peer, .context = &peer};
    snprintf(contestant.name, sizeof contestant.name, "cuBLASLt algorithm %d", algo);
    double ms, again;
    int status = contestant_prepare(gpu, &contestant, rotation->sets, &ms);
    if (status == TMAGEN_OK) status = gpu_time(gpu, &contestant.graph, 1, &again);
    if (status == TMAGEN_OK) ms = fmin(ms, again / contestant.launches);
    contestant_free(gpu, &contestant);
    return status == TMAGEN_OK ? ms : INFINITY;
}

// The best of [candidates], the quickest first, by a short contest. Its median goes to [ms].
static int best_of(struct gpu *gpu, struct cublaslt_plan *plan, const struct rotation *rotation,
                   const struct candidate *candidates, int count, double *ms) {
    struct peer peers[FINALISTS];
    struct contestant finalists[FINALISTS] = {{.launches = 0}};
    struct contest contest = {.contestants = finalists, .count = count, .rounds = FINAL_ROUNDS};
    for (int i = 0; i < count; ++i) {
        double estimate;
        peers[i] = peer_of(plan, rotation, candidates[i].algo);
        finalists[i].launch = launch_peer;
        finalists[i].context = &peers[i];
        contestant_prepare(gpu, &finalists[i], rotation->sets, &estimate);
    }
    int best = candidates[0].algo;
    *ms = INFINITY;
    if (contest_run(gpu, &contest) == TMAGEN_OK) {
        for (int i = 0; i < count; ++i) {
            if (!finalists[i].ms) continue;
            const double median = stats_of(finalists[i].ms, (size_t)contest.done).median;
            if (median < *ms) *ms = median, best = candidates[i].algo;
        }
    }
    for (int i = 0; i < count; ++i) contestant_free(gpu, &finalists[i]);
    return best;
}

// The library's best algorithm, or -1 where none runs.
static int find_best(struct gpu *gpu, struct cublaslt_plan *plan, const struct rotation *rotation,
                     double *ms) {
    struct candidate candidates[CUBLASLT_ALGOS_MAX];
    int count = 0;
    for (int algo = 0; algo < cublaslt_plan_algos(plan); ++algo) {
        const double time = try_algo(gpu, plan, rotation, algo);
        if (isfinite(time)) candidates[count++] = (struct candidate){algo, time};
    }
    if (!count) return -1;
    qsort(candidates, (size_t)count, sizeof candidates[0], quicker);
    return best_of(gpu, plan, rotation, candidates, count < FINALISTS ? count : FINALISTS, ms);
}

static void add(struct bench_shape *shape, enum bench_role role, const char *name,
                struct peer *peer) {
    struct bench_entry *entry = &shape->entries[shape->entry_count++];
    entry->role = role;
    entry->contestant.launch = launch_peer;
    entry->contestant.context = peer;
    snprintf(entry->contestant.name, sizeof entry->contestant.name, "%s", name);
    if (peer) cublaslt_plan_describe(peer->plan, peer->algo, entry->picked, sizeof entry->picked);
}

struct cublaslt_plan *bench_add_cublaslt(struct bench_session *session,
                                         const struct rotation *rotation,
                                         struct bench_shape *shape) {
    static struct peer first, best;  // of the one shape that is being measured
    struct cublaslt_plan *plan = NULL;
    double ms;
    if (strcmp(rotation->problem.reference->peer, "cublaslt")) return NULL;
    const int status = cublaslt_plan_make(session->cublaslt, &rotation->problem, &plan);
    const int algo = status ? -1 : find_best(&session->gpu, plan, rotation, &ms);
    if (algo < 0) {
        add(shape, BENCH_FIRST, "cuBLASLt", NULL);
        snprintf(shape->entries[shape->entry_count - 1].refused, sizeof shape->entries[0].refused,
                 "%s", status ? tmagen_error_last() : "none of cuBLASLt's algorithms runs");
        return plan;
    }
    char name[80];
    const char *what = cublaslt_plan_alone(plan) ? ", the product alone" : "";
    const int offered = cublaslt_plan_algos(plan);
    first = peer_of(plan, rotation, 0);
    best = peer_of(plan, rotation, algo);
    if (algo == 0) {
        snprintf(name, sizeof name, "cuBLASLt first = best of %d%s", offered, what);
        add(shape, BENCH_BEST, name, &best);
    } else {
        snprintf(name, sizeof name, "cuBLASLt best of %d (#%d)%s", offered, algo, what);
        add(shape, BENCH_FIRST, "cuBLASLt first", &first);
        add(shape, BENCH_BEST, name, &best);
    }
    return plan;
}

// ---- Roofs

struct copying {
    struct gpu *gpu;
    tmagen_address from, to;
    size_t bytes;
};

static int enqueue_copy(void *context, CUstream stream) {
    const struct copying *copying = context;
    return tmg_driver_check(
        copying->gpu->driver->cuMemcpyDtoDAsync(copying->to, copying->from, copying->bytes, stream),
        "cuMemcpyDtoDAsync");
}

// Bytes read and written in a second by a device-to-device copy of 1 GiB; the best of several. Not
// by a graph: there a copy engine takes it, at two thirds of what the SMs reach (H200: 2.77 of 4.2
// TB/s).
static int measure_copy(struct bench_session *session) {
    struct gpu *gpu = &session->gpu;
    struct copying copying = {.gpu = gpu, .bytes = gpu_share(gpu, (size_t)1 << 30)};
    int status = tmagen_memory_alloc(gpu->device, copying.bytes, &copying.from);
    if (status == TMAGEN_OK) status = tmagen_memory_alloc(gpu->device, copying.bytes, &copying.to);
    if (status == TMAGEN_OK) {
        status = tmagen_memory_fill(gpu->device, copying.from, 0x3c, copying.bytes);
    }
    for (int i = 0; i < 8 && status == TMAGEN_OK; ++i) {
        double ms;
        status = gpu_time_stream(gpu, enqueue_copy, &copying, 4, &ms);
        const double rate = 2.0 * (double)copying.bytes * 4 / (ms / 1e3);
        if (status == TMAGEN_OK) session->roofs.copy_bytes = fmax(session->roofs.copy_bytes, rate);
    }
    tmagen_memory_free(gpu->device, copying.from);
    tmagen_memory_free(gpu->device, copying.to);
    return status;
}

// The matrix roof: cuBLASLt's best at 8192^3 in the types of [manifest]. Left unknown where the
// kernel is not for that shape.
static int measure_matrix(struct bench_session *session, const struct tmg_manifest *manifest) {
    int64_t dims[TMG_MAX_DIMS];
    struct ref_problem problem;
    struct rotation rotation;
    struct cublaslt_plan *plan = NULL;
    struct reference reference;
    if (reference_read(manifest, &reference) || !reference.matrix || !*reference.peer) {
        return TMAGEN_OK;
    }
    for (unsigned i = 0; i < manifest->dim_count; ++i)
        dims[i] = strcmp(manifest->dims[i].name, "batch") ? 8192 : 1;
    if (ref_problem_make(manifest, &reference, dims, 0, &problem)) return TMAGEN_OK;
    int status = rotation_make(&session->gpu, &session->source, &problem, &rotation);
    if (status != TMAGEN_OK) return status;
    double ms;
    status = cublaslt_plan_make(session->cublaslt, &problem, &plan);
    if (status == TMAGEN_OK && find_best(&session->gpu, plan, &rotation, &ms) >= 0) {
        session->roofs.matrix_flops = ref_flops(&problem) / (ms / 1e3);
        session->roofs.matrix_source = "cuBLASLt's best at 8192^3";
    }
    cublaslt_plan_free(plan);
    rotation_free(&session->gpu, &rotation);
    return status == TMAGEN_ERROR_DEVICE ? status : TMAGEN_OK;
}

int bench_measure_roofs(struct bench_session *session, const struct tmg_manifest *manifest) {
    watchdog_step("copy bandwidth");
    int status = measure_copy(session);
    if (session->plan->roof_tflops > 0) {
        session->roofs.matrix_flops = session->plan->roof_tflops * 1e12;
        session->roofs.matrix_source = "given";
    } else if (status == TMAGEN_OK && session->cublaslt) {
        status = measure_matrix(session, manifest);
    }
    return status;
}

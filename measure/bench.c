// For each shape: copies of the inputs, every contestant launched once and looked at, then the
// contest. A kernel that disagrees with its peers about the result is not measured but reported.
#include "measure/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/alike.h"
#include "measure/chain.h"
#include "measure/copy.h"
#include "measure/cublaslt.h"
#include "measure/columns.h"
#include "measure/entrant.h"
#include "measure/spot.h"
#include "measure/watchdog.h"
#include "runtime/error.h"

// Makes the launches a chain, which overlap where the kernel can wait; and checks that they may.
static int own_chain(struct gpu *gpu, const struct rotation *rotation,
                     struct contestant *contestant, struct entrant *own) {
    struct chain chain;
    int status = chain_find(&rotation->problem, &chain);
    if (status != TMAGEN_OK) return status;
    for (int set = 0; set < rotation->sets; ++set)
        own->tensors[set * own->tensor_count + (int)chain.input].data =
            chain_input(rotation, &chain, set);
    if (!own->picked.manifest->dependent_launch) return TMAGEN_OK;
    own->flags = TMAGEN_LAUNCH_OVERLAP;
    return chain_check(gpu, rotation, &chain, contestant, &own->flags);
}

// ---- Do the contestants agree?

enum {
    COMPARED_MAX = 1 << 22
};  // bytes of an output that are looked at, from its start and its end

// The output as float, its first part and its last. NULL on failure.
static float *download_output(struct gpu *gpu, const struct rotation *rotation, size_t *count) {
    const struct ref_problem *problem = &rotation->problem;
    for (unsigned i = 0; i < problem->manifest->tensor_count; ++i) {
        const struct ref_tensor *tensor = &problem->tensors[i];
        if (!tensor->declared->writes) continue;
        const size_t bytes = tensor->bytes < COMPARED_MAX ? tensor->bytes : COMPARED_MAX;
        const size_t half = tensor->bytes <= COMPARED_MAX ? bytes : bytes / 2;
        const tmagen_address from = rotation_address(rotation, 0, i);
        char *raw = malloc(bytes);
        *count = bytes / tmg_dtype_bytes(tensor->dtype);
        float *values = malloc(*count * sizeof *values);
        int status = raw && values ? TMAGEN_OK : tmg_fail_memory();
        if (status == TMAGEN_OK) status = tmagen_memory_download(gpu->device, raw, from, half);
        if (status == TMAGEN_OK && half < bytes) {
            status = tmagen_memory_download(gpu->device, raw + half,
                                            from + tensor->bytes - (bytes - half), bytes - half);
        }
        if (status == TMAGEN_OK) num_decode(tensor->dtype, raw, values, *count);
        if (status != TMAGEN_OK) free(values);
        free(raw);
        return status == TMAGEN_OK ? values : NULL;
    }
    return NULL;
}

// The distance of two results, relative to the size of the first; NaN if either holds a NaN.
static double distance(const float *expected, const float *got, size_t count) {
    double difference = 0, size = 0;
    for (size_t i = 0; i < count; ++i) {
        const double d = (double)got[i] - expected[i];
        difference += d * d;
        size += (double)expected[i] * expected[i];
    }
    return difference == 0 ? 0 : sqrt(difference / size);
}

// The result that others are compared with, and whose it is. Where a peer computes the product
// alone, and ours what their ops make of it, ours are compared with each other, and elements of
// each with what the [spot] of the entry says.
struct expected {
    float *values;
    const char *name;
    bool apart;
    struct spot spot;
};

static bool is_own(const struct bench_entry *entry) {
    return entry->role == BENCH_OWN || entry->role == BENCH_OTHER;
}

// Elements of what the entry should compute: its own [reference], or of that the product alone.
static int expect(struct bench_session *session, const struct rotation *rotation,
                  const struct reference *reference, const struct cublaslt_plan *cublaslt,
                  const struct bench_entry *entry, struct expected *expected) {
    struct reference used = *reference;
    struct rotation of = *rotation;
    json_t *product = is_own(entry) ? NULL : cublaslt_product_rows(cublaslt, reference->rows);
    if (!is_own(entry) && !product) return tmg_fail_memory();
    if (product) used.rows = product;
    of.problem.reference = &used;
    spot_free(&expected->spot);
    const int status = spot_make(&session->gpu, &of, session->plan->seed, "d", &expected->spot);
    json_decref(product);
    return status;
}

// Holds elements in the outputs against expected->spot.
static int look_at_spot(struct gpu *gpu, const struct rotation *rotation,
                        const struct expected *expected, struct bench_entry *entry) {
    double worst;
    char why[200];
    const int status = spot_check(gpu, rotation, &expected->spot, &worst, why, sizeof why);
    if (!expected->spot.count)
        snprintf(why, sizeof why, "no element of the reference can be computed here");
    if (*why) snprintf(entry->refused, sizeof entry->refused, "WRONG: %s", why);
    return status;
}

// Compares the [count] elements in [got], which lie in the outputs, with what is expected of the
// entry. "" in entry->refused, or what is wrong. A library error code.
static int look(struct gpu *gpu, const struct rotation *rotation, const float *got, size_t count,
                const struct expected *expected, struct bench_entry *entry) {
    const bool alone = expected->apart && !is_own(entry);
    const double apart = distance(expected->values && !alone ? expected->values : got, got, count);
    if (isnan(apart))
        snprintf(entry->refused, sizeof entry->refused,
                 "WRONG: unwritten elements or NaN in the result; see tmagen verify");
    else if (apart >= 0.02)
        snprintf(entry->refused, sizeof entry->refused,
                 "WRONG: result differs from %s by %.2g; see tmagen verify", expected->name, apart);
    else if (expected->apart)
        return look_at_spot(gpu, rotation, expected, entry);
    return TMAGEN_OK;
}

// Prepares the entry and compares its result with what is expected, or becomes that.
static int prepare(struct bench_session *session, const struct rotation *rotation,
                   struct bench_entry *entry, struct expected *expected) {
    struct gpu *gpu = &session->gpu;
    double ms;
    size_t count;
    int status = rotation_poison(gpu, rotation);
    if (status == TMAGEN_OK) {
        status = contestant_prepare(gpu, &entry->contestant, rotation->sets, &ms);
    }
    if (entry->role == BENCH_COPY) return status;
    float *got = status == TMAGEN_OK ? download_output(gpu, rotation, &count) : NULL;
    if (!got) {
        snprintf(entry->refused, sizeof entry->refused, "%s", tmagen_error_last());
        entry->failed = status != TMAGEN_ERROR_ARGUMENT;
        return status == TMAGEN_ERROR_DEVICE ? status : TMAGEN_OK;
    }
    status = look(gpu, rotation, got, count, expected, entry);
    if (*entry->refused) {
        entry->failed = true;
        gpu_graph_free(gpu, &entry->contestant.graph);
    }
    if (expected->values || entry->failed || (expected->apart && !is_own(entry))) {
        free(got);
    } else {
        expected->values = got;
        expected->name = entry->contestant.name;
    }
    return status;
}

// ---- One shape

// Lays out [given] for kernel [i]. A library error code, with the reason in tmagen_error_last().
static int lay_out(struct bench_session *session, size_t i, const struct shape *given,
                   struct ref_problem *problem) {
    const struct target *target = &session->targets[i];
    if (!target_loaded(target)) return tmg_fail(TMAGEN_ERROR_ARGUMENT, "not loaded");
    const struct tmg_manifest *manifest = target_manifest(target);
    const struct reference *reference = &session->references[i];
    if (!shape_is_for(given, manifest)) {
        return tmg_fail(TMAGEN_ERROR_ARGUMENT, "is for %s", shape_dtype(manifest));
    }
    int64_t dims[TMG_MAX_DIMS];
    char error[200];
    if (shape_dims(given, reference, manifest, dims, error, sizeof error)) {
        return tmg_fail(TMAGEN_ERROR_ARGUMENT, "%s", error);
    }
    const int status = ref_problem_make(manifest, reference, dims, 0, problem);
    problem->inputs = given->inputs;
    return status;
}

// Enters all of our kernels; [problems] gets their layouts. Returns the first that takes the shape,
// or -1.
static int enter_kernels(struct bench_session *session, const struct shape *given,
                         struct bench_shape *shape, struct ref_problem *problems) {
    int first = -1;
    for (size_t i = 0; i < session->plan->kernel_count; ++i) {
        struct bench_entry *entry = &shape->entries[shape->entry_count++];
        entry->role = i < session->plan->own_count ? BENCH_OWN : BENCH_OTHER;
        snprintf(entry->contestant.name, sizeof entry->contestant.name, "%s",
                 session->plan->kernels[i].name);
        if (lay_out(session, i, given, &problems[i])) {
            snprintf(entry->refused, sizeof entry->refused, "%s", tmagen_error_last());
        } else if (first < 0) {
            first = (int)i;
        } else if (entrant_same_tensors(&problems[first], &problems[i])) {
            continue;
        } else if (session->plan->unlike) {
            entry->unlike = true;
        } else {
            snprintf(entry->refused, sizeof entry->refused, "has other tensors than %s",
                     session->plan->kernels[first].name);
        }
    }
    return first;
}

static void describe_shape(const struct ref_problem *problem, struct bench_shape *shape) {
    shape_format(problem->reference, problem->manifest, problem->dims, problem->inputs, shape->text,
                 sizeof shape->text);
    shape->dtype = shape_dtype(problem->manifest);
    shape->matrix = problem->reference->matrix;
    shape->flops = ref_flops(problem);
    shape->bytes = ref_bytes(problem);
    shape->l1_bytes = fmax(reference_sum(problem, "l1_bytes"), 0);
}

// Gives the entry of kernel [i] its launches. A library error code.
static int enter_own(struct bench_session *session, const struct rotation *rotation, size_t i,
                     struct bench_entry *entry, struct entrant *own) {
    int status = entrant_make(&session->gpu, &session->targets[i], 0, rotation, own);
    target_name_pick(&own->target, &own->picked, entry->picked, sizeof entry->picked);
    entry->contestant.launch = entrant_launch;
    entry->contestant.context = own;
    if (status == TMAGEN_OK && session->plan->chain)
        status = own_chain(&session->gpu, rotation, &entry->contestant, own);
    return status;
}

// Inputs for the entries that have tensors of their own. A library error code.
static int make_unlike(struct bench_session *session, const struct bench_shape *shape,
                       const struct ref_problem *problems, struct rotation *rotations) {
    int status = TMAGEN_OK;
    for (int i = 0; i < shape->entry_count && status == TMAGEN_OK; ++i) {
        if (!shape->entries[i].unlike) continue;
        status = rotation_make(&session->gpu, &session->source, &problems[i], &rotations[i]);
    }
    return status;
}

// Prepares all entries, ours and the peers', and runs the contest; [unlike] are the inputs of those
// that have their own. A library error code after which the device is lost.
static int measure(struct bench_session *session, const struct rotation *shared,
                   const struct rotation *unlike, const struct cublaslt_plan *cublaslt,
                   struct bench_shape *shape, struct entrant *owns) {
    struct expected expected = {.apart = cublaslt && cublaslt_plan_alone(cublaslt)};
    int status = TMAGEN_OK;
    // peers first: their result is what ours are compared with
    for (int i = shape->entry_count - 1; i >= 0 && status == TMAGEN_OK; --i) {
        struct bench_entry *entry = &shape->entries[i];
        const struct rotation *rotation = entry->unlike ? &unlike[i] : shared;
        struct expected none = {.apart = false};
        if (*entry->refused) continue;
        if (is_own(entry) && enter_own(session, rotation, (size_t)i, entry, &owns[i])) {
            snprintf(entry->refused, sizeof entry->refused, "%s", tmagen_error_last());
            entry->failed = owns[i].flags != 0;
            continue;
        }
        progress("%s: %s", shape->text, entry->contestant.name);
        if (expected.apart && !entry->unlike && entry->role != BENCH_COPY)
            status = expect(session, shared,
                            is_own(entry) ? &session->references[i] : shared->problem.reference,
                            cublaslt, entry, &expected);
        if (status == TMAGEN_OK)
            status = prepare(session, rotation, entry, entry->unlike ? &none : &expected);
        free(none.values);
    }
    spot_free(&expected.spot);
    free(expected.values);
    struct contestant contestants[BENCH_ENTRIES_MAX];
    for (int i = 0; i < shape->entry_count; ++i) contestants[i] = shape->entries[i].contestant;
    shape->contest.contestants = contestants;
    shape->contest.count = shape->entry_count;
    shape->contest.sets = shared->sets;
    shape->contest.seconds = session->plan->seconds;
    shape->contest.rounds = session->plan->rounds;
    progress("%s: measuring", shape->text);
    if (status == TMAGEN_OK) status = contest_run(&session->gpu, &shape->contest);
    for (int i = 0; i < shape->entry_count; ++i) shape->entries[i].contestant = contestants[i];
    return status;
}

static void free_shape(struct bench_session *session, struct bench_shape *shape,
                       struct entrant *owns) {
    for (int i = 0; i < shape->entry_count; ++i) {
        contestant_free(&session->gpu, &shape->entries[i].contestant);
        entrant_free(&session->gpu, &owns[i]);
    }
}

// Enters a copy of as many bytes as the shape moves; it belongs to the caller.
static int enter_copy(struct bench_session *session, const struct rotation *rotation,
                      struct bench_shape *shape, struct copy **copy) {
    struct bench_entry *entry = &shape->entries[shape->entry_count++];
    const int status = copy_make(&session->gpu, rotation, shape->bytes, copy);
    entry->role = BENCH_COPY;
    entry->contestant.launch = copy_launch;
    entry->contestant.context = *copy;
    snprintf(entry->contestant.name, sizeof entry->contestant.name, "copy");
    return status;
}

// Has the inputs drawn anew, for a chain of this shape; where there is none, each kernel says so.
static void scale_chain(struct bench_session *session, const struct ref_problem *problem) {
    struct chain chain;
    rotation_source_free(&session->gpu, &session->source);
    session->source.scale =
        chain_find(problem, &chain) == TMAGEN_OK ? chain_scale(problem, &chain) : 0;
}

// Measures one shape. Returns false after a failure of the device.
static bool run_shape(struct bench_session *session, const struct shape *given,
                      struct bench_summary *summary, int *failed) {
    static struct bench_shape shape;
    static struct ref_problem problems[BENCH_ENTRIES_MAX];
    struct entrant owns[BENCH_ENTRIES_MAX] = {{.splits = 0}};
    static struct rotation unlike[BENCH_ENTRIES_MAX];
    struct rotation rotation = {0};
    struct cublaslt_plan *cublaslt = NULL;
    struct copy *copy = NULL;
    shape = (struct bench_shape){.sets = 0};
    const int first = enter_kernels(session, given, &shape, problems);
    if (first < 0) {
        for (int i = 0; i < shape.entry_count; ++i) {
            fprintf(stderr, "tmagen: note: %s: %s\n", shape.entries[i].contestant.name,
                    shape.entries[i].refused);
        }
        return true;
    }
    describe_shape(&problems[first], &shape);
    progress("%s: inputs", shape.text);
    watchdog_host("%s: inputs", shape.text);
    if (session->plan->chain) scale_chain(session, &problems[first]);
    int status = rotation_make(&session->gpu, &session->source, &problems[first], &rotation);
    shape.sets = rotation.sets;
    if (status == TMAGEN_OK && session->cublaslt) {
        progress("%s: cuBLASLt's algorithms", shape.text);
        cublaslt = bench_add_cublaslt(session, &rotation, &shape);
    }
    if (status == TMAGEN_OK && session->plan->copy)
        status = enter_copy(session, &rotation, &shape, &copy);
    if (status == TMAGEN_OK) status = make_unlike(session, &shape, problems, unlike);
    if (status == TMAGEN_OK) status = measure(session, &rotation, unlike, cublaslt, &shape, owns);
    progress("%s", "");
    if (status != TMAGEN_OK) {
        kernel_complain(shape.text);
        *failed = 1;
    }
    for (int i = 0; i < shape.entry_count; ++i) *failed |= shape.entries[i].failed;
    ++session->measured;
    if (session->plan->visit) {
        session->plan->visit(session->plan->context, session, &shape);
    } else {
        bench_print_shape(session, &shape);
        bench_summary_add(summary, session, &shape);
    }
    free_shape(session, &shape, owns);
    cublaslt_plan_free(cublaslt);
    copy_free(&session->gpu, copy);
    rotation_free(&session->gpu, &rotation);
    for (int i = 0; i < shape.entry_count; ++i) rotation_free(&session->gpu, &unlike[i]);
    return status != TMAGEN_ERROR_DEVICE;
}

// ---- The whole run

// Loads kernel [i] and its reference. A library error code, after which it is not loaded.
static int load(struct bench_session *session, size_t i) {
    const struct kernel_text *text = &session->plan->kernels[i];
    struct target *target = &session->targets[i];
    int status = target_load(session->gpu.device, text, target);
    if (status != TMAGEN_OK) return status;
    status = reference_open(target_manifest(target), &text->reference, session->gpu.device,
                            &session->references[i]);
    if (status != TMAGEN_OK) target_unload(target);
    return status;
}

static int load_all(struct bench_session *session) {
    int failed = 0;
    session->targets = calloc(session->plan->kernel_count, sizeof *session->targets);
    session->references = calloc(session->plan->kernel_count, sizeof(struct reference));
    if (!session->targets || !session->references) return 1;
    for (size_t i = 0; i < session->plan->kernel_count; ++i) {
        progress("loading %s", session->plan->kernels[i].name);
        watchdog_step("%s: load", session->plan->kernels[i].name);
        if (load(session, i)) {
            progress("%s", "");
            kernel_complain(session->plan->kernels[i].name);
            failed = 1;
        }
    }
    progress("%s", "");
    return failed;
}

static const struct tmg_manifest *some_manifest(const struct bench_session *session) {
    for (size_t i = 0; session->targets && i < session->plan->kernel_count; ++i) {
        if (target_loaded(&session->targets[i])) return target_manifest(&session->targets[i]);
    }
    return NULL;
}

// True where some kernel is for the shape's element type.
static bool wanted(const struct bench_session *session, const struct shape *shape) {
    for (size_t i = 0; i < session->plan->kernel_count; ++i) {
        const struct target *target = &session->targets[i];
        if (target_loaded(target) && shape_is_for(shape, target_manifest(target))) return true;
    }
    return false;
}

// Measures all shapes of [list]. Sets *failed where a kernel failed.
static void run_list(struct bench_session *session, const struct shape_list *list,
                     struct bench_summary *summary, int *failed) {
    size_t skipped = 0;
    for (size_t i = 0; i < list->count; ++i) {
        const struct shape *shape = &list->shapes[i];
        if (!wanted(session, shape)) {
            ++skipped;
        } else if (!run_shape(session, shape, summary, failed)) {
            break;
        }
        fflush(stdout);
    }
    if (skipped) {
        fprintf(stderr, "tmagen: note: left out %zu shapes of other element types\n", skipped);
    }
    if (!session->measured) {
        fputs("tmagen: error: no shape is for these kernels\n", stderr);
        if (!*failed) *failed = session->plan->shapes->count ? 2 : 1;
    }
}

// The shapes that were asked for, or the typical one in [typical].
static const struct shape_list *shapes_of(const struct bench_session *session,
                                          const struct tmg_manifest *manifest,
                                          struct shape_list *typical) {
    struct reference reference;
    char error[200];
    if (session->plan->shapes->count) return session->plan->shapes;
    if (reference_read(manifest, &reference) == TMAGEN_OK && *reference.typical) {
        shapes_parse(typical, reference.typical, error, sizeof error);
    }
    return typical;
}

static int run_shapes(struct bench_session *session) {
    int failed = load_all(session);
    const struct tmg_manifest *manifest = some_manifest(session);
    if (!manifest) return 1;
    if (bench_measure_roofs(session, manifest)) {
        kernel_complain("the roofs");
        return 3;
    }
    const bool print = !session->plan->visit;
    struct bench_summary summary;
    struct shape_list typical = {0};
    if (bench_summary_new(session, &summary)) return 1;
    if (print) bench_print_head(session);
    run_list(session, shapes_of(session, manifest, &typical), &summary, &failed);
    if (print && !session->plan->json) bench_summary_print(&summary);
    shapes_free(&typical);
    bench_summary_free(&summary);
    return failed;
}

enum { PEERS_MOST = 3 };  // cuBLASLt's first and best, a copy

int bench_all(const struct bench_plan *plan) {
    struct bench_session session = {.plan = plan, .source = {.seed = plan->seed}};
    if (plan->kernel_count + PEERS_MOST > BENCH_ENTRIES_MAX) {
        fprintf(stderr, "tmagen: error: %zu kernels in one run; at most %d\n", plan->kernel_count,
                BENCH_ENTRIES_MAX - PEERS_MOST);
        return 1;
    }
    if (!plan->unlike && kernels_alike(plan->kernels, plan->kernel_count, plan->shapes)) return 2;
    watchdog_start(plan->timeout);
    int status = gpu_open(plan->device, &session.gpu);
    if (status == TMAGEN_OK && plan->cublaslt) {
        progress("loading cuBLASLt");
        status = cublaslt_open(&session.gpu, &session.cublaslt);
        progress("%s", "");
    }
    int code = 3;
    if (status == TMAGEN_OK) {
        code = run_shapes(&session);
    } else {
        kernel_complain("");
    }
    for (size_t i = 0; session.targets && session.references && i < plan->kernel_count; ++i) {
        reference_close(&session.references[i]);
        target_unload(&session.targets[i]);
    }
    free(session.references);
    free(session.targets);
    if (session.gpu.device) {
        rotation_source_free(&session.gpu, &session.source);
        cublaslt_close(session.cublaslt);
        gpu_close(&session.gpu);
    }
    watchdog_stop();
    return code;
}

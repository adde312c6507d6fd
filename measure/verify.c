// One case: upload, then several runs, each on a freshly poisoned output; the first result is
// compared with the reference, the others with the first, bit by bit. A result that moves is a
// race.
#include "measure/verify.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/addresses.h"
#include "measure/watchdog.h"
#include "runtime/device.h"
#include "runtime/error.h"
#include "runtime/kernel.h"
#include "measure/random.h"

enum { GUARD = 1 << 16 };  // bytes before and behind each tensor; a multiple of every alignment
static const uint8_t input_poison = 0xff;  // NaN in every floating-point type

struct guarded_buffer {
    tmagen_address address;
    size_t before;   // bytes before the tensor
    size_t bytes;    // those included, and those behind it
    uint8_t *host;   // outputs: what came back, guards included
    uint8_t *first;  // outputs: what came back from the first run
    uint8_t *peer;   // outputs: what came back from the peer; NULL without one
};

struct verification {
    tmagen_device *device;
    struct target target;
    const struct verify_case *what;
    struct verify_result *result;
    struct ref_problem problem;
    struct guarded_buffer buffers[TMG_MAX_TENSORS];
    struct guarded_buffer workspace;
    struct tmg_picked picked;  // what is launched, and how its workspace is laid out
    uint8_t first_poison;      // of the first run's outputs
    bool cleared;              // its semaphores have been, by the launch before this one
    size_t guard;
};

__attribute__((format(printf, 2, 3))) static void say(struct verification *run, const char *format,
                                                      ...) {
    char *report = run->result->report;
    const size_t used = strlen(report), size = sizeof run->result->report;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(report + used, size - used, format, arguments);
    va_end(arguments);
}

static unsigned tensor_count(const struct verification *run) {
    return run->problem.manifest->tensor_count;
}

static bool is_output(const struct verification *run, unsigned i) {
    return run->problem.tensors[i].declared->writes;
}

static int make_buffers(struct verification *run) {
    for (unsigned i = 0; i < tensor_count(run); ++i) {
        const struct ref_tensor *tensor = &run->problem.tensors[i];
        struct guarded_buffer *buffer = &run->buffers[i];
        // allocations lie at multiples of 256 bytes at least
        const size_t odd = run->what->unaligned ? (size_t)tensor->declared->alignment : 0;
        buffer->before = run->guard + odd;
        buffer->bytes = buffer->before + tensor->bytes + run->guard;
        int status = tmagen_memory_alloc(run->device, buffer->bytes, &buffer->address);
        if (status) return status;
        if (!is_output(run, i)) continue;
        buffer->host = malloc(buffer->bytes);
        buffer->first = malloc(buffer->bytes);
        if (!buffer->host || !buffer->first) return tmg_fail_memory();
    }
    return TMAGEN_OK;
}

// Where each tensor begins.
static void addresses(const struct verification *run, uint64_t *at) {
    for (unsigned i = 0; i < tensor_count(run); ++i)
        at[i] = run->buffers[i].address + run->buffers[i].before;
}

static int upload_inputs(struct verification *run) {
    uint64_t at[TMG_MAX_TENSORS];
    int status = make_buffers(run);
    if (status) return status;
    addresses(run, at);
    for (unsigned i = 0; i < tensor_count(run); ++i) {
        const struct guarded_buffer *buffer = &run->buffers[i];
        if (is_output(run, i)) continue;
        status = tmagen_memory_fill(run->device, buffer->address, input_poison, buffer->bytes);
        if (status == TMAGEN_OK)
            status = addresses_upload(run->device, &run->problem, i, at, at[i]);
        if (status) return status;
    }
    return TMAGEN_OK;
}

// What a launch points to.
struct arguments {
    tmagen_tensor tensors[TMG_MAX_TENSORS];
    tmagen_scalar scalars[TMG_MAX_PARAMS];
};

static void describe(const struct verification *run, const struct target *target,
                     struct arguments *arguments, tmagen_launch *launch) {
    tmagen_tensor *tensors = arguments->tensors;
    for (unsigned i = 0; i < tensor_count(run); ++i) {
        const struct ref_tensor *tensor = &run->problem.tensors[i];
        tensors[i] = (tmagen_tensor){.name = tensor->declared->name, .rank = tensor->rank};
        tensors[i].data = run->buffers[i].address + run->buffers[i].before;
        memcpy(tensors[i].dims, tensor->dims, sizeof tensors[i].dims);
        memcpy(tensors[i].strides, tensor->strides, sizeof tensors[i].strides);
    }
    *launch = (tmagen_launch){.tensors = tensors, .tensor_count = tensor_count(run)};
    launch->scalars = arguments->scalars;
    launch->scalar_count = ref_scalars(&run->problem, arguments->scalars);
    launch->workspace = run->workspace.address;
    launch->workspace_bytes = run->workspace.bytes;
    if (target != &run->target) return;  // a peer has numbers of its own
    launch->sms = run->what->variation.sms;
    launch->splits = run->what->variation.splits;
}

// Poisons [from..to) of the workspace.
static int poison_part(struct verification *run, int64_t from, int64_t to) {
    if (from >= to) return TMAGEN_OK;
    return tmg_memory_poison(run->device, run->workspace.address + (uint64_t)from, input_poison,
                             (size_t)(to - from));
}

// Semaphores are the kernel's from its first launch on: it finds what it left. At first they are
// zero, as whoever writes to a workspace must leave them: a case before this one may have launched
// with the same sizes at the same address, and then the library does not clear them again.
static int poison_workspace(struct verification *run) {
    const struct tmg_layout *layout = &run->picked.layout;
    const int64_t semaphores = layout->zero_first - layout->zero_launch;
    int status = poison_part(run, 0, layout->zero_launch);
    if (!status) status = poison_part(run, layout->zero_first, layout->bytes);
    if (status || run->cleared || semaphores <= 0) return status;
    return tmagen_memory_fill(run->device, run->workspace.address + (uint64_t)layout->zero_launch,
                              0, (size_t)semaphores);
}

static int poison_outputs(struct verification *run, uint8_t poison) {
    for (unsigned i = 0; i < tensor_count(run); ++i) {
        const struct guarded_buffer *buffer = &run->buffers[i];
        if (!is_output(run, i)) continue;
        const int status = tmg_memory_poison(run->device, buffer->address, poison, buffer->bytes);
        if (status) return status;
    }
    return poison_workspace(run);
}

static int download_outputs(struct verification *run) {
    for (unsigned i = 0; i < tensor_count(run); ++i) {
        const struct guarded_buffer *buffer = &run->buffers[i];
        if (!is_output(run, i)) continue;
        const int status =
            tmagen_memory_download(run->device, buffer->host, buffer->address, buffer->bytes);
        if (status) return status;
    }
    return TMAGEN_OK;
}

static int launch_once(struct verification *run, const struct target *target, uint8_t poison) {
    struct arguments arguments;
    tmagen_launch launch;
    describe(run, target, &arguments, &launch);
    int status = poison_outputs(run, poison);
    if (status == TMAGEN_OK) status = target_launch(target, NULL, &launch);
    if (status == TMAGEN_OK) status = tmagen_device_synchronize(run->device);
    if (status == TMAGEN_OK) status = download_outputs(run);
    run->cleared = status == TMAGEN_OK;
    return status;
}

// Looks for bytes that are not [poison] in [from..to) of an output's buffer. [what] names the
// place.
static bool check_poison(struct verification *run, unsigned i, size_t from, size_t to,
                         uint8_t poison, const char *what) {
    const uint8_t *host = run->buffers[i].host;
    for (size_t at = from; at < to; ++at) {
        if (host[at] == poison) continue;
        const long long offset = (long long)at - (long long)run->buffers[i].before;
        say(run, "%s: wrote outside the tensor: %s, byte %lld from its start, of %zu\n",
            run->problem.tensors[i].declared->name, what, offset, run->problem.tensors[i].bytes);
        return false;
    }
    return true;
}

// Nothing around the output was written, nor between its rows.
static bool check_guards(struct verification *run, unsigned i, uint8_t poison) {
    const struct ref_tensor *tensor = &run->problem.tensors[i];
    const size_t element = tmg_dtype_bytes(tensor->dtype);
    const size_t begin = run->buffers[i].before, end = begin + tensor->bytes;
    bool clean = check_poison(run, i, 0, begin, poison, "before it") &&
                 check_poison(run, i, end, end + run->guard, poison, "behind it");
    if (tensor->rank < 2) return clean;
    const size_t used = (size_t)tensor->dims[tensor->rank - 1] * element;
    const size_t row = (size_t)tensor->strides[tensor->rank - 2] * element;
    for (size_t at = begin; clean && row > used && at < end; at += row) {
        clean = check_poison(run, i, at + used, at + row, poison, "between two rows");
    }
    return clean;
}

static void explain(struct verification *run, const struct comparison *comparison) {
    static const char *const kinds[FINDING_KINDS] = {"never written", "not a number or infinite",
                                                     "wrong"};
    const long long count = comparison->output->count;
    for (int kind = 0; kind < FINDING_KINDS; ++kind) {
        if (!comparison->found[kind]) continue;
        say(run, "%s: %lld of %lld elements %s\n", comparison->output->declared->name,
            (long long)comparison->found[kind],
            kind == FINDING_WRONG ? (long long)comparison->checked : count,
            kind == FINDING_WRONG ? "computed by the reference are wrong" : kinds[kind]);
    }
    for (size_t i = 0; i < comparison->first_count; ++i) {
        const struct finding *finding = &comparison->first[i];
        char place[160];
        pattern_locate(comparison->pattern, finding->linear, place, sizeof place);
        if (finding->kind != FINDING_UNWRITTEN) {
            say(run, "  %s is %.7g, should be %.7g +- %.2g\n", place, finding->got, finding->want,
                finding->tolerance);
        } else {
            say(run, "  %s is %s\n", place, kinds[finding->kind]);
        }
    }
    char pattern[1000];
    pattern_describe(comparison->pattern, pattern, sizeof pattern);
    say(run, "%s", pattern);
}

// Holds output [i] to what the case says. 0, or -1.
static int compare_output(struct verification *run, unsigned i, uint8_t poison,
                          struct comparison *comparison) {
    const struct ref_tensor *tensor = &run->problem.tensors[i];
    if (run->what->check_only) {
        return compare_written(&run->problem, tensor, poison, comparison);
    }
    if (run->what->peer) {
        return compare_equal(&run->problem, tensor, run->buffers[i].peer + run->buffers[i].before,
                             run->what->ulps, poison, comparison);
    }
    run->result->compared = true;
    return compare(&run->problem, tensor, poison, run->what->seed, comparison);
}

static int check_first(struct verification *run, uint8_t poison) {
    for (unsigned i = 0; i < tensor_count(run); ++i) {
        if (!is_output(run, i)) continue;
        struct ref_tensor *tensor = &run->problem.tensors[i];
        memcpy(tensor->data, run->buffers[i].host + run->buffers[i].before, tensor->bytes);
        struct comparison comparison;
        if (compare_output(run, i, poison, &comparison)) {
            compare_free(&comparison);
            return TMAGEN_ERROR_MEMORY;
        }
        run->result->elements += tensor->count;
        run->result->checked += comparison.checked;
        run->result->whole &= comparison.whole;
        if (comparison.worst > run->result->worst) run->result->worst = comparison.worst;
        if (!compare_passed(&comparison)) {
            run->result->verdict = VERIFY_WRONG;
            explain(run, &comparison);
        }
        if (!check_guards(run, i, poison)) run->result->verdict = VERIFY_WRONG;
        compare_free(&comparison);
        memcpy(run->buffers[i].first, run->buffers[i].host, run->buffers[i].bytes);
    }
    if (run->what->seen) run->what->seen(run->what->context, &run->problem);
    return TMAGEN_OK;
}

// Whether the element at [at] of output [i], which the kernel may leave, was left by both runs.
static bool left_alone(const struct verification *run, unsigned i, size_t at, uint8_t poison) {
    const struct ref_tensor *tensor = &run->problem.tensors[i];
    const uint8_t *now = run->buffers[i].host + at, *first = run->buffers[i].first + at;
    if (!reference_leaves(run->problem.reference, tensor->declared->name)) return false;
    for (size_t byte = 0; byte < tmg_dtype_bytes(tensor->dtype); ++byte) {
        if (now[byte] != poison || first[byte] != run->first_poison) return false;
    }
    return true;
}

// Says which elements of output [i] differ between the first run and this one.
static void explain_moved(struct verification *run, unsigned i, uint8_t poison, int number) {
    const struct ref_tensor *tensor = &run->problem.tensors[i];
    const struct guarded_buffer *buffer = &run->buffers[i];
    struct pattern *pattern = pattern_new(run->problem.manifest, tensor);
    const size_t bytes = tmg_dtype_bytes(tensor->dtype);
    int64_t moved = 0, index[TMAGEN_MAX_RANK];
    for (int64_t linear = 0; linear < tensor->count; ++linear) {
        ref_index(tensor, linear, index);
        const size_t at = buffer->before + (size_t)ref_offset(tensor, index) * bytes;
        if (!memcmp(buffer->host + at, buffer->first + at, bytes)) continue;
        if (left_alone(run, i, at, poison)) continue;
        ++moved;
        if (pattern) pattern_add(pattern, index);
    }
    char text[1000] = "\n";
    if (pattern) pattern_describe(pattern, text, sizeof text);
    if (moved) {
        say(run, "%s: %lld elements differ between run 1 and run %d on the same inputs: a race\n%s",
            tensor->declared->name, (long long)moved, number, text);
        run->result->verdict = VERIFY_WRONG;
    }
    pattern_free(pattern);
}

static void check_again(struct verification *run, uint8_t poison, int number) {
    for (unsigned i = 0; i < tensor_count(run); ++i) {
        const struct ref_tensor *tensor = &run->problem.tensors[i];
        const struct guarded_buffer *buffer = &run->buffers[i];
        if (!is_output(run, i)) continue;
        if (memcmp(buffer->host + buffer->before, buffer->first + buffer->before, tensor->bytes)) {
            explain_moved(run, i, poison, number);
        }
        if (!check_guards(run, i, poison)) run->result->verdict = VERIFY_WRONG;
    }
}

// Semaphores are zero again, as the kernel's next launch, which nobody clears them for, wants them.
static int check_semaphores(struct verification *run, int number) {
    const struct tmg_manifest *manifest = run->picked.manifest;
    const struct tmg_layout *layout = &run->picked.layout;
    const int64_t from = layout->zero_launch, to = layout->zero_first;
    if (from >= to) return TMAGEN_OK;
    uint8_t *now = malloc((size_t)(to - from));
    if (!now) return tmg_fail_memory();
    const int status = tmagen_memory_download(
        run->device, now, run->workspace.address + (uint64_t)from, (size_t)(to - from));
    for (int64_t at = 0; status == TMAGEN_OK && at < to - from; ++at) {
        unsigned part = manifest->part_count - 1;
        if (!now[at]) continue;
        while (layout->offsets[part] > from + at) --part;
        say(run, "workspace: byte %lld of %s is not zero after run %d, as the next wants it\n",
            (long long)(from + at - layout->offsets[part]), manifest->parts[part].name, number);
        run->result->verdict = VERIFY_WRONG;
        break;
    }
    free(now);
    return status;
}

// The inputs and their guards are as they were uploaded.
static int check_inputs(struct verification *run) {
    uint64_t at[TMG_MAX_TENSORS];
    addresses(run, at);
    for (unsigned i = 0; i < tensor_count(run); ++i) {
        const struct ref_tensor *tensor = &run->problem.tensors[i];
        if (is_output(run, i)) continue;
        uint8_t *now = malloc(tensor->bytes);
        if (!now) return tmg_fail_memory();
        const int status = tmagen_memory_download(
            run->device, now, run->buffers[i].address + run->buffers[i].before, tensor->bytes);
        if (status == TMAGEN_OK) addresses_drop(&run->problem, i, at, now);
        if (status == TMAGEN_OK && memcmp(now, tensor->data, tensor->bytes)) {
            say(run, "%s: the kernel wrote into this input\n", tensor->declared->name);
            run->result->verdict = VERIFY_WRONG;
        }
        free(now);
        if (status) return status;
    }
    return TMAGEN_OK;
}

static int make_workspace(struct verification *run, const struct target *target) {
    struct arguments arguments;
    tmagen_launch launch;
    describe(run, target, &arguments, &launch);
    run->cleared = false;
    int status = target_pick(target, &launch, &run->picked);
    run->workspace.bytes = (size_t)run->picked.layout.bytes;
    if (status == TMAGEN_OK && run->workspace.bytes) {
        status = tmagen_memory_alloc(run->device, run->workspace.bytes, &run->workspace.address);
    }
    return status;
}

// Runs the peer on the same inputs and keeps what it gave.
static int run_peer(struct verification *run) {
    watchdog_step("%s: the other kernel", run->what->name);
    const struct target peer = {run->what->peer, NULL};
    int status = make_workspace(run, &peer);
    if (status == TMAGEN_OK) status = launch_once(run, &peer, input_poison);
    for (unsigned i = 0; status == TMAGEN_OK && i < tensor_count(run); ++i) {
        struct guarded_buffer *buffer = &run->buffers[i];
        if (!is_output(run, i)) continue;
        buffer->peer = malloc(buffer->bytes);
        if (!buffer->peer) return tmg_fail_memory();
        memcpy(buffer->peer, buffer->host, buffer->bytes);
    }
    tmagen_memory_free(run->device, run->workspace.address);
    run->workspace = (struct guarded_buffer){0};
    return status;
}

// Whether an output is of integers, whose sums may well be -1, all bits of it.
static bool gives_integers(const struct verification *run) {
    for (unsigned i = 0; i < tensor_count(run); ++i) {
        const enum tmg_dtype_id dtype = run->problem.tensors[i].dtype;
        if (is_output(run, i) && tmg_dtypes[dtype].kind != TMG_KIND_FLOAT) return true;
    }
    return false;
}

static int run_all(struct verification *run) {
    const bool integers = gives_integers(run);
    const uint8_t poisons[] = {integers ? 0xa5 : input_poison, integers ? input_poison : 0xa5};
    watchdog_host("%s: inputs", run->what->name);
    int status = ref_problem_fill(&run->problem, run->what->seed);
    watchdog_step("%s: upload", run->what->name);
    if (status == TMAGEN_OK) status = upload_inputs(run);
    if (status == TMAGEN_OK && run->what->peer) status = run_peer(run);
    if (status == TMAGEN_OK) status = make_workspace(run, &run->target);
    target_name_pick(&run->target, &run->picked, run->result->picked, sizeof run->result->picked);
    for (int number = 1; status == TMAGEN_OK && number <= run->what->runs; ++number) {
        const uint8_t poison = poisons[(number - 1) % 2];
        watchdog_step("%s: launch %d", run->what->name, number);
        status = launch_once(run, &run->target, poison);
        watchdog_host("%s: comparison", run->what->name);
        if (status != TMAGEN_OK) break;
        if (number == 1) run->first_poison = poison, status = check_first(run, poison);
        if (number > 1) check_again(run, poison, number);
        if (status == TMAGEN_OK) status = check_semaphores(run, number);
        if (run->result->verdict == VERIFY_WRONG) break;
    }
    return status == TMAGEN_OK ? check_inputs(run) : status;
}

static void release(struct verification *run) {
    for (unsigned i = 0; run->problem.manifest && i < tensor_count(run); ++i) {
        tmagen_memory_free(run->device, run->buffers[i].address);
        free(run->buffers[i].host);
        free(run->buffers[i].first);
        free(run->buffers[i].peer);
    }
    tmagen_memory_free(run->device, run->workspace.address);
    ref_problem_free(&run->problem);
}

struct variation verify_variation(const tmagen_kernel *kernel, struct variation recorded) {
    const struct tmg_manifest *manifest = kernel->manifest;
    struct variation own = {0};
    if (manifest->varies_with_sms) own.sms = tmg_grid_sms(manifest, &kernel->main.capacity);
    if (manifest->varies_with_splits) own.splits = (int)manifest->grid.splits;
    if (own.sms && recorded.sms) own.sms = recorded.sms;
    if (own.splits && recorded.splits) own.splits = recorded.splits;
    return own;
}

void verify_run(tmagen_device *device, tmagen_kernel *kernel, const struct reference *reference,
                const struct verify_case *what, struct verify_result *result) {
    *result = (struct verify_result){.verdict = VERIFY_OK, .whole = true};
    struct verification run = {.device = device,
                               .target = {what->set ? NULL : kernel, what->set},
                               .what = what,
                               .result = result};
    const struct tmg_manifest *manifest = target_manifest(&run.target);
    tmagen_device_info info;
    int status = tmagen_device_get_info(device, &info);
    if (status == TMAGEN_OK) {
        // the emulator knows the bounds of every allocation itself, and guards would hide them
        run.guard = what->unguarded || !strcmp(info.backend, "emu") ? 0 : GUARD;
        status = ref_problem_make(manifest, reference, what->dims, what->row_padding, &run.problem);
        run.problem.inputs = what->inputs;
    }
    if (status == TMAGEN_OK) status = run_all(&run);
    if (status != TMAGEN_OK) {
        say(&run, "%s\n", tmagen_error_last());
        const bool refused = status == TMAGEN_ERROR_ARGUMENT || status == TMAGEN_ERROR_MANIFEST;
        result->verdict = refused ? VERIFY_REFUSED : VERIFY_BROKEN;
    }
    release(&run);
}

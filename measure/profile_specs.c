// Resources are the compiler's and named with its version; all else follows from addresses and
// counts, and is the same on every machine.
#include "measure/profile_specs.h"

#include <string.h>

#include "measure/subject.h"
#include "runtime/arch.h"
#include "runtime/device.h"
#include "runtime/grid.h"
#include "runtime/kernel.h"

static const double operations_most = 4e9;

static int print_resources(const struct subject *subject, FILE *out) {
    const struct kernel_text *text = subject->text;
    const tmagen_compile_options options = {.arch = subject->manifest->arch,
                                            .name = subject->manifest->source};
    tmagen_code code;
    const int status = tmagen_compile(text->source, strlen(text->source), &options, &code);
    if (status) return status;
    const tmagen_resources *used = &code.resources;
    fprintf(out, "  %s: %d registers, %d bytes of stack, %d stored and %d loaded by spills\n",
            code.compiler, used->registers, used->stack_bytes, used->spill_store_bytes,
            used->spill_load_bytes);
    tmagen_code_free(&code);
    return TMAGEN_OK;
}

// The grid on a whole GPU at the typical shape, which the emulator's few SMs cannot show.
static int print_grid(const struct subject *subject, FILE *out) {
    const struct tmg_arch *arch = tmg_arch_find(subject->manifest->arch);
    const struct tmg_capacity capacity = {.sms = arch ? (int)arch->sms : 1};
    struct tmg_binding binding = {.manifest = subject->manifest,
                                  .splits = subject->manifest->grid.splits};
    struct shape_list typical = {0};
    char error[160];
    unsigned grid[3];
    // a kernel of fixed dims may have none that is typical
    const bool has = *subject->reference.typical &&
                     !shapes_parse(&typical, subject->reference.typical, error, sizeof error) &&
                     !shape_dims(&typical.shapes[0], &subject->reference, subject->manifest,
                                 binding.dims, error, sizeof error);
    shapes_free(&typical);
    const int status = has ? tmg_grid_size(&binding, &capacity, grid) : TMAGEN_OK;
    if (has && status == TMAGEN_OK)
        fprintf(out, "  at %s, %d SMs: grid %ux%ux%u\n", subject->reference.typical, capacity.sms,
                grid[0], grid[1], grid[2]);
    return status;
}

// The given shape, else the last of the family's for several waves, else the last of its small
// ones.
static bool choose_shape(const struct subject *subject, const struct shape_list *given,
                         int64_t *dims) {
    struct ref_shapes own = {0};
    char error[160];
    for (size_t i = 0; i < given->count; ++i) {
        if (shape_is_for(&given->shapes[i], subject->manifest))
            return !shape_dims(&given->shapes[i], &subject->reference, subject->manifest, dims,
                               error, sizeof error);
    }
    reference_shapes(&subject->reference, subject->manifest, "small", &own);
    reference_shapes(&subject->reference, subject->manifest, "waves", &own);
    const bool any = own.count > 0;
    if (any) memcpy(dims, own.shapes[own.count - 1], sizeof *own.shapes);
    ref_shapes_free(&own);
    return any;
}

static bool too_large(const struct subject *subject, const int64_t *dims) {
    struct ref_problem problem;
    return !ref_problem_make(subject->manifest, &subject->reference, dims, 0, &problem) &&
           ref_flops(&problem) > operations_most;
}

static int print_launch(const struct subject *subject, const int64_t *dims, FILE *out) {
    const struct tmg_backend *backend = subject->device->backend;
    static struct verify_result result;
    if (too_large(subject, dims)) return fputs("  a fixed shape, too large to run here\n", out), 0;
    backend->profile(subject->device->state, out);
    subject_run(subject, dims, "", 1, true, &result);
    backend->profile(subject->device->state, NULL);
    if (result.verdict == VERIFY_OK) return TMAGEN_OK;
    fprintf(stderr, "tmagen: error: %s: %s\n", subject->text->name, result.report);
    return TMAGEN_ERROR_DEVICE;
}

static int print_kernel(struct subject *subject, const struct profile_plan *plan, FILE *out) {
    int64_t dims[TMG_MAX_DIMS];
    char shape[120];
    if (!choose_shape(subject, plan->shapes, dims)) {
        fprintf(stderr, "tmagen: error: %s: no shape to run; --shape gives one\n",
                subject->text->name);
        return TMAGEN_ERROR_ARGUMENT;
    }
    shape_format(&subject->reference, subject->manifest, dims, "", shape, sizeof shape);
    fprintf(out, "%s %s\n", subject->text->name, shape);
    int status = plan->only_ptx ? TMAGEN_OK : print_resources(subject, out);
    if (!status) status = print_grid(subject, out);
    if (status) kernel_complain(subject->text->name);
    return status ? status : print_launch(subject, dims, out);
}

// On a device of its own: a later launch on the same one has another order, and other waits.
static int profile_kernel(const struct kernel_text *text, const struct profile_plan *plan,
                          FILE *out) {
    tmagen_device *device;
    struct subject subject;
    int status = tmagen_device_open("emu", &device);
    if (status) return kernel_complain(text->name), status;
    status = subject_open(device, text, &subject);
    if (status) kernel_complain(text->name);
    if (!status) status = print_kernel(&subject, plan, out);
    subject_close(&subject);
    tmagen_device_close(device);
    return status;
}

int profile_all(const struct profile_plan *plan, FILE *out) {
    int wrong = 0;
    for (size_t i = 0; i < plan->kernel_count; ++i)
        wrong += profile_kernel(&plan->kernels[i], plan, out) != TMAGEN_OK;
    return wrong ? 1 : 0;
}

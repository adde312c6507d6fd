// Loads, draws, launches in each order on fresh outputs, and prints what was found.
// Nothing is compared but the orders with each other: who wants the reference has verify.
#include "measure/emulate_kernel.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "measure/subject.h"
#include "runtime/device.h"
#include "runtime/grid.h"
#include "runtime/kernel.h"

enum { FINE, FOUND, REFUSED, NO_ENVIRONMENT };

// Ctrl-C ends the launch with the state of all its warps; a second one ends the program.
static tmagen_device *running;

static void interrupt(int number) {
    (void)number;
    tmagen_device_cancel(running);
}

static int complain(const struct emulate_plan *plan, const char *why, int code) {
    fprintf(stderr, "tmagen: error: %s: %.*s\n", plan->kernel->name, (int)strcspn(why, "\n"), why);
    return code;
}

static void print_grid(const struct subject *subject, const int64_t *dims, FILE *out) {
    const struct tmg_manifest *manifest = subject->manifest;
    struct tmg_binding binding = {.manifest = manifest, .splits = manifest->grid.splits};
    unsigned grid[3];
    memcpy(binding.dims, dims, sizeof binding.dims);
    if (tmg_grid_size(&binding, &subject->kernel->main.capacity, grid)) return;
    const unsigned *block = manifest->block;
    fprintf(out, ", grid %ux%ux%u, block %ux%ux%u", grid[0], grid[1], grid[2], block[0], block[1],
            block[2]);
}

// What the kernel is called with its shape, its grid and how long it took.
static void print_fine(const struct emulate_plan *plan, const struct subject *subject,
                       const int64_t *dims, FILE *out) {
    char shape[120];
    struct tmg_effort effort;
    subject->device->backend->effort(subject->device->state, &effort);
    shape_format(&subject->reference, subject->manifest, dims, plan->shape->inputs, shape,
                 sizeof shape);
    fprintf(out, "%s: nothing found, %s", plan->kernel->name, shape);
    print_grid(subject, dims, out);
    fprintf(out, ", %d order%s\n", plan->schedules, plan->schedules == 1 ? "" : "s");
    const double instructions = (double)effort.thread_instructions, seconds = effort.core_seconds;
    fprintf(out, "  %" PRIu64 " thread instructions in %.2f s of a core; %.1f M a second\n",
            effort.thread_instructions, seconds, seconds > 0 ? instructions * 1e-6 / seconds : 0);
}

static int run(const struct emulate_plan *plan, const struct subject *subject, FILE *out) {
    static struct verify_result result;
    int64_t dims[TMG_MAX_DIMS];
    char error[160];
    if (shape_dims(plan->shape, &subject->reference, subject->manifest, dims, error, sizeof error))
        return complain(plan, error, REFUSED);
    subject_run(subject, dims, plan->shape->inputs, plan->schedules, false, &result);
    const char *reports = tmagen_device_reports(subject->device);
    switch (result.verdict) {
    case VERIFY_OK: print_fine(plan, subject, dims, out); return FINE;
    case VERIFY_REFUSED: return complain(plan, result.report, REFUSED);
    case VERIFY_BROKEN:
        if (!*reports) return complain(plan, result.report, FOUND);
        fputs(reports, out);
        return FOUND;
    default: fputs(result.report, out); return FOUND;
    }
}

static int load_and_run(const struct emulate_plan *plan, FILE *out) {
    struct subject subject;
    int code;
    switch (subject_open(running, plan->kernel, &subject)) {
    case TMAGEN_OK: code = run(plan, &subject, out); break;
    case TMAGEN_ERROR_COMPILE:
    case TMAGEN_ERROR_MANIFEST:
        kernel_complain(plan->kernel->name);
        code = FOUND;
        break;
    default: kernel_complain(plan->kernel->name); code = NO_ENVIRONMENT;
    }
    subject_close(&subject);
    return code;
}

int emulate_kernel(const struct emulate_plan *plan, FILE *out) {
    char name[40];
    snprintf(name, sizeof name, "emu:%" PRIu64, plan->seed);
    if (tmagen_device_open(name, &running)) return kernel_complain(""), NO_ENVIRONMENT;
    sigaction(SIGINT, &(struct sigaction){.sa_handler = interrupt, .sa_flags = SA_RESETHAND}, NULL);
    const int code = load_and_run(plan, out);
    tmagen_device_close(running);
    return code;
}

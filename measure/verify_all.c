// The parent counts, a child runs kernels: what it has done stands in shared memory, so that after
// its death the parent knows which kernel was at fault and goes on with the next.
#include "measure/verify_all.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure/record.h"
#include "measure/columns.h"
#include "measure/verify.h"
#include "measure/watchdog.h"
#include "runtime/device.h"
#include "measure/random.h"

enum { CHILD_DONE = 0, CHILD_BROKEN = 4, CHILD_NO_DEVICE = 5, PADDING = 64 };

// What parent and child share.
struct verify_tally {
    size_t next;  // the kernel that is being verified, or will be
    int cases, wrong, refused, skipped;
    char refusal[400];         // the first, with its kernel and shape
    struct tmg_effort effort;  // of the emulator
    bool begun;                // the record that is written has its first line
};

struct session {
    const struct verify_plan *plan;
    struct verify_tally *ledger;
    tmagen_device *device;
    bool emulated;
    uint64_t seed;
    FILE *record;            // NULL: none is written
    char record_path[4096];  // where it grows, beside the place that it gets when all is done
    struct record against;   // of no device: none is compared with
};

// The kernel that is being verified, and what it is held against.
struct verified {
    struct target target;
    tmagen_kernel *peer;  // NULL: no peer
    const struct tmg_manifest *manifest;
    const char *name;
    struct reference reference;
};

// What is drawn and laid out for a case.
struct trial {
    const int64_t *dims;
    int64_t padding;
    const char *inputs;  // "": the usual
    const json_t *then;  // its case in the record, or NULL
    bool unaligned;      // see verify_case
};

// One row of the table: a shape of a kernel.
struct verify_row {
    const char *kernel;
    char shape[120];
    uint64_t seed;
    const struct verify_result *result;
    const char *reports;  // of the emulator; "" for none
    const char *held;     // to what, where it is not to the reference
};

static const char *const verdicts[] = {"ok", "WRONG", "refused", "BROKEN", "DIFFERS"};

static void print_json(const struct verify_row *row) {
    const struct verify_result *result = row->result;
    json_t *line = json_pack(
        "{ss ss ss sI sI sb sf sI ss}", "kernel", row->kernel, "shape", row->shape, "verdict",
        verdicts[result->verdict], "elements", (json_int_t)result->elements, "computed",
        (json_int_t)result->checked, "whole", result->whole, "worst", result->worst, "seed",
        (json_int_t)row->seed, "report", *row->reports ? row->reports : result->report);
    if (*result->picked) json_object_set_new(line, "picked", json_string(result->picked));
    char *text = line ? json_dumps(line, JSON_COMPACT) : NULL;
    if (text) puts(text);
    free(text);
    json_decref(line);
}

static void print_text(const struct verify_row *row, int width) {
    const struct verify_result *result = row->result;
    const char *how = !result->whole                        ? "samples"
                      : result->checked == result->elements ? "all"
                                                            : "samples, and the whole checked";
    printf("%-*s  %-22s  %-7s", width, row->kernel, row->shape, verdicts[result->verdict]);
    const bool wrong = result->verdict == VERIFY_WRONG || result->verdict == VERIFY_DIFFERS;
    if ((result->verdict == VERIFY_OK || wrong) && !result->compared) {
        printf("  %11lld elements, %s", (long long)result->elements, row->held);
    } else if (result->verdict == VERIFY_OK || wrong) {
        printf("  %11lld elements, %s; worst error %.2f of the tolerance",
               (long long)result->elements, how, result->worst);
    } else {
        printf("  %.*s", (int)strcspn(result->report, "\n"), result->report);
    }
    if (*result->picked) printf("; by %s", result->picked);
    putchar('\n');
    const char *lines = wrong ? result->report : row->reports;
    for (const char *line = lines; *line;) {
        const int len = (int)strcspn(line, "\n");
        printf("    %.*s\n", len, line);
        line += len + (line[len] == '\n');
    }
}

static int name_width(const struct verify_plan *plan) {
    int width = 6;
    for (size_t i = 0; i < plan->kernel_count; ++i) {
        const int len = (int)strlen(plan->kernels[i].name);
        if (len > width) width = len;
    }
    return width;
}

// What becomes of a case's results beside the comparison with the reference.
struct keeping {
    const struct session *session;
    const struct verify_row *row;
    int64_t padding;
    struct variation variation;
    const json_t *then;  // the case in the record that they must equal; NULL: none
    json_t *now;         // theirs
    bool equal;
    char report[2048];
};

static void keep(void *context, const struct ref_problem *problem) {
    struct keeping *keeping = context;
    char shape[sizeof keeping->row->shape];
    shape_format(problem->reference, problem->manifest, problem->dims, "", shape, sizeof shape);
    keeping->now =
        record_case(problem, keeping->row->kernel, shape, keeping->padding, keeping->variation);
    if (!keeping->then || !keeping->now) return;
    keeping->equal = record_equal(&keeping->session->against, keeping->then, keeping->now, problem,
                                  keeping->report, sizeof keeping->report);
}

// Takes what keep() found into the result, or adds it to the record that is written.
static void finish_keeping(struct keeping *keeping, struct verify_result *result) {
    const struct session *session = keeping->session;
    if (result->verdict == VERIFY_OK && keeping->then && !keeping->equal) {
        result->verdict = VERIFY_DIFFERS;
        snprintf(result->report, sizeof result->report, "%s", keeping->report);
    }
    if (result->verdict == VERIFY_OK && session->record &&
        record_add(session->record, keeping->now)) {
        perror(session->plan->record);
        ++session->ledger->wrong;
    }
    json_decref(keeping->now);
}

static void print_row(const struct session *session, const struct verify_row *row) {
    if (session->plan->json) print_json(row);
    if (!session->plan->json) print_text(row, name_width(session->plan));
    fflush(stdout);
}

// Writes the shape with what is not usual about it.
static void name_shape(const struct verified *subject, const struct trial *trial, char *text,
                       size_t size) {
    shape_format(&subject->reference, subject->manifest, trial->dims, trial->inputs, text, size);
    if (trial->padding) strncat(text, " padded", size - strlen(text) - 1);
    if (trial->unaligned) strncat(text, " unaligned", size - strlen(text) - 1);
}

// Runs one shape and prints its row. Returns false after a failure of the device.
static bool run_shape(struct session *session, const struct verified *subject,
                      const struct trial *trial) {
    const struct verify_plan *plan = session->plan;
    static struct verify_result result;
    struct verify_row row = {.kernel = subject->name, .seed = session->seed, .result = &result};
    row.held = plan->check_only ? "checked, not compared" : "as those of the other kernel";
    name_shape(subject, trial, row.shape, sizeof row.shape);
    char name[300];
    snprintf(name, sizeof name, "%s %s", subject->name, row.shape);
    progress("%s", name);
    const struct variation launched =
        subject->target.set
            ? (struct variation){0}
            : verify_variation(subject->target.kernel, record_variation(trial->then));
    struct keeping keeping = {session,     &row, trial->padding, launched,
                              trial->then, NULL, false,          ""};
    const bool wanted = trial->then || session->record;
    const struct verify_case what = {.name = name,
                                     .dims = trial->dims,
                                     .row_padding = trial->padding,
                                     .unaligned = trial->unaligned,
                                     .inputs = trial->inputs,
                                     .variation = launched,
                                     .seed = session->seed,
                                     .runs = plan->runs,
                                     .unguarded = plan->unguarded,
                                     .check_only = plan->check_only,
                                     .peer = subject->peer,
                                     .set = subject->target.set,
                                     .ulps = plan->ulps,
                                     .seen = wanted ? keep : NULL,
                                     .context = &keeping};
    verify_run(session->device, subject->target.kernel, &subject->reference, &what, &result);
    finish_keeping(&keeping, &result);
    row.reports = result.verdict == VERIFY_BROKEN ? tmagen_device_reports(session->device) : "";
    progress("%s", "");
    print_row(session, &row);
    ++session->ledger->cases;
    if (result.verdict == VERIFY_REFUSED && !session->ledger->refused++) {
        snprintf(session->ledger->refusal, sizeof session->ledger->refusal, "%s is refused: %.*s",
                 name, (int)strcspn(result.report, "\n"), result.report);
    }
    session->ledger->wrong += result.verdict != VERIFY_OK && result.verdict != VERIFY_REFUSED;
    return result.verdict != VERIFY_BROKEN || session->emulated;
}

// The inputs that verify draws for a shape: bench's words are nothing to it.
static const char *inputs_of(const struct reference *reference, const struct shape *shape) {
    const bool known = reference_lists(VERIFY_INPUTS, shape->inputs) ||
                       reference_lists(reference->verified, shape->inputs);
    return known ? shape->inputs : "";
}

static bool same_shape(const struct reference *reference, const struct shape *a,
                       const struct shape *b) {
    return a->count == b->count && !strcmp(inputs_of(reference, a), inputs_of(reference, b)) &&
           !memcmp(a->numbers, b->numbers, (size_t)a->count * sizeof *a->numbers);
}

// Whether a shape before the [index]-th asks for the same: bench tells them apart by their inputs.
static bool asked_before(const struct shape_list *list, size_t index,
                         const struct verified *subject) {
    for (size_t i = 0; i < index; ++i) {
        if (shape_is_for(&list->shapes[i], subject->manifest) &&
            same_shape(&subject->reference, &list->shapes[i], &list->shapes[index]))
            return true;
    }
    return false;
}

// The shapes that were asked for and are meant for this kernel's type.
static bool run_given_shapes(struct session *session, const struct verified *subject) {
    const struct shape_list *list = session->plan->shapes;
    for (size_t i = 0; i < list->count; ++i) {
        const struct shape *shape = &list->shapes[i];
        int64_t dims[TMG_MAX_DIMS];
        char error[160];
        if (!shape_is_for(shape, subject->manifest) || asked_before(list, i, subject)) {
            continue;
        }
        if (shape_dims(shape, &subject->reference, subject->manifest, dims, error, sizeof error)) {
            fprintf(stderr, "tmagen: error: %s: %s\n", subject->name, error);
            ++session->ledger->wrong;
            return true;
        }
        const struct trial trial = {dims, 0, inputs_of(&subject->reference, shape), NULL, false};
        if (!run_shape(session, subject, &trial)) return false;
    }
    return true;
}

// Whether the kernel can be told of gaps between the rows of any tensor.
static bool takes_gaps(const struct tmg_manifest *manifest) {
    for (unsigned i = 0; i < manifest->param_count; ++i) {
        const enum tmg_param_kind kind = manifest->params[i].kind;
        if (kind == TMG_PARAM_STRIDE || kind == TMG_PARAM_TENSOR_MAP) return true;
    }
    return false;
}

// Whether a problem is more than the emulator, or a check element by element, gets through.
static bool is_large(const struct verified *subject, const int64_t *dims) {
    static const double operations_most = 4e9;
    struct ref_problem problem;
    return !ref_problem_make(subject->manifest, &subject->reference, dims, 0, &problem) &&
           ref_flops(&problem) > operations_most;
}

// True, with a note, for a shape that would keep the emulator busy for a minute or more: one that
// the spec fixed.
static bool too_large(const struct session *session, const struct verified *subject,
                      const int64_t *dims) {
    if (!session->emulated || !is_large(subject, dims)) return false;
    fprintf(stderr,
            "tmagen: note: %s: its fixed shape is too large to emulate; "
            "give --shape to do it all the same\n",
            subject->name);
    ++session->ledger->skipped;
    return true;
}

// What else there is to try with a shape: gaps between the rows of every tensor, addresses that are
// as odd as may be, and the inputs that are verify's own.
static bool run_odd_shape(struct session *session, const struct verified *subject,
                          const int64_t *dims) {
    bool alive = true;
    const int64_t gaps = takes_gaps(subject->manifest) ? PADDING : 0;
    if (gaps || !session->record) {  // addresses change no bit of what is recorded
        alive = run_shape(session, subject, &(struct trial){dims, gaps, "", NULL, true});
    }
    char words[256];
    snprintf(words, sizeof words, "%s %s", VERIFY_INPUTS, subject->reference.verified);
    char *rest = words;
    for (const char *inputs; alive && (inputs = strtok_r(rest, " ", &rest));) {
        if (session->record || !reference_lists(subject->reference.inputs, inputs)) continue;
        // of a large product special values leave nothing but NaN, of which its check says nothing
        if (!strcmp(inputs, "special") && is_large(subject, dims)) continue;
        alive = run_shape(session, subject, &(struct trial){dims, 0, inputs, NULL, false});
    }
    return alive;
}

// The reference's choice.
static bool run_own_shapes(struct session *session, const struct verified *subject) {
    struct ref_shapes shapes = {0};
    const bool small = session->emulated || session->plan->small;
    reference_shapes(&subject->reference, subject->manifest, small ? "small" : "full", &shapes);
    const size_t odd = shapes.count / 3;
    if (small && !session->record && !session->plan->no_waves) {
        reference_shapes(&subject->reference, subject->manifest, "waves", &shapes);
    }
    if (!shapes.count) {
        fprintf(stderr, "tmagen: error: %s: its family names no shapes; give --shape\n",
                subject->name);
        ++session->ledger->wrong;
    }
    bool alive = true;
    for (size_t i = 0; alive && i < shapes.count; ++i) {
        const int64_t *dims = shapes.shapes[i];
        const bool usual = !session->plan->odd;
        if ((!usual && i != odd) || too_large(session, subject, dims)) continue;
        if (usual) alive = run_shape(session, subject, &(struct trial){dims, 0, "", NULL, false});
        if (alive && i == odd) alive = run_odd_shape(session, subject, dims);
    }
    ref_shapes_free(&shapes);
    return alive;
}

// Whether shapes were asked for and [shape] is none of them, or has gaps between its rows.
static bool not_asked_for(const struct shape_list *list, const struct shape *shape, int64_t padding,
                          const struct verified *subject) {
    if (list->count && padding) return true;
    for (size_t i = 0; i < list->count; ++i) {
        if (shape_is_for(&list->shapes[i], subject->manifest) &&
            same_shape(&subject->reference, &list->shapes[i], shape)) {
            return false;
        }
    }
    return list->count;
}

// Runs a case of the record, if it is asked for. Returns false after a failure of the device.
static bool run_recorded_case(struct session *session, const struct verified *subject,
                              const json_t *then) {
    const struct tmg_manifest *manifest = subject->manifest;
    const struct shape_list *asked = session->plan->shapes;
    struct shape_list list = {0};
    int64_t dims[TMG_MAX_DIMS];
    char error[200];
    bool alive = true;
    if (shapes_parse(&list, record_shape(then), error, sizeof error) ||
        shape_dims(list.shapes, &subject->reference, manifest, dims, error, sizeof error)) {
        fprintf(stderr, "tmagen: error: %s: %s: %s\n", session->plan->against, subject->name,
                error);
        ++session->ledger->wrong;
    } else if (!not_asked_for(asked, list.shapes, record_padding(then), subject) &&
               (asked->count || !too_large(session, subject, dims))) {
        const struct trial trial = {dims, record_padding(then), list.shapes->inputs, then, false};
        alive = run_shape(session, subject, &trial);
    }
    shapes_free(&list);
    return alive;
}

static bool run_recorded_shapes(struct session *session, const struct verified *subject) {
    const struct record *record = &session->against;
    bool alive = true, known = false;
    for (size_t i = 0; alive && i < record->count; ++i) {
        if (strcmp(record_kernel(record->cases[i]), subject->name)) continue;
        known = true;
        alive = run_recorded_case(session, subject, record->cases[i]);
    }
    if (!known) {
        fprintf(stderr, "tmagen: error: %s: no case is recorded in %s\n", subject->name,
                session->plan->against);
        ++session->ledger->wrong;
    }
    return alive;
}

// Loads the kernel, its peer and its reference; of a family without one what a check needs. A
// library error code.
static int open_subject(struct session *session, const struct kernel_text *text,
                        struct verified *subject) {
    const struct verify_plan *plan = session->plan;
    *subject = (struct verified){.name = text->name};
    int status = target_load(session->device, text, &subject->target);
    if (status != TMAGEN_OK) return status;
    subject->manifest = target_manifest(&subject->target);
    if (plan->peer) status = kernel_load(session->device, plan->peer, &subject->peer);
    if (status != TMAGEN_OK) return status;
    const bool compares = !plan->check_only && !plan->peer;
    if (!compares && !text->reference.count) {
        return reference_lack(subject->manifest, &subject->reference);
    }
    return reference_open(subject->manifest, &text->reference, session->device,
                          &subject->reference);
}

static void close_subject(struct verified *subject) {
    reference_close(&subject->reference);
    tmagen_kernel_unload(subject->peer);
    target_unload(&subject->target);
}

// Verifies one kernel. Returns false after a failure of the device.
static bool run_kernel(struct session *session, const struct kernel_text *text) {
    struct verified subject;
    watchdog_step("%s: load", text->name);
    const int status = open_subject(session, text, &subject);
    bool alive = status != TMAGEN_ERROR_DEVICE;
    if (status != TMAGEN_OK) {
        kernel_complain(text->name);
        ++session->ledger->wrong;
    } else {
        alive = session->against.device        ? run_recorded_shapes(session, &subject)
                : session->plan->shapes->count ? run_given_shapes(session, &subject)
                                               : run_own_shapes(session, &subject);
    }
    if (alive) close_subject(&subject);
    return alive;
}

static void add_effort(struct session *session) {
    struct tmg_effort now, *sum = &session->ledger->effort;
    if (!session->device->backend->effort) return;
    session->device->backend->effort(session->device->state, &now);
    sum->thread_instructions += now.thread_instructions;
    sum->multiply_adds += now.multiply_adds;
    sum->core_seconds += now.core_seconds;
}

// How fast the emulator was, by which "fast enough for CI" is held.
static void print_effort(const struct tmg_effort *effort) {
    const double million = 1e-6 / effort->core_seconds;
    if (!(effort->core_seconds > 0)) return;
    printf("emulated %.2f M thread instructions in %.2f s of a core, %.1f M/s",
           (double)effort->thread_instructions * 1e-6, effort->core_seconds,
           (double)effort->thread_instructions * million);
    if (effort->multiply_adds)
        printf("; and %.0f M multiply-adds a second in matrix instructions",
               (double)effort->multiply_adds * million);
    putchar('\n');
}

static int open_device(struct session *session) {
    const char *wanted = session->plan->device;
    int status = tmagen_device_open(wanted ? wanted : "cuda", &session->device);
    if (!wanted && (status == TMAGEN_ERROR_NO_DRIVER || status == TMAGEN_ERROR_NO_DEVICE)) {
        fprintf(stderr, "tmagen: note: %s; so the emulator runs the kernels\n",
                tmagen_error_last());
        status = tmagen_device_open("emu", &session->device);
    }
    tmagen_device_info info;
    if (status == TMAGEN_OK) status = tmagen_device_get_info(session->device, &info);
    if (status != TMAGEN_OK) return status;
    session->emulated = !strcmp(info.backend, "emu");
    if (session->record && !session->ledger->begun) {
        record_begin(session->record, info.name, session->seed);
        session->ledger->begun = true;
    }
    return TMAGEN_OK;
}

// The child: verifies kernels from ledger->next on. Returns what the process ends with.
static int work(struct session *session) {
    const struct verify_plan *plan = session->plan;
    if (open_device(session)) {
        kernel_complain("");
        return CHILD_NO_DEVICE;
    }
    const int timeout = plan->timeout ? plan->timeout : session->emulated ? 1200 : 60;
    // the emulator says what all were doing when its time was up; the watchdog only that it was
    const tmagen_budget budget = {.steps = (uint64_t)plan->max_steps, .seconds = timeout};
    tmagen_device_set_budget(session->device, &budget);
    watchdog_start(session->emulated ? timeout + 60 : timeout);
    while (session->ledger->next < plan->kernel_count) {
        if (!run_kernel(session, &plan->kernels[session->ledger->next])) return CHILD_BROKEN;
        ++session->ledger->next;
    }
    watchdog_stop();
    add_effort(session);
    tmagen_device_close(session->device);
    return CHILD_DONE;
}

// Runs a child and waits for it. Returns 0 to go on, or an exit code.
static int run_child(struct session *session) {
    const struct verify_plan *plan = session->plan;
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        const int code = work(session);
        fflush(stdout);
        _exit(code);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child) {
        perror("tmagen: error: fork");
        return 3;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == CHILD_DONE) return 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == CHILD_NO_DEVICE) return 3;
    struct verify_tally *ledger = session->ledger;
    if (WIFSIGNALED(status)) {
        fprintf(stderr, "tmagen: error: %s: verify died: %s\n", plan->kernels[ledger->next].name,
                strsignal(WTERMSIG(status)));
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != CHILD_BROKEN) ++ledger->wrong;
    ++ledger->next;  // the kernel at fault is counted; the others get a new process
    return 0;
}

// Opens the files that [plan] names. 0, or -1 with a message.
static int open_files(struct session *session) {
    const struct verify_plan *plan = session->plan;
    char error[300];
    session->seed = plan->seed;
    if (plan->against) {
        if (record_read(&session->against, plan->against, error, sizeof error)) {
            fprintf(stderr, "tmagen: error: %s\n", error);
            return -1;
        }
        session->seed = session->against.seed;
    }
    if (!plan->record) return 0;
    session->record =
        record_create(plan->record, session->record_path, sizeof session->record_path);
    return session->record ? 0 : -1;
}

// The line below the table: a shape that was refused is no case.
static void sum_up(const struct session *session) {
    const struct verify_tally *ledger = session->ledger;
    printf("%d cases, %d wrong", ledger->cases - ledger->refused, ledger->wrong);
    if (ledger->refused) printf(", %d refused", ledger->refused);
    printf("; seed %llu", (unsigned long long)session->seed);
    if (session->against.device && !ledger->wrong && ledger->cases > ledger->refused) {
        printf("; every bit as on %s", session->against.device);
    }
    putchar('\n');
}

// Nothing was wrong, since nothing ran. Returns the exit code: shapes that were asked for are a
// fault of the command line.
static int complain_of_shapes(const struct session *session) {
    const char *why = session->ledger->refusal;
    fprintf(stderr, "tmagen: error: %s\n", *why ? why : "no shape is for these kernels");
    return session->plan->shapes->count ? 2 : 1;
}

int verify_all(const struct verify_plan *plan) {
    struct verify_tally *ledger =
        mmap(NULL, sizeof *ledger, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (ledger == MAP_FAILED) {
        perror("tmagen: error: mmap");
        return 3;
    }
    struct session session = {.plan = plan, .ledger = ledger};
    int code = open_files(&session) ? 1 : 0;
    const bool opened = code == 0;
    while (code == 0 && ledger->next < plan->kernel_count) code = run_child(&session);
    if (opened && code == 0) {
        if (!plan->json) {
            print_effort(&ledger->effort);
            sum_up(&session);
        }
        const bool nothing = ledger->cases == ledger->refused && !ledger->skipped;
        code = ledger->wrong ? 1 : nothing ? complain_of_shapes(&session) : 0;
    }
    if (session.record) code = record_end(session.record, session.record_path, plan->record, code);
    record_free(&session.against);
    munmap(ledger, sizeof *ledger);
    return code;
}

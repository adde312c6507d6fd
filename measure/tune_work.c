// A process that measures on one GPU, shape after shape. Of each shape first a quick time of every
// launch that was chosen, checked; then contests, in which all alternate: one of many, since quick
// times come before the GPU has to lower its clock, then of ever fewer, the best so far among them.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure/contest.h"
#include "measure/entrant.h"
#include "measure/nvml.h"
#include "measure/random.h"
#include "measure/spot.h"
#include "measure/tune_state.h"
#include "measure/verify.h"
#include "measure/watchdog.h"
#include "runtime/error.h"
#include "runtime/seconds.h"

enum { FIRST_CONTEST = 32, SECOND_CONTEST = 8, FINALISTS = 2 };  // members, at most
enum { ROUNDS_LEAST = 5, ROUNDS_MOST = 40, SIEVE_LEAST = 4 };
enum { CHECK_RUNS = 2, WAIT_US = 2000 };
static const double turns_of_contest = 40;  // shared among its members
static const double worth_a_contest = 1.3;  // times the best quick time
static const double sieve_share = 0.6;      // of a shape's time
static const double look_clock = 0.95;      // of the highest, at least, for a quick time to stay
static const double contest_ms_most = 4000;

// A candidate of the shape at work, loaded and ready to be launched.
struct own {
    tmagen_kernel *kernel;
    struct reference reference;
    struct entrant entrant;
    struct contestant contestant;
};

struct tuner {
    struct tuning *t;
    struct tune_slot *slot;
    struct gpu gpu;
    struct rotation_source source;
    // of the task
    int number;
    struct tune_task *task;
    struct own *owns;          // [entries]
    struct rotation rotation;  // its problem is that of the first that was loaded
    int sets;                  // 0: no rotation yet
    struct spot spot;
    double inputs_s;  // what making the inputs took, which counts for nobody's time
    int lacking;      // launches that there was no memory for
};

// Counts the time since [since] as spent with [what].
static void spend(const struct tuner *w, enum tune_spending what, double since) {
    w->t->shared->spent_us[what] += (long long)((tmg_seconds() - since) * 1e6);
}

// Says which launch runs now; -1: none.
static void launch_is(struct tuner *w, int entry) {
    w->slot->splits = entry < 0 ? 0 : w->task->entries[entry].splits;
    w->slot->candidate = entry < 0 ? -1 : w->task->entries[entry].candidate;
}

static const struct tune_candidate *candidate_of(const struct tuner *w, int entry) {
    return &w->t->candidates[w->task->entries[entry].candidate];
}

// Says what is known of [entry] now; with [more], what belongs to it follows.
static void say_measured(const struct tuner *w, int entry, bool more, const char *why) {
    const struct tune_entry *known = &w->task->entries[entry];
    struct tune_message message = {.kind = TUNE_MEASURED,
                                   .task = w->number,
                                   .candidate = known->candidate,
                                   .more = more,
                                   .entry = *known};
    snprintf(message.why, sizeof message.why, "%.*s", (int)strcspn(why, "\n"), why);
    tune_say(w->t, &message);
}

// Keeps a failure of the library for whoever finds this process gone; returns [status].
static int keep_why(struct tuner *w, int status) {
    if (status) snprintf(w->slot->why, sizeof w->slot->why, "%s", tmagen_error_last());
    return status;
}

// ---- A kernel on small shapes, once

// Verifies one shape of row [row]; adds what was done to the message. False after a device's
// failure.
static bool check_shape(struct tuner *w, struct own *own, const char *row, bool odd,
                        struct tune_message *message) {
    static struct verify_result result;
    const struct tmg_manifest *manifest = tmg_kernel_manifest(own->kernel);
    struct ref_shapes shapes = {0};
    char shape[120];
    reference_shapes(&own->reference, manifest, row, &shapes);
    if (!shapes.count || message->verdict != TUNE_OK) return ref_shapes_free(&shapes), true;
    const int64_t *dims = shapes.shapes[odd ? shapes.count / 3 : 0];
    shape_format(&own->reference, manifest, dims, "", shape, sizeof shape);
    const struct verify_case what = {.name = manifest->name,
                                     .dims = dims,
                                     .inputs = "",
                                     .variation =
                                         verify_variation(own->kernel, (struct variation){0}),
                                     .seed = w->t->plan->seed,
                                     .runs = CHECK_RUNS};
    verify_run(w->gpu.device, own->kernel, &own->reference, &what, &result);
    const size_t used = strlen(message->checks);
    snprintf(message->checks + used, sizeof message->checks - used, "%s%s: %lld elements",
             used ? "; " : "", shape, (long long)result.elements);
    if (result.verdict == VERIFY_WRONG) message->verdict = TUNE_WRONG;
    if (result.verdict == VERIFY_REFUSED) message->verdict = TUNE_REFUSED;
    if (message->verdict != TUNE_OK)
        snprintf(message->why, sizeof message->why, "%s: %.*s", shape,
                 (int)strcspn(result.report, "\n"), result.report);
    if (result.verdict == VERIFY_BROKEN)
        snprintf(w->slot->why, sizeof w->slot->why, "%s: %.*s", shape,
                 (int)strcspn(result.report, "\n"), result.report);
    ref_shapes_free(&shapes);
    return result.verdict != VERIFY_BROKEN;
}

// Checks a kernel that nobody has checked yet. Another worker may be doing it: then it is done
// twice, which is rare, since [again] has this one look elsewhere first. A library error code.
static int check_kernel(struct tuner *w, int entry, bool again) {
    const int number = w->task->entries[entry].candidate;
    atomic_char *state = tune_checked(w->t, number);
    char untouched = TUNE_UNTOUCHED;
    if (!atomic_compare_exchange_strong(state, &untouched, TUNE_AT_WORK) &&
        !(again && untouched == TUNE_AT_WORK))
        return TMAGEN_OK;
    struct tune_message message = {
        .kind = TUNE_CHECKED, .candidate = number, .verdict = TUNE_OK, .task = w->number};
    struct own *own = &w->owns[entry];
    const double since = tmg_seconds();
    if (!check_shape(w, own, "small", true, &message) ||
        !check_shape(w, own, "waves", false, &message))
        return TMAGEN_ERROR_DEVICE;
    if (message.verdict == TUNE_OK && !*message.checks)
        snprintf(message.checks, sizeof message.checks, "nothing: its family names no shapes");
    spend(w, TUNE_CHECKING, since);
    tune_say(w->t, &message);
    *state = message.verdict == TUNE_OK ? TUNE_GOOD : TUNE_BAD;
    return TMAGEN_OK;
}

// ---- A candidate at the shape

static int load(struct tuner *w, int entry) {
    struct own *own = &w->owns[entry];
    const struct kernel_text *text = candidate_of(w, entry)->text;
    if (own->kernel) return TMAGEN_OK;
    watchdog_step("%s: load", text->name);
    w->slot->loading = 1;
    int status = kernel_load(w->gpu.device, text, &own->kernel);
    if (status == TMAGEN_OK)
        status = reference_open(tmg_kernel_manifest(own->kernel), &text->reference, w->gpu.device,
                                &own->reference);
    w->slot->loading = 0;
    return status;
}

static int lay_out(struct tuner *w, int entry, struct ref_problem *problem) {
    const struct own *own = &w->owns[entry];
    const struct tmg_manifest *manifest = tmg_kernel_manifest(own->kernel);
    int64_t dims[TMG_MAX_DIMS];
    char error[200];
    if (shape_dims(w->task->given, &own->reference, manifest, dims, error, sizeof error))
        return tmg_fail(TMAGEN_ERROR_ARGUMENT, "%s", error);
    const int status = ref_problem_make(manifest, &own->reference, dims, 0, problem);
    problem->inputs = w->task->given->inputs;
    return status;
}

// The inputs of the shape, with the first kernel that is loaded, and what the results should be.
static int make_inputs(struct tuner *w, const struct ref_problem *problem) {
    if (w->sets) return TMAGEN_OK;
    const double since = tmg_seconds();
    const int candidate = w->slot->candidate;
    w->slot->candidate = -1;  // no kernel runs
    watchdog_rest();          // a reference may draw them for minutes
    int status = rotation_make(&w->gpu, &w->source, problem, &w->rotation);
    if (status == TMAGEN_OK)
        status = spot_make(&w->gpu, &w->rotation, w->t->plan->seed, NULL, &w->spot);
    if (status == TMAGEN_OK) w->sets = w->rotation.sets;
    watchdog_step("%s: inputs", w->task->shape);
    w->slot->candidate = candidate;
    w->inputs_s += tmg_seconds() - since;
    return status;
}

// Makes the inputs where there are none yet, before anything is launched: what has no room for
// them is not the kernel's fault.
static int make_shape(struct tuner *w, int entry) {
    struct ref_problem problem;
    return w->sets || lay_out(w, entry, &problem) ? TMAGEN_OK : make_inputs(w, &problem);
}

// Loads, lays out and records the launches of a candidate; [ms] gets a quick time.
static int make_ready(struct tuner *w, int entry, double *ms) {
    struct own *own = &w->owns[entry];
    struct ref_problem problem;
    int status = load(w, entry);
    if (status == TMAGEN_OK) status = lay_out(w, entry, &problem);
    if (status == TMAGEN_OK) status = make_inputs(w, &problem);
    if (status != TMAGEN_OK) return status;
    if (!entrant_same_tensors(&w->rotation.problem, &problem))
        return tmg_fail(TMAGEN_ERROR_ARGUMENT, "has other tensors than the first at this shape");
    status = rotation_poison(&w->gpu, &w->rotation);
    if (status == TMAGEN_OK)
        status = entrant_make(&w->gpu, &(struct target){own->kernel, NULL},
                              w->task->entries[entry].splits, &w->rotation, &own->entrant);
    own->contestant = (struct contestant){.launch = entrant_launch, .context = &own->entrant};
    snprintf(own->contestant.name, sizeof own->contestant.name, "%s",
             candidate_of(w, entry)->text->name);
    if (status == TMAGEN_OK) status = contestant_prepare(&w->gpu, &own->contestant, w->sets, ms);
    return status;
}

// Gives back what only contests need.
static void make_unready(struct tuner *w, int entry) {
    contestant_free(&w->gpu, &w->owns[entry].contestant);
    entrant_free(&w->gpu, &w->owns[entry].entrant);
}

static void take_sensors(struct tune_entry *known) {
    double clock_mhz, watts;
    if (!nvml_sample(&clock_mhz, &watts)) return;
    known->clock_mhz = (int)clock_mhz;
    known->watts = (int)watts;
}

// Takes the quick time of a candidate, and holds its result against the reference. A library error
// code after which this process can do no more.
static int sieve_one(struct tuner *w, int entry) {
    struct tune_entry *known = &w->task->entries[entry];
    char why[TUNE_WHY] = "";
    double ms = 0;
    const double since = tmg_seconds();
    int status = make_ready(w, entry, &ms);
    if (status == TMAGEN_OK && w->spot.count)
        status = spot_check(&w->gpu, &w->rotation, &w->spot, &known->worst, why, sizeof why);
    spend(w, TUNE_LOOKING, since);
    if (status == TMAGEN_ERROR_DEVICE) return status;
    // who else uses the GPU now may be gone tomorrow: nothing is known, and nothing written
    if (status == TMAGEN_ERROR_MEMORY) return ++w->lacking, make_unready(w, entry), TMAGEN_OK;
    known->checked = status == TMAGEN_OK ? w->spot.count : 0;
    known->verdict = status == TMAGEN_OK && ms > 0 ? *why ? TUNE_WRONG : TUNE_OK : TUNE_REFUSED;
    if (status != TMAGEN_OK) snprintf(why, sizeof why, "%s", tmagen_error_last());
    if (known->verdict == TUNE_OK) {
        known->ms = known->lower = known->upper = ms;
        known->rounds = 1;
        take_sensors(known);
    }
    say_measured(w, entry, false, why);
    return TMAGEN_OK;
}

static double best_ms(const struct tune_task *task) {
    double best = INFINITY;
    for (int i = 0; i < task->entry_count; ++i)
        if (task->entries[i].verdict == TUNE_OK) best = fmin(best, task->entries[i].ms);
    return best;
}

// Asks the compilers for a candidate, before all that nobody waits for.
static void ask_for(struct tuning *t, int candidate) {
    if (*tune_compiled(t, candidate) >= TUNE_GOOD) return;
    for (size_t i = 0; i < t->plan->kernel_count; ++i) {
        int there = 0;
        if (atomic_compare_exchange_strong(&t->urgent[i], &there, candidate + 1) ||
            there == candidate + 1)
            return;
    }
}

// Waits for the compiler. Whether there is a kernel, which may still be wrong.
static bool wait_for_code(struct tuner *w, int number) {
    const double since = tmg_seconds();
    ask_for(w->t, number);
    while (*tune_compiled(w->t, number) < TUNE_GOOD && !w->t->shared->stop) {
        watchdog_step("the compiler");
        usleep(WAIT_US);
    }
    spend(w, TUNE_WAITING, since);
    return *tune_compiled(w->t, number) == TUNE_GOOD;
}

// A look at the entry, where nothing is known of it yet. [again]: in the second pass. *done: there
// was something to do.
static int visit(struct tuner *w, int entry, bool again, bool *done) {
    struct tune_entry *known = &w->task->entries[entry];
    const int number = known->candidate;
    *done = false;
    if (known->verdict != TUNE_UNKNOWN || *tune_checked(w->t, number) == TUNE_BAD ||
        !wait_for_code(w, number))
        return TMAGEN_OK;
    launch_is(w, entry);
    int status = load(w, entry);
    if (status != TMAGEN_OK && status != TMAGEN_ERROR_DEVICE) {
        known->verdict = TUNE_REFUSED;
        say_measured(w, entry, false, tmagen_error_last());
    }
    if (status == TMAGEN_OK) status = make_shape(w, entry);
    if (status == TMAGEN_OK) status = check_kernel(w, entry, again);
    if (status == TMAGEN_OK && *tune_checked(w->t, number) == TUNE_GOOD) {
        status = sieve_one(w, entry);
        *done = true;
    }
    if (status != TMAGEN_ERROR_DEVICE) launch_is(w, -1);
    return status == TMAGEN_ERROR_DEVICE || !w->sets ? status : TMAGEN_OK;
}

// The end of this shape's time: an even share of what is left.
static double share_until(const struct tuning *t, double share) {
    const double now = tmg_seconds(), left = t->deadline - now;
    const int tasks = t->task_count - t->shared->next_task + t->gpu_count;
    return now + share * fmax(left, 0) * fmin(1, (double)t->gpu_count / fmax(tasks, 1));
}

// Whether a shape whose time is over may be left. One at which all that was tried is bad is given
// as much again: candidates that hang may take any time.
static bool is_enough(const struct tuner *w) {
    const int least = isinf(best_ms(w->task)) ? 2 * SIEVE_LEAST : SIEVE_LEAST;
    return tune_tried(w->t, w->task) >= least;
}

// Quick times of what was chosen from [from] on and has none, until the time is over. [seen] counts
// them. What is far from the best takes part in no contest.
static int look_at_chosen(struct tuner *w, int from, double until, int *seen) {
    const struct tune_task *task = w->task;
    for (int i = from; i < task->chosen_count; ++i)
        ask_for(w->t, task->entries[task->chosen[i]].candidate);
    for (int pass = 0; pass < 2; ++pass) {
        for (int i = from; i < task->chosen_count; ++i) {
            const int entry = task->chosen[i];
            bool done;
            if (tmg_seconds() > until + w->inputs_s && is_enough(w)) break;
            const int status = visit(w, entry, pass > 0, &done);
            if (status != TMAGEN_OK) return status;
            *seen += done;
            if (task->entries[entry].ms > worth_a_contest * best_ms(task)) make_unready(w, entry);
        }
    }
    return TMAGEN_OK;
}

// Takes anew the quick times that were taken at a lower clock than others: a contest before leaves
// the GPU at two thirds of its clock, and what is looked at first is what the model likes best.
static int look_again(struct tuner *w) {
    const struct tune_task *task = w->task;
    int most = 0;
    for (int i = 0; i < task->entry_count; ++i)
        if (task->entries[i].clock_mhz > most) most = task->entries[i].clock_mhz;
    for (int i = 0; i < task->entry_count; ++i) {
        const struct tune_entry *known = &task->entries[i];
        if (!w->owns[i].kernel || known->verdict != TUNE_OK || known->level || !known->clock_mhz ||
            known->clock_mhz >= look_clock * most)
            continue;  // among others what an earlier run looked at
        make_unready(w, i);
        launch_is(w, i);
        const int status = sieve_one(w, i);
        if (status != TMAGEN_OK) return status;
        launch_is(w, -1);
    }
    return TMAGEN_OK;
}

// Quick times, until the choice or the time is over. *fresh: there was one.
static int sieve(struct tuner *w, bool *fresh) {
    const double until = share_until(w->t, sieve_share);
    int from = 0, seen = 0, status;
    do {
        status = look_at_chosen(w, from, until, &seen);
        from = w->task->chosen_count;
    } while (status == TMAGEN_OK && tmg_seconds() < until + w->inputs_s &&
             tune_choose_more(w->t, w->task));
    *fresh = seen > 0;
    return status == TMAGEN_OK && *fresh ? look_again(w) : status;
}

// ---- Contests

// The entries in the order of what they have won, and then of their times.
struct standings {
    const struct tune_entry *entries;
    int *order, count;
};

static bool before(const struct tune_entry *a, const struct tune_entry *b) {
    return a->level != b->level ? a->level > b->level : a->ms < b->ms;
}

// Those that take part in the first contest: where there was one, who was in it.
static void rank(const struct tune_task *task, struct standings *standings) {
    const double most = worth_a_contest * best_ms(task);
    bool begun = false;
    standings->count = 0;
    for (int i = 0; i < task->entry_count; ++i) begun |= task->entries[i].level > 0;
    for (int i = 0; i < task->entry_count; ++i) {
        const struct tune_entry *entry = &task->entries[i];
        const bool in = begun ? entry->level > 0 : entry->ms <= most;
        if (entry->verdict != TUNE_OK || !in) continue;
        int at = standings->count++;
        for (; at && before(entry, &task->entries[standings->order[at - 1]]); --at)
            standings->order[at] = standings->order[at - 1];
        standings->order[at] = i;
    }
    if (standings->count > FIRST_CONTEST) standings->count = FIRST_CONTEST;
}

static void take_times(struct tuner *w, const struct contest *contest, int entry, int level,
                       const struct contestant *contestant) {
    struct tune_entry *known = &w->task->entries[entry];
    const struct stats stats = stats_of(contestant->ms, (size_t)contest->done);
    known->level = level;
    known->rounds = contest->done;
    known->ms = stats.median;
    known->lower = stats.lower;
    known->upper = stats.upper;
    known->clock_mhz = contest->clock_mhz;
    known->watts = contest->power_watts;
    say_measured(w, entry, contestant + 1 < contest->contestants + contest->count, "");
}

// Sees to it that all members can be launched: those of an earlier run were not.
static int gather(struct tuner *w, const struct standings *members) {
    int status = TMAGEN_OK;
    double unused;
    for (int i = 0; i < members->count && status == TMAGEN_OK; ++i) {
        const int entry = members->order[i];
        if (w->owns[entry].contestant.graph.exec) continue;
        if (!wait_for_code(w, w->task->entries[entry].candidate))
            return tmg_fail(TMAGEN_ERROR_COMPILE, "%s does not compile any more",
                            candidate_of(w, entry)->text->name);
        launch_is(w, entry);
        status = make_ready(w, entry, &unused);
        if (status != TMAGEN_ERROR_DEVICE) launch_is(w, -1);
    }
    return status;
}

// One contest; all members get its [level]. [warm]: it follows another.
static int contest(struct tuner *w, const struct standings *members, int level, bool warm) {
    struct contestant contestants[FIRST_CONTEST];
    double round_ms = 0;
    int status = gather(w, members);
    if (status != TMAGEN_OK) return status;
    for (int i = 0; i < members->count; ++i) {
        contestants[i] = w->owns[members->order[i]].contestant;
        round_ms += fmax(2, w->task->entries[members->order[i]].ms);
    }
    const double fit = fmin(turns_of_contest / members->count, contest_ms_most / round_ms);
    struct contest contest = {.contestants = contestants,
                              .count = members->count,
                              .sets = w->sets,
                              .rounds = (int)fmin(ROUNDS_MOST, fmax(ROUNDS_LEAST, fit)),
                              .warm = warm,
                              .quick = w->t->plan->quick};
    status = contest_run(&w->gpu, &contest);
    for (int i = 0; i < members->count; ++i) {
        if (status == TMAGEN_OK) take_times(w, &contest, members->order[i], level, &contestants[i]);
        w->owns[members->order[i]].contestant = contestants[i];
    }
    return status;
}

// Contests among ever fewer. What an earlier run has decided is not asked again, unless there are
// [fresh] candidates, who have met nobody yet.
static int contests(struct tuner *w, bool fresh) {
    struct tune_task *task = w->task;
    const double since = tmg_seconds();
    int status = TMAGEN_OK;
    int order[task->entry_count + 1];
    struct standings members = {task->entries, order, 0};
    for (int i = 0; fresh && i < task->entry_count; ++i) task->entries[i].level = 0;
    rank(task, &members);
    bool warm = false;
    for (int level = 1; members.count && status == TMAGEN_OK; ++level) {
        bool decided = true;
        for (int i = 0; i < members.count; ++i) decided &= task->entries[order[i]].level >= level;
        if (!decided) status = contest(w, &members, level, warm), warm = true;
        if (members.count <= FINALISTS || w->t->plan->quick) break;
        const int half = (members.count + 1) / 2;
        rank(task, &members);
        members.count = half < SECOND_CONTEST ? half : SECOND_CONTEST;
    }
    spend(w, TUNE_CONTESTS, since);
    return status;
}

// ---- Tasks

static void end_task(struct tuner *w) {
    for (int i = 0; i < w->task->entry_count; ++i) {
        struct own *own = &w->owns[i];
        make_unready(w, i);
        reference_close(&own->reference);
        tmagen_kernel_unload(own->kernel);
    }
    spot_free(&w->spot);
    rotation_free(&w->gpu, &w->rotation);
    free(w->owns);
    w->owns = NULL;
    w->sets = w->lacking = 0;
    w->inputs_s = 0;
    w->slot->task = -1;
}

// A library error code after which this process can do no more.
static int run_task(struct tuner *w, int number) {
    bool fresh = false;
    w->slot->candidate = -1;
    w->slot->task = w->number = number;
    w->task = &w->t->tasks[number];
    w->owns = calloc((size_t)w->task->entry_count, sizeof *w->owns);
    int status = w->owns ? sieve(w, &fresh) : tmg_fail_memory();
    if (status == TMAGEN_OK) status = contests(w, fresh);
    if (status == TMAGEN_ERROR_DEVICE) return status;
    struct tune_message message = {.kind = TUNE_TASK_DONE, .task = number, .candidate = -1};
    if (status != TMAGEN_OK)
        snprintf(message.why, sizeof message.why, "%s", tmagen_error_last());
    else if (w->lacking)
        snprintf(message.why, sizeof message.why, "%d had no memory", w->lacking);
    end_task(w);
    tune_say(w->t, &message);
    return TMAGEN_OK;
}

int tune_work(struct tuning *t, int worker) {
    struct tuner w = {.t = t, .slot = &t->shared->workers[worker]};
    char name[32];
    w.source.seed = t->plan->seed;
    watchdog_start(t->plan->timeout);
    watchdog_step("GPU %d: open", t->gpus[worker]);
    snprintf(name, sizeof name, "cuda:%d", t->gpus[worker]);
    if (keep_why(&w, gpu_open(name, &w.gpu))) return TUNE_EXIT_NO_DEVICE;
    int task = w.slot->task;  // of one that was lost
    for (;;) {
        if (task < 0 && tmg_seconds() < t->deadline) task = t->shared->next_task++;
        if (task < 0 || task >= t->task_count || t->shared->stop) break;
        if (keep_why(&w, run_task(&w, task))) return TUNE_EXIT_BROKEN;
        task = -1;
    }
    watchdog_step("the end");
    rotation_source_free(&w.gpu, &w.source);
    gpu_close(&w.gpu);
    watchdog_stop();
    return TUNE_EXIT_DONE;
}

// The process that looks on: it starts the others, writes what they say into the database, and
// replaces those that are lost. It never opens a device, so that it can make processes that do.
#include "measure/tune.h"

#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure/parallel.h"
#include "measure/columns.h"
#include "measure/process.h"
#include "measure/tune_state.h"
#include "runtime/error.h"
#include "runtime/seconds.h"

enum { SECONDS_A_SHAPE = 10, TASK_LOSSES_MOST = 2, POLL_MS = 100 };

// ---- Processes

struct crew {
    struct tuning *t;
    struct tune_db *db;
    int pipe[2];
    pid_t workers[TUNE_WORKERS_MAX], compilers[TUNE_WORKERS_MAX];
    int compiler_count, running_workers;
    int done, compiled, wrong;
    bool broken;                  // nothing more is written
    double started, compiled_at;  // compiled_at: the latest
};

static void start_worker(struct crew *crew, int i) {
    crew->workers[i] = process_spawn();
    if (crew->workers[i] == 0) {
        const int code = tune_work(crew->t, i);
        fflush(stderr);
        _exit(code);
    }
    crew->running_workers += crew->workers[i] > 0;
}

static void start_compiler(struct crew *crew, int i) {
    crew->compilers[i] = process_spawn();
    if (crew->compilers[i] == 0) _exit(tune_compile(crew->t, i));
}

static void stop_all(struct crew *crew) {
    crew->t->shared->stop = 1;
    for (int i = 0; i < TUNE_WORKERS_MAX; ++i) {
        if (crew->workers[i] > 0) kill(crew->workers[i], SIGKILL);
        if (crew->compilers[i] > 0) kill(crew->compilers[i], SIGKILL);
    }
}

// ---- What they say

static int write_kernel(struct crew *crew, const struct tune_message *message) {
    const struct tune_candidate *candidate = &crew->t->candidates[message->candidate];
    const bool compiled = message->kind == TUNE_COMPILED && message->verdict == TUNE_UNKNOWN;
    return tune_db_put_kernel(
        crew->db,
        &(struct tune_kernel){.key = candidate->key,
                              .name = candidate->text->name,
                              .family = candidate->family,
                              .arch = candidate->arch,
                              .spec = candidate->spec,
                              .manifest = candidate->text->manifest,
                              .tmagen = tmagen_version(),
                              .compiler = message->compiler,
                              .registers = compiled ? message->resources.registers : -1,
                              .spill_bytes = compiled ? message->resources.spill_store_bytes : -1,
                              .compile_ms = message->compile_ms,
                              .verdict = message->verdict,
                              .checks = message->checks,
                              .why = message->why});
}

static int write_result(struct crew *crew, const struct tune_message *message) {
    const struct tuning *t = crew->t;
    const struct tune_task *task = &t->tasks[message->task];
    const struct tune_entry *entry = &message->entry;
    return tune_db_put_result(crew->db,
                              &(struct tune_result){.device = t->device,
                                                    .dtype = task->dtype,
                                                    .shape = task->shape,
                                                    .key = t->candidates[message->candidate].key,
                                                    .splits = entry->splits,
                                                    .verdict = entry->verdict,
                                                    .level = entry->level,
                                                    .rounds = entry->rounds,
                                                    .ms = entry->ms,
                                                    .lower = entry->lower,
                                                    .upper = entry->upper,
                                                    .clock_mhz = entry->clock_mhz,
                                                    .watts = entry->watts,
                                                    .checked = entry->checked,
                                                    .worst = entry->worst,
                                                    .why = message->why,
                                                    .driver = t->driver,
                                                    .tmagen = tmagen_version(),
                                                    .seed = t->plan->seed});
}

static struct tune_entry *entry_of(const struct tuning *t, const struct tune_message *message) {
    struct tune_task *task = &t->tasks[message->task];
    for (int i = 0; i < task->entry_count; ++i)
        if (task->entries[i].candidate == message->candidate &&
            task->entries[i].splits == message->entry.splits)
            return &task->entries[i];
    return NULL;
}

static const struct tune_entry *best_of(const struct tune_task *task) {
    const struct tune_entry *best = NULL;
    for (int i = 0; i < task->entry_count; ++i) {
        const struct tune_entry *entry = &task->entries[i];
        if (entry->verdict != TUNE_OK) continue;
        if (!best || entry->level > best->level ||
            (entry->level == best->level && entry->ms < best->ms))
            best = entry;
    }
    return best;
}

// Says what is wrong with a kernel.
static void complain(struct crew *crew, int candidate, enum tune_verdict verdict, const char *where,
                     const char *why) {
    progress("%s", "");
    ++crew->wrong;
    fprintf(stderr, "tmagen: warning: %s%s%s: %s: %.*s\n",
            crew->t->candidates[candidate].text->name, *where ? " at " : "", where,
            tune_verdict_name(verdict), (int)strcspn(why, "\n"), why);
}

static void say_task(struct crew *crew, int number, const char *why) {
    const struct tuning *t = crew->t;
    struct tune_task *task = &t->tasks[number];
    const struct tune_entry *best = best_of(task);
    char name[200] = "no kernel", time[60] = "";
    int tried = 0;
    task->done = true;
    for (int i = 0; i < task->entry_count; ++i) tried += task->entries[i].ms > 0;
    ++crew->done;
    progress("%s", "");
    fprintf(stderr, "[%d/%d] %s %s: ", crew->done, t->task_count, task->dtype, task->shape);
    if (best) {
        tune_name(t->candidates[best->candidate].text->name, best->splits, name, sizeof name);
        snprintf(time, sizeof time, " %.4g ms, of %d", best->ms, tried);
    }
    fprintf(stderr, "%s%s%s%s; %.1f s\n", name, time, *why ? "; " : "", why,
            tmg_seconds() - crew->started);
}

static int take(struct crew *crew, const struct tune_message *message) {
    const struct tuning *t = crew->t;
    struct tune_entry *entry;
    switch (message->kind) {
    case TUNE_COMPILED:
        crew->compiled += !t->candidates[message->candidate].compiled;
        t->candidates[message->candidate].compiled = true;
        crew->compiled_at = tmg_seconds();
        if (message->verdict)
            complain(crew, message->candidate, message->verdict, "", message->why);
        return write_kernel(crew, message);
    case TUNE_CHECKED:
        if (message->verdict != TUNE_OK)
            complain(crew, message->candidate, message->verdict, "", message->why);
        return write_kernel(crew, message);
    case TUNE_MEASURED:
        if ((entry = entry_of(t, message))) *entry = message->entry;
        if (message->entry.verdict != TUNE_OK)
            complain(crew, message->candidate, message->entry.verdict,
                     t->tasks[message->task].shape, message->why);
        return write_result(crew, message);
    default: say_task(crew, message->task, message->why); return TMAGEN_OK;
    }
}

// Ends everything after a failure to write: a full disk, say. What was committed stays.
static void give_up(struct crew *crew) {
    if (crew->broken) return;
    crew->broken = true;
    progress("%s", "");
    kernel_complain("");
    fputs("tmagen: note: what was written before is kept; the tuning ends\n", stderr);
    tune_db_rollback(crew->db);
    stop_all(crew);
}

// Writes all that was said until now, as one transaction.
static void listen(struct crew *crew) {
    struct tune_message message = {.more = false};
    bool begun = false;
    int status = TMAGEN_OK;
    for (;;) {
        // a contest's results come within moments of each other, unless its process is lost
        struct pollfd wait = {.fd = crew->pipe[0], .events = POLLIN};
        if (message.more) poll(&wait, 1, POLL_MS);
        if (read(crew->pipe[0], &message, sizeof message) != sizeof message) break;
        if (crew->broken) continue;
        if (!begun) status = tune_db_begin(crew->db);
        begun = true;
        if (status == TMAGEN_OK) status = take(crew, &message);
        if (status != TMAGEN_OK) give_up(crew);
    }
    if (begun && !crew->broken && tune_db_commit(crew->db) != TMAGEN_OK) give_up(crew);
}

// ---- Who is lost

// Passes on what a process could not say any more.
static void take_loss(struct crew *crew, const struct tune_message *message) {
    if (crew->broken) return;
    int status = tune_db_begin(crew->db);
    if (status == TMAGEN_OK) status = take(crew, message);
    if (status == TMAGEN_OK) status = tune_db_commit(crew->db);
    if (status != TMAGEN_OK) give_up(crew);
}

static void explain_loss(int status, const struct tune_slot *slot, int timeout, char *why,
                         size_t size) {
    if (WIFEXITED(status) && WEXITSTATUS(status) == TUNE_EXIT_TIMEOUT)
        snprintf(why, size, "no end after %d s", timeout);
    else if (WIFEXITED(status) && *slot->why)
        snprintf(why, size, "%s", slot->why);
    else
        process_explain(status, why, size);
}

// Whether the candidate is tried again, which was not spared before: its process was killed, as by
// no fault of a kernel or compiler, but by a system that is short of memory.
static bool spare(const struct crew *crew, int candidate, int status, bool *spared) {
    if (*spared || !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) return false;
    *spared = true;
    progress("%s", "");
    fprintf(stderr, "tmagen: note: %s: its process was killed; it is tried once more\n",
            crew->t->candidates[candidate].text->name);
    return true;
}

static bool spare_running(struct crew *crew, struct tune_slot *slot, int status) {
    const int candidate = slot->candidate;
    char at_work = TUNE_AT_WORK;
    if (!spare(crew, candidate, status, &crew->t->candidates[candidate].spared_running))
        return false;
    atomic_compare_exchange_strong(tune_checked(crew->t, candidate), &at_work, TUNE_UNTOUCHED);
    slot->candidate = -1;
    return true;
}

// A candidate that took its process with it is never launched again.
static void condemn(struct crew *crew, struct tune_slot *slot, bool hung, const char *why) {
    struct tuning *t = crew->t;
    const int task = slot->task, candidate = slot->candidate;
    const bool checked = *tune_checked(t, candidate) == TUNE_GOOD;
    struct tune_message message = {.kind = checked ? TUNE_MEASURED : TUNE_CHECKED,
                                   .task = task,
                                   .candidate = candidate,
                                   .verdict = hung ? TUNE_HANG : TUNE_FAULT};
    message.entry.candidate = candidate;
    message.entry.splits = slot->splits;
    message.entry.verdict = message.verdict;
    const struct tune_entry *entry = entry_of(t, &message);
    message.entry.predicted_us = entry ? entry->predicted_us : NAN;
    snprintf(message.why, sizeof message.why, "%s", why);
    *tune_checked(t, candidate) = TUNE_BAD;
    slot->candidate = -1;
    take_loss(crew, &message);
}

// Lost between candidates: the shape is tried once more.
static void blame_task(struct crew *crew, struct tune_slot *slot, const char *why) {
    struct tune_task *task = &crew->t->tasks[slot->task];
    if (++task->broken < TASK_LOSSES_MOST) return;
    say_task(crew, slot->task, why);
    slot->task = -1;
}

// Replaces a worker whose process ended with [status], if it has not done its work.
static void replace_worker(struct crew *crew, int i, int status) {
    struct tune_slot *slot = &crew->t->shared->workers[i];
    char why[TUNE_WHY];
    crew->workers[i] = 0;
    --crew->running_workers;
    if (crew->broken || (WIFEXITED(status) && WEXITSTATUS(status) == TUNE_EXIT_DONE)) return;
    explain_loss(status, slot, crew->t->plan->timeout, why, sizeof why);
    const bool hung = WIFEXITED(status) && WEXITSTATUS(status) == TUNE_EXIT_TIMEOUT;
    if (slot->task < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == TUNE_EXIT_NO_DEVICE)) {
        progress("%s", "");
        fprintf(stderr, "tmagen: error: GPU %d: %s; it is used no more\n", crew->t->gpus[i], why);
        return;
    }
    if (slot->candidate >= 0 && !(hung && slot->loading)) {
        if (!spare_running(crew, slot, status)) condemn(crew, slot, hung, why);
    } else {
        blame_task(crew, slot, why);
    }
    slot->loading = 0;
    *slot->why = 0;
    start_worker(crew, i);
}

// What a compiler has died over does not compile, unless it is spared.
static void blame_compile(struct crew *crew, struct tune_slot *slot, int status) {
    struct tuning *t = crew->t;
    const int candidate = slot->candidate;
    if (spare(crew, candidate, status, &t->candidates[candidate].spared_compiling)) {
        slot->candidate = -1;
        t->shared->next_compile = t->shared->next_urgent = 0;
        return;
    }
    struct tune_message message = {
        .kind = TUNE_COMPILED, .candidate = candidate, .verdict = TUNE_COMPILE};
    explain_loss(status, slot, t->plan->timeout, message.why, sizeof message.why);
    slot->candidate = -1;
    take_loss(crew, &message);
    *tune_compiled(t, candidate) = TUNE_BAD;
}

// One that was lost between candidates may have taken a number with it: all look from the first.
static void replace_compiler(struct crew *crew, int i, int status) {
    struct tune_slot *slot = &crew->t->shared->compilers[i];
    crew->compilers[i] = 0;
    if (crew->broken || (WIFEXITED(status) && WEXITSTATUS(status) == TUNE_EXIT_DONE)) return;
    if (slot->candidate >= 0)
        blame_compile(crew, slot, status);
    else
        crew->t->shared->next_compile = crew->t->shared->next_urgent = 0;
    start_compiler(crew, i);
}

// What the dead have said was read before they are replaced.
static void bury(struct crew *crew) {
    int status;
    pid_t dead;
    while ((dead = waitpid(-1, &status, WNOHANG)) > 0) {
        listen(crew);
        for (int i = 0; i < TUNE_WORKERS_MAX; ++i) {
            if (crew->workers[i] == dead) replace_worker(crew, i, status);
            if (crew->compilers[i] == dead) replace_compiler(crew, i, status);
        }
    }
}

// ---- The run

static void show_progress(const struct crew *crew) {
    const struct tuning *t = crew->t;
    progress("%d kernels compiled, %d of %d shapes done, %.0f s left", crew->compiled, crew->done,
             t->task_count, fmax(0, t->deadline - tmg_seconds()));
}

static volatile sig_atomic_t interrupted;  // by this signal

static void interrupt(int number) { interrupted = number; }

// An interrupt ends the tuning after what was said is written; a second one ends us at once. What
// we were started to ignore, by nohup say, stays ignored.
static void catch_interrupts(void) {
    const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = interrupt, .sa_flags = (int)SA_RESETHAND}, old;
    for (int i = 0; i < 3; ++i)
        if (!sigaction(numbers[i], NULL, &old) && old.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
}

static void look_on(struct crew *crew) {
    struct pollfd wait = {.fd = crew->pipe[0], .events = POLLIN};
    while (crew->running_workers > 0 && !interrupted) {
        poll(&wait, 1, POLL_MS);
        listen(crew);
        bury(crew);
        if (!crew->broken) show_progress(crew);
    }
    crew->t->shared->stop = 1;
    stop_all(crew);
    while (waitpid(-1, NULL, 0) > 0) continue;
    listen(crew);
    progress("%s", "");
}

// Kernels that an earlier run compiled are compiled again, which is a look into the cache, unless
// they were bad.
static void skip_bad(struct tuning *t) {
    int kept = 0;
    for (int i = 0; i < t->compile_count; ++i) {
        const int candidate = t->compiles[i];
        if (*tune_checked(t, candidate) == TUNE_BAD) continue;
        t->compiles[kept++] = candidate;
    }
    t->compile_count = kept;
}

static int start(struct crew *crew) {
    struct tuning *t = crew->t;
    if (pipe2(crew->pipe, O_CLOEXEC)) return perror("tmagen: error: pipe"), -1;
    fcntl(crew->pipe[0], F_SETFL, O_NONBLOCK);
    t->pipe = crew->pipe[1];
    for (int i = 0; i < TUNE_WORKERS_MAX; ++i) {
        t->shared->workers[i].task = t->shared->workers[i].candidate = -1;
        t->shared->compilers[i].task = t->shared->compilers[i].candidate = -1;
    }
    crew->compiler_count = t->plan->jobs ? t->plan->jobs : parallel_cores();
    if (crew->compiler_count > TUNE_WORKERS_MAX) crew->compiler_count = TUNE_WORKERS_MAX;
    if (crew->compiler_count > (int)t->plan->kernel_count)
        crew->compiler_count = (int)t->plan->kernel_count;
    for (int i = 0; i < crew->compiler_count; ++i) start_compiler(crew, i);
    for (int i = 0; i < t->gpu_count && i < t->task_count; ++i) start_worker(crew, i);
    return 0;
}

static void say_spending(const struct tuning *t) {
    static const char *const names[TUNE_SPENDINGS] = {"waiting for compilers", "checks",
                                                      "first looks", "contests"};
    for (int i = 0; i < TUNE_SPENDINGS; ++i)
        fprintf(stderr, "%s%s %.1f s", i ? ", " : "", names[i],
                (double)t->shared->spent_us[i] * 1e-6);
    fputs("\n", stderr);
}

// Says how it went. Returns an exit code.
static int sum_up(const struct crew *crew) {
    const struct tuning *t = crew->t;
    int without = 0;
    for (int i = 0; i < t->task_count; ++i) without += t->tasks[i].done && !best_of(&t->tasks[i]);
    if (crew->done < t->task_count && !crew->broken)
        fprintf(stderr, "tmagen: note: %d of %d shapes are not done; the same command goes on\n",
                t->task_count - crew->done, t->task_count);
    const double compiling = fmax(0, crew->compiled_at - crew->started);
    fprintf(stderr, "%d kernels compiled in %.1f s, %d left out as bad, in %.1f s\n",
            crew->compiled, compiling, crew->wrong, tmg_seconds() - crew->started);
    say_spending(t);
    if (interrupted) return 128 + interrupted;
    return crew->broken || without ? 1 : 0;
}

static size_t shared_bytes(const struct tuning *t) {
    return sizeof *t->shared + t->plan->kernel_count * (sizeof *t->urgent + 2 * sizeof *t->states);
}

static int share(struct tuning *t) {
    void *shared =
        mmap(NULL, shared_bytes(t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return perror("tmagen: error: mmap"), -1;
    t->shared = shared;
    t->urgent = (atomic_int *)(void *)(t->shared + 1);
    t->states = (atomic_char *)(void *)(t->urgent + t->plan->kernel_count);
    return 0;
}

static int run(struct tuning *t, struct tune_db *db) {
    struct crew crew = {.t = t, .db = db, .started = tmg_seconds()};
    const struct tune_plan *plan = t->plan;
    if (share(t)) return 3;
    if (tune_remember(t, db)) return kernel_complain(""), 1;
    skip_bad(t);
    t->deadline = crew.started +
                  (plan->seconds > 0 ? plan->seconds : (double)SECONDS_A_SHAPE * t->task_count);
    catch_interrupts();
    if (start(&crew)) return 3;
    look_on(&crew);
    close(crew.pipe[0]);
    close(crew.pipe[1]);
    return sum_up(&crew);
}

// The rates of the GPU that was measured on, from those of the one that the model is of.
static int calibrate(const struct tuning *t) {
    struct predict_gpu gpu = *t->plan->model;
    snprintf(gpu.name, sizeof gpu.name, "%.*s", (int)sizeof gpu.name - 1, t->device);
    gpu.capacity.sms = t->sms;
    return tune_calibrate(t->plan->database, &gpu, t->plan->within, stdout);
}

int tune_run(const struct tune_plan *plan) {
    struct tuning t = {.plan = plan};
    struct tune_db *db = NULL;
    int code = tune_find_gpus(&t);
    if (!code && strcmp(t.device, plan->model->name) != 0)
        fprintf(stderr, "tmagen: note: launches are chosen by the rates of another GPU, %s\n",
                plan->model->name);
    if (!code) code = tune_make_tasks(&t);
    if (!code && !t.task_count) {
        const size_t shapes = plan->shapes->count ? plan->shapes->count : 1;
        if ((size_t)plan->shard < shapes)
            fputs("tmagen: note: no kernel takes any of these shapes\n", stderr);
        else
            fprintf(stderr, "tmagen: note: shard %d/%d has no shape: there are %zu\n", plan->shard,
                    plan->shards, shapes);
        code = plan->shards > 1 ? 0 : 2;  // a shard may be left with none
    }
    if (!code && tune_db_open(plan->database, TUNE_DB_WRITE, &db)) {
        kernel_complain("");
        tune_db_discard(db);
        db = NULL;
        code = 1;
    }
    if (!code && tune_db_claim(db)) {
        kernel_complain("");
        code = 1;
    }
    if (!code && t.task_count) code = run(&t, db);
    tune_db_close(db);
    if (!code && plan->calibrate) code = calibrate(&t);
    if (t.shared) munmap(t.shared, shared_bytes(&t));
    tune_free_tasks(&t);
    return code;
}

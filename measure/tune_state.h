// What the processes of a tuning share: candidates, shapes, and messages to the one that writes.
// Included by tune's own files alone.
#pragma once
#include <stdatomic.h>
#include <sys/types.h>

#include "measure/tune.h"
#include "measure/tune_db.h"

enum {
    TUNE_WORKERS_MAX = 64,  // GPUs
    TUNE_WHY = 320,
    // what a process of ours ends with
    TUNE_EXIT_DONE = 0,
    TUNE_EXIT_TIMEOUT = 3,  // the watchdog's
    TUNE_EXIT_BROKEN = 4,   // the device does no more work in this process
    TUNE_EXIT_NO_DEVICE = 5
};

struct tune_candidate {
    const struct kernel_text *text;
    const char *spec, *family;
    char arch[32], key[TMAGEN_KEY_CHARS];
    bool wanted;    // by any shape
    bool compiled;  // as a compiler has said
    // a process that compiled or ran it was killed: it is tried again, and not a third time
    bool spared_compiling, spared_running;
};

// A candidate at a shape, as far as it is known.
struct tune_entry {
    int candidate, splits;  // 0: the kernel takes none
    double predicted_us;    // NAN: by no model
    double ranked_us;       // by a table, with what was measured nearby; 0: by none
    enum tune_verdict verdict;
    int level, rounds;
    double ms, lower, upper;
    int clock_mhz, watts;
    int64_t checked;
    double worst;
};

// A shape of a family and type.
struct tune_task {
    const struct shape *given;
    char shape[120];
    const char *family, *dtype;
    struct tune_entry *entries;  // the best predicted first
    int entry_count;
    int *chosen, chosen_count;  // entries to be looked at, in this order; see tune_choose.c
    int broken;                 // workers that were lost over it, and over no candidate
    bool done;
};

// What a process that may be lost is at, in shared memory.
struct tune_slot {
    atomic_int task, candidate, splits;  // -1: none
    atomic_int loading;                  // the candidate runs nothing yet
    char why[TUNE_WHY];                  // as far as it could tell
};

// What a candidate is known to be.
enum tune_state { TUNE_UNTOUCHED, TUNE_AT_WORK, TUNE_GOOD, TUNE_BAD };

// What workers spend their time with.
enum tune_spending { TUNE_WAITING, TUNE_CHECKING, TUNE_LOOKING, TUNE_CONTESTS, TUNE_SPENDINGS };

struct tune_shared {
    atomic_int next_task, next_compile, next_urgent, stop;
    atomic_llong spent_us[TUNE_SPENDINGS];  // by all workers
    struct tune_slot workers[TUNE_WORKERS_MAX], compilers[TUNE_WORKERS_MAX];
};

struct tuning {
    const struct tune_plan *plan;
    struct shape_list shapes;  // the family's typical one, where the plan has none
    struct tune_candidate *candidates;
    struct tune_task *tasks;
    int task_count;
    int *compiles;  // candidates in the order in which they are wanted
    int compile_count;
    struct tune_shared *shared;
    atomic_int *urgent;   // shared, [candidates]: what a worker waits for, plus one; 0: free
    atomic_char *states;  // shared, [2][candidates], enum tune_state: compiled, then checked
    int gpus[TUNE_WORKERS_MAX], gpu_count;
    double deadline;  // on the monotonic clock
    int pipe;         // where messages go
    char device[128];
    int driver, sms;
};

enum tune_kind { TUNE_COMPILED, TUNE_CHECKED, TUNE_MEASURED, TUNE_TASK_DONE };

// What a worker says, whole or not at all: shorter than PIPE_BUF.
struct tune_message {
    enum tune_kind kind;
    int task, candidate;
    bool more;                // what belongs to it follows: all of it is written, or nothing
    struct tune_entry entry;  // MEASURED
    tmagen_resources resources;
    double compile_ms;
    char compiler[64];          // COMPILED
    enum tune_verdict verdict;  // COMPILED and CHECKED
    char checks[160], why[TUNE_WHY];
};

static inline atomic_char *tune_compiled(const struct tuning *t, int candidate) {
    return &t->states[candidate];
}
static inline atomic_char *tune_checked(const struct tuning *t, int candidate) {
    return &t->states[t->plan->kernel_count + (size_t)candidate];
}

// ---- tune_work.c, tune_compile.c: what a child does; both return what it ends with
int tune_work(struct tuning *t, int worker);
int tune_compile(struct tuning *t, int compiler);

// Writes [message] to the pipe; a process that cannot ends. In tune_compile.c.
void tune_say(const struct tuning *t, const struct tune_message *message);

// ---- tune_gpus.c
// Fills in the GPUs of the plan. 0, or exit code 3 with an error.
int tune_find_gpus(struct tuning *t);

// ---- tune_memory.c
// Takes what was found out before into the tasks. 0, or -1.
int tune_remember(struct tuning *t, struct tune_db *db);

// ---- tune_choose.c: which launches of a shape are worth a look
// Chooses the first, by the model alone, and then, where they have been measured, more by the
// model and by what it was wrong about with their like. Whether there are more than before.
bool tune_choose_first(const struct tuning *t, struct tune_task *task);
bool tune_choose_more(const struct tuning *t, struct tune_task *task);
// How many entries were tried already, by this run or an earlier one, well or ill.
int tune_tried(const struct tuning *t, const struct tune_task *task);

// ---- tune_rank.c
// Predicts what the plan's tables rank as they do, and the rest by the model and what it misses of
// the former. A library error code.
int tune_rank(struct tuning *t);

// ---- tune_tasks.c: what is to be measured
// Makes the tasks of the plan's shapes, each with the candidates that the model does not rule out,
// and the first of them chosen. 0, or an exit code.
int tune_make_tasks(struct tuning *t);
void tune_free_tasks(struct tuning *t);

// A grid's clusters: each a machine of its own, on as many threads as there are CPUs, or all on one
// machine. Clusters on their own share global memory only, and PTX orders nothing between them, so
// neither the number of threads nor their speed can change what one of them does or reports.
#include "runtime/emu/launch/launch.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREADS_MAX = 16, APART_MAX = 1 << 20 };

// ---- may the clusters of [entry] hear of each other? ----

// What one cluster can tell another with: strong accesses and fences beyond a cluster (PTX ISA
// 8.7), and read-modify-writes, whose results depend on who came first. Generic addresses count.
static bool communicates(const struct emu_insn *insn) {
    bool global = insn->space == SPACE_GLOBAL || insn->space == SPACE_GENERIC;

    if (emu_is(insn, FACT_TELLS)) return true;
    if (emu_is(insn, FACT_UPDATES)) return global;
    if (emu_is(insn, FACT_FENCES)) return insn->scope >= SCOPE_GPU;
    return emu_is(insn, FACT_ACCESSES) && global &&
           (insn->sem != SEM_WEAK || (insn->flags & F_VOLATILE));
}

static bool any(const struct emu_machine *machine, bool (*test)(const struct emu_insn *insn)) {
    for (uint32_t pc = 0; pc < machine->program->code_count; pc++)
        if (test(&machine->program->code[pc])) return true;
    return false;
}

static bool prints(const struct emu_insn *insn) {
    return insn->callee != NULL && !insn->callee->source->defined;
}

// ---- one cluster on its own ----

struct cluster_result {
    struct emu_report *reports;
    size_t report_count;
    uint64_t steps, thread_steps, multiply_adds;
    double seconds;
    uint64_t left_out;
    enum emu_class ended_by;
    bool ran, ended;
};

// What this thread has taken of a CPU so far.
static double thread_seconds(void) {
    struct timespec time;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

// Runs the machine's clusters, as many as may be resident after each other.
static void run(struct emu_machine *machine) {
    double start = thread_seconds();

    emu_run(machine);
    emu_clusters_retire(machine);
    machine->seconds += thread_seconds() - start;
}

struct grid {
    const struct emu_machine *machine;
    struct cluster_result *parts;  // by number of the cluster
    _Atomic uint64_t next;
    _Atomic uint64_t last;   // the first cluster that ended the launch; those behind it don't count
    _Atomic uint64_t steps;  // of those that have ended
};

static void end_at(struct grid *grid, uint64_t index) {
    uint64_t last = atomic_load(&grid->last);

    while (index < last && !atomic_compare_exchange_weak(&grid->last, &last, index)) continue;
}

static void run_alone(struct grid *grid, uint64_t index, struct emu_cluster **spare) {
    struct emu_machine alone = *grid->machine;

    alone.spare = spare;
    alone.next_cluster = index;
    alone.cluster_total = index + 1;
    alone.index = index;
    alone.last = &grid->last;
    run(&alone);
    if (alone.stop) end_at(grid, index);
    grid->parts[index] =
        (struct cluster_result){alone.reports,      alone.report_count,  alone.steps,
                                alone.thread_steps, alone.multiply_adds, alone.seconds,
                                alone.left_out,     alone.ended_by,      true,
                                alone.ended};
    atomic_fetch_add(&grid->steps, alone.steps);
}

static void *work(void *argument) {
    struct grid *grid = argument;
    struct emu_cluster *spare = NULL;
    char why[160];

    while (!emu_limit_spent(&grid->machine->limit, atomic_load(&grid->steps), why, sizeof why)) {
        uint64_t index = atomic_fetch_add(&grid->next, 1);
        if (index >= grid->machine->cluster_total || index > atomic_load(&grid->last)) break;
        run_alone(grid, index, &spare);
    }
    emu_clusters_free(spare);
    return NULL;
}

// ---- all of them ----

// Adds a cluster's reports to the grid's.
static void merge(struct emu_machine *machine, struct cluster_result *part) {
    for (size_t i = 0; i < part->report_count; i++) emu_report_add(machine, &part->reports[i]);
    machine->left_out += part->left_out;
    machine->ended_by = part->ended_by;
    machine->steps += part->steps;
    machine->thread_steps += part->thread_steps;
    machine->multiply_adds += part->multiply_adds;
    machine->seconds += part->seconds;
    machine->ended += part->ended;
    free(part->reports);
}

static void drop(struct cluster_result *part) {
    for (size_t i = 0; i < part->report_count; i++) free(part->reports[i].text);
    free(part->reports);
}

static unsigned thread_count(const struct emu_machine *machine) {
    cpu_set_t cpus;
    uint64_t count = machine->launch->threads;

    if (any(machine, prints) || machine->launch->profile) return 1;  // in the order of the clusters
    if (count == 0)
        count = sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? (unsigned)CPU_COUNT(&cpus) : 1;
    if (count > THREADS_MAX) count = THREADS_MAX;
    if (count > machine->room) count = machine->room;
    return (unsigned)(count < machine->cluster_total ? count : machine->cluster_total);
}

// In the order of the clusters, up to the one that ended the launch, or with which the budget was
// spent: the clusters' own numbers say which, whatever else has run by then.
static void merge_all(struct emu_machine *machine, struct grid *grid) {
    char why[160];

    for (uint64_t i = 0; i < machine->cluster_total; i++) {
        bool spent =
            !machine->stop && (machine->steps > machine->limit.budget.steps || !grid->parts[i].ran);
        if (spent && !emu_limit_spent(&machine->limit, machine->steps, why, sizeof why))
            snprintf(why, sizeof why, "the budget is spent");
        if (spent) emu_report_standstill(machine, NULL, why);
        machine->stop |= spent;
        if (machine->stop)
            drop(&grid->parts[i]);
        else
            merge(machine, &grid->parts[i]);
        machine->stop |= i == grid->last;
    }
}

// False when memory is out before anything has run.
static bool run_parts(struct emu_machine *machine) {
    struct grid grid = {.machine = machine, .last = UINT64_MAX};
    pthread_t threads[THREADS_MAX];
    unsigned count = thread_count(machine), started = 1;

    grid.parts = calloc(machine->cluster_total, sizeof *grid.parts);
    if (grid.parts == NULL) return false;
    for (; started < count; started++)
        if (pthread_create(&threads[started], NULL, work, &grid) != 0) break;
    work(&grid);
    while (started-- > 1) pthread_join(threads[started], NULL);
    merge_all(machine, &grid);
    free(grid.parts);
    return true;
}

static void run_together(struct emu_machine *machine, bool hear) {
    struct emu_cluster *spare = NULL;

    machine->spare = &spare;
    emu_order_new(machine, hear);
    run(machine);
    emu_clusters_free(spare);
    emu_order_delete(machine);
}

// Of a second run, in which all clusters are known to each other, only what the first could not
// see: the races that are sure. Where there are none, the first run's word is enough.
static void take_races(struct emu_machine *machine, struct emu_machine *again) {
    struct cluster_result races = {.reports = again->reports, .ended_by = machine->ended_by};
    size_t count = 0;

    for (size_t i = 0; i < again->report_count; i++)
        if (again->found_race && again->reports[i].class_ == EMU_RACE)
            again->reports[count++] = again->reports[i];
        else
            free(again->reports[i].text);
    races.report_count = count;
    merge(machine, &races);
    machine->seconds += again->seconds;
}

// Each cluster on its own. Where warps may have met in global memory, again from the beginning.
static bool run_apart(struct emu_machine *machine) {
    struct emu_machine again = *machine;
    struct emu_apart apart = {0};
    bool repeats = machine->check && !machine->launch->profile && !any(machine, prints);

    if (repeats && emu_pages_start(machine) == 0) machine->apart = &apart;
    bool ran = run_parts(machine);
    bool wanted = ran && machine->apart != NULL && apart.suspect && !apart.lost && !machine->stop;
    machine->apart = NULL;
    emu_pages_end(&apart, wanted);
    if (wanted) {
        run_together(&again, false);
        take_races(machine, &again);
    }
    return ran;
}

void emu_grid_run(struct emu_machine *machine) {
    bool together =
        machine->workspace || machine->cluster_total > APART_MAX || any(machine, communicates);

    if (together || !run_apart(machine)) run_together(machine, true);
}

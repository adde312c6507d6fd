// The scheduler: which warp runs next and for how long, chosen by the seed; and who stands still.
// A warp runs until it blocks, polls in vain or its quantum ends; then another.
#include "runtime/emu/check/profile.h"
#include "runtime/emu/launch/launch.h"
#include "runtime/emu/machine/barrier.h"
#include "runtime/emu/machine/mbarrier.h"

enum {
    QUANTUM = 96,            // instructions, at most
    SLICE = 20000,           // instructions of a cluster before others get their turn
    RESIDENT = 4,            // clusters at once, where they can hear of each other
    POLLS = 8,               // of what nobody brings, before that is a hang
    SLICE_BITS = 13,         // then a slice is of 1 to 1 << SLICE_BITS instructions
    SPIN_FOR_OTHERS = 30000  // without any change, before CTAs that are not resident are started
};

// Would the split, where it went on, only find that what it waits for has not come?
static bool still_waits(const struct emu_warp *warp, const struct emu_split *split) {
    const struct emu_cluster *cluster = warp->cta->cluster;
    const struct emu_wait *wait = &split->wait;
    const struct emu_mbarrier *barrier;

    switch (wait->kind) {
    case WAIT_MBARRIER:
        barrier = emu_mbarrier_of(cluster, wait->object);
        return barrier != NULL && barrier->phase == wait->generation && !wait->expired;
    case WAIT_BARRIER:
        return wait->arrived &&
               warp->cta->barriers[wait->object].generation == warp->gather.generation;
    case WAIT_CLUSTER: return cluster->barrier.generation == warp->cluster_generation;
    default: return false;
    }
}

static bool runnable(const struct emu_warp *warp, struct emu_split *split) {
    const struct emu_cluster *cluster = warp->cta->cluster;

    if (split->wait.kind == WAIT_SLEEP) return cluster->machine->steps >= split->wait.until;
    if (!split->blocked) return true;
    if (split->seen_change == cluster->changes) return false;
    if (!still_waits(warp, split)) return true;
    split->seen_change = cluster->changes;
    return false;
}

// Makes a runnable split the warp's current one, beginning behind the current one.
static bool pick_split(struct emu_warp *warp) {
    for (unsigned i = 1; i <= warp->split_count; i++) {
        unsigned index = (warp->current + i) % warp->split_count;
        if (runnable(warp, &warp->splits[index])) {
            warp->current = index;
            return true;
        }
    }
    return false;
}

// One instruction of the current split. False: the split can't go on now.
static bool step(struct emu_warp *warp, const struct emu_insn *code) {
    struct emu_split *split = emu_split(warp);
    struct emu_machine *machine = emu_machine(warp);

    if (split->join != NULL && split->pc == split->join->pc && !emu_settle(warp)) {
        if (warp->gather.lanes) emu_gather_check(warp);
        return false;
    }
    const struct emu_insn *insn = &code[split->pc];
    uint32_t mask = split->mask, guard = warp->preds[insn->guard];
    mask &= insn->guard_negated ? ~guard : guard;
    machine->steps++;
    if (mask == 0) {
        split->pc++;
        return true;
    }
    machine->thread_steps += (unsigned)__builtin_popcount(mask);
    warp->line = insn->line;
    if (insn->flags & F_CLOCK) emu_refresh_clocks(warp);
    if (warp->pending_registers) emu_pending_check(warp, insn);
    if (warp->watched) emu_watch_step(warp, insn, mask);
    if (machine->launch->profile && !split->blocked) emu_profile_begin(warp, insn);
    enum emu_step result = insn->exec(warp, insn, mask);
    if (machine->launch->profile) emu_profile_end(warp);
    if (result == EMU_JUMPED) return true;
    split = emu_split(warp);
    if (result == EMU_BLOCKED) {
        split->blocked = true;
        split->seen_change = warp->cta->cluster->changes;
        return false;
    }
    machine->multiply_adds += insn->multiply_adds;
    split->blocked = false;
    split->wait.kind = WAIT_NOTHING;
    split->pc++;
    return result == EMU_NEXT;
}

static void run_warp(struct emu_warp *warp, uint64_t quantum) {
    struct emu_machine *machine = emu_machine(warp);
    const struct emu_insn *code = machine->program->code;

    if (!pick_split(warp)) return;
    while (quantum-- && !machine->stop && warp->split_count)
        if (!step(warp, code)) return;
}

// A warp that can run, from a random start; NULL if there is none.
static struct emu_warp *pick_warp(struct emu_cluster *cluster) {
    unsigned total = 0, start;

    for (unsigned i = 0; i < cluster->cta_count; i++) total += cluster->ctas[i].warp_count;
    start = (unsigned)(emu_random(&cluster->random) % total);
    for (unsigned i = 0; i < total; i++) {
        unsigned index = (start + i) % total;
        struct emu_cta *cta = &cluster->ctas[index / cluster->ctas[0].warp_count];
        struct emu_warp *warp = &cta->warps[index % cluster->ctas[0].warp_count];
        for (unsigned s = 0; s < warp->split_count; s++)
            if (runnable(warp, &warp->splits[s])) return warp;
    }
    return NULL;
}

// Nobody runs and nothing is in flight: the next sleeper wakes early.
static bool wake_sleeper(struct emu_cluster *cluster) {
    struct emu_split *first = NULL;

    for (unsigned c = 0; c < cluster->cta_count; c++)
        for (unsigned w = 0; w < cluster->ctas[c].warp_count; w++) {
            struct emu_warp *warp = &cluster->ctas[c].warps[w];
            for (unsigned s = 0; s < warp->split_count; s++) {
                struct emu_split *split = &warp->splits[s];
                if (split->wait.kind == WAIT_SLEEP &&
                    (first == NULL || split->wait.until < first->wait.until))
                    first = split;
            }
        }
    if (first == NULL) return false;
    first->wait.until = cluster->machine->steps;
    return true;
}

// The time limit of each try_wait of [warp] is over. False where none is under way.
static bool expire_warp(struct emu_warp *warp) {
    bool any = false;

    for (unsigned s = 0; s < warp->split_count; s++) {
        struct emu_split *split = &warp->splits[s];
        if (!split->blocked || split->wait.kind != WAIT_MBARRIER) continue;
        split->wait.expired = any = true;
        split->seen_change = warp->cta->cluster->changes - 1;  // it looks again
    }
    return any;
}

// Nobody sleeps either: each try_wait gives up, as PTX lets it after a while. Who has looked once
// may do now what the others wait for. Where all come back and back, and meanwhile no mbarrier has
// got anything, they only poll.
static bool expire_waits(struct emu_cluster *cluster) {
    bool any = false;

    if (cluster->expiries++ == POLLS) return false;
    for (unsigned c = 0; c < cluster->cta_count; c++)
        for (unsigned w = 0; w < cluster->ctas[c].warp_count; w++)
            any |= expire_warp(&cluster->ctas[c].warps[w]);
    return any;
}

enum slice { SLICE_DONE, SLICE_ENDED, SLICE_STUCK };

// A cluster before this one has ended the launch: whatever this one does comes too late.
static bool overtaken(const struct emu_machine *machine) {
    return machine->last != NULL && *machine->last < machine->index;
}

// Instructions that [cluster] may run now: of clusters that hear of each other any may be ahead, by
// little or by much, and what one misses of another shows in some orders only.
static uint64_t slice_of(struct emu_cluster *cluster) {
    if (cluster->machine->order == NULL) return SLICE;
    return UINT64_C(1) << emu_random(&cluster->random) % (SLICE_BITS + 1);
}

static enum slice run_slice(struct emu_cluster *cluster) {
    struct emu_machine *machine = cluster->machine;
    uint64_t end = machine->steps + slice_of(cluster);

    if (overtaken(machine)) machine->stop = true;

    while (machine->steps < end && !machine->stop) {
        if (cluster->pending != NULL) emu_async_progress(cluster, false);
        if (cluster->live_ctas == 0) {  // what is still in flight lands
            while (emu_async_progress(cluster, true)) continue;
            return SLICE_DONE;
        }
        struct emu_warp *warp = pick_warp(cluster);
        if (warp != NULL)
            run_warp(warp, 1 + emu_random(&cluster->random) % QUANTUM);
        else if (!emu_async_progress(cluster, true) && !wake_sleeper(cluster) &&
                 !expire_waits(cluster))
            return SLICE_STUCK;
    }
    return SLICE_ENDED;
}

static bool start_cluster(struct emu_machine *machine) {
    if (machine->next_cluster == machine->cluster_total) return false;
    struct emu_cluster *cluster = emu_cluster_new(machine, machine->next_cluster++);
    if (cluster == NULL) {
        machine->stop = true;
        return false;
    }
    struct emu_cluster **link = &machine->clusters;
    while (*link != NULL) link = &(*link)->next;
    *link = cluster;
    machine->resident++;
    return true;
}

static void remove_cluster(struct emu_machine *machine, struct emu_cluster *cluster) {
    struct emu_cluster **link = &machine->clusters;

    while (*link != cluster) link = &(*link)->next;
    *link = cluster->next;
    machine->resident--;
    machine->ended++;
    emu_cluster_retire(cluster);
}

// Where everyone resident only spins, whoever isn't resident yet may be waited for.
static void start_others(struct emu_machine *machine) {
    uint64_t last = 0;

    if (machine->clusters == NULL) return;
    for (struct emu_cluster *c = machine->clusters; c != NULL; c = c->next)
        last = c->last_change > last ? c->last_change : last;
    if (machine->steps - last > SPIN_FOR_OTHERS && machine->resident < machine->room)
        start_cluster(machine);
}

static void keep_resident(struct emu_machine *machine) {
    uint64_t most = machine->order ? RESIDENT : 1;

    if (most > machine->room) most = machine->room;
    while (machine->resident < most && !machine->stop && start_cluster(machine)) continue;
}

static void check_budget(struct emu_machine *machine) {
    char why[160];

    if (machine->stop || !emu_limit_spent(&machine->limit, machine->steps, why, sizeof why)) return;
    emu_report_standstill(machine, NULL, why);
    machine->stop = true;
}

void emu_run(struct emu_machine *machine) {
    keep_resident(machine);
    while (machine->workspace && start_cluster(machine)) continue;  // cooperative: all at once
    while (machine->clusters != NULL && !machine->stop) {
        for (struct emu_cluster *cluster = machine->clusters, *next; cluster && !machine->stop;
             cluster = next) {
            enum slice slice = run_slice(cluster);
            next = cluster->next;
            if (slice == SLICE_STUCK && !machine->stop) {
                emu_report_standstill(machine, cluster, NULL);
                machine->stop = true;
            } else if (slice == SLICE_DONE) {
                remove_cluster(machine, cluster);
            }
        }
        keep_resident(machine);
        check_budget(machine);
        if (!machine->stop) start_others(machine);
    }
}

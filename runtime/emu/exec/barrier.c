// bar, barrier and barrier.cluster (PTX ISA 9.7.13.1 to 9.7.13.4) as an H200 does them: lanes wait
// for their warp's other live lanes, then the warp arrives and counts 32. An arrival publishes the warp's clock; whoever waits learns the clocks of all who arrived.
#include "runtime/emu/machine/async.h"
#include "runtime/emu/machine/barrier.h"
#include "runtime/emu/exec/lanes.h"
#include "runtime/emu/machine/mbarrier.h"

#include <string.h>

static uint32_t popcount(uint32_t mask) { return (uint32_t)__builtin_popcount(mask); }

// ---- votes ----

static void add_votes(struct emu_votes *to, const struct emu_votes *from) {
    to->some_false |= from->some_false;
    to->some_true |= from->some_true;
    to->count += from->count;
}

enum { BAR_SYNC, BAR_ARRIVE, BAR_RED_POPC, BAR_RED_AND, BAR_RED_OR };

static void give_result(struct emu_warp *warp, const struct emu_insn *insn, uint32_t mask,
                        const struct emu_votes *votes) {
    switch (insn->row->aux) {
    case BAR_RED_AND:
        emu_set_pred(warp, insn->op[0], mask, votes->some_false ? 0 : UINT32_MAX);
        break;
    case BAR_RED_OR:
        emu_set_pred(warp, insn->op[0], mask, votes->some_true ? UINT32_MAX : 0);
        break;
    case BAR_RED_POPC:
        EMU_EACH_LANE(lane, mask)
        emu_r32(warp, insn->op[0])[lane] = votes->count;
        break;
    default: break;
    }
}

// ---- a barrier: who has to come ----

static void complete(struct emu_cluster *cluster, struct emu_named_barrier *barrier) {
    emu_clock_copy(cluster, &barrier->released, &barrier->clock);
    emu_clock_clear(cluster, &barrier->clock);
    barrier->generation++;
    barrier->arrived = barrier->expected = barrier->warps = 0;
    barrier->counted = false;
    barrier->result = barrier->votes;
    barrier->votes = (struct emu_votes){0};
    emu_changed(cluster);
}

// A count must be met, by whole warps however many of their threads live; without one, the warps
// with a live thread must be there.
static void complete_if_all(struct emu_cta *cta, struct emu_named_barrier *barrier) {
    bool all = barrier->arrived >= barrier->expected;

    for (unsigned w = 0; w < cta->warp_count && !barrier->counted && !all; w++)
        if (cta->warps[w].live && !(barrier->warps >> w & 1)) return;
    if (all || !barrier->counted) complete(cta->cluster, barrier);
}

static uint32_t expected_by(const struct emu_warp *warp) {
    return warp->gather.asked ? warp->gather.asked : warp->cta->warp_count * EMU_LANES;
}

// Does the warp, all there, ask what the others of the phase ask for? That it comes twice in a phase
// counts twice and ends nothing, but a participant counts once (PTX ISA 9.7.13.1). False after a
// report that ends the launch.
static bool may_arrive(struct emu_warp *warp, const struct emu_named_barrier *barrier) {
    const struct emu_gather *gather = &warp->gather;

    if (barrier->expected != 0 && barrier->expected != expected_by(warp)) {
        emu_fatal(warp, gather->insn, EMU_BARRIER_MISUSE,
                  "barrier %u is asked for %u threads here and for %u at PTX line %u",
                  gather->number, expected_by(warp), barrier->expected, barrier->line);
        return false;
    }
    if (barrier->warps >> warp->index & 1)
        emu_report(warp, gather->insn, EMU_BARRIER_MISUSE,
                   "the warp arrives at barrier %u a second time, while %u of the %u threads that "
                   "the\n  barrier waits for have not come a first time",
                   gather->number, barrier->expected - barrier->arrived, barrier->expected);
    return true;
}

// All live lanes of the warp are at the barrier.
static void arrive(struct emu_warp *warp) {
    struct emu_gather *gather = &warp->gather;
    struct emu_named_barrier *barrier = &warp->cta->barriers[gather->number];

    if (!may_arrive(warp, barrier)) return;
    barrier->expected = expected_by(warp);
    barrier->counted |= gather->asked != 0;
    add_votes(&barrier->votes, &gather->votes);
    emu_clock_join(warp->cta->cluster, &barrier->clock, &warp->clock);
    emu_tick(warp);
    barrier->arrived += EMU_LANES;
    barrier->warps |= 1u << warp->index;
    barrier->line = gather->insn->line;
    gather->generation = barrier->generation;
    gather->lanes = 0;
    gather->votes = (struct emu_votes){0};
    gather->done++;
    emu_changed(warp->cta->cluster);
    complete_if_all(warp->cta, barrier);
}

// ---- a warp: its lanes wait for each other first ----

// Checks what is asked of barrier [number]. False after a report.
static bool check(struct emu_warp *warp, const struct emu_insn *insn, uint32_t number,
                  uint32_t asked) {
    const struct emu_gather *gather = &warp->gather;
    uint32_t all = warp->cta->warp_count * EMU_LANES;

    if (number >= EMU_NAMED_BARRIERS)
        emu_fatal(warp, insn, EMU_BARRIER_MISUSE, "barrier %u does not exist; there are %d", number,
                  EMU_NAMED_BARRIERS);
    else if (asked % EMU_LANES || asked > all)
        emu_fatal(warp, insn, EMU_BARRIER_MISUSE,
                  "barrier %u for %u threads: that must be a multiple of 32 and at most %u", number,
                  asked, all);
    else if (gather->lanes && (gather->number != number || gather->asked != asked))
        emu_fatal(warp, insn, EMU_DIVERGENT,
                  "lanes of the warp come to barrier %u for %u threads, and lanes 0x%08x wait for "
                  "them\n  at barrier %u for %u (PTX line %u)",
                  number, asked ? asked : all, gather->lanes, gather->number,
                  gather->asked ? gather->asked : all, gather->insn->line);
    else
        return true;
    return false;
}

void emu_gather_check(struct emu_warp *warp) {
    const struct emu_gather *gather = &warp->gather;
    uint32_t pc, others = emu_waits_for(warp, gather->lanes, &pc);
    char place[400];

    if (others != 0)
        emu_fatal(warp, gather->insn, EMU_DIVERGENT,
                  "barrier %u is reached by lanes 0x%08x of the warp's 0x%08x; lanes 0x%08x wait "
                  "for these\n  behind the branch, at %s",
                  gather->number, gather->lanes, warp->live, others,
                  emu_place_text(emu_machine(warp), &emu_machine(warp)->program->code[pc], place,
                                 sizeof place));
}

// [mask] of the warp is at barrier [number].
static void gather(struct emu_warp *warp, const struct emu_insn *insn, uint32_t mask,
                   uint32_t number, uint32_t asked) {
    warp->gather.insn = insn;
    warp->gather.lanes |= mask;
    warp->gather.number = number;
    warp->gather.asked = asked;
    if (warp->gather.lanes == warp->live)
        arrive(warp);
    else
        emu_gather_check(warp);
}

EMU_HANDLER(bar) {
    struct emu_split *split = emu_split(warp);
    int kind = insn->row->aux;
    bool reduces = kind >= BAR_RED_POPC,
         counted = strlen(insn->row->operands) > (reduces ? 3u : 1u);
    unsigned at = reduces ? 1 : 0, lane0 = (unsigned)__builtin_ctz(mask);
    uint32_t number = emu_r32(warp, insn->op[at])[lane0];
    uint32_t asked = counted ? emu_r32(warp, insn->op[at + 1])[lane0] : 0;

    if (mask != split->mask) {  // @p bar: those without p go on behind it
        emu_diverge(warp, mask, split->pc, split->pc + 1, split->pc + 1);
        return EMU_JUMPED;
    }
    if (!emu_waiting(warp, WAIT_BARRIER)) {
        if (!check(warp, insn, number, asked)) return EMU_NEXT;
        if (reduces) {
            uint32_t votes = emu_pred(warp, insn->op[counted ? 3 : 2]) & mask;
            struct emu_votes mine = {votes != mask, votes != 0, popcount(votes)};
            add_votes(&warp->gather.votes, &mine);
        }
        split->wait.generation = warp->gather.done;
        emu_block(warp, WAIT_BARRIER, number);
        gather(warp, insn, mask, number, asked);
    }
    if (warp->gather.done == split->wait.generation) return EMU_BLOCKED;
    if (kind == BAR_ARRIVE) return EMU_NEXT;
    struct emu_named_barrier *barrier = &warp->cta->barriers[number];
    if (barrier->generation == warp->gather.generation) return EMU_BLOCKED;
    emu_clock_join(warp->cta->cluster, &warp->clock, &barrier->released);
    give_result(warp, insn, mask, &barrier->result);
    return EMU_NEXT;
}

// ---- barrier.cluster ----

// All live threads of the cluster must arrive (PTX ISA 9.7.13.4); those that exit are not waited for.
static void complete_cluster_if_all(struct emu_cluster *cluster) {
    uint32_t live = 0;

    for (unsigned i = 0; i < cluster->cta_count; i++) live += cluster->ctas[i].live_threads;
    if (cluster->barrier.arrived && cluster->barrier.arrived == live)
        complete(cluster, &cluster->barrier);
}

EMU_HANDLER(cluster_arrive) {
    struct emu_cluster *cluster = warp->cta->cluster;
    struct emu_named_barrier *barrier = &cluster->barrier;

    if ((insn->flags & F_ALIGNED) && mask != warp->live) {
        emu_fatal(warp, insn, EMU_DIVERGENT, "barrier.cluster is reached by lanes 0x%08x of 0x%08x",
                  mask, warp->live);
        return EMU_NEXT;
    }
    if (warp->cluster_arrived & mask) {
        emu_fatal(warp, insn, EMU_BARRIER_MISUSE,
                  "barrier.cluster.arrive again without a barrier.cluster.wait between");
        return EMU_NEXT;
    }
    warp->cluster_arrived |= mask;
    warp->cluster_generation = barrier->generation;
    // .relaxed publishes what the last fence covers
    emu_clock_join(cluster, &barrier->clock, insn->row->aux ? &warp->fenced : &warp->clock);
    if (!insn->row->aux) emu_tick(warp);
    barrier->arrived += popcount(mask);
    emu_changed(cluster);
    complete_cluster_if_all(cluster);
    return EMU_NEXT;
}

EMU_HANDLER(cluster_wait) {
    const struct emu_named_barrier *barrier = &warp->cta->cluster->barrier;

    if ((warp->cluster_arrived & mask) != mask) {
        emu_fatal(warp, insn, EMU_BARRIER_MISUSE,
                  "barrier.cluster.wait without barrier.cluster.arrive");
        return EMU_NEXT;
    }
    if (barrier->generation == warp->cluster_generation) return emu_block(warp, WAIT_CLUSTER, 0);
    warp->cluster_arrived &= ~mask;
    emu_clock_join(warp->cta->cluster, &warp->clock, &barrier->released);
    return EMU_NEXT;
}

// ---- exits ----

// Nobody waits for [mask] of the warp any longer.
static void leave_barriers(struct emu_warp *warp, uint32_t mask) {
    struct emu_cta *cta = warp->cta;
    struct emu_cluster *cluster = cta->cluster;
    bool in_phase = warp->cluster_generation == cluster->barrier.generation;

    if (in_phase) cluster->barrier.arrived -= popcount(warp->cluster_arrived & mask);
    complete_cluster_if_all(cluster);
    if (warp->gather.lanes && warp->gather.lanes == warp->live) arrive(warp);
    for (int i = 0; i < EMU_NAMED_BARRIERS && warp->live == 0; i++)
        if (cta->barriers[i].arrived) complete_if_all(cta, &cta->barriers[i]);
}

void emu_lanes_exited(struct emu_warp *warp, uint32_t mask) {
    struct emu_cta *cta = warp->cta;

    cta->live_threads -= popcount(mask);
    leave_barriers(warp, mask);
    emu_changed(cta->cluster);
    if (warp->live != 0) return;
    if (--cta->live_warps != 0) return;
    cta->cluster->live_ctas--;
    emu_mbarriers_check_end(warp);
    emu_async_check_end(warp);
}

const struct emu_op emu_ops_barrier[] = {
#define BARRIER(prefix, aligned)                                                                 \
    {prefix ".sync" aligned, "i", bar, BAR_SYNC}, {prefix ".sync" aligned, "ii", bar, BAR_SYNC}, \
        {prefix ".arrive" aligned, "ii", bar, BAR_ARRIVE},                                       \
        {prefix ".red.popc" aligned ".u32", "Iip", bar, BAR_RED_POPC},                           \
        {prefix ".red.popc" aligned ".u32", "Iiip", bar, BAR_RED_POPC},                          \
        {prefix ".red.and" aligned ".pred", "Pip", bar, BAR_RED_AND},                            \
        {prefix ".red.and" aligned ".pred", "Piip", bar, BAR_RED_AND},                           \
        {prefix ".red.or" aligned ".pred", "Pip", bar, BAR_RED_OR}, {                            \
        prefix ".red.or" aligned ".pred", "Piip", bar, BAR_RED_OR                                \
    }
    BARRIER("bar", ""),
    BARRIER("bar.cta", ""),
    BARRIER("barrier", "{.aligned}"),
    BARRIER("barrier.cta", "{.aligned}"),
    {"barrier.cluster.arrive.relaxed{.aligned}", "", cluster_arrive, 1},
    {"barrier.cluster.arrive{.release}{.aligned}", "", cluster_arrive, 0},
    {"barrier.cluster.wait{.acquire}{.aligned}", "", cluster_wait, 0},
    {NULL, NULL, NULL, 0},
};

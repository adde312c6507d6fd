// bar, barrier and barrier.cluster (PTX ISA 9.7.13.1 to 9.7.13.4): what is asked of a barrier, and
// what its end gives. The barriers themselves are machine/barrier.c's.
#include "runtime/emu/machine/barrier.h"
#include "runtime/emu/exec/lanes.h"

#include <string.h>

static uint32_t popcount(uint32_t mask) { return (uint32_t)__builtin_popcount(mask); }

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
            emu_votes_add(&warp->gather.votes, &mine);
        }
        split->wait.generation = warp->gather.done;
        split->wait.arrived = false;
        emu_block(warp, WAIT_BARRIER, number);
        emu_gather(warp, insn, mask, number, asked);
    }
    if (warp->gather.done == split->wait.generation) return EMU_BLOCKED;
    if (kind == BAR_ARRIVE) return EMU_NEXT;
    struct emu_named_barrier *barrier = &warp->cta->barriers[number];
    split->wait.arrived = barrier->generation == warp->gather.generation;
    if (split->wait.arrived) return EMU_BLOCKED;
    emu_learn(warp, mask, &barrier->released);
    give_result(warp, insn, mask, &barrier->result);
    return EMU_NEXT;
}

// ---- barrier.cluster ----

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
    const struct emu_clock *told = insn->row->aux ? &warp->fenced : &warp->clock;
    emu_clock_join(cluster, &barrier->clock, told);
    emu_tell(warp, mask, told->seen[warp->agent]);
    if (!insn->row->aux) emu_tick(warp);
    barrier->arrived += popcount(mask);
    emu_changed(cluster);
    emu_cluster_barrier_end(cluster);
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
    emu_learn(warp, mask, &barrier->released);
    return EMU_NEXT;
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
    {"barrier.cluster.arrive.relaxed{.aligned}", "", cluster_arrive, 1, 0, TMG_HAS_CLUSTERS},
    {"barrier.cluster.arrive{.release}{.aligned}", "", cluster_arrive, 0, 0, TMG_HAS_CLUSTERS},
    {"barrier.cluster.wait{.acquire}{.aligned}", "", cluster_wait, 0, 0, TMG_HAS_CLUSTERS},
    {NULL, NULL, NULL, 0},
};

// bar, barrier and barrier.cluster (PTX ISA 9.7.13.1 to 9.7.13.4), counted in threads.
// An arrival publishes the warp's clock; whoever waits learns the clocks of all who arrived.
#include "runtime/emu/machine/async.h"
#include "runtime/emu/machine/barrier.h"
#include "runtime/emu/exec/lanes.h"
#include "runtime/emu/machine/mbarrier.h"

#include <string.h>

static uint32_t popcount(uint32_t mask) { return (uint32_t)__builtin_popcount(mask); }

// A partial last warp counts as a whole one.
static uint32_t threads_of(const struct emu_warp *warp, uint32_t mask) {
    return popcount(mask) + (mask == warp->started ? EMU_LANES - popcount(mask) : 0);
}

static void complete(struct emu_cluster *cluster, struct emu_named_barrier *barrier) {
    emu_clock_copy(cluster, &barrier->released, &barrier->clock);
    emu_clock_clear(cluster, &barrier->clock);
    barrier->generation++;
    barrier->arrived = barrier->expected = barrier->warps = 0;
    barrier->result_and = !barrier->reduction_not;
    barrier->result_or = barrier->reduction_or;
    barrier->result_count = barrier->reduction_count;
    barrier->reduction_not = barrier->reduction_or = barrier->reduction_count = 0;
    emu_changed(cluster);
}

static void arrive(struct emu_warp *warp, struct emu_named_barrier *barrier, uint32_t threads) {
    struct emu_cluster *cluster = warp->cta->cluster;

    emu_clock_join(cluster, &barrier->clock, &warp->clock);
    emu_tick(warp);
    barrier->arrived += threads;
    barrier->warps |= 1u << warp->index;
    barrier->line = warp->line;
    emu_changed(cluster);
    if (barrier->arrived == barrier->expected) complete(cluster, barrier);
}

enum { BAR_SYNC, BAR_ARRIVE, BAR_RED_POPC, BAR_RED_AND, BAR_RED_OR };

// Checks what is asked of barrier [number] and says how many threads it waits for; 0 after a
// report.
static uint32_t check(struct emu_warp *warp, const struct emu_insn *insn, uint32_t mask,
                      uint32_t number, uint32_t asked) {
    struct emu_cta *cta = warp->cta;
    uint32_t all = cta->warp_count * EMU_LANES, expected = asked ? asked : all;

    if (number >= EMU_NAMED_BARRIERS) {
        emu_fatal(warp, insn, EMU_BARRIER_MISUSE, "barrier %u does not exist; there are %d", number,
                  EMU_NAMED_BARRIERS);
        return 0;
    }
    if (((insn->flags & F_ALIGNED) || strncmp(insn->row->form, "bar.", 4) == 0) &&
        mask != warp->live) {
        emu_fatal(
            warp, insn, EMU_DIVERGENT,
            "barrier %u is reached by lanes 0x%08x of the warp's 0x%08x, but it needs all of them",
            number, mask, warp->live);
        return 0;
    }
    if (asked % EMU_LANES || expected > all) {
        emu_fatal(warp, insn, EMU_BARRIER_MISUSE,
                  "barrier %u for %u threads: that must be a multiple of 32 and at most %u", number,
                  asked, all);
        return 0;
    }
    struct emu_named_barrier *barrier = &cta->barriers[number];
    if (barrier->expected != 0 && barrier->expected != expected) {
        emu_fatal(warp, insn, EMU_BARRIER_MISUSE,
                  "barrier %u is asked for %u threads here and for %u at PTX line %u", number,
                  expected, barrier->expected, barrier->line);
        return 0;
    }
    if (barrier->arrived + threads_of(warp, mask) > expected) {
        emu_fatal(warp, insn, EMU_BARRIER_MISUSE, "barrier %u gets %u arrivals, but expects %u",
                  number, barrier->arrived + threads_of(warp, mask), expected);
        return 0;
    }
    return expected;
}

static void fold(struct emu_named_barrier *barrier, uint32_t mask, uint32_t votes) {
    barrier->reduction_not |= (votes & mask) != mask;
    barrier->reduction_or |= (votes & mask) != 0;
    barrier->reduction_count += popcount(votes & mask);
}

static void give_result(struct emu_warp *warp, const struct emu_insn *insn, uint32_t mask,
                        const struct emu_named_barrier *barrier) {
    switch (insn->row->aux) {
    case BAR_RED_AND:
        emu_set_pred(warp, insn->op[0], mask, barrier->result_and ? UINT32_MAX : 0);
        break;
    case BAR_RED_OR:
        emu_set_pred(warp, insn->op[0], mask, barrier->result_or ? UINT32_MAX : 0);
        break;
    case BAR_RED_POPC:
        EMU_EACH_LANE(lane, mask)
        emu_r32(warp, insn->op[0])[lane] = barrier->result_count;
        break;
    default: break;
    }
}

EMU_HANDLER(bar) {
    struct emu_wait *wait = &emu_split(warp)->wait;
    int kind = insn->row->aux;
    bool reduces = kind >= BAR_RED_POPC,
         counted = strlen(insn->row->operands) > (reduces ? 3u : 1u);
    unsigned at = reduces ? 1 : 0, lane0 = (unsigned)__builtin_ctz(mask);
    uint32_t number = emu_r32(warp, insn->op[at])[lane0];
    uint32_t asked = counted ? emu_r32(warp, insn->op[at + 1])[lane0] : 0;

    if (!emu_waiting(warp, WAIT_BARRIER)) {
        uint32_t expected = check(warp, insn, mask, number, asked);
        if (expected == 0) return EMU_NEXT;
        struct emu_named_barrier *barrier = &warp->cta->barriers[number];
        barrier->expected = expected;
        if (reduces) fold(barrier, mask, emu_pred(warp, insn->op[counted ? 3 : 2]));
        uint64_t generation = barrier->generation;
        arrive(warp, barrier, threads_of(warp, mask));
        if (kind == BAR_ARRIVE) return EMU_NEXT;
        wait->generation = generation;
        emu_block(warp, WAIT_BARRIER, number);
    }
    struct emu_named_barrier *barrier = &warp->cta->barriers[number];
    if (barrier->generation == wait->generation) return EMU_BLOCKED;
    emu_clock_join(warp->cta->cluster, &warp->clock, &barrier->released);
    give_result(warp, insn, mask, barrier);
    return EMU_NEXT;
}

// ---- barrier.cluster ----

static struct emu_named_barrier *cluster_barrier(struct emu_warp *warp) {
    struct emu_cluster *cluster = warp->cta->cluster;

    cluster->barrier.expected = cluster->cta_count * warp->cta->warp_count * EMU_LANES;
    return &cluster->barrier;
}

EMU_HANDLER(cluster_arrive) {
    struct emu_named_barrier *barrier = cluster_barrier(warp);

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
    if (insn->row->aux) {  // .relaxed publishes what the last fence covers
        emu_clock_join(warp->cta->cluster, &barrier->clock, &warp->fenced);
        barrier->arrived += threads_of(warp, mask);
        emu_changed(warp->cta->cluster);
        if (barrier->arrived == barrier->expected) complete(warp->cta->cluster, barrier);
    } else {
        arrive(warp, barrier, threads_of(warp, mask));
    }
    return EMU_NEXT;
}

EMU_HANDLER(cluster_wait) {
    struct emu_named_barrier *barrier = cluster_barrier(warp);

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

void emu_lanes_exited(struct emu_warp *warp, uint32_t mask) {
    struct emu_cta *cta = warp->cta;
    struct emu_cluster *cluster = cta->cluster;

    cta->live_threads -= popcount(mask);
    emu_changed(cluster);
    if (warp->live != 0) return;
    if (--cta->live_warps != 0) return;
    cluster->live_ctas--;
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
    BARRIER("bar", ""),  // always aligned; see check()
    BARRIER("bar.cta", ""),
    BARRIER("barrier", "{.aligned}"),
    BARRIER("barrier.cta", "{.aligned}"),
    {"barrier.cluster.arrive.relaxed{.aligned}", "", cluster_arrive, 1},
    {"barrier.cluster.arrive{.release}{.aligned}", "", cluster_arrive, 0},
    {"barrier.cluster.wait{.acquire}{.aligned}", "", cluster_wait, 0},
    {NULL, NULL, NULL, 0},
};

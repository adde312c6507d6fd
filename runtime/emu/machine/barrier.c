// Barriers as an H200 does them: lanes wait for their warp's other live lanes, then the warp
// arrives and counts 32. An arrival publishes the warp's clock; who waits learns all clocks.
#include "runtime/emu/machine/barrier.h"

void emu_votes_add(struct emu_votes *to, const struct emu_votes *from) {
    to->some_false |= from->some_false;
    to->some_true |= from->some_true;
    to->count += from->count;
}

// ---- a barrier: who has to come ----

static void complete(struct emu_cluster *cluster, struct emu_named_barrier *barrier) {
    emu_clock_copy(cluster, &barrier->released, &barrier->clock);
    emu_clock_clear(cluster, &barrier->clock);
    barrier->generation++;
    barrier->before |= barrier->warps;
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

// Does the warp, all there, ask what the others of the phase ask for? That it comes twice in one
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
    emu_votes_add(&barrier->votes, &gather->votes);
    emu_clock_join(warp->cta->cluster, &barrier->clock, &warp->clock);
    emu_tell(warp, UINT32_MAX, warp->clock.seen[warp->agent]);
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

void emu_gather_check(struct emu_warp *warp) {
    const struct emu_gather *gather = &warp->gather;
    uint32_t pc, others = emu_waits_for(warp, gather->lanes, &pc);
    char place[EMU_PLACE_TEXT];

    if (others != 0)
        emu_fatal(warp, gather->insn, EMU_DIVERGENT,
                  "barrier %u is reached by lanes 0x%08x of the warp's 0x%08x; lanes 0x%08x wait "
                  "for these\n  behind the branch, at %s",
                  gather->number, gather->lanes, warp->live, others,
                  emu_place_text(emu_machine(warp), &emu_machine(warp)->program->code[pc], place,
                                 sizeof place));
}

void emu_gather(struct emu_warp *warp, const struct emu_insn *insn, uint32_t mask, uint32_t number,
                uint32_t asked) {
    warp->gather.insn = insn;
    warp->gather.lanes |= mask;
    warp->gather.number = number;
    warp->gather.asked = asked;
    if (warp->gather.lanes == warp->live)
        arrive(warp);
    else
        emu_gather_check(warp);
}

// ---- barrier.cluster, and exits ----

void emu_cluster_barrier_end(struct emu_cluster *cluster) {
    uint32_t live = 0;

    for (unsigned i = 0; i < cluster->cta_count; i++) live += cluster->ctas[i].live_threads;
    if (cluster->barrier.arrived && cluster->barrier.arrived == live)
        complete(cluster, &cluster->barrier);
}

void emu_barriers_leave(struct emu_warp *warp, uint32_t mask) {
    struct emu_cta *cta = warp->cta;
    struct emu_cluster *cluster = cta->cluster;
    bool in_phase = warp->cluster_generation == cluster->barrier.generation;

    if (in_phase)
        cluster->barrier.arrived -= (uint32_t)__builtin_popcount(warp->cluster_arrived & mask);
    emu_cluster_barrier_end(cluster);
    if (warp->gather.lanes && warp->gather.lanes == warp->live) arrive(warp);
    for (int i = 0; i < EMU_NAMED_BARRIERS && warp->live == 0; i++)
        if (cta->barriers[i].arrived) complete_if_all(cta, &cta->barriers[i]);
}

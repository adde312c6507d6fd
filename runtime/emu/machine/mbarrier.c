// mbarriers: every change is count, bytes, phase and a clock to join. A phase ends when no arrival
// and no byte is due; its waiters then know all that its arrivers knew.
#include "runtime/emu/machine/mbarrier.h"

#include <stdlib.h>

struct emu_mbarrier *emu_mbarrier_at(const struct emu_cta *cta, uint32_t offset) {
    for (struct emu_mbarrier *barrier = cta->mbarriers; barrier != NULL; barrier = barrier->next)
        if (barrier->offset == offset && barrier->valid) return barrier;
    return NULL;
}

struct emu_mbarrier *emu_mbarrier_overlapping(const struct emu_cta *cta, uint32_t offset,
                                              uint32_t bytes) {
    for (struct emu_mbarrier *barrier = cta->mbarriers; barrier != NULL; barrier = barrier->next)
        if (barrier->valid && barrier->offset < offset + bytes && offset < barrier->offset + 8)
            return barrier;
    return NULL;
}

void emu_mbarriers_free(struct emu_cta *cta) {
    while (cta->mbarriers != NULL) {
        struct emu_mbarrier *next = cta->mbarriers->next;
        emu_clock_free(&cta->mbarriers->clock);
        emu_clock_free(&cta->mbarriers->completed);
        free(cta->mbarriers);
        cta->mbarriers = next;
    }
}

struct emu_mbarrier *emu_mbarrier_of(const struct emu_cluster *cluster, uint32_t address) {
    return emu_mbarrier_at(&cluster->ctas[address >> EMU_RANK_SHIFT],
                           address & ((1u << EMU_RANK_SHIFT) - 1));
}

// The object for [offset], valid or not, made where none was.
static struct emu_mbarrier *object(struct emu_cta *cta, uint32_t offset) {
    for (struct emu_mbarrier *barrier = cta->mbarriers; barrier != NULL; barrier = barrier->next)
        if (barrier->offset == offset) return barrier;
    struct emu_mbarrier *barrier = calloc(1, sizeof *barrier);
    if (barrier == NULL || emu_clock_new(cta->cluster, &barrier->clock) ||
        emu_clock_new(cta->cluster, &barrier->completed)) {
        if (barrier != NULL) emu_clock_free(&barrier->clock);
        free(barrier);
        return NULL;
    }
    barrier->cta = cta;
    barrier->offset = offset;
    barrier->next = cta->mbarriers;
    return cta->mbarriers = barrier;
}

struct emu_mbarrier *emu_mbarrier_init(struct emu_cta *cta, uint32_t offset, uint32_t count,
                                       const struct emu_warp *warp, const struct emu_insn *insn) {
    struct emu_mbarrier *barrier = object(cta, offset);

    if (barrier == NULL) return NULL;
    *barrier = (struct emu_mbarrier){.next = barrier->next,
                                     .cta = cta,
                                     .offset = offset,
                                     .valid = true,
                                     .expected = count,
                                     .pending = count,
                                     .clock = barrier->clock,
                                     .completed = barrier->completed,
                                     .init_agent = warp->agent,
                                     .init_time = warp->clock.seen[warp->agent],
                                     .init_insn = insn};
    emu_clock_clear(cta->cluster, &barrier->clock);
    emu_clock_clear(cta->cluster, &barrier->completed);
    return barrier;
}

// ---- what happens to one ----

void emu_mbarrier_end_phase(struct emu_mbarrier *barrier) {
    struct emu_cluster *cluster = barrier->cta->cluster;

    if (barrier->pending != 0 || barrier->bytes != 0) return;
    barrier->phase++;
    barrier->pending = barrier->expected;
    barrier->arrivers |= barrier->arrived;
    barrier->arrived = 0;
    barrier->promised = 0;
    emu_clock_copy(cluster, &barrier->completed, &barrier->clock);
    emu_clock_clear(cluster, &barrier->clock);
    emu_changed(cluster);
}

// A thread that gives a stage back after it has waited for its wgmmas speaks for its warpgroup:
// CUTLASS lets one thread of 128 arrive. What the warp itself does next is not covered by that.
static void speak_for_warpgroup(struct emu_mbarrier *barrier, const struct emu_warp *warp) {
    uint32_t own = emu_wgmma_agent(warp), first = own - (warp->index & 3);

    if ((warp->index | 3) >= warp->cta->warp_count) return;
    for (uint32_t agent = first; agent < first + 4; agent++) {
        if (barrier->clock.seen[agent] < warp->clock.seen[own])
            barrier->clock.seen[agent] = warp->clock.seen[own];
        if (barrier->clock.async[agent] < warp->clock.async[own])
            barrier->clock.async[agent] = warp->clock.async[own];
    }
}

bool emu_mbarrier_arrive(struct emu_mbarrier *barrier, struct emu_warp *warp,
                         const struct emu_insn *insn, const struct emu_clock *clock, uint32_t count,
                         const char *what) {
    char name[64];

    if (count == 0 || count > barrier->pending) {
        emu_fatal(warp, insn, EMU_BARRIER_MISUSE,
                  "%u arrivals at %s, where %u of %u are due in phase %u (%lld bytes outstanding)",
                  count, emu_barrier_text(barrier->cta, barrier->offset, name, sizeof name),
                  barrier->pending, barrier->expected, barrier->phase, (long long)barrier->bytes);
        return false;
    }
    barrier->pending -= count;
    barrier->last = warp;
    barrier->last_insn = insn;
    barrier->last_what = what;
    barrier->arrived |= emu_agent_bit(warp);
    if (clock != NULL) emu_clock_join(barrier->cta->cluster, &barrier->clock, clock);
    if (clock != NULL && warp->pending != NULL) speak_for_warpgroup(barrier, warp);
    warp->cta->cluster->last_change = emu_machine(warp)->steps;
    warp->cta->cluster->expiries = 0;
    return true;
}

bool emu_mbarrier_add_bytes(struct emu_mbarrier *barrier, struct emu_warp *warp,
                            const struct emu_insn *insn, int64_t bytes) {
    char name[64];

    barrier->bytes += bytes;
    barrier->cta->cluster->expiries = 0;
    if (bytes > 0) {
        barrier->promised += bytes;
        barrier->armed = warp;
        barrier->armed_insn = insn;
    }
    if (barrier->bytes <= EMU_MBARRIER_MAX && barrier->bytes >= -EMU_MBARRIER_MAX) return true;
    emu_fatal(warp, insn, EMU_BARRIER_MISUSE, "the byte count of %s leaves its range: %lld",
              emu_barrier_text(barrier->cta, barrier->offset, name, sizeof name),
              (long long)barrier->bytes);
    return false;
}

void emu_mbarrier_check_init(struct emu_warp *warp, const struct emu_insn *insn,
                             const struct emu_clock *clock, const struct emu_mbarrier *barrier) {
    char name[64], who[64];

    if (emu_machine(warp)->check && clock->seen[barrier->init_agent] < barrier->init_time &&
        barrier->init_agent != warp->agent)
        emu_report(warp, insn, EMU_RACE,
                   "%s uses %s, whose mbarrier.init is not ordered before this",
                   emu_warp_text(warp, who, sizeof who),
                   emu_barrier_text(barrier->cta, barrier->offset, name, sizeof name));
}

void emu_mbarriers_fence(struct emu_warp *warp) {
    struct emu_cluster *cluster = warp->cta->cluster;

    for (unsigned i = 0; i < cluster->cta_count; i++)
        for (struct emu_mbarrier *b = cluster->ctas[i].mbarriers; b != NULL; b = b->next)
            b->fenced |= warp->clock.seen[b->init_agent] >= b->init_time;
}

// The async proxy sees an init only behind a fence (PTX ISA 9.7.13.4, fence.mbarrier_init). Not so
// where CUDA's library has made a bulk copy of a cuda::memcpy_async: it asks its callers for none.
static void check_fence(const struct emu_async *op, struct emu_mbarrier *barrier) {
    char name[64], where[EMU_PLACE_TEXT];

    if (!op->through_proxy || barrier->fenced || !emu_machine(op->warp)->check ||
        op->clock.async[barrier->init_agent] >= barrier->init_time)
        return;
    barrier->fenced = true;  // once is enough
    if (emu_comes_from(emu_machine(op->warp), op->insn, "/cuda/__memcpy_async/")) return;
    emu_report(op->warp, op->insn, EMU_MISSING_PROXY_FENCE,
               "%s counts bytes at %s, whose mbarrier.init the async proxy need not see\n"
               "  initialised at %s\n"
               "  neither fence.mbarrier_init nor fence.proxy.async lies between the two",
               op->what, emu_barrier_text(barrier->cta, barrier->offset, name, sizeof name),
               emu_place_text(emu_machine(op->warp), barrier->init_insn, where, sizeof where));
}

void emu_mbarrier_complete_bytes(struct emu_async *op, struct emu_cta *cta, uint32_t offset,
                                 uint32_t bytes) {
    struct emu_mbarrier *barrier = emu_mbarrier_at(cta, offset);

    if (barrier == NULL)
        emu_fatal(op->warp, op->insn, EMU_BARRIER_MISUSE,
                  "%s completes at 0x%x in CTA rank %u, where there is no mbarrier", op->what,
                  offset, cta->rank);
    if (barrier == NULL || cta->live_warps == 0) return;  // its exit has been reported
    emu_mbarrier_check_init(op->warp, op->insn, &op->clock, barrier);
    check_fence(op, barrier);
    emu_clock_join(cta->cluster, &barrier->clock, &op->clock);
    barrier->last = op->warp;
    barrier->last_insn = op->insn;
    barrier->last_what = op->what;
    barrier->bringers |= emu_agent_bit(op->warp);
    if (barrier->least == 0 || bytes < barrier->least) barrier->least = bytes;
    if (emu_mbarrier_add_bytes(barrier, op->warp, op->insn, -(int64_t)bytes))
        emu_mbarrier_end_phase(barrier);
}

void emu_mbarrier_arrive_async(struct emu_async *op, struct emu_mbarrier *barrier) {
    if (emu_mbarrier_arrive(barrier, op->warp, op->insn, &op->clock,
                            (uint32_t)__builtin_popcount(op->lanes), op->what))
        emu_mbarrier_end_phase(barrier);
}

void emu_mbarriers_check_end(struct emu_warp *warp) {
    const struct emu_insn *end =
        &emu_machine(warp)->program->code[emu_machine(warp)->program->functions->end_pc - 1];
    char name[64];

    for (struct emu_mbarrier *barrier = warp->cta->mbarriers; barrier != NULL;
         barrier = barrier->next)
        if (barrier->valid && barrier->bytes != 0)
            emu_report(warp, barrier->last_insn ? barrier->last_insn : end, EMU_BARRIER_MISUSE,
                       "the CTA has exited, and %s still %s %lld bytes",
                       emu_barrier_text(barrier->cta, barrier->offset, name, sizeof name),
                       barrier->bytes > 0 ? "waits for" : "has a surplus of",
                       (long long)(barrier->bytes > 0 ? barrier->bytes : -barrier->bytes));
}

// The mbarrier instructions (PTX ISA 9.7.13.15): every form is count, bytes, phase and a clock to
// join. A phase ends when no arrival and no byte is due; its waiters then know all that its
// arrivers knew.
#include "runtime/emu/machine/mbarrier.h"
#include "runtime/emu/exec/lanes.h"

#include <stdlib.h>

enum { COUNT_MAX = (1 << 20) - 1 };

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

// ---- the object ----

static void end_phase_if_done(struct emu_mbarrier *barrier) {
    struct emu_cluster *cluster = barrier->cta->cluster;

    if (barrier->pending != 0 || barrier->bytes != 0) return;
    barrier->phase++;
    barrier->pending = barrier->expected;
    barrier->arrived = 0;
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

static bool arrive(struct emu_mbarrier *barrier, struct emu_warp *warp, const struct emu_insn *insn,
                   const struct emu_clock *clock, uint32_t count, const char *what) {
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
    barrier->arrived |= warp->agent < 64 ? UINT64_C(1) << warp->agent : 0;
    emu_clock_join(barrier->cta->cluster, &barrier->clock, clock);
    if (warp->wgmma != NULL) speak_for_warpgroup(barrier, warp);
    warp->cta->cluster->last_change = emu_machine(warp)->steps;
    return true;
}

static bool add_bytes(struct emu_mbarrier *barrier, struct emu_warp *warp,
                      const struct emu_insn *insn, int64_t bytes) {
    char name[64];

    barrier->bytes += bytes;
    if (barrier->bytes <= COUNT_MAX && barrier->bytes >= -COUNT_MAX) return true;
    emu_fatal(warp, insn, EMU_BARRIER_MISUSE, "the byte count of %s leaves its range: %lld",
              emu_barrier_text(barrier->cta, barrier->offset, name, sizeof name),
              (long long)barrier->bytes);
    return false;
}

// Whoever uses [barrier] must know that it is there.
static void check_init(struct emu_warp *warp, const struct emu_insn *insn,
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

// The async proxy sees an init only behind a fence (PTX ISA 9.7.13.4, fence.mbarrier_init).
static void check_fence(const struct emu_async *op, struct emu_mbarrier *barrier) {
    char name[64], where[300];

    if (!op->through_proxy || barrier->fenced || !emu_machine(op->warp)->check ||
        op->clock.async[barrier->init_agent] >= barrier->init_time)
        return;
    barrier->fenced = true;  // once is enough
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
    check_init(op->warp, op->insn, &op->clock, barrier);
    check_fence(op, barrier);
    emu_clock_join(cta->cluster, &barrier->clock, &op->clock);
    barrier->last = op->warp;
    barrier->last_insn = op->insn;
    barrier->last_what = op->what;
    if (add_bytes(barrier, op->warp, op->insn, -(int64_t)bytes)) end_phase_if_done(barrier);
}

void emu_mbarrier_arrive_async(struct emu_async *op, struct emu_mbarrier *barrier) {
    if (arrive(barrier, op->warp, op->insn, &op->clock, 1, op->what)) end_phase_if_done(barrier);
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

// ---- instructions ----

// The mbarrier that [lane] means; NULL after a report.
static struct emu_mbarrier *find(struct emu_warp *warp, const struct emu_insn *insn, unsigned at,
                                 unsigned lane) {
    uint64_t address = emu_address(warp, insn, at, lane);
    struct emu_cta *cta;
    uint32_t offset;
    char name[64];

    if (!emu_shared_address(warp, insn, address, &cta, &offset)) return NULL;
    struct emu_mbarrier *barrier = emu_mbarrier_at(cta, offset);
    if (barrier == NULL && cta->live_warps == 0) return NULL;  // reported
    if (barrier == NULL) {
        emu_fatal(warp, insn, EMU_BARRIER_MISUSE,
                  "there is no mbarrier at 0x%x of CTA rank %u (%s)", offset, cta->rank,
                  emu_barrier_text(cta, offset, name, sizeof name));
        return NULL;
    }
    check_init(warp, insn, &warp->clock, barrier);
    return barrier;
}

static struct emu_mbarrier *new_barrier(struct emu_cta *cta, uint32_t offset) {
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
    cta->mbarriers = barrier;
    return barrier;
}

EMU_HANDLER(init) {
    char name[64];

    EMU_EACH_LANE(lane, mask) {
        struct emu_cta *cta;
        uint32_t offset, count = emu_r32(warp, insn->op[2])[lane];
        uint64_t address = emu_address(warp, insn, 0, lane);
        if (!emu_shared_address(warp, insn, address, &cta, &offset)) return EMU_NEXT;
        struct emu_mbarrier *old = emu_mbarrier_at(cta, offset);
        if (old != NULL && old->init_insn == insn && old->init_agent == warp->agent &&
            old->init_time == warp->clock.seen[warp->agent] && old->expected == count &&
            old->pending == count && old->phase == 0)
            continue;  // by another lane of this instruction
        if (old != NULL || count == 0 || count > COUNT_MAX) {
            emu_barrier_text(cta, offset, name, sizeof name);
            if (old != NULL)
                emu_fatal(warp, insn, EMU_BARRIER_MISUSE,
                          "%s is initialised again while in use: phase %u, %u of %u arrivals due",
                          name, old->phase, old->pending, old->expected);
            else
                emu_fatal(warp, insn, EMU_BARRIER_MISUSE, "%s with a count of %u", name, count);
            return EMU_NEXT;
        }
        uint8_t *bytes = emu_access(warp, insn, lane, address, 8, EMU_WRITE);
        struct emu_mbarrier *barrier = bytes ? new_barrier(cta, offset) : NULL;
        if (barrier == NULL) return EMU_NEXT;
        if (emu_machine(warp)->check) emu_shadow_barrier(cta, offset);
        barrier->valid = true;
        barrier->fenced = false;
        barrier->expected = barrier->pending = count;
        barrier->bytes = 0;
        barrier->phase = 0;
        barrier->arrived = 0;
        barrier->last = NULL;
        barrier->init_agent = warp->agent;
        barrier->init_time = warp->clock.seen[warp->agent];
        barrier->init_insn = insn;
        emu_clock_clear(cta->cluster, &barrier->clock);
        emu_clock_clear(cta->cluster, &barrier->completed);
    }
    return EMU_NEXT;
}

EMU_HANDLER(inval) {
    EMU_EACH_LANE(lane, mask) {
        struct emu_mbarrier *barrier = find(warp, insn, 0, lane);
        if (barrier == NULL) return EMU_NEXT;
        barrier->valid = false;
    }
    return EMU_NEXT;
}

// What an arrival returns: its phase, and above it the arrivals that were pending before.
// aux of arrivals: where the address is, and what else the instruction does
enum { ARRIVE_STATE = 1, ARRIVE_EXPECT = 2, ARRIVE_DROP = 4 };

EMU_HANDLER(arrive_insn) {
    int aux = insn->row->aux;
    unsigned at = aux & ARRIVE_STATE ? 1 : 0;
    uint32_t operand = insn->op[at + 2];
    char name[64];

    EMU_EACH_LANE(lane, mask) {
        struct emu_mbarrier *barrier = find(warp, insn, at, lane);
        if (barrier == NULL) return EMU_NEXT;
        if (barrier->cta->live_warps == 0) continue;  // reported; the arrival is lost
        uint32_t number = operand == EMU_NO_PC ? 1 : emu_r32(warp, operand)[lane];
        uint32_t arrivals = aux & ARRIVE_EXPECT ? 1 : number;
        uint64_t token = barrier->phase | (uint64_t)barrier->pending << 32;
        if ((aux & ARRIVE_EXPECT) && !add_bytes(barrier, warp, insn, number)) return EMU_NEXT;
        if (!arrive(barrier, warp, insn, &warp->clock, arrivals, NULL)) return EMU_NEXT;
        if (aux & ARRIVE_DROP) barrier->expected -= arrivals;
        if ((aux & ARRIVE_STATE) && insn->op[0] != 0) emu_r64(warp, insn->op[0])[lane] = token;
        if ((insn->flags & F_NOCOMPLETE) && barrier->pending == 0 && barrier->bytes == 0)
            emu_fatal(warp, insn, EMU_BARRIER_MISUSE,
                      "an arrival with .noComplete completes the phase of %s",
                      emu_barrier_text(barrier->cta, barrier->offset, name, sizeof name));
        end_phase_if_done(barrier);
    }
    emu_tick(warp);
    return EMU_NEXT;
}

// aux: sign of the change
EMU_HANDLER(change_bytes) {
    EMU_EACH_LANE(lane, mask) {
        struct emu_mbarrier *barrier = find(warp, insn, 0, lane);
        int64_t bytes = emu_r32(warp, insn->op[2])[lane];
        if (barrier == NULL) return EMU_NEXT;
        if (barrier->cta->live_warps == 0) continue;
        barrier->last = warp;
        barrier->last_insn = insn;
        barrier->last_what = NULL;
        if (!add_bytes(barrier, warp, insn, insn->row->aux * bytes)) return EMU_NEXT;
        if (insn->row->aux < 0) end_phase_if_done(barrier);
    }
    return EMU_NEXT;
}

// PTX leaves open how long try_wait blocks: at times it is in vain.
static bool gives_up(struct emu_warp *warp) {
    enum { ONE_IN = 8 };

    return !emu_waiting(warp, WAIT_MBARRIER) &&
           emu_random(&warp->cta->cluster->random) % ONE_IN == 0;
}

// aux: try_wait blocks until the phase has ended, test_wait only looks
EMU_HANDLER(wait) {
    bool parity = insn->flags & F_PARITY;
    uint32_t done = 0;
    struct emu_mbarrier *pending = NULL;

    EMU_EACH_LANE(lane, mask) {
        struct emu_mbarrier *barrier = find(warp, insn, 1, lane);
        if (barrier == NULL) return EMU_NEXT;
        uint64_t asked = emu_get(warp, insn->op[3] | (parity ? 0 : EMU_WIDE), lane);
        bool ended =
            parity ? (barrier->phase & 1) != (asked & 1) : barrier->phase != (uint32_t)asked;
        if (parity && asked > 1) {
            emu_fatal(warp, insn, EMU_BAD_OPERAND, "phase parity is %llu",
                      (unsigned long long)asked);
            return EMU_NEXT;
        }
        if (ended)
            emu_clock_join(warp->cta->cluster, &warp->clock, &barrier->completed);
        else
            pending = barrier;
        done |= (uint32_t)ended << lane;
    }
    if (pending != NULL && insn->row->aux && !gives_up(warp)) {
        struct emu_wait *wait_for = &emu_split(warp)->wait;
        emu_block(warp, WAIT_MBARRIER, pending->offset | pending->cta->rank << EMU_RANK_SHIFT);
        wait_for->generation = pending->phase;
        return EMU_BLOCKED;
    }
    emu_set_pred(warp, insn->op[0], mask, done);
    return pending ? EMU_YIELD : EMU_NEXT;
}

// What was due before the arrival that gave the state (observed).
EMU_HANDLER(pending_count) {
    EMU_EACH_LANE(lane, mask)
    emu_r32(warp, insn->op[0])[lane] = (uint32_t)(emu_r64(warp, insn->op[1])[lane] >> 32);
    return EMU_NEXT;
}

const struct emu_op emu_ops_mbarrier[] = {
    {"mbarrier.init{.SHARED}.b64", "mi", init, 0},
    {"mbarrier.inval{.SHARED}.b64", "m", inval, 0},
    {"mbarrier.expect_tx{.relaxed}{.SCOPE}{.SHARED}.b64", "mi", change_bytes, 1},
    {"mbarrier.complete_tx{.relaxed}{.SCOPE}{.SHARED}.b64", "mi", change_bytes, -1},
    {"mbarrier.arrive{.SEM}{.SCOPE}{.SHARED}.b64", "Jm?i", arrive_insn, ARRIVE_STATE},
    {"mbarrier.arrive{.SEM}{.SCOPE}{.SHARED}.b64", "m?i", arrive_insn, 0},
    {"mbarrier.arrive.noComplete{.SEM}{.SCOPE}{.SHARED}.b64", "Jmi", arrive_insn, ARRIVE_STATE},
    {"mbarrier.arrive.expect_tx{.SEM}{.SCOPE}{.SHARED}.b64", "Jmi", arrive_insn,
     ARRIVE_STATE | ARRIVE_EXPECT},
    {"mbarrier.arrive.expect_tx{.SEM}{.SCOPE}{.SHARED}.b64", "mi", arrive_insn, ARRIVE_EXPECT},
    {"mbarrier.arrive_drop{.SEM}{.SCOPE}{.SHARED}.b64", "Jm?i", arrive_insn,
     ARRIVE_STATE | ARRIVE_DROP},
    {"mbarrier.arrive_drop{.SEM}{.SCOPE}{.SHARED}.b64", "m?i", arrive_insn, ARRIVE_DROP},
    {"mbarrier.arrive_drop.noComplete{.SEM}{.SCOPE}{.SHARED}.b64", "Jmi", arrive_insn,
     ARRIVE_STATE | ARRIVE_DROP},
    {"mbarrier.arrive_drop.expect_tx{.SEM}{.SCOPE}{.SHARED}.b64", "Jmi", arrive_insn,
     ARRIVE_STATE | ARRIVE_DROP | ARRIVE_EXPECT},
    {"mbarrier.test_wait{.SEM}{.SCOPE}{.SHARED}.b64", "Pmj", wait, 0},
    {"mbarrier.test_wait.parity{.SEM}{.SCOPE}{.SHARED}.b64", "Pmi", wait, 0},
    {"mbarrier.try_wait{.SEM}{.SCOPE}{.SHARED}.b64", "Pmj?i", wait, 1},
    {"mbarrier.try_wait.parity{.SEM}{.SCOPE}{.SHARED}.b64", "Pmi?i", wait, 1},
    {"mbarrier.pending_count.b64", "Ij", pending_count, 0},
    {NULL, NULL, NULL, 0},
};

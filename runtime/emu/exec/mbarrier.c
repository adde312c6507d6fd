// The mbarrier instructions (PTX ISA 9.7.13.15), lane by lane. What a change does to the object,
// and who learns what by it, is machine/mbarrier.c's.
#include "runtime/emu/machine/mbarrier.h"
#include "runtime/emu/exec/lanes.h"

// What the lane before asked for: most often all ask for one mbarrier.
struct found {
    uint64_t address;
    struct emu_mbarrier *barrier;  // NULL: none has asked
};

// The mbarrier that [lane] means; NULL after a report.
static struct emu_mbarrier *find(struct emu_warp *warp, const struct emu_insn *insn, unsigned at,
                                 unsigned lane, struct found *before) {
    uint64_t address = emu_address(warp, insn, at, lane);
    struct emu_cta *cta;
    uint32_t offset;
    char name[64];

    if (before->barrier != NULL && before->address == address && before->barrier->valid &&
        before->barrier->cta->live_warps != 0) {
        emu_mbarrier_check_init(warp, insn, &warp->clock, before->barrier);
        return before->barrier;
    }
    if (!emu_shared_address(warp, insn, address, &cta, &offset)) return NULL;
    struct emu_mbarrier *barrier = emu_mbarrier_at(cta, offset);
    if (barrier == NULL && cta->live_warps == 0) return NULL;  // reported
    if (barrier == NULL) {
        emu_fatal(warp, insn, EMU_BARRIER_MISUSE,
                  "there is no mbarrier at 0x%x of CTA rank %u (%s)", offset, cta->rank,
                  emu_barrier_text(cta, offset, name, sizeof name));
        return NULL;
    }
    emu_mbarrier_check_init(warp, insn, &warp->clock, barrier);
    *before = (struct found){address, barrier};
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
        if (old != NULL || count == 0 || count > EMU_MBARRIER_MAX) {
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
        if (bytes == NULL || !emu_mbarrier_init(cta, offset, count, warp, insn)) return EMU_NEXT;
        if (emu_machine(warp)->check) emu_shadow_barrier(cta->shadow, offset);
    }
    return EMU_NEXT;
}

EMU_HANDLER(inval) {
    struct found found = {0};

    EMU_EACH_LANE(lane, mask) {
        struct emu_mbarrier *barrier = find(warp, insn, 0, lane, &found);
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
    uint32_t operand = insn->op[at + 2], phase = 0;
    const struct emu_mbarrier *joined = NULL;  // has the warp's clock in [phase] of its
    struct found found = {0};
    char name[64];

    EMU_EACH_LANE(lane, mask) {
        struct emu_mbarrier *barrier = find(warp, insn, at, lane, &found);
        if (barrier == NULL) return EMU_NEXT;
        if (barrier->cta->live_warps == 0) continue;  // reported; the arrival is lost
        uint32_t number = operand == EMU_NO_PC ? 1 : emu_r32(warp, operand)[lane];
        uint32_t arrivals = aux & ARRIVE_EXPECT ? 1 : number;
        uint64_t token = barrier->phase | (uint64_t)barrier->pending << 32;
        if ((aux & ARRIVE_EXPECT) && !emu_mbarrier_add_bytes(barrier, warp, insn, number))
            return EMU_NEXT;
        bool again = joined == barrier && phase == barrier->phase;
        if (!emu_mbarrier_arrive(barrier, warp, insn, again ? NULL : &warp->clock, arrivals, NULL))
            return EMU_NEXT;
        joined = barrier;
        phase = barrier->phase;
        if (aux & ARRIVE_DROP) barrier->expected -= arrivals;
        if ((aux & ARRIVE_STATE) && insn->op[0] != 0) emu_r64(warp, insn->op[0])[lane] = token;
        if ((insn->flags & F_NOCOMPLETE) && barrier->pending == 0 && barrier->bytes == 0)
            emu_fatal(warp, insn, EMU_BARRIER_MISUSE,
                      "an arrival with .noComplete completes the phase of %s",
                      emu_barrier_text(barrier->cta, barrier->offset, name, sizeof name));
        emu_mbarrier_end_phase(barrier);
    }
    emu_tell(warp, mask, warp->clock.seen[warp->agent]);
    emu_tick(warp);
    return EMU_NEXT;
}

// aux: sign of the change
EMU_HANDLER(change_bytes) {
    struct found found = {0};

    EMU_EACH_LANE(lane, mask) {
        struct emu_mbarrier *barrier = find(warp, insn, 0, lane, &found);
        int64_t bytes = emu_r32(warp, insn->op[2])[lane];
        if (barrier == NULL) return EMU_NEXT;
        if (barrier->cta->live_warps == 0) continue;
        barrier->last = warp;
        barrier->last_insn = insn;
        barrier->last_what = NULL;
        if (!emu_mbarrier_add_bytes(barrier, warp, insn, insn->row->aux * bytes)) return EMU_NEXT;
        if (insn->row->aux < 0) emu_mbarrier_end_phase(barrier);
    }
    return EMU_NEXT;
}

// PTX leaves open how long try_wait blocks: at times it is in vain, and else until all stand still.
static bool gives_up(struct emu_warp *warp) {
    enum { ONE_IN = 8 };

    if (emu_waiting(warp, WAIT_MBARRIER)) return emu_split(warp)->wait.expired;
    return emu_random(&warp->cta->cluster->random) % ONE_IN == 0;
}

// Has the phase that the split waits for not ended? Then nothing else needs to be looked at.
static bool still_pending(struct emu_warp *warp) {
    const struct emu_wait *wait = &emu_split(warp)->wait;

    if (wait->kind != WAIT_MBARRIER || wait->expired) return false;
    const struct emu_cta *cta = &warp->cta->cluster->ctas[wait->object >> EMU_RANK_SHIFT];
    const struct emu_mbarrier *barrier =
        emu_mbarrier_at(cta, wait->object & ((1u << EMU_RANK_SHIFT) - 1));
    return barrier != NULL && barrier->phase == wait->generation;
}

// aux: try_wait blocks until the phase has ended, test_wait only looks
EMU_HANDLER(wait) {
    if (still_pending(warp)) return EMU_BLOCKED;
    bool parity = insn->flags & F_PARITY;
    uint32_t done = 0, learnt = 0;
    struct emu_mbarrier *pending = NULL, *last = NULL;
    struct found found = {0};

    EMU_EACH_LANE(lane, mask) {
        struct emu_mbarrier *barrier = find(warp, insn, 1, lane, &found);
        if (barrier == NULL) return EMU_NEXT;
        uint64_t asked = emu_get(warp, insn->op[3] | (parity ? 0 : EMU_WIDE), lane);
        bool ended =
            parity ? (barrier->phase & 1) != (asked & 1) : barrier->phase != (uint32_t)asked;
        if (parity && asked > 1) {
            emu_fatal(warp, insn, EMU_BAD_OPERAND, "phase parity is %llu",
                      (unsigned long long)asked);
            return EMU_NEXT;
        }
        if (ended && last != NULL && last != barrier) {  // most often all ask for one
            emu_learn(warp, done & ~learnt, &last->completed);
            learnt = done;
        }
        if (ended)
            last = barrier;
        else
            pending = barrier;
        done |= (uint32_t)ended << lane;
    }
    if (last != NULL) emu_learn(warp, done & ~learnt, &last->completed);
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
    {"mbarrier.expect_tx{.relaxed}{.SCOPE}{.SHARED}.b64", "mi", change_bytes, 1, 0,
     TMG_HAS_CLUSTERS},
    {"mbarrier.complete_tx{.relaxed}{.SCOPE}{.SHARED}.b64", "mi", change_bytes, -1, 0,
     TMG_HAS_CLUSTERS},
    {"mbarrier.arrive{.SEM}{.SCOPE}{.SHARED}.b64", "Jm?i", arrive_insn, ARRIVE_STATE},
    {"mbarrier.arrive{.SEM}{.SCOPE}{.SHARED}.b64", "m?i", arrive_insn, 0},
    {"mbarrier.arrive.noComplete{.SEM}{.SCOPE}{.SHARED}.b64", "Jmi", arrive_insn, ARRIVE_STATE},
    {"mbarrier.arrive.expect_tx{.SEM}{.SCOPE}{.SHARED}.b64", "Jmi", arrive_insn,
     ARRIVE_STATE | ARRIVE_EXPECT, 0, TMG_HAS_CLUSTERS},
    {"mbarrier.arrive.expect_tx{.SEM}{.SCOPE}{.SHARED}.b64", "mi", arrive_insn, ARRIVE_EXPECT, 0,
     TMG_HAS_CLUSTERS},
    {"mbarrier.arrive_drop{.SEM}{.SCOPE}{.SHARED}.b64", "Jm?i", arrive_insn,
     ARRIVE_STATE | ARRIVE_DROP},
    {"mbarrier.arrive_drop{.SEM}{.SCOPE}{.SHARED}.b64", "m?i", arrive_insn, ARRIVE_DROP},
    {"mbarrier.arrive_drop.noComplete{.SEM}{.SCOPE}{.SHARED}.b64", "Jmi", arrive_insn,
     ARRIVE_STATE | ARRIVE_DROP},
    {"mbarrier.arrive_drop.expect_tx{.SEM}{.SCOPE}{.SHARED}.b64", "Jmi", arrive_insn,
     ARRIVE_STATE | ARRIVE_DROP | ARRIVE_EXPECT, 0, TMG_HAS_CLUSTERS},
    {"mbarrier.test_wait{.SEM}{.SCOPE}{.SHARED}.b64", "Pmj", wait, 0},
    {"mbarrier.test_wait.parity{.SEM}{.SCOPE}{.SHARED}.b64", "Pmi", wait, 0},
    {"mbarrier.try_wait{.SEM}{.SCOPE}{.SHARED}.b64", "Pmj?i", wait, 1, 0, TMG_HAS_CLUSTERS},
    {"mbarrier.try_wait.parity{.SEM}{.SCOPE}{.SHARED}.b64", "Pmi?i", wait, 1, 0, TMG_HAS_CLUSTERS},
    {"mbarrier.pending_count.b64", "Ij", pending_count, 0},
    {NULL, NULL, NULL, 0},
};

// cp.async and its groups (PTX ISA 9.7.9.25.3): each lane's 4, 8 or 16 bytes, ended by a group or
// an mbarrier. These copies belong to the generic proxy, so the async proxy needs a fence to see
// what they wrote.
#include "runtime/emu/exec/lanes.h"
#include "runtime/emu/machine/mbarrier.h"

#include <stdlib.h>
#include <string.h>

struct lane_copy {
    uint64_t source, destination;
    uint32_t bytes, from_source;  // the rest is zero
};

struct emu_copies {
    struct lane_copy lanes[EMU_LANES];
    uint8_t data[EMU_LANES][16];
};

static void read_sources(struct emu_async *op) {
    struct emu_copies *copy = op->copy;

    EMU_EACH_LANE(lane, op->lanes) {
        const struct lane_copy *one = &copy->lanes[lane];
        memset(copy->data[lane], 0, sizeof copy->data[lane]);
        // .src-size need not be a power of two; what is read by 8 bytes no hardware tears
        for (uint32_t at = 0, size; at < one->from_source; at += size) {
            uint32_t left = one->from_source - at;
            size = left < 4 ? 1 : left < 8 || (one->source + at) % 8 ? 4 : 8;
            const uint8_t *from = emu_access_in(op->warp, op->insn, SPACE_GENERIC, lane,
                                                one->source + at, size, EMU_READ);
            if (from == NULL) return;
            memcpy(copy->data[lane] + at, from, size);
        }
    }
}

static void write_destinations(struct emu_async *op) {
    struct emu_copies *copy = op->copy;
    struct emu_cta *cta = op->cta;

    EMU_EACH_LANE(lane, op->lanes) {
        const struct lane_copy *one = &copy->lanes[lane];
        uint32_t offset = (uint32_t)one->destination;
        emu_async_touch(op, cta, offset, one->bytes, EMU_WRITE);
        memcpy(cta->smem + offset, copy->data[lane], one->bytes);
    }
}

static void run_copy(struct emu_async *op, int stage) {
    if (stage == 0) {
        read_sources(op);
        return;
    }
    write_destinations(op);
    op->clock.seen[op->agent] = op->time;
}

EMU_HANDLER(copy) {
    struct emu_async *op = emu_async_new(warp, insn, mask, ASYNC_COPY, "cp.async");
    struct emu_copies *copy = calloc(1, sizeof *copy);
    uint32_t bytes = insn->op[4];

    if (op == NULL || copy == NULL) {
        free(copy);
        return EMU_NEXT;
    }
    op->copy = copy;
    op->run = run_copy;
    op->in_copy_group = true;
    op->through_proxy = false;
    EMU_EACH_LANE(lane, mask) {
        struct emu_cta *cta;
        uint32_t offset, from_source = bytes;
        uint64_t to = emu_address(warp, insn, 0, lane), from = emu_address(warp, insn, 2, lane);
        if (insn->row->aux == 1 && insn->op[5] != EMU_NO_PC)
            from_source = emu_r32(warp, insn->op[5])[lane];
        if (insn->row->aux == 2 && (emu_pred(warp, insn->op[5]) >> lane & 1)) from_source = 0;
        if ((bytes != 4 && bytes != 8 && bytes != 16) || from_source > bytes) {
            emu_fatal(warp, insn, EMU_BAD_OPERAND, "cp.async of %u bytes, %u from the source",
                      bytes, from_source);
            break;
        }
        if (!emu_shared_address(warp, insn, to, &cta, &offset)) break;
        if (to % bytes || from % bytes || offset < EMU_SMEM_RESERVED ||
            offset + bytes > cta->smem_bytes) {
            emu_fatal(warp, insn, to % bytes || from % bytes ? EMU_MISALIGNED : EMU_OUT_OF_BOUNDS,
                      "cp.async of %u bytes from 0x%llx to shared memory 0x%x", bytes,
                      (unsigned long long)from, offset);
            break;
        }
        copy->lanes[lane] = (struct lane_copy){from, offset, bytes, from_source};
    }
    emu_async_start(op);
    emu_tick(warp);
    return EMU_NEXT;
}

EMU_HANDLER(commit) {
    (void)insn;
    EMU_EACH_LANE(lane, mask)
    warp->copies[lane].open++;
    return EMU_NEXT;
}

EMU_HANDLER(wait) {
    uint32_t allowed = insn->row->aux ? 0 : insn->op[0];

    if (insn->row->aux && !emu_waiting(warp, WAIT_COPY_GROUP))  // wait_all also ends the open group
        commit(warp, insn, mask);
    if (!emu_async_groups_done(warp, mask, false, allowed, false))
        return emu_block(warp, WAIT_COPY_GROUP, allowed);
    return EMU_NEXT;
}

// ---- cp.async.mbarrier.arrive: an arrival behind all earlier copies of the lane ----

static bool earlier_pending(const struct emu_async *op) {
    for (const struct emu_async *other = op->next; other != NULL; other = other->next)
        if (other->warp == op->warp && other->in_copy_group && other->stage < 2 &&
            (other->lanes & op->lanes))
            return true;
    return false;
}

static void run_arrive(struct emu_async *op, int stage) {
    if (stage == 0) return;
    if (earlier_pending(op)) {
        op->stage = 0;
        return;
    }
    struct emu_mbarrier *barrier = emu_mbarrier_at(op->cta, op->shared);
    if (barrier == NULL) {
        emu_fatal(op->warp, op->insn, EMU_BARRIER_MISUSE, "there is no mbarrier at 0x%x",
                  op->shared);
        return;
    }
    emu_mbarrier_arrive_async(op, barrier);
}

// The arrivals of [lanes], all at one mbarrier: they come together, when the last copy has ended.
static bool start_arrivals(struct emu_warp *warp, const struct emu_insn *insn, uint32_t lanes,
                           struct emu_cta *cta, uint32_t offset) {
    struct emu_mbarrier *barrier = emu_mbarrier_at(cta, offset);

    if (barrier == NULL) {
        emu_fatal(warp, insn, EMU_BARRIER_MISUSE, "there is no mbarrier at 0x%x", offset);
        return false;
    }
    struct emu_async *op =
        emu_async_new(warp, insn, lanes, ASYNC_ARRIVE, "cp.async.mbarrier.arrive");
    if (op == NULL) return false;
    op->run = run_arrive;
    op->through_proxy = false;
    op->cta = cta;
    op->shared = offset;
    emu_async_start(op);
    if (!(insn->flags & F_NOINC)) barrier->pending += (uint32_t)__builtin_popcount(lanes);
    return true;
}

EMU_HANDLER(arrive) {
    struct emu_cta *ctas[EMU_LANES];
    uint32_t offsets[EMU_LANES];

    EMU_EACH_LANE(lane, mask)
    if (!emu_shared_address(warp, insn, emu_address(warp, insn, 0, lane), &ctas[lane],
                            &offsets[lane]))
        return EMU_NEXT;
    while (mask != 0) {
        unsigned first = (unsigned)__builtin_ctz(mask);
        uint32_t same = 0;
        EMU_EACH_LANE(lane, mask)
        same |= (uint32_t)(ctas[lane] == ctas[first] && offsets[lane] == offsets[first]) << lane;
        if (!start_arrivals(warp, insn, same, ctas[first], offsets[first])) return EMU_NEXT;
        mask &= ~same;
    }
    emu_tick(warp);
    return EMU_NEXT;
}

const struct emu_op emu_ops_copy[] = {
    {"cp.async.ca.SHARED.global{.L2::cache_hint}{.CACHE}", "mmn", copy, 0},
    {"cp.async.cg.SHARED.global{.L2::cache_hint}{.CACHE}", "mmn", copy, 0},
    {"cp.async.ca.SHARED.global{.CACHE}", "mmni", copy, 1},
    {"cp.async.cg.SHARED.global{.CACHE}", "mmni", copy, 1},
    {"cp.async.ca.SHARED.global{.CACHE}", "mmnp", copy, 2},
    {"cp.async.cg.SHARED.global{.CACHE}", "mmnp", copy, 2},
    {"cp.async.ca.SHARED.global.L2::cache_hint{.CACHE}", "mmnij", copy, 1},
    {"cp.async.cg.SHARED.global.L2::cache_hint{.CACHE}", "mmnij", copy, 1},
    {"cp.async.ca.SHARED.global.L2::cache_hint{.CACHE}", "mmnpj", copy, 2},
    {"cp.async.cg.SHARED.global.L2::cache_hint{.CACHE}", "mmnpj", copy, 2},
    {"cp.async.ca.SHARED.global.L2::cache_hint{.CACHE}", "mmnj", copy, 0},
    {"cp.async.cg.SHARED.global.L2::cache_hint{.CACHE}", "mmnj", copy, 0},
    {"cp.async.commit_group", "", commit, 0},
    {"cp.async.wait_group", "n", wait, 0},
    {"cp.async.wait_all", "", wait, 1},
    {"cp.async.mbarrier.arrive{.noinc}{.SHARED}.b64", "m", arrive, 0},
    {NULL, NULL, NULL, 0},
};

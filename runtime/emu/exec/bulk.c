// cp.async.bulk: plain runs of bytes between global and shared memory, and bulk groups (PTX ISA
// 9.7.9.25.4). The unit is one lane's copy; most kernels elect one lane.
#include "runtime/emu/check/profile.h"
#include "runtime/emu/exec/lanes.h"
#include "runtime/emu/machine/mbarrier.h"

#include <stdlib.h>
#include <string.h>

enum { BULK_LOAD, BULK_STORE, BULK_PEER, REDUCE = 1 << 8 };

// The global bytes [address, address + bytes) of one allocation; NULL after a report.
static uint8_t *global_bytes(struct emu_async *op, uint64_t address, size_t bytes,
                             enum emu_use use) {
    struct emu_allocation *found = emu_memory_find(emu_machine(op->warp)->memory, address);
    char where[EMU_MEMORY_TEXT];

    if (found == NULL || bytes > found->bytes - (address - found->base)) {
        emu_fatal(op->warp, op->insn, EMU_OUT_OF_BOUNDS, "%s of %zu bytes at %s", op->what, bytes,
                  found ? emu_memory_text(emu_machine(op->warp), found, address - found->base,
                                          bytes, where, sizeof where)
                        : "an address where nothing is");
        return NULL;
    }
    uint64_t offset = address - found->base;
    emu_async_touch_global(op, found, offset, bytes, use, use == EMU_WRITE ? op->bytes : NULL);
    if (emu_machine(op->warp)->launch->profile)
        emu_profile_copy(emu_machine(op->warp), op->insn, address, bytes);
    return found->data + offset;
}

static void complete_in(struct emu_async *op, struct emu_cta *cta) {
    emu_async_touch(op, cta, op->shared, (uint32_t)op->byte_count, EMU_WRITE);
    memcpy(cta->smem + op->shared, op->bytes, op->byte_count);
    emu_mbarrier_complete_bytes(op, cta, op->barrier, (uint32_t)op->byte_count);
}

static void run_load(struct emu_async *op, int stage) {
    if (stage == 0) {
        const uint8_t *from = global_bytes(op, op->bulk.source, op->byte_count, EMU_READ);
        if (from != NULL) memcpy(op->bytes, from, op->byte_count);
        return;
    }
    emu_async_deliver(op, complete_in);
}

static void run_store(struct emu_async *op, int stage) {
    if (stage == 0) {
        emu_async_touch(op, op->cta, op->shared, (uint32_t)op->byte_count, EMU_READ);
        memcpy(op->bytes, op->cta->smem + op->shared, op->byte_count);
        return;
    }
    uint8_t *to = global_bytes(op, op->bulk.destination, op->byte_count,
                               op->bulk.reduces ? EMU_ATOMIC : EMU_WRITE);
    if (to == NULL) return;
    if (op->bulk.reduces)
        emu_reduce(op->insn, to, op->bytes, op->byte_count);
    else
        memcpy(to, op->bytes, op->byte_count);
}

// From the issuer's shared memory to a peer's; op->shared is the source, destination the peer's
// window.
static void run_peer(struct emu_async *op, int stage) {
    struct emu_cluster *cluster = op->warp->cta->cluster;
    struct emu_cta *peer = &cluster->ctas[op->bulk.destination >> EMU_RANK_SHIFT];
    uint32_t offset = (uint32_t)op->bulk.destination & ((1u << EMU_RANK_SHIFT) - 1);

    if (stage == 0) {
        emu_async_touch(op, op->cta, op->shared, (uint32_t)op->byte_count, EMU_READ);
        memcpy(op->bytes, op->cta->smem + op->shared, op->byte_count);
        return;
    }
    emu_async_touch(op, peer, offset, (uint32_t)op->byte_count, EMU_WRITE);
    if (op->bulk.reduces)
        emu_reduce(op->insn, peer->smem + offset, op->bytes, op->byte_count);
    else
        memcpy(peer->smem + offset, op->bytes, op->byte_count);
    emu_mbarrier_complete_bytes(op, peer, op->barrier, (uint32_t)op->byte_count);
}

// The shared range of a bulk copy: 16-byte aligned and inside.
static bool shared_range(struct emu_warp *warp, const struct emu_insn *insn, uint64_t address,
                         uint64_t bytes, struct emu_cta **cta, uint32_t *offset) {
    if (!emu_shared_address(warp, insn, address, cta, offset)) return false;
    if (*offset % 16 || bytes % 16)
        emu_fatal(warp, insn, EMU_MISALIGNED,
                  "bulk copy of %llu bytes at 0x%x: both must be multiples of 16",
                  (unsigned long long)bytes, *offset);
    else if (*offset < EMU_SMEM_RESERVED || *offset + bytes > (*cta)->smem_bytes)
        emu_fatal(warp, insn, EMU_OUT_OF_BOUNDS,
                  "bulk copy of %llu bytes at 0x%x, outside of shared memory",
                  (unsigned long long)bytes, *offset);
    else
        return true;
    return false;
}

static bool start_lane(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                       int kind) {
    static const char *const names[] = {"bulk load", "bulk store", "bulk copy to a peer"};
    uint64_t to = emu_address(warp, insn, 0, lane), from = emu_address(warp, insn, 2, lane);
    uint32_t bytes = emu_r32(warp, insn->op[4])[lane], barrier, other;
    struct emu_cta *cta, *barrier_cta, *source_cta = warp->cta;

    if (!shared_range(warp, insn, kind == BULK_STORE ? from : to, bytes, &cta, &other))
        return false;
    uint64_t global = kind == BULK_STORE ? to : from;
    if (kind != BULK_PEER && global % 16) {
        emu_fatal(warp, insn, EMU_MISALIGNED,
                  "bulk copy with global address 0x%llx, not a multiple of 16",
                  (unsigned long long)global);
        return false;
    }
    struct emu_async *op = emu_async_new(warp, insn, 1u << lane, ASYNC_BULK, names[kind]);
    if (op == NULL) return false;
    op->byte_count = bytes;
    op->bytes = malloc(bytes + 16);
    op->bulk.source = from;
    op->bulk.destination = to;
    op->shared = other;
    op->cta = cta;
    op->bulk.reduces = insn->row->aux & REDUCE;
    op->run = kind == BULK_LOAD ? run_load : kind == BULK_STORE ? run_store : run_peer;
    op->in_bulk_group = kind == BULK_STORE;
    emu_async_start(op);
    if (kind == BULK_PEER) {
        if (!shared_range(warp, insn, from, bytes, &source_cta, &op->shared)) return false;
        op->cta = source_cta;
        op->bulk.destination = other | (uint64_t)cta->rank << EMU_RANK_SHIFT;
        op->ctas = 1u << cta->rank;
        op->from_shared = true;
    }
    if (kind != BULK_STORE) {
        if (!emu_shared_address(warp, insn, emu_address(warp, insn, 5, lane), &barrier_cta,
                                &barrier))
            return false;
        op->barrier = barrier;
        if (insn->flags & F_MULTICAST)
            return emu_async_multicast(op, emu_r32(warp, insn->op[7])[lane]);
    }
    return true;
}

EMU_HANDLER(bulk) {
    EMU_EACH_LANE(lane, mask)
    if (!start_lane(warp, insn, lane, insn->row->aux & 0xff)) return EMU_NEXT;
    emu_tick(warp);
    return EMU_NEXT;
}

// ---- groups ----

EMU_HANDLER(commit) {
    (void)insn;
    EMU_EACH_LANE(lane, mask)
    warp->bulk[lane].open++;
    return EMU_NEXT;
}

EMU_HANDLER(wait) {
    if (!emu_async_groups_done(warp, mask, true, insn->op[0], insn->flags & F_READ))
        return emu_block(warp, WAIT_BULK_GROUP, insn->op[0]);
    return EMU_NEXT;
}

// ---- clusterlaunchcontrol ----

// The 16 bytes that a request is answered with: PTX leaves open what they are.
struct answer {
    uint32_t ctaid[3], verdict;
};
enum { GRANTED = 0x634c6331, REFUSED = 0x634c6330, ANSWER_BYTES = sizeof(struct answer) };

// Takes the next cluster that has not begun. Hardware may refuse for reasons of its own, as it does
// here now and then, but for the order of seed 0.
static struct answer cancel_next(struct emu_cluster *cluster) {
    enum { ONE_IN = 8 };
    struct emu_machine *machine = cluster->machine;
    const unsigned *size = machine->cluster_size;
    bool unlucky = machine->launch->seed && emu_random(&cluster->random) % ONE_IN == 0;

    if (unlucky || machine->next_cluster == machine->cluster_total)
        return (struct answer){.verdict = REFUSED};
    uint64_t number = machine->next_cluster++;
    uint64_t x = machine->grid[0] / size[0], y = machine->grid[1] / size[1];
    machine->ended++;
    emu_changed(cluster);
    return (struct answer){{(uint32_t)(number % x) * size[0], (uint32_t)(number / x % y) * size[1],
                            (uint32_t)(number / x / y) * size[2]},
                           GRANTED};
}

static void run_cancel(struct emu_async *op, int stage) {
    if (stage == 0) {
        const struct answer answer = cancel_next(op->warp->cta->cluster);
        memcpy(op->bytes, &answer, sizeof answer);
        return;
    }
    emu_async_deliver(op, complete_in);
}

// A request for [lane]: the answer and its mbarrier are in the CTA's own memory.
static bool ask(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane) {
    static const char name[] = "answer of clusterlaunchcontrol.try_cancel";
    struct emu_cta *cta, *barrier_cta;
    uint32_t offset, barrier;

    if (!shared_range(warp, insn, emu_address(warp, insn, 0, lane), ANSWER_BYTES, &cta, &offset) ||
        !emu_shared_address(warp, insn, emu_address(warp, insn, 2, lane), &barrier_cta, &barrier))
        return false;
    if (cta != warp->cta || barrier_cta != warp->cta) {
        emu_fatal(warp, insn, EMU_BAD_OPERAND, "%s: %s lies in CTA rank %u, not in its own", name,
                  cta != warp->cta ? "it" : "its mbarrier",
                  cta != warp->cta ? cta->rank : barrier_cta->rank);
        return false;
    }
    struct emu_async *op = emu_async_new(warp, insn, 1u << lane, ASYNC_BULK, name);
    if (op == NULL) return false;
    op->byte_count = ANSWER_BYTES;
    op->bytes = malloc(ANSWER_BYTES);
    op->shared = offset;
    op->barrier = barrier;
    op->run = run_cancel;
    op->after_reads = true;
    emu_async_start(op);
    if (op->bytes == NULL) emu_fatal(warp, insn, EMU_BAD_LAUNCH, "out of memory");
    if (op->bytes == NULL) return false;
    return !insn->row->aux || emu_async_multicast(op, (1u << cta->cluster->cta_count) - 1);
}

EMU_HANDLER(try_cancel) {
    if (warp->cta->refused)
        emu_report(warp, insn, EMU_BAD_OPERAND,
                   "clusterlaunchcontrol.try_cancel in a CTA that knows of a refusal: what it does "
                   "then is undefined");
    EMU_EACH_LANE(lane, mask)
    if (!ask(warp, insn, lane)) return EMU_NEXT;
    emu_tick(warp);
    return EMU_NEXT;
}

// The answer in [lane]'s register of 128 bits: low halves of all lanes, then high ones.
static struct answer answer_of(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane) {
    const uint64_t *halves = emu_r64(warp, insn->op[1]);
    const uint64_t both[2] = {halves[lane], halves[lane + EMU_LANES]};
    struct answer answer;

    memcpy(&answer, both, sizeof answer);
    if (answer.verdict != GRANTED && answer.verdict != REFUSED)
        emu_report(warp, insn, EMU_BAD_OPERAND,
                   "these 16 bytes are no answer of clusterlaunchcontrol.try_cancel");
    return answer;
}

EMU_HANDLER(is_canceled) {
    uint32_t granted = 0;

    EMU_EACH_LANE(lane, mask)
    granted |= (uint32_t)(answer_of(warp, insn, lane).verdict == GRANTED) << lane;
    if (granted != mask) warp->cta->refused = true;
    emu_set_pred(warp, insn->op[0], mask, granted);
    return EMU_NEXT;
}

// aux: the axis, or 3 for all of them
EMU_HANDLER(first_ctaid) {
    int axis = insn->row->aux;
    const uint32_t *list = insn->op + insn->op[0];

    EMU_EACH_LANE(lane, mask) {
        const struct answer answer = answer_of(warp, insn, lane);
        if (answer.verdict == REFUSED)
            emu_report(warp, insn, EMU_BAD_OPERAND,
                       "the first CTA of a cluster whose launch has not been cancelled");
        for (uint32_t i = 0; axis == 3 && i < list[0]; i++)
            if (list[1 + i] & ~EMU_WIDE)
                emu_set(warp, list[1 + i], lane, i < 3 ? answer.ctaid[i] : 0);
        if (axis < 3 && insn->op[0] != 0) emu_r32(warp, insn->op[0])[lane] = answer.ctaid[axis];
    }
    return EMU_NEXT;
}

const struct emu_op emu_ops_bulk[] = {
#define LOAD(space)                                                                             \
    {"cp.async.bulk." space ".global.mbarrier::complete_tx::bytes", "mmim", bulk, BULK_LOAD},   \
        {"cp.async.bulk." space ".global.mbarrier::complete_tx::bytes.L2::cache_hint", "mmimj", \
         bulk, BULK_LOAD},                                                                      \
        {"cp.async.bulk." space ".global.mbarrier::complete_tx::bytes.multicast::cluster",      \
         "mmimi", bulk, BULK_LOAD},                                                             \
    {                                                                                           \
        "cp.async.bulk." space                                                                  \
        ".global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint",               \
            "mmimij", bulk, BULK_LOAD                                                           \
    }
    LOAD("shared::cluster"),
    LOAD("shared::cta"),
    {"cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes", "mmim", bulk,
     BULK_PEER},
    {"cp.async.bulk.global.shared::cta.bulk_group", "mmi", bulk, BULK_STORE},
    {"cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint", "mmij", bulk, BULK_STORE},
    {"cp.reduce.async.bulk.global.shared::cta.bulk_group{.L2::cache_hint}.ATOM{.noftz}.TYPE",
     "mmi?j", bulk, BULK_STORE | REDUCE, FACT_TELLS},
    {"cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.ATOM.TYPE",
     "mmim", bulk, BULK_PEER | REDUCE},
    {"cp.async.bulk.prefetch.L2.global{.L2::cache_hint}", "mi?j", emu_nothing, 0},
#define CONTROL   "clusterlaunchcontrol."
#define TRY       CONTROL "try_cancel.async{.shared::cta}.mbarrier::complete_tx::bytes"
#define FIRST     CONTROL "query_cancel.get_first_ctaid"
#define IN_SM_100 0, TMG_HAS_LAUNCH_CONTROL
    {TRY ".b128", "mm", try_cancel, 0, FACT_TELLS, TMG_HAS_LAUNCH_CONTROL},
    {TRY ".multicast::cluster::all.b128", "mm", try_cancel, 1, FACT_TELLS,
     TMG_HAS_LAUNCH_CONTROL | TMG_HAS_MAP_CHANGES},
    {CONTROL "query_cancel.is_canceled.pred.b128", "Pf", is_canceled, 0, IN_SM_100},
    {FIRST "::x.b32.b128", "If", first_ctaid, 0, IN_SM_100},
    {FIRST "::y.b32.b128", "If", first_ctaid, 1, IN_SM_100},
    {FIRST "::z.b32.b128", "If", first_ctaid, 2, IN_SM_100},
    {FIRST ".v4.b32.b128", "Uf", first_ctaid, 3, IN_SM_100},
    {"cp.async.bulk.commit_group", "", commit, 0},
    {"cp.async.bulk.wait_group{.read}", "n", wait, 0},
    {NULL, NULL, NULL, 0},
};

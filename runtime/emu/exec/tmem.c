// Who has which columns of tensor memory (PTX ISA 9.7.16.7), what waits for its loads, stores and
// operations, and fences (9.7.16.8.5, 9.7.16.11).
#include "runtime/emu/machine/tmem.h"
#include "runtime/emu/exec/lanes.h"
#include "runtime/emu/machine/mbarrier.h"

// ---- a warp, and the warp of the other CTA, agree ----

// Do all lanes take part, and give the same [entry]? False after a report.
static bool agree(struct emu_warp *warp, const struct emu_insn *insn, uint32_t mask,
                  uint32_t entry) {
    const uint32_t *value = emu_r32(warp, entry);

    if (mask != UINT32_MAX) {
        emu_fatal(warp, insn, EMU_DIVERGENT, "%s by lanes 0x%08x; it needs all 32",
                  insn->row->aux ? "tcgen05.dealloc" : "tcgen05.alloc", mask);
        return false;
    }
    for (unsigned lane = 1; lane < EMU_LANES; lane++)
        if (value[lane] != value[0]) {
            emu_fatal(warp, insn, EMU_BAD_OPERAND, "lane %u gives %u, lane 0 %u: a warp gives one",
                      lane, value[lane], value[0]);
            return false;
        }
    return true;
}

// The other CTA of the pair that the instruction is for, NULL where it is for one.
static struct emu_cta *peer_of(struct emu_warp *warp, const struct emu_insn *insn) {
    return insn->flags & F_PAIR ? emu_peer(warp->cta) : NULL;
}

// A warp of each CTA of the pair comes: true for the one that comes last, which does it for both.
// The others block, and go on with *result where it has been done.
static bool is_last(struct emu_warp *warp, const struct emu_cta *peer, uint32_t asked,
                    enum emu_step *result) {
    struct emu_tmem *mine = warp->cta->tmem;
    struct emu_wait *wait = &emu_split(warp)->wait;

    *result = EMU_NEXT;
    if (emu_waiting(warp, WAIT_TMEM_PAIR)) {
        if (mine->done == wait->generation) *result = EMU_BLOCKED;
        return false;
    }
    if (peer->tmem != NULL && peer->tmem->waits) return true;
    mine->waits = true;
    mine->asked = asked;
    *result = emu_block(warp, WAIT_TMEM_PAIR, asked);
    wait->generation = mine->done;
    return false;
}

static void let_go(struct emu_cta *peer) {
    peer->tmem->waits = false;
    peer->tmem->done++;
    emu_changed(peer->cluster);
}

// ---- alloc ----

#define COLUMNS "%u columns: they are a power of two from %u to %u"

static bool may_allocate(struct emu_warp *warp, const struct emu_insn *insn,
                         const struct emu_cta *peer, uint32_t columns) {
    const struct emu_tmem *mine = warp->cta->tmem;
    char place[EMU_PLACE_TEXT];

    if (!emu_tmem_is_size(columns))
        emu_fatal(warp, insn, EMU_BAD_OPERAND, "tcgen05.alloc of " COLUMNS, columns,
                  TMG_TENSOR_COLUMNS_LEAST, TMG_TENSOR_COLUMNS);
    else if (mine->relinquished_at != NULL)
        emu_fatal(warp, insn, EMU_TENSOR_MISUSE,
                  "tcgen05.alloc after the CTA has given up its right to allocate\n"
                  "  tcgen05.relinquish_alloc_permit at %s",
                  emu_place_text(emu_machine(warp), mine->relinquished_at, place, sizeof place));
    else if (peer != NULL && peer->tmem != NULL && peer->tmem->waits &&
             peer->tmem->asked != columns)
        emu_fatal(warp, insn, EMU_BAD_OPERAND,
                  "tcgen05.alloc of %u columns by one CTA of a pair and of %u by the other",
                  columns, peer->tmem->asked);
    else
        return true;
    return false;
}

// Takes the columns in the CTA, and in its peer where there is one; false where it has to wait.
static bool take(struct emu_warp *warp, const struct emu_insn *insn, struct emu_cta *peer,
                 uint32_t columns) {
    struct emu_cta *const ctas[] = {warp->cta, peer};
    int column = emu_tmem_room(warp->cta, peer, columns);

    for (int i = 0; column >= 0 && i < 2; i++) {
        if (ctas[i] == NULL) continue;
        emu_tmem_take(ctas[i], (uint32_t)column, columns, insn);
        emu_tensor_blank(ctas[i], (uint32_t)column, columns);
        ctas[i]->tmem->given = (uint32_t)column;
    }
    return column >= 0;
}

EMU_HANDLER(alloc) {
    uint32_t columns = emu_r32(warp, insn->op[2])[0];
    enum emu_step result;
    struct emu_cta *peer = peer_of(warp, insn);

    if (!agree(warp, insn, mask, insn->op[2])) return EMU_NEXT;
    if (!emu_tensor_start(warp->cta)) {
        emu_fatal(warp, insn, EMU_BAD_LAUNCH, "out of memory");
        return EMU_NEXT;
    }
    if (!emu_waiting(warp, WAIT_TMEM_PAIR) && !may_allocate(warp, insn, peer, columns))
        return EMU_NEXT;
    bool last = peer == NULL || is_last(warp, peer, columns, &result);
    if (!last && result == EMU_BLOCKED) return EMU_BLOCKED;
    if (last && !take(warp, insn, peer, columns)) return emu_block(warp, WAIT_TMEM, columns);
    if (last && peer != NULL) let_go(peer);
    uint8_t *to = emu_access(warp, insn, EMU_LANES, emu_address(warp, insn, 0, 0), 4, EMU_WRITE);
    if (to != NULL) *(uint32_t *)(void *)to = warp->cta->tmem->given;
    return EMU_NEXT;
}

// ---- dealloc ----

static bool may_free(struct emu_warp *warp, const struct emu_insn *insn, uint32_t address,
                     uint32_t columns) {
    const struct emu_tmem *tmem = warp->cta->tmem;
    uint32_t column = emu_tmem_column(address), unit = column / TMG_TENSOR_COLUMNS_LEAST;
    char place[EMU_PLACE_TEXT];

    if (tmem == NULL || column >= TMG_TENSOR_COLUMNS || column % TMG_TENSOR_COLUMNS_LEAST ||
        emu_tmem_lane(address) != 0 || (!tmem->taken[unit] && tmem->freed_at[unit] == NULL))
        emu_fatal(warp, insn, EMU_TENSOR_MISUSE,
                  "tcgen05.dealloc of 0x%08x, where no allocation begins", address);
    else if (!tmem->taken[unit])
        emu_fatal(warp, insn, EMU_TENSOR_MISUSE,
                  "tcgen05.dealloc of columns that have been freed before\n  freed at %s",
                  emu_place_text(emu_machine(warp), tmem->freed_at[unit], place, sizeof place));
    else if (tmem->begins[unit] != columns)
        emu_fatal(warp, insn, EMU_TENSOR_MISUSE,
                  "tcgen05.dealloc of %u columns at 0x%08x, where %u have been allocated", columns,
                  address, tmem->begins[unit]);
    else
        return true;
    return false;
}

EMU_HANDLER(dealloc) {
    uint32_t address = emu_r32(warp, insn->op[0])[0], columns = emu_r32(warp, insn->op[1])[0];
    struct emu_rectangle all = {0, TMG_TENSOR_LANES, emu_tmem_column(address), columns};
    enum emu_step result;
    struct emu_cta *peer = peer_of(warp, insn);

    if (!agree(warp, insn, mask, insn->op[0])) return EMU_NEXT;
    if (!emu_waiting(warp, WAIT_TMEM_PAIR)) {
        if (!may_free(warp, insn, address, columns)) return EMU_NEXT;
        emu_tensor_touch_by(warp, insn, TENSOR_DONE, &all, EMU_WRITE);
        emu_tick(warp);
    }
    if (peer != NULL && !is_last(warp, peer, columns, &result)) {
        if (result == EMU_BLOCKED) return EMU_BLOCKED;
    } else if (peer != NULL) {
        let_go(peer);
    }
    emu_tmem_free(warp->cta, all.column, columns, insn);
    return EMU_NEXT;
}

EMU_HANDLER(relinquish) {
    (void)mask;
    if (!emu_tensor_start(warp->cta)) {
        emu_fatal(warp, insn, EMU_BAD_LAUNCH, "out of memory");
        return EMU_NEXT;
    }
    warp->cta->tmem->relinquished_at = insn;
    return EMU_NEXT;
}

// ---- who knows of what ----

// aux: which fence, which wait
enum { BEFORE, AFTER };

EMU_HANDLER(fence) {
    (void)mask;
    if (insn->row->aux == BEFORE)
        emu_tensor_fence_before(warp);
    else
        emu_tensor_fence_after(warp);
    return EMU_NEXT;
}

EMU_HANDLER(wait) {
    enum emu_tensor_part part = (enum emu_tensor_part)insn->row->aux;

    if (mask != UINT32_MAX) {
        emu_fatal(warp, insn, EMU_DIVERGENT, "tcgen05.wait by lanes 0x%08x; it needs all 32", mask);
        return EMU_NEXT;
    }
    emu_tensor_wait(warp, mask, part);
    if (part == TENSOR_LOADS && warp->pending != NULL)
        emu_pending_end(warp, warp->tensor_begun[TENSOR_LOADS]);
    return EMU_NEXT;
}

// ---- commit: an arrival behind all that the thread has given to the pipeline ----

static void arrive_at(struct emu_async *op, struct emu_cta *cta) {
    struct emu_mbarrier *barrier = emu_mbarrier_at(cta, op->barrier);
    char name[64];

    if (cta->live_warps == 0) {
        emu_report(op->warp, op->insn, EMU_PEER_EXITED,
                   "%s arrives in CTA rank %u, which has exited", op->what, cta->rank);
    } else if (barrier == NULL) {
        emu_fatal(op->warp, op->insn, EMU_BARRIER_MISUSE,
                  "%s arrives at 0x%x of CTA rank %u (%s), where there is no mbarrier", op->what,
                  op->barrier, cta->rank, emu_barrier_text(cta, op->barrier, name, sizeof name));
    } else {
        emu_mbarrier_check_init(op->warp, op->insn, &op->clock, barrier);
        if (emu_mbarrier_arrive(barrier, op->warp, op->insn, &op->clock, 1, op->what))
            emu_mbarrier_end_phase(barrier);
    }
}

static void arrive(struct emu_async *op) {
    struct emu_cluster *cluster = op->warp->cta->cluster;

    for (unsigned rank = 0; rank < cluster->cta_count; rank++)
        if (op->ctas >> rank & 1) arrive_at(op, &cluster->ctas[rank]);
}

// Its clock knows of what the lane has given, and of no other lane's.
static bool commit_lane(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane) {
    uint32_t last = warp->tensor_last[lane];
    struct emu_cta *cta;
    uint32_t offset;

    if (!emu_shared_address(warp, insn, emu_address(warp, insn, 0, lane), &cta, &offset))
        return false;
    struct emu_async *op =
        emu_pipeline_new(warp, insn, lane, insn->flags & F_PAIR, "tcgen05.commit");
    if (op == NULL) return false;
    warp->tensor_last[lane] = last;
    if (last < warp->clock.seen[op->agent]) last = warp->clock.seen[op->agent];
    op->time = op->clock.seen[op->agent] = op->clock.before[op->agent] = last;
    op->barrier = offset;
    op->ctas = 1u << cta->rank;
    op->tensor.run = arrive;
    bool multicast = insn->flags & F_MULTICAST;
    uint32_t ctas = multicast ? (uint32_t)emu_get(warp, insn->op[2], lane) : 0;
    bool good = !multicast || emu_async_multicast(op, ctas);
    emu_pipeline_give(op);
    return good;
}

EMU_HANDLER(commit) {
    EMU_EACH_LANE(lane, mask)
    if (!commit_lane(warp, insn, lane)) return EMU_NEXT;
    emu_tick(warp);
    return EMU_NEXT;
}

const char *emu_tmem_wrong(const struct emu_insn *insn, const struct ptx_statement *statement,
                           char *text, size_t size) {
    const struct ptx_operand *columns = statement->operands + 1;

    if (insn->exec != alloc && insn->exec != dealloc) return NULL;
    if (columns->kind != OPERAND_INT || emu_tmem_is_size((uint32_t)columns->value)) return NULL;
    snprintf(text, size, COLUMNS, (uint32_t)columns->value, TMG_TENSOR_COLUMNS_LEAST,
             TMG_TENSOR_COLUMNS);
    return text;
}

const struct emu_op emu_ops_tmem[] = {
    {"tcgen05.alloc.GROUP.sync.aligned{.SHARED}.b32", "mi", alloc, 0},
    {"tcgen05.dealloc.GROUP.sync.aligned.b32", "ii", dealloc, 1},
    {"tcgen05.relinquish_alloc_permit.GROUP.sync.aligned", "", relinquish, 0},
    {"tcgen05.wait::ld.sync.aligned", "", wait, TENSOR_LOADS, FACT_OWN_REGISTERS},
    {"tcgen05.wait::st.sync.aligned", "", wait, TENSOR_STORES, FACT_OWN_REGISTERS},
    {"tcgen05.fence::before_thread_sync", "", fence, BEFORE},
    {"tcgen05.fence::after_thread_sync", "", fence, AFTER},
    {"tcgen05.commit.GROUP.mbarrier::arrive::one{.SHARED}.b64", "m", commit, 0},
    {"tcgen05.commit.GROUP.mbarrier::arrive::one{.SHARED}.multicast::cluster.b64", "ms", commit, 0},
    {NULL, NULL, NULL, 0},
};

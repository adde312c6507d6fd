// Operations in flight: their agents and clocks, their stages in time, and the groups that wait
// for them. An operation reads at its first stage and writes at its second, as late as the seed
// likes.
#include "runtime/emu/machine/async.h"

#include <stdlib.h>
#include <string.h>

enum { READING, WRITING, DONE };

uint32_t emu_agent_take(struct emu_warp *warp, uint32_t *time) {
    struct emu_cluster *cluster = warp->cta->cluster;
    uint32_t agent = emu_fixed_agents(cluster);

    while (agent < cluster->agent_count && cluster->agent_times[agent] > warp->clock.seen[agent])
        agent++;
    if (agent == cluster->agent_capacity)  // nobody waits for these: sharing only loses precision
        agent = emu_fixed_agents(cluster) +
                (uint32_t)(emu_random(&cluster->random) % (agent - emu_fixed_agents(cluster)));
    else if (agent == cluster->agent_count)
        cluster->agent_count++;
    *time = ++cluster->agent_times[agent];
    return agent;
}

// One that is over, whose clock the warp's will replace, or a new one; NULL when memory is out.
static struct emu_async *take_op(struct emu_cluster *cluster) {
    struct emu_async *op = cluster->spare;

    if (op != NULL) {
        cluster->spare = op->next;
        *op = (struct emu_async){.clock = op->clock};
        return op;
    }
    op = calloc(1, sizeof *op);
    if (op == NULL || emu_clock_new(cluster, &op->clock) == 0) return op;
    free(op);
    return NULL;
}

struct emu_async *emu_async_new(struct emu_warp *warp, const struct emu_insn *insn, uint32_t lanes,
                                enum emu_async_kind kind, const char *what) {
    struct emu_cluster *cluster = warp->cta->cluster;
    struct emu_async *op = take_op(cluster);

    if (op == NULL) {
        emu_fatal(warp, insn, EMU_BAD_LAUNCH, "out of memory");
        return NULL;
    }
    op->warp = warp;
    op->insn = insn;
    op->kind = kind;
    op->what = what;
    op->cta = warp->cta;
    op->lanes = lanes;
    emu_clock_copy(cluster, &op->clock, &warp->clock);
    if (kind == ASYNC_COPY || kind == ASYNC_ARRIVE) {
        op->agent = emu_copy_agent(warp);
        op->time = kind == ASYNC_COPY ? ++warp->copies_begun : warp->copies_begun;
    } else if (kind == ASYNC_TENSOR) {
        op->agent = emu_tensor_agent(warp, TENSOR_DONE);
        op->time = warp->tensor_begun[TENSOR_DONE];
    } else {
        op->agent = emu_agent_take(warp, &op->time);
    }
    if (kind != ASYNC_COPY)
        op->clock.seen[op->agent] = op->time;  // its own end, a copy's comes yet
    emu_tell(warp, lanes, warp->clock.seen[warp->agent]);
    op->through_proxy = true;
    return op;
}

static uint64_t delay(struct emu_cluster *cluster) {
    uint64_t random = emu_random(&cluster->random);

    return 1 + (random & 7 ? random >> 8 & 255 : random >> 8 & 4095);  // mostly soon, at times late
}

static void note_due(struct emu_cluster *cluster, const struct emu_async *op) {
    if (op->stage != DONE && op->due < cluster->next_due) cluster->next_due = op->due;
}

// Puts it in flight, before *link.
static void launch(struct emu_async *op, struct emu_async **link) {
    struct emu_cluster *cluster = op->warp->cta->cluster;

    if (op->agent != emu_copy_agent(op->warp)) {
        op->clock.async[op->agent] = op->through_proxy ? op->time : 0;
        if (op->clock.global != NULL) op->clock.global[op->agent] = op->clock.async[op->agent];
    }
    for (unsigned lane = 0; lane < EMU_LANES; lane++)
        op->group[lane] =
            op->in_copy_group ? op->warp->copies[lane].open : op->warp->bulk[lane].open;
    op->due = cluster->machine->steps + delay(cluster);
    op->next = *link;
    *link = op;
    note_due(cluster, op);
}

void emu_async_start(struct emu_async *op) { launch(op, &op->warp->cta->cluster->pending); }

void emu_async_follow(struct emu_async *op, struct emu_async *next) { launch(next, &op->next); }

bool emu_async_multicast(struct emu_async *op, uint32_t ctas) {
    unsigned count = op->warp->cta->cluster->cta_count;

    op->ctas = ctas & 0xffff;
    if (op->ctas != 0 && op->ctas >> count == 0) return true;
    emu_fatal(op->warp, op->insn, EMU_BAD_OPERAND, "multicast to CTAs 0x%x in a cluster of %u",
              op->ctas, count);
    return false;
}

void emu_async_deliver(struct emu_async *op, void (*into)(struct emu_async *, struct emu_cta *)) {
    struct emu_cluster *cluster = op->warp->cta->cluster;

    if (op->ctas == 0) into(op, op->cta);
    for (unsigned rank = 0; rank < cluster->cta_count; rank++)
        if (op->ctas >> rank & 1) {
            if (cluster->ctas[rank].live_warps == 0)
                emu_report(op->warp, op->insn, EMU_PEER_EXITED,
                           "%s multicasts to CTA rank %u, which has exited", op->what, rank);
            else
                into(op, &cluster->ctas[rank]);
        }
}

static void free_op(struct emu_async *op) {
    struct emu_cluster *cluster = op->warp->cta->cluster;

    if (op->kind == ASYNC_BOX) free(op->box);
    if (op->kind == ASYNC_COPY) free(op->copy);
    if (op->kind == ASYNC_TENSOR) free(op->tensor.data);
    free(op->bytes);
    op->next = cluster->spare;
    cluster->spare = op;
}

// A copy that has ended stands for the earlier ones of the same lanes and groups: whoever asks for
// one of them asks for all. Copies that only an mbarrier announces would else pile up.
static void absorb_earlier(struct emu_async *op) {
    for (struct emu_async **link = &op->next, *other; (other = *link) != NULL;) {
        if (other->warp != op->warp || !other->in_copy_group || other->stage != DONE ||
            other->lanes != op->lanes || other->waited != op->waited ||
            memcmp(other->group, op->group, sizeof op->group) != 0) {
            link = &other->next;
            continue;
        }
        *link = other->next;
        free_op(other);
    }
}

// Runs the due stage of *link; frees the operation when nobody can ask for it any more.
static void advance(struct emu_cluster *cluster, struct emu_async **link) {
    struct emu_async *op = *link;
    int stage = op->stage;

    op->run(op, stage);
    bool postponed = op->stage != stage;  // it stepped back
    if (!postponed) op->stage++;
    op->due = cluster->machine->steps + delay(cluster);
    note_due(cluster, op);
    if (!postponed) emu_changed(cluster);
    if (op->stage == DONE && !op->in_bulk_group && !op->in_copy_group) {
        *link = op->next;
        free_op(op);
    } else if (op->stage == DONE && op->in_copy_group) {
        absorb_earlier(op);
    }
}

bool emu_async_progress(struct emu_cluster *cluster, bool all_idle) {
    struct emu_async **first = NULL;
    bool any = false;

    if (!all_idle && cluster->next_due > cluster->machine->steps) return false;
    cluster->next_due = UINT64_MAX;
    for (struct emu_async **link = &cluster->pending; *link != NULL && !cluster->machine->stop;) {
        struct emu_async *op = *link;
        if (op->stage != DONE && op->due <= cluster->machine->steps) {
            advance(cluster, link);
            any = true;
            if (*link != op) continue;
        }
        note_due(cluster, op);
        if (op->stage != DONE && (first == NULL || op->due < (*first)->due)) first = link;
        link = &op->next;
    }
    if (!any && all_idle && first != NULL) {
        cluster->machine->steps += 1;
        advance(cluster, first);
        any = true;
    }
    return any;
}

bool emu_async_groups_done(struct emu_warp *warp, uint32_t lanes, bool bulk, uint32_t allowed,
                           bool reads) {
    struct emu_cluster *cluster = warp->cta->cluster;
    const struct emu_group_state *groups = bulk ? warp->bulk : warp->copies;

    for (int pass = 0; pass < 2; pass++)  // look first, join only when all are done
        for (struct emu_async **link = &cluster->pending, *op; (op = *link) != NULL;) {
            uint32_t mine = 0;
            if (op->warp == warp && (bulk ? op->in_bulk_group : op->in_copy_group))
                EMU_EACH_LANE(lane, op->lanes & lanes)
            mine |= (uint32_t)(op->group[lane] + allowed < groups[lane].open) << lane;
            if (mine && pass == 0 && op->stage < (reads ? WRITING : DONE)) return false;
            if (mine && pass == 1) {
                op->waited |= mine;
                // of equal copies, that of a lane that does not wait is still in flight
                if (!bulk || (op->lanes & ~op->waited) == 0) emu_learn_end(warp, lanes, &op->clock);
                if (op->stage == DONE) op->lanes &= ~mine;
                if (op->lanes == 0) {
                    *link = op->next;
                    free_op(op);
                    continue;
                }
            }
            link = &op->next;
        }
    return true;
}

void emu_async_check_end(struct emu_warp *warp) {
    for (struct emu_async *op = warp->cta->cluster->pending; op != NULL; op = op->next) {
        bool source = op->in_bulk_group || op->from_shared, here = op->cta == warp->cta;
        bool reads = source && here && op->stage == READING;
        bool writes = op->ctas ? op->ctas >> warp->cta->rank & 1 : here && !source;
        bool cp_async = !op->through_proxy && op->barrier == 0;  // the CTA's own, nobody else's
        bool over = op->kind == ASYNC_TENSOR && op->stage != READING;  // it has one stage
        if (op->stage == DONE || over || cp_async || !(reads || writes)) continue;
        emu_report(op->warp, op->insn, EMU_PEER_EXITED,
                   "the CTA exits while this %s still %s its shared memory", op->what,
                   reads ? "reads" : "writes");
    }
}

void emu_async_free_all(struct emu_cluster *cluster) {
    while (cluster->pending != NULL) {
        struct emu_async *op = cluster->pending;
        cluster->pending =
            op->kind == ASYNC_TENSOR && op->tensor.behind != NULL ? op->tensor.behind : op->next;
        if (cluster->pending != op->next) cluster->pending->next = op->next;
        free_op(op);
    }
    while (cluster->spare != NULL) {
        struct emu_async *next = cluster->spare->next;
        emu_clock_free(&cluster->spare->clock);
        free(cluster->spare);
        cluster->spare = next;
    }
}

// Where everybody stands, when nobody goes on: each warp's wait, and who is missing there.
// A deadlock and the end of a budget are one picture under two names.
#include "runtime/emu/check/check.h"
#include "runtime/emu/machine/mbarrier.h"

#include <stdlib.h>

enum { SHOWN = 8 };  // clusters

// Warp number [agent] of the cluster, with its CTA's rank where there are several.
static void put_agent(struct emu_text *text, const struct emu_cta *cta, unsigned agent) {
    emu_put(text, " warp %u", agent % cta->warp_count);
    if (cta->cluster->cta_count > 1) emu_put(text, " of rank %u", agent / cta->warp_count);
}

// What has come and what is due in the barrier's phase.
static void put_barrier_state(struct emu_text *text, const struct emu_mbarrier *barrier) {
    char who[100], place[EMU_PLACE_TEXT];

    emu_put(text, "%*s%u of %u arrivals in phase %u", 26, "", barrier->expected - barrier->pending,
            barrier->expected, barrier->phase);
    if (barrier->bytes != 0)
        emu_put(text, ", %lld bytes %s",
                (long long)(barrier->bytes > 0 ? barrier->bytes : -barrier->bytes),
                barrier->bytes > 0 ? "still due" : "more than expected");
    if (barrier->last != NULL)
        emu_put(text, "; last: %s%s%s at %s", barrier->last_what ? barrier->last_what : "",
                barrier->last_what ? " of " : "", emu_warp_text(barrier->last, who, sizeof who),
                emu_place_text(barrier->cta->cluster->machine, barrier->last_insn, place,
                               sizeof place));
    if (barrier->arrived != 0) {
        emu_put(text, "\n%*sarrived in this phase:", 26, "");
        for (unsigned agent = 0; agent < 64; agent++)
            if (barrier->arrived >> agent & 1) put_agent(text, barrier->cta, agent);
    }
    emu_put(text, "\n");
}

// Lanes that wait for their warp's others, or a warp for those that have yet to come.
static void put_named_barrier(struct emu_text *text, const struct emu_warp *warp, uint32_t number) {
    const struct emu_cta *cta = warp->cta;
    const struct emu_named_barrier *barrier = &cta->barriers[number];

    if (warp->gather.lanes) {
        emu_put(text, "%*sthe warp's lanes 0x%08x are not there\n", 26, "",
                warp->live & ~warp->gather.lanes);
        return;
    }
    emu_put(text, "%*s%u of %u threads are there; missing:", 26, "", barrier->arrived,
            barrier->expected);
    for (unsigned w = 0; w < cta->warp_count; w++)
        if (!(barrier->warps >> w & 1) && (barrier->counted || cta->warps[w].live))
            emu_put(text, " warp %u%s", w, cta->warps[w].live ? "" : " (exited)");
    emu_put(text, "\n");
}

// The mbarrier at [address] and its phase, behind what [text] says.
static const struct emu_mbarrier *put_mbarrier(struct emu_text *text, const struct emu_warp *warp,
                                               uint32_t address) {
    const struct emu_cta *cta = &warp->cta->cluster->ctas[address >> EMU_RANK_SHIFT];
    uint32_t offset = address & ((1u << EMU_RANK_SHIFT) - 1);
    const struct emu_mbarrier *barrier = emu_mbarrier_of(warp->cta->cluster, address);
    uint32_t phase = barrier ? barrier->phase : 0;
    char name[64];

    emu_put(text, " %s, phase %u (parity %u)", emu_barrier_text(cta, offset, name, sizeof name),
            phase, phase & 1);
    return barrier;
}

// What [split] waits for; gives that where it is an mbarrier.
static const struct emu_mbarrier *put_wait(struct emu_text *text, const struct emu_warp *warp,
                                           const struct emu_split *split) {
    const struct emu_wait_row *row = &emu_waits[split->wait.kind];

    if (!split->blocked) {
        emu_put(text, "runs");
        return NULL;
    }
    emu_put(text, row->says, split->wait.object);
    return row->object == WAIT_AT_MBARRIER ? put_mbarrier(text, warp, split->wait.object) : NULL;
}

// Consecutive warps in the same state are one line: "warps 4..11".
static unsigned same_state(const struct emu_cta *cta, unsigned first) {
    const struct emu_warp *a = &cta->warps[first];
    unsigned last = first;

    while (last + 1 < cta->warp_count && a->split_count == 1) {
        const struct emu_warp *b = &cta->warps[last + 1];
        if (b->split_count != 1 || b->splits[0].pc != a->splits[0].pc ||
            b->splits[0].wait.object != a->splits[0].wait.object ||
            emu_role_of(a) != emu_role_of(b))
            break;
        last++;
    }
    return last;
}

static void put_warps(struct emu_text *text, const struct emu_cta *cta, unsigned first,
                      unsigned last) {
    const struct emu_warp *warp = &cta->warps[first];
    const struct emu_role *role = emu_role_of(warp);
    char place[EMU_PLACE_TEXT], who[80];

    if (first == last)
        snprintf(who, sizeof who, "%s%swarp %u", role ? role->name : "", role ? " " : "", first);
    else
        snprintf(who, sizeof who, "%s%swarps %u..%u", role ? role->name : "", role ? " " : "",
                 first, last);
    if (warp->split_count == 0 && warp->live == 0) emu_put(text, "  %-22s  has exited\n", who);
    for (unsigned s = 0; s < warp->split_count; s++) {
        const struct emu_split *split = &warp->splits[s];
        emu_put(text, "  %-22s  ", who);
        const struct emu_mbarrier *barrier = put_wait(text, warp, split);
        if (split->mask != warp->started) emu_put(text, " (lanes 0x%08x)", split->mask);
        emu_put(text, "   %s\n",
                emu_place_text(cta->cluster->machine,
                               &cta->cluster->machine->program->code[split->pc], place,
                               sizeof place));
        if (barrier != NULL) put_barrier_state(text, barrier);
        if (split->blocked && emu_waits[split->wait.kind].object == WAIT_AT_NAMED_BARRIER)
            put_named_barrier(text, warp, split->wait.object);
    }
}

// An instruction that somebody of [cluster] is at.
static const struct emu_insn *somewhere(const struct emu_cluster *cluster) {
    for (unsigned c = 0; cluster != NULL && c < cluster->cta_count; c++)
        for (unsigned w = 0; w < cluster->ctas[c].warp_count; w++)
            if (cluster->ctas[c].warps[w].split_count)
                return &cluster->machine->program->code[cluster->ctas[c].warps[w].splits[0].pc];
    return NULL;
}

// The CTAs of [cluster], with what it comes down to below the first's heading. Gives where that is.
static const struct emu_insn *put_cluster(struct emu_text *text, const struct emu_cluster *cluster,
                                          enum emu_class class_, const char *why) {
    const struct emu_insn *place = NULL;

    for (unsigned c = 0; c < cluster->cta_count; c++) {
        const struct emu_cta *cta = &cluster->ctas[c];
        emu_put(text, "%s in %s, CTA (%u,%u,%u)%s%s\n", emu_class_name(class_),
                cluster->machine->entry->title, cta->id[0], cta->id[1], cta->id[2], why ? ": " : "",
                why ? why : "");
        if (c == 0) place = emu_blame(cluster, text);
        for (unsigned w = 0; w < cta->warp_count; w++) {
            unsigned last = same_state(cta, w);
            put_warps(text, cta, w, last);
            w = last;
        }
    }
    return place;
}

void emu_report_standstill(struct emu_machine *machine, struct emu_cluster *stuck,
                           const char *why) {
    enum emu_class class_ = stuck ? EMU_DEADLOCK : EMU_BUDGET;
    const struct emu_cluster *first = stuck ? stuck : machine->clusters;
    const struct emu_insn *place = NULL;
    struct emu_text text = {0};
    unsigned clusters = 0;

    machine->ended_by = class_;
    if (first == NULL)
        emu_put(&text, "%s in %s: %s\n", emu_class_name(class_), machine->entry->title, why);
    for (const struct emu_cluster *at = first; at != NULL; at = stuck ? NULL : at->next) {
        if (clusters++ >= SHOWN) continue;
        const struct emu_insn *cause = put_cluster(&text, at, class_, why);
        if (place == NULL) place = cause;
    }
    if (clusters > SHOWN) emu_put(&text, "  and %u more clusters\n", clusters - SHOWN);
    if (why != NULL)
        emu_put(&text, "  %llu of %llu clusters had run to their end\n",
                (unsigned long long)machine->ended, (unsigned long long)machine->cluster_total);
    struct emu_report *report =
        emu_report_new(machine, class_, place ? place : somewhere(first), NULL);
    if (report != NULL)
        report->text = text.at;
    else
        free(text.at);
}

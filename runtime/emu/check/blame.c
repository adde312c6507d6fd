// Why all stand still: each thing that is waited for, who could bring it about, and what those wait
// for themselves. The cause is where that ends: nobody is left who could, or a circle; what waits
// for it from outside is a consequence.
#include "runtime/emu/check/check.h"
#include "runtime/emu/machine/mbarrier.h"

#include <stdlib.h>

enum { STOPS_MAX = 256, SHOWN = 4 };

// A thing that somebody waits for.
struct stop {
    const struct emu_warp *warp;  // the first who does, at [split]
    const struct emu_split *split;
    const struct emu_mbarrier *mbarrier;      // NULL: it is none
    const struct emu_named_barrier *named;    // the same
    bool alone;                               // the warp's lanes wait for each other
    bool hopeless;                            // whoever goes on, it does not come about
    bool open;                                // one who runs may bring it about
    bool told;                                // its circle has been
    uint64_t reaches[(STOPS_MAX + 63) / 64];  // stops that it waits for, over others or not
};

struct stops {
    struct stop list[STOPS_MAX];
    unsigned count;
};

static bool bit_of(const struct stop *stop, unsigned i) {
    return stop->reaches[i / 64] >> i % 64 & 1;
}

// ---- what is waited for ----

// Not a barrier's others, but the warp's own lanes.
static bool waits_alone(const struct emu_warp *warp, const struct emu_split *split) {
    return split->wait.kind == WAIT_WARP ||
           (split->wait.kind == WAIT_BARRIER && (warp->gather.lanes & split->mask));
}

static bool is_same(const struct stop *a, const struct stop *b) {
    if (a->split->wait.kind != b->split->wait.kind || a->alone != b->alone) return false;
    if (a->mbarrier != NULL || a->named != NULL)
        return a->mbarrier == b->mbarrier && a->named == b->named &&
               (!a->alone || a->warp == b->warp);
    if (a->split->wait.kind == WAIT_WARPGROUP)
        return a->warp->cta == b->warp->cta && a->warp->index / 4 == b->warp->index / 4;
    return a->warp == b->warp;
}

// Live warps that have yet to come are fewer than the barrier's count wants.
static bool lacks_warps(const struct emu_cta *cta, const struct emu_named_barrier *barrier) {
    uint32_t left = 0;

    for (unsigned w = 0; w < cta->warp_count; w++)
        left += cta->warps[w].live && !(barrier->warps >> w & 1) ? EMU_LANES : 0;
    return barrier->counted && barrier->arrived + left < barrier->expected;
}

// All have arrived, and what bytes are due is less than any copy that came there has brought.
static bool lacks_bytes(const struct emu_mbarrier *barrier) {
    return barrier->pending == 0 && (barrier->bytes < 0 || barrier->bytes < barrier->least);
}

static struct stop make_stop(const struct emu_warp *warp, const struct emu_split *split) {
    const struct emu_cta *cta = warp->cta;
    struct stop stop = {.warp = warp, .split = split, .alone = waits_alone(warp, split)};

    switch (emu_waits[split->wait.kind].object) {
    case WAIT_AT_MBARRIER:
        stop.mbarrier = emu_mbarrier_of(cta->cluster, split->wait.object);
        stop.hopeless = stop.mbarrier != NULL && lacks_bytes(stop.mbarrier);
        break;
    case WAIT_AT_NAMED_BARRIER:
        stop.named = &cta->barriers[split->wait.object];
        stop.hopeless = !stop.alone && lacks_warps(cta, stop.named);
        break;
    default:
        if (split->wait.kind == WAIT_CLUSTER) stop.named = &cta->cluster->barrier;
    }
    return stop;
}

// The number of what [split] waits for, noted where it is new; STOPS_MAX where there is no room.
static unsigned find_stop(struct stops *stops, const struct emu_warp *warp,
                          const struct emu_split *split) {
    struct stop made = make_stop(warp, split);

    for (unsigned i = 0; i < stops->count; i++)
        if (is_same(&stops->list[i], &made)) return i;
    if (stops->count == STOPS_MAX) return STOPS_MAX;
    stops->list[stops->count] = made;
    return stops->count++;
}

// ---- who could bring it about ----

// Of the agents in [set] or, where that names nobody, of all.
static bool is_among(uint64_t set, const struct emu_warp *warp) {
    uint64_t bit = emu_agent_bit(warp);

    return set == 0 || bit == 0 || (set & bit);
}

static bool could_end_phase(const struct emu_mbarrier *barrier, const struct emu_warp *warp) {
    if (barrier->pending == 0) return warp == barrier->armed || is_among(barrier->bringers, warp);
    return !(barrier->arrived & emu_agent_bit(warp)) && is_among(barrier->arrivers, warp);
}

// Those that came in earlier generations, where they are enough, else any.
static bool could_come(const struct emu_named_barrier *barrier, const struct emu_warp *warp) {
    uint32_t known = barrier->before & ~barrier->warps, due = barrier->expected - barrier->arrived;

    if (barrier->warps >> warp->index & 1) return false;
    if (!barrier->counted || (uint32_t)__builtin_popcount(known) * EMU_LANES < due) return true;
    return known >> warp->index & 1;
}

static bool could(const struct stop *stop, const struct emu_warp *warp) {
    const struct emu_cta *cta = stop->warp->cta;

    if (stop->hopeless || warp->live == 0) return false;
    if (stop->alone) return warp == stop->warp;
    if (stop->mbarrier != NULL) return could_end_phase(stop->mbarrier, warp);
    switch (stop->split->wait.kind) {
    case WAIT_BARRIER: return warp->cta == cta && could_come(stop->named, warp);
    case WAIT_CLUSTER:
        return warp->cluster_generation != stop->named->generation ||
               warp->cluster_arrived != warp->live;
    case WAIT_WARPGROUP: return warp->cta == cta && warp->index / 4 == stop->warp->index / 4;
    case WAIT_TMEM: return warp->cta == cta;
    case WAIT_TMEM_PAIR: return warp->cta == emu_peer(cta);
    default: return false;
    }
}

// ---- who waits for whom ----

static void each_split(const struct emu_cluster *cluster, struct stops *stops,
                       void (*visit)(struct stops *stops, const struct emu_warp *warp,
                                     const struct emu_split *split)) {
    for (unsigned c = 0; c < cluster->cta_count; c++)
        for (unsigned w = 0; w < cluster->ctas[c].warp_count; w++) {
            const struct emu_warp *warp = &cluster->ctas[c].warps[w];
            for (unsigned s = 0; s < warp->split_count; s++) visit(stops, warp, &warp->splits[s]);
        }
}

static void note_stop(struct stops *stops, const struct emu_warp *warp,
                      const struct emu_split *split) {
    if (split->blocked) find_stop(stops, warp, split);
}

// Whoever [warp] could serve waits for what it waits for.
static void note_edges(struct stops *stops, const struct emu_warp *warp,
                       const struct emu_split *split) {
    unsigned at = split->blocked ? find_stop(stops, warp, split) : STOPS_MAX;

    for (unsigned i = 0; i < stops->count; i++) {
        struct stop *stop = &stops->list[i];
        if (i == at || !could(stop, warp)) continue;
        if (at == STOPS_MAX)
            stop->open = true;
        else
            stop->reaches[at / 64] |= UINT64_C(1) << at % 64;
    }
}

// Warshall's closure.
static void close_edges(struct stops *stops) {
    for (unsigned via = 0; via < stops->count; via++)
        for (unsigned i = 0; i < stops->count; i++)
            for (unsigned w = 0; bit_of(&stops->list[i], via) && w < (STOPS_MAX + 63) / 64; w++)
                stops->list[i].reaches[w] |= stops->list[via].reaches[w];
}

// Is [i] where waiting ends: does whatever it waits for wait for it too?
static bool is_root(const struct stops *stops, unsigned i) {
    const struct stop *stop = &stops->list[i];

    for (unsigned k = 0; k < stops->count; k++)
        if (bit_of(stop, k) && (!bit_of(&stops->list[k], i) || stops->list[k].open)) return false;
    return !stop->open;
}

// How much it explains, among those of a circle: bytes that do not come, arrivals that have begun.
static int weight(const struct stop *stop) {
    const struct emu_mbarrier *barrier = stop->mbarrier;

    if (stop->hopeless) return 4;
    if (stop->split->wait.kind == WAIT_TMEM) return 3;
    if (barrier == NULL) return 0;
    return barrier->pending == 0 ? 3 : barrier->pending < barrier->expected ? 2 : 1;
}

// ---- the text ----

static void put_place(struct emu_text *text, const struct stop *stop, const struct emu_insn *insn) {
    char place[EMU_PLACE_TEXT];

    emu_put(text, " at %s",
            emu_place_text(stop->warp->cta->cluster->machine, insn, place, sizeof place));
}

static const struct emu_insn *place_of(const struct stop *stop) {
    return &stop->warp->cta->cluster->machine->program->code[stop->split->pc];
}

// "full[2]", "barrier 1", "the wgmma of warp 3": with its CTA where there are several.
static void put_name(struct emu_text *text, const struct stop *stop) {
    const struct emu_cta *cta = stop->mbarrier ? stop->mbarrier->cta : stop->warp->cta;
    const struct emu_wait *wait = &stop->split->wait;
    char name[100];

    if (stop->mbarrier != NULL)
        emu_put(text, "%s", emu_barrier_text(cta, stop->mbarrier->offset, name, sizeof name));
    else if (wait->kind == WAIT_BARRIER && !stop->alone)
        emu_put(text, "barrier %u", wait->object);
    else if (wait->kind == WAIT_CLUSTER)
        emu_put(text, "barrier.cluster");
    else if (wait->kind == WAIT_TMEM)
        emu_put(text, "%u columns of tensor memory", wait->object);
    else if (wait->kind == WAIT_TMEM_PAIR)
        emu_put(text, "a warp of the other CTA of the pair");
    else
        emu_put(text, "%s of %s", stop->alone ? "other lanes" : "the warpgroup",
                emu_warp_text(stop->warp, name, sizeof name));
    if (wait->kind != WAIT_CLUSTER && cta->cluster->cta_count > 1)
        emu_put(text, " of rank %u", cta->rank);
}

// Why an mbarrier's phase doesn't end, and who has asked for what it lacks.
static void put_phase(struct emu_text *text, const struct stop *stop) {
    const struct emu_mbarrier *barrier = stop->mbarrier;
    char who[100];

    emu_put(text, " can't end phase %u: ", barrier->phase);
    if (barrier->pending != 0) {
        emu_put(text, "%u of %u arrivals %s missing\n    initialised", barrier->pending,
                barrier->expected, barrier->pending == 1 ? "is" : "are");
        put_place(text, stop, barrier->init_insn);
        return;
    }
    if (barrier->bytes > 0)
        emu_put(text, "%lld of %lld expected bytes are missing", (long long)barrier->bytes,
                (long long)barrier->promised);
    else
        emu_put(text, "%lld bytes came beyond the %lld expected", -(long long)barrier->bytes,
                (long long)barrier->promised);
    if (barrier->armed == NULL) return;
    emu_put(text, "\n    expected by %s", emu_warp_text(barrier->armed, who, sizeof who));
    put_place(text, stop, barrier->armed_insn);
}

// Who has the columns that an allocation lacks.
static void put_columns(struct emu_text *text, const struct stop *stop) {
    const struct emu_tmem *tmem = stop->warp->cta->tmem;
    unsigned taken = 0;

    for (unsigned unit = 0; unit < EMU_TMEM_UNITS; unit++) taken += tmem->begins[unit];
    emu_put(text, " are not free together: %u of %u are allocated", taken, TMG_TENSOR_COLUMNS);
    for (unsigned unit = 0; unit < EMU_TMEM_UNITS; unit++) {
        if (tmem->begins[unit] == 0) continue;
        emu_put(text, "\n    %u of them", tmem->begins[unit]);
        put_place(text, stop, tmem->allocated_at[unit]);
    }
}

static void put_reason(struct emu_text *text, const struct stop *stop) {
    if (stop->mbarrier != NULL)
        put_phase(text, stop);
    else if (stop->named != NULL && !stop->alone)
        emu_put(text, " has %u of %u threads%s", stop->named->arrived, stop->named->expected,
                stop->hopeless ? ", and too few are left to come" : "");
    else if (stop->split->wait.kind == WAIT_TMEM)
        put_columns(text, stop);
    else
        emu_put(text, " do%s not come", stop->split->wait.kind == WAIT_TMEM_PAIR ? "es" : "");
}

static void put_waiter(struct emu_text *text, const struct stop *stop) {
    char who[100];

    emu_put(text, "%s waits for it", emu_warp_text(stop->warp, who, sizeof who));
    put_place(text, stop, place_of(stop));
    emu_put(text, "\n");
}

static bool in_circle(const struct stops *stops, unsigned i, unsigned k) {
    return k != i && bit_of(&stops->list[i], k) && bit_of(&stops->list[k], i);
}

static void put_cause(struct emu_text *text, const struct stops *stops, unsigned i) {
    emu_put(text, "  cause: ");
    put_name(text, &stops->list[i]);
    put_reason(text, &stops->list[i]);
    emu_put(text, "\n    ");
    put_waiter(text, &stops->list[i]);
    for (unsigned k = 0, shown = 0; k < stops->count && shown < SHOWN; k++) {
        if (!in_circle(stops, i, k)) continue;
        emu_put(text, "    in a circle with ");
        put_name(text, &stops->list[k]);
        emu_put(text, ": ");
        put_waiter(text, &stops->list[k]);
        shown++;
    }
}

// What waits for a cause, over others or not.
static void put_consequences(struct emu_text *text, const struct stops *stops) {
    unsigned shown = 0, all = 0;

    for (unsigned i = 0; i < stops->count; i++) {
        if (is_root(stops, i) || all++ >= 2 * SHOWN) continue;
        emu_put(text, "%s", shown++ ? ", " : "  which also stops ");
        put_name(text, &stops->list[i]);
    }
    if (all > shown) emu_put(text, " and %u more", all - shown);
    if (all) emu_put(text, "\n");
}

// The heaviest of [i]'s circle, which is told by that.
static unsigned heaviest(struct stops *stops, unsigned i) {
    unsigned best = i;

    for (unsigned k = 0; k < stops->count; k++) {
        if (k != i && !in_circle(stops, i, k)) continue;
        stops->list[k].told = true;
        if (weight(&stops->list[k]) > weight(&stops->list[best])) best = k;
    }
    return best;
}

const struct emu_insn *emu_blame(const struct emu_cluster *cluster, struct emu_text *text) {
    struct stops *stops = calloc(1, sizeof *stops);
    const struct stop *first = NULL;

    if (stops == NULL) return NULL;
    each_split(cluster, stops, note_stop);
    each_split(cluster, stops, note_edges);
    close_edges(stops);
    for (unsigned i = 0, shown = 0; i < stops->count && shown < SHOWN; i++) {
        if (stops->list[i].told || !is_root(stops, i)) continue;
        unsigned at = heaviest(stops, i);
        put_cause(text, stops, at);
        if (first == NULL || weight(&stops->list[at]) > weight(first)) first = &stops->list[at];
        shown++;
    }
    if (first != NULL) put_consequences(text, stops);
    const struct emu_insn *place = first ? place_of(first) : NULL;
    free(stops);
    return place;
}

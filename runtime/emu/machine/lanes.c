// Order among the lanes of a warp. Since Volta they go on by themselves: what one lane stores is
// another's only behind bar.warp.sync or what else orders threads. shfl, vote, match, redux and
// elect exchange registers and order no memory (PTX ISA 9.7.9.6, 9.7.13.2 to 9.7.13.6).
//
// The warp's own time parts what its lanes do. Who learns of that time from elsewhere, or meets the
// others, knows what was done until then; of releases it is kept for a while which lanes they were
// of, since a lane tells of itself and of what it knows only. Where it is not kept, all is well.
#include "runtime/emu/machine/machine.h"

#include <string.h>

static uint32_t own_time(const struct emu_warp *warp) { return warp->clock.seen[warp->agent]; }

static uint32_t later(uint32_t a, uint32_t b) { return a > b ? a : b; }

static struct emu_told *told_of(const struct emu_warp *warp) {
    return &warp->cta->cluster->told[warp->agent];
}

void emu_lanes_start(struct emu_warp *warp) {
    struct emu_told *told = told_of(warp);

    memset(told, 0, sizeof *told);
    told->now = own_time(warp);
}

void emu_tick(struct emu_warp *warp) {
    struct emu_told *told = told_of(warp);

    told->now = ++warp->clock.seen[warp->agent];
    told->at[told->now % EMU_TELLINGS].lanes = told->at[told->now % EMU_TELLINGS].joined = 0;
}

// ---- what lanes tell ----

static bool is_kept(const struct emu_told *told, uint32_t time) {
    return told->now - time < EMU_TELLINGS;
}

void emu_tell(struct emu_warp *warp, uint32_t lanes, uint32_t time) {
    struct emu_told *told = told_of(warp);
    uint32_t joined = 0;

    if (!is_kept(told, time)) return;
    EMU_EACH_LANE(lane, lanes)
    joined = later(joined, warp->lanes.joined[lane]);
    told->at[time % EMU_TELLINGS].lanes |= lanes | ~warp->live;
    told->at[time % EMU_TELLINGS].joined = later(told->at[time % EMU_TELLINGS].joined, joined);
}

// Who has told of [time] up to [until]: all lanes where that is not known any more.
static uint32_t tellers(const struct emu_told *told, uint32_t time, uint32_t until) {
    uint32_t lanes = 0;

    if (until > told->now) until = told->now;
    for (uint32_t at = until; at >= time && lanes != UINT32_MAX; at--) {
        if (!is_kept(told, at) || told->at[at % EMU_TELLINGS].joined >= time) return UINT32_MAX;
        lanes |= told->at[at % EMU_TELLINGS].lanes;
    }
    return lanes;
}

bool emu_was_told(const struct emu_cluster *cluster, uint32_t agent, uint32_t lanes, uint32_t time,
                  uint32_t until) {
    return !lanes || !(lanes & ~tellers(&cluster->told[agent], time, until));
}

// ---- what lanes learn ----

// The lanes of which [lane] knows more than it does of all.
static uint32_t mates(const struct emu_lanes *known, unsigned lane) {
    return known->until[lane] > known->joined[lane] ? known->mates[lane] : 0;
}

// [lanes] hear of what the warp's lanes had done until [time].
static void hear_own(struct emu_warp *warp, uint32_t lanes, uint32_t time) {
    const struct emu_told *told = told_of(warp);
    struct emu_lanes *known = &warp->lanes;
    uint32_t since = 0, from = 0;  // most lanes know the same

    EMU_EACH_LANE(lane, lanes) {
        if (time <= known->joined[lane]) continue;
        if (since != known->joined[lane] + 1)
            from = tellers(told, since = known->joined[lane] + 1, time);
        if (from == UINT32_MAX) {
            known->joined[lane] = time;
            continue;
        }
        known->mates[lane] = mates(known, lane) | from;
        known->until[lane] = later(known->until[lane], time);
        known->joined[lane] = later(known->joined[lane], told->at[time % EMU_TELLINGS].joined);
    }
}

// Makes what [lanes] are about to learn theirs: the rest has what all know until now. True where
// all learn it, also those who knew less.
static bool part(struct emu_warp *warp, uint32_t lanes) {
    struct emu_lanes *known = &warp->lanes;
    bool all = (lanes & warp->live) == warp->live;

    if (!all && !known->ahead) {
        emu_clock_copy(warp->cta->cluster, &known->common, &warp->clock);
        known->ahead = true;
        known->knowers = 0;
    }
    if (all) return known->ahead;
    known->knowers |= lanes;
    known->ahead = (known->knowers & warp->live) != warp->live;
    return false;
}

void emu_learn_end(struct emu_warp *warp, uint32_t lanes, const struct emu_clock *from) {
    if (part(warp, lanes)) emu_clock_join(warp->cta->cluster, &warp->lanes.common, from);
    emu_clock_join(warp->cta->cluster, &warp->clock, from);
}

void emu_learn(struct emu_warp *warp, uint32_t lanes, const struct emu_clock *from) {
    emu_learn_end(warp, lanes, from);
    hear_own(warp, lanes, from->seen[warp->agent]);
}

static void raise(struct emu_clock *clock, uint32_t agent, uint32_t time) {
    clock->seen[agent] = later(clock->seen[agent], time);
    clock->async[agent] = later(clock->async[agent], time);
    if (clock->global != NULL) clock->global[agent] = later(clock->global[agent], time);
}

void emu_learn_time(struct emu_warp *warp, uint32_t lanes, uint32_t agent, uint32_t time) {
    if (part(warp, lanes)) raise(&warp->lanes.common, agent, time);
    raise(&warp->clock, agent, time);
}

// ---- bar.warp.sync ----

void emu_lanes_meet(struct emu_warp *warp, uint32_t lanes) {
    struct emu_lanes *known = &warp->lanes;
    uint32_t those = lanes, joined = 0, now = own_time(warp);
    bool all = (lanes & warp->live) == warp->live;

    EMU_EACH_LANE(lane, lanes) {
        those |= mates(known, lane);
        joined = later(joined, known->joined[lane]);
    }
    EMU_EACH_LANE(lane, lanes) {
        known->joined[lane] = all ? now : joined;
        known->mates[lane] = those;
        known->until[lane] = now;
    }
    if (known->knowers & lanes) known->knowers |= lanes;
    if (all) known->ahead = false;
    emu_tick(warp);
}

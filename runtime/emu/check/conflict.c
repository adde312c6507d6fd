// What is said where touches of a memory have no order, or what is read was never written: who, who
// else, where, and which fence is missing.
#include "runtime/emu/check/shadow.h"
#include "runtime/emu/machine/mbarrier.h"
#include "runtime/emu/model/swizzle.h"

#include <stdio.h>

// Is it of a tensor core's pipeline?
static bool is_pipelined(const struct emu_cluster *cluster, const struct shadow_touch *touch) {
    return touch->agent - emu_tensor_agents(cluster, TENSOR_DONE) < cluster->warp_count;
}

// Has [touch] happened before [toucher], who has [view]?
bool emu_touch_known(const struct emu_toucher *toucher, const uint32_t *view,
                     const struct shadow_touch *touch) {
    const uint32_t *of = view + touch->agent;

    if (toucher->pipelined && is_pipelined(toucher->warp->cta->cluster, touch) &&
        of[toucher->warp->cta->cluster->warp_count] >= touch->time)
        return true;  // as TENSOR_GIVEN
    if (touch->lanes && touch->agent == toucher->agent)
        return emu_lanes_know(toucher->warp, toucher->lanes, touch->lanes, touch->time);
    if (!touch->four)
        return of[0] >= touch->time &&
               emu_was_told(toucher->warp->cta->cluster, touch->agent, touch->lanes, touch->time,
                            toucher->clock->seen[touch->agent]);
    return of[0] >= touch->time && of[1] >= touch->time && of[2] >= touch->time &&
           of[3] >= touch->time;
}

static const char *shared_place(uint32_t offset, char *text, size_t size) {
    snprintf(text, size, "shared memory at 0x%x", offset);
    return text;
}

const struct emu_shadowed emu_shadowed_shared = {EMU_SMEM_RESERVED, shared_place};

// Of several warps that touch together, the first that has not heard of [before].
static const struct emu_warp *unaware(const struct emu_toucher *toucher,
                                      const struct shadow_touch *before) {
    for (int w = 0; toucher->group != NULL && w < 4; w++) {
        const struct emu_clock *clock = &toucher->group[w].clock;
        const uint32_t *view = toucher->async ? clock->async : clock->seen;
        if (view[before->agent] < before->time) return &toucher->group[w];
    }
    return toucher->warp;
}

static const char *toucher_name(const struct emu_toucher *toucher,
                                const struct shadow_touch *before, char *text, size_t size) {
    char warp[64];

    emu_warp_text(unaware(toucher, before), warp, sizeof warp);
    if (toucher->what == NULL)
        snprintf(text, size, "%s", warp);
    else
        snprintf(text, size, "%s of %s", toucher->what, warp);
    return text;
}

static const char *earlier_name(const struct emu_shadow *shadow, const struct shadow_touch *touch,
                                char *text, size_t size) {
    const struct emu_cluster *cluster = shadow->cta->cluster;
    uint32_t agent = touch->agent, warps = shadow->cta->warp_count;
    char warp[64];

    if (agent >= emu_fixed_agents(cluster)) {
        snprintf(text, size, "an asynchronous operation");
        return text;
    }
    bool multiplies = agent >= cluster->warp_count, copies = agent > 2 * cluster->warp_count;
    bool tensor = agent > 3 * cluster->warp_count;
    if (tensor) agent = 2 * cluster->warp_count + 1 + (agent - 1) % cluster->warp_count;
    agent -= copies ? 2 * cluster->warp_count + 1 : multiplies ? cluster->warp_count : 0;
    emu_warp_text(&cluster->ctas[agent / warps].warps[agent % warps], warp, sizeof warp);
    snprintf(text, size, "%s%s",
             tensor       ? "an operation on tensor memory of "
             : copies     ? "a cp.async of "
             : multiplies ? "a wgmma of the warpgroup of "
                          : "",
             warp);
    return text;
}

// Where it is that a lane does not speak for the others of its warp.
static const char *lanes_text(const struct emu_toucher *toucher, const struct shadow_touch *before,
                              char *text, size_t size) {
    if (!before->lanes || toucher->clock->seen[before->agent] < before->time) return "";
    return emu_lanes_text(before->lanes, before->agent == toucher->agent ? toucher->lanes : 0, text,
                          size);
}

// CUTLASS writes no tcgen05.fence: it takes its mbarriers, which acquire and release, for enough.
static bool needs_no_fence(const struct emu_machine *machine, const struct emu_insn *a,
                           const struct emu_insn *b) {
    return emu_comes_from(machine, a, "/cute/arch/") || emu_comes_from(machine, b, "/cute/arch/");
}

void emu_conflict(struct emu_shadow *shadow, uint32_t offset, enum emu_use use,
                  const struct shadow_touch *before, bool before_wrote,
                  const struct emu_toucher *toucher) {
    char who[128], other[128], where[EMU_PLACE_TEXT], lanes[128], place[SHADOW_PLACE];
    const char *verb = use == EMU_READ ? "reads" : use == EMU_WRITE ? "writes" : "updates";
    bool wants_fence = toucher->tensor || toucher->after_reads || (toucher->async && before_wrote);
    bool fence_missing = wants_fence && emu_touch_known(toucher, toucher->clock->seen, before);
    enum emu_class class_ = !fence_missing    ? EMU_RACE
                            : toucher->tensor ? EMU_MISSING_TENSOR_FENCE
                                              : EMU_MISSING_PROXY_FENCE;

    shadow->complaints++;
    if (emu_report_again(toucher->warp, toucher->insn, emu_touch_insn(shadow, before), class_))
        return;
    if (class_ == EMU_MISSING_TENSOR_FENCE &&
        needs_no_fence(shadow->cta->cluster->machine, toucher->insn,
                       emu_touch_insn(shadow, before)))
        return;
    toucher_name(toucher, before, who, sizeof who);
    earlier_name(shadow, before, other, sizeof other);
    shadow->of->place(offset, place, sizeof place);
    emu_place_text(shadow->cta->cluster->machine, emu_touch_insn(shadow, before), where,
                   sizeof where);
    if (fence_missing && toucher->tensor)
        emu_report_pair(toucher->warp, toucher->insn, emu_touch_insn(shadow, before), class_,
                        "%s %s %s, which %s %s\n  the other is at %s\n"
                        "  no tcgen05.fence::%s_thread_sync lies between the two",
                        who, verb, place, other, before_wrote ? "wrote" : "read", where,
                        emu_touch_known(toucher, toucher->clock->before, before) ? "after"
                                                                                 : "before");
    else if (fence_missing)
        emu_report_pair(toucher->warp, toucher->insn, emu_touch_insn(shadow, before), class_,
                        "%s %s %s that %s %s through the generic proxy\n"
                        "  %s at %s\n  no fence.proxy.async lies between the two",
                        who, verb, place, other, before_wrote ? "wrote" : "read",
                        before_wrote ? "written" : "read", where);
    else
        emu_report_pair(toucher->warp, toucher->insn, emu_touch_insn(shadow, before), class_,
                        "%s %s %s, which %s %s%s without order\n  the other is at %s%s", who, verb,
                        place, other, before_wrote ? "writes" : "reads",
                        before->async ? " asynchronously" : "", where,
                        lanes_text(toucher, before, lanes, sizeof lanes));
}

// The swizzle of what was written is that of who reads it, where both have one.
void emu_conflict_layout(struct emu_shadow *shadow, uint32_t offset,
                         const struct shadow_touch *write, const struct emu_toucher *toucher) {
    char where[EMU_PLACE_TEXT], place[SHADOW_PLACE];

    shadow->complaints++;
    emu_report(toucher->warp, toucher->insn, EMU_BAD_OPERAND,
               "%s reads %s with swizzle %s, where it lies with swizzle %s\n"
               "  written at %s",
               toucher->what, shadow->of->place(offset, place, sizeof place),
               tmg_swizzle_rules[toucher->layout - 1].name,
               tmg_swizzle_rules[write->layout - 1].name,
               emu_place_text(toucher->warp->cta->cluster->machine, emu_touch_insn(shadow, write),
                              where, sizeof where));
}

void emu_conflict_barrier(const struct emu_shadow *shadow, uint32_t offset,
                          const struct emu_toucher *toucher) {
    const struct emu_mbarrier *barrier = emu_mbarrier_overlapping(shadow->cta, offset, 1);
    char name[64], place[SHADOW_PLACE];

    if (barrier == NULL) return;
    emu_report(toucher->warp, toucher->insn, EMU_BARRIER_MISUSE,
               "%s%s%s is written, where %s lives: mbarrier.inval comes first",
               toucher->what ? toucher->what : "", toucher->what ? ": " : "",
               shadow->of->place(offset, place, sizeof place),
               emu_barrier_text(shadow->cta, barrier->offset, name, sizeof name));
}

// Nobody wrote what is read at [offset]. Where a box with the reader's swizzle begins close behind,
// not at a multiple of the swizzle's period, the box is in the wrong place: the reader counts from
// such a multiple.
void emu_conflict_unwritten(struct emu_shadow *shadow, uint32_t offset,
                            const struct emu_toucher *toucher) {
    uint32_t period = toucher->layout ? tmg_swizzle_rules[toucher->layout - 1].period : 0;
    uint32_t at = offset, end = offset + period;
    char where[EMU_PLACE_TEXT], place[SHADOW_PLACE];

    shadow->complaints++;
    shadow->of->place(offset, place, sizeof place);
    if (end > shadow->bytes) end = shadow->bytes;
    while (at < end && emu_state_at(shadow, at)->write.time == 0) at += 16;
    if (at >= end || at % period == 0 ||
        emu_state_at(shadow, at)->write.layout != toucher->layout) {
        emu_report(toucher->warp, toucher->insn, EMU_UNINITIALISED, "%s was never written", place);
        return;
    }
    emu_report(toucher->warp, toucher->insn, EMU_MISALIGNED,
               "%s reads %s, which was never written; behind it, at 0x%x, lies a "
               "box,\n  not at a multiple of %u as its swizzle %s wants\n  written at %s",
               toucher->what, place, at, period, tmg_swizzle_rules[toucher->layout - 1].name,
               emu_place_text(shadow->cta->cluster->machine,
                              emu_touch_insn(shadow, &emu_state_at(shadow, at)->write), where,
                              sizeof where));
}

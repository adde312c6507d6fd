// Who touches tensor memory. Its shadow has a byte for eight lanes of a column, and a column after
// the other, so that what all lanes do is one cell of 16 a column, and what a warp does one of 4.
#include "runtime/emu/check/check.h"

#include <stdio.h>

enum { GRAIN = 8, COLUMN = TMG_TENSOR_LANES / GRAIN };

static const char *place(uint32_t offset, char *text, size_t size) {
    snprintf(text, size, "tensor memory at column %u, lane %u", offset / COLUMN,
             offset % COLUMN * GRAIN);
    return text;
}

static const struct emu_shadowed tensor_memory = {0, place};

bool emu_tensor_start(struct emu_cta *cta) {
    if (!emu_tmem_new(cta)) return false;
    if (cta->tmem_shadow == NULL)
        cta->tmem_shadow = emu_shadow_new(&tensor_memory, cta, TMG_TENSOR_COLUMNS * COLUMN);
    return cta->tmem_shadow != NULL;
}

void emu_tensor_blank(struct emu_cta *cta, uint32_t column, uint32_t columns) {
    emu_shadow_forget(cta->tmem_shadow, column * COLUMN, columns * COLUMN);
}

static void touch(struct emu_cta *cta, const struct emu_rectangle *at, enum emu_use use,
                  const struct emu_toucher *toucher) {
    uint32_t first = at->lane / GRAIN, end = (at->lane + at->lanes + GRAIN - 1) / GRAIN;

    if (first == 0 && end == COLUMN) {
        emu_shadow_touch(cta->tmem_shadow, at->column * COLUMN, at->columns * COLUMN, use, toucher);
        return;
    }
    struct emu_range ranges[TMG_TENSOR_COLUMNS];
    for (uint32_t i = 0; i < at->columns; i++)
        ranges[i] = (struct emu_range){(at->column + i) * COLUMN + first, end - first};
    emu_shadow_touch_all(cta->tmem_shadow, ranges, at->columns, use, toucher);
}

// Are all columns there, or have been until they were freed?
static bool has_had(const struct emu_cta *cta, const struct emu_rectangle *at) {
    const struct emu_tmem *tmem = cta->tmem;

    if (tmem == NULL || at->lane + at->lanes > TMG_TENSOR_LANES ||
        at->column + at->columns > TMG_TENSOR_COLUMNS)
        return false;
    for (uint32_t i = 0; i < at->columns; i++) {
        uint32_t unit = (at->column + i) / TMG_TENSOR_COLUMNS_LEAST;
        if (!tmem->taken[unit] && tmem->freed_at[unit] == NULL) return false;
    }
    return at->columns != 0;
}

void emu_tensor_touch(struct emu_async *op, struct emu_cta *cta, const struct emu_rectangle *at,
                      enum emu_use use) {
    struct emu_toucher toucher = {.agent = op->agent,
                                  .time = op->time,
                                  .clock = &op->clock,
                                  .async = true,
                                  .tensor = true,
                                  .pipelined = true,
                                  .warp = op->warp,
                                  .insn = op->insn,
                                  .what = op->what};

    if (emu_machine(op->warp)->check && has_had(cta, at)) touch(cta, at, use, &toucher);
}

void emu_tensor_touch_by(struct emu_warp *warp, const struct emu_insn *insn,
                         enum emu_tensor_part part, const struct emu_rectangle *at,
                         enum emu_use use) {
    bool synchronous = part == TENSOR_DONE;
    struct emu_toucher toucher = {.agent = synchronous ? warp->agent : emu_tensor_agent(warp, part),
                                  .time = synchronous ? warp->clock.seen[warp->agent]
                                                      : warp->tensor_begun[part],
                                  .clock = &warp->clock,
                                  .async = !synchronous,
                                  .tensor = !synchronous,
                                  .warp = warp,
                                  .insn = insn};

    if (emu_machine(warp)->check) touch(warp->cta, at, use, &toucher);
}

// ---- who knows of what, see tmem.h ----

static void raise(uint32_t *clock, const struct emu_warp *warp, enum emu_tensor_part part,
                  uint32_t time) {
    uint32_t *at = &clock[emu_tensor_agent(warp, part)];

    if (*at < time) *at = time;
}

void emu_tensor_fence_before(struct emu_warp *warp) {
    for (int part = 0; part < TENSOR_PARTS; part++)
        raise(warp->clock.before, warp, (enum emu_tensor_part)part,
              warp->clock.seen[emu_tensor_agent(warp, (enum emu_tensor_part)part)]);
}

void emu_tensor_fence_after(struct emu_warp *warp) {
    struct emu_clock *clock = &warp->clock;

    for (uint32_t i = 0; i < warp->cta->cluster->agent_count; i++)
        if (clock->after[i] < clock->before[i]) clock->after[i] = clock->before[i];
}

void emu_tensor_wait(struct emu_warp *warp, uint32_t lanes, enum emu_tensor_part part) {
    emu_learn_time(warp, lanes, emu_tensor_agent(warp, part), warp->tensor_begun[part]);
    raise(warp->clock.after, warp, part, warp->tensor_begun[part]);
}

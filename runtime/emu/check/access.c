// Addresses to bytes: which window an address lies in, whose it is, and whether it may be used so.
// Every access of an instruction comes through here, so this is where bounds are checked.
#include "runtime/emu/check/check.h"
#include "runtime/emu/check/profile.h"

#include <string.h>

static const char *use_text(enum emu_use use) {
    return use == EMU_READ ? "read" : use == EMU_WRITE ? "write" : "atomic";
}

bool emu_shared_address(struct emu_warp *warp, const struct emu_insn *insn, uint64_t address,
                        struct emu_cta **cta, uint32_t *offset) {
    struct emu_cluster *cluster = warp->cta->cluster;
    uint64_t local = address;

    if ((address & EMU_WINDOW_MASK) == EMU_SHARED_WINDOW && address >> 48 == 0)
        local = address & UINT32_MAX;
    uint64_t rank = local >> EMU_RANK_SHIFT;
    if (rank >= cluster->cta_count) {
        emu_fatal(warp, insn, EMU_OUT_OF_BOUNDS, "0x%llx is not a shared memory address",
                  (unsigned long long)address);
        return false;
    }
    *cta = &cluster->ctas[rank];
    *offset = (uint32_t)local & ((1u << EMU_RANK_SHIFT) - 1);
    if (*cta != warp->cta && (*cta)->live_warps == 0)
        emu_report(warp, insn, EMU_PEER_EXITED,
                   "shared memory of CTA rank %u at 0x%x is addressed after that CTA has exited",
                   (*cta)->rank, *offset);
    return true;
}

static enum emu_strength strength_of(const struct emu_insn *insn, uint32_t bytes,
                                     enum emu_use use) {
    if (use == EMU_ATOMIC) {
        bool looks = insn->word == WORD_MIN || insn->word == WORD_MAX || insn->word == WORD_AND ||
                     insn->word == WORD_OR || insn->word == WORD_NONE;  // none: cas
        return looks ? EMU_UPDATE : EMU_STRONG;
    }
    if (insn->sem != SEM_WEAK || (insn->flags & F_VOLATILE)) return EMU_STRONG;
    return use == EMU_READ && bytes <= 8 ? EMU_GUESS : EMU_WEAK;
}

// The same as another cluster sees it: a narrower scope reaches only its own.
static enum emu_strength global_strength(const struct emu_insn *insn, uint32_t bytes,
                                         enum emu_use use) {
    enum emu_strength strength = strength_of(insn, bytes, use);
    bool narrow = insn->scope == SCOPE_CTA || insn->scope == SCOPE_CLUSTER;

    return narrow && strength >= EMU_STRONG ? EMU_WEAK : strength;
}

static uint32_t lanes_of(unsigned lane) { return lane == EMU_LANES ? UINT32_MAX : 1u << lane; }

static uint8_t *access_shared(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                              uint64_t address, uint32_t bytes, enum emu_use use) {
    struct emu_cta *cta;
    uint32_t offset, first = EMU_SMEM_RESERVED;

    if (!emu_shared_address(warp, insn, address, &cta, &offset)) return NULL;
    if (emu_machine(warp)->program->uses_reserved) first = 0;
    if (offset < first || bytes > cta->smem_bytes || offset > cta->smem_bytes - bytes) {
        emu_fatal(warp, insn, EMU_OUT_OF_BOUNDS,
                  "%s of %u bytes at 0x%x, outside of shared memory [0x%x, 0x%x)", use_text(use),
                  bytes, offset, first, cta->smem_bytes);
        return NULL;
    }
    if (emu_machine(warp)->check && cta->live_warps != 0) {
        struct emu_toucher toucher = {
            .agent = warp->agent,
            .time = warp->clock.seen[warp->agent],
            .lanes = lanes_of(lane),
            .clock = emu_view(warp, lanes_of(lane)),
            .strength = strength_of(insn, bytes, use),
            .warp = warp,
            .insn = insn,
        };
        emu_shadow_touch(cta->shadow, offset, bytes, use, &toucher);
    }
    if (emu_machine(warp)->launch->profile) emu_profile_access(warp, true, offset, bytes);
    return cta->smem + offset;
}

// Reports an access that is in the allocation, but not in one of the tensors that divide it.
static void check_tensors(const struct emu_touch_global *by) {
    const struct emu_machine *machine = emu_machine(by->warp);
    uint64_t address = by->allocation->base + by->offset;
    const char *what = by->what ? by->what : use_text(by->use);
    char where[EMU_MEMORY_TEXT];

    if (emu_tensor_at(machine, address, by->bytes, by->use != EMU_READ) != NULL) return;
    emu_memory_text(machine, by->allocation, by->offset, by->bytes, where, sizeof where);
    emu_report(by->warp, by->insn, EMU_OUT_OF_BOUNDS, "%s of %zu bytes at %s%s", what, by->bytes,
               where,
               emu_tensor_at(machine, address, by->bytes, false) ? ", which it may not write" : "");
}

void emu_global_touch(const struct emu_touch_global *by) {
    uint8_t *written = by->allocation->written;
    char where[EMU_MEMORY_TEXT];

    if (by->allocation->divided) check_tensors(by);

    emu_footprint(by->warp, by->allocation, by->offset, by->bytes, by->use);
    if (emu_machine(by->warp)->launch->dependent) emu_before_touch(by);
    if (written != NULL && by->use != EMU_WRITE &&
        memchr(written + by->offset, 0, by->bytes) != NULL)
        emu_report(by->warp, by->insn, EMU_UNINITIALISED,
                   "%s%sglobal memory at %s was never written", by->what ? by->what : "",
                   by->what ? " reads " : "",
                   emu_memory_text(emu_machine(by->warp), by->allocation, by->offset, 1, where,
                                   sizeof where));
    if (written != NULL && by->use != EMU_READ) memset(written + by->offset, 1, by->bytes);
    if (by->warp->cta->cluster->known != NULL) emu_order_touch(by);
    if (emu_machine(by->warp)->weak != NULL && by->use != EMU_READ)
        emu_weak_write(by->warp->cta->cluster, by->allocation->base + by->offset,
                       by->allocation->data + by->offset, by->bytes);
}

static uint8_t *access_global(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                              uint64_t address, uint32_t bytes, enum emu_use use) {
    struct emu_machine *machine = emu_machine(warp);
    struct emu_memory *memory = machine->memory;
    struct emu_allocation *found = NULL;

    if (machine->last_allocation < memory->count)
        found = &memory->allocations[machine->last_allocation];
    if (found == NULL || address - found->base >= found->bytes) {
        found = emu_memory_find(memory, address);
        if (found != NULL) machine->last_allocation = (size_t)(found - memory->allocations);
    }
    if (found == NULL || bytes > found->bytes - (address - found->base)) {
        // the allocation just below is most often the one that was meant
        struct emu_allocation *near = found;
        for (size_t i = 0; near == NULL && i < memory->count; i++)
            if (memory->allocations[i].base <= address &&
                (i + 1 == memory->count || memory->allocations[i + 1].base > address))
                near = &memory->allocations[i];
        char where[EMU_MEMORY_TEXT];
        if (near != NULL && address - near->base < near->bytes + 4096)
            emu_fatal(
                warp, insn, EMU_OUT_OF_BOUNDS, "%s of %u bytes at %s", use_text(use), bytes,
                emu_memory_text(machine, near, address - near->base, bytes, where, sizeof where));
        else
            emu_fatal(warp, insn, EMU_OUT_OF_BOUNDS, "%s of %u bytes at 0x%llx, where nothing is",
                      use_text(use), bytes, (unsigned long long)address);
        return NULL;
    }
    uint64_t offset = address - found->base;
    if (machine->check && (found->written != NULL || found->divided || machine->order != NULL ||
                           machine->launch->dependent)) {
        struct emu_touch_global by = {.warp = warp,
                                      .insn = insn,
                                      .allocation = found,
                                      .offset = offset,
                                      .bytes = bytes,
                                      .use = use,
                                      .strength = global_strength(insn, bytes, use),
                                      .agent = warp->agent,
                                      .time = warp->clock.seen[warp->agent],
                                      .lanes = lanes_of(lane),
                                      .clock = emu_view(warp, lanes_of(lane)),
                                      .value = warp->stores};
        emu_global_touch(&by);
    } else if (machine->check) {
        emu_footprint(warp, found, offset, bytes, use);
    }
    if (machine->launch->profile) emu_profile_access(warp, false, address, bytes);
    if (machine->weak != NULL && use == EMU_READ && strength_of(insn, bytes, use) < EMU_STRONG)
        return (uint8_t *)(uintptr_t)emu_weak_read(warp->cta->cluster, address,
                                                   found->data + offset, bytes);
    return found->data + offset;
}

static uint8_t *access_window(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                              uint64_t address, uint32_t bytes, enum emu_use use) {
    struct emu_machine *machine = emu_machine(warp);
    bool param = (address & EMU_WINDOW_MASK) == EMU_PARAM_WINDOW;
    uint64_t offset = address & ~EMU_WINDOW_MASK;
    uint64_t limit = param ? machine->entry->param_bytes : machine->program->local_bytes;

    if (bytes > limit || offset > limit - bytes) {
        emu_fatal(warp, insn, EMU_OUT_OF_BOUNDS,
                  "%s of %u bytes at offset %llu of %s memory, which has %llu", use_text(use),
                  bytes, (unsigned long long)offset, param ? "parameter" : "local",
                  (unsigned long long)limit);
        return NULL;
    }
    if (param && use != EMU_READ) {
        emu_fatal(warp, insn, EMU_OUT_OF_BOUNDS, "parameters cannot be written");
        return NULL;
    }
    if (param) return machine->params + offset;
    if (use != EMU_READ) emu_local_written(warp, offset, bytes);
    return warp->local + lane % EMU_LANES * limit + offset;
}

uint8_t *emu_access(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                    uint64_t address, uint32_t bytes, enum emu_use use) {
    return emu_access_in(warp, insn, insn->space, lane, address, bytes, use);
}

uint8_t *emu_access_in(struct emu_warp *warp, const struct emu_insn *insn, unsigned space,
                       unsigned lane, uint64_t address, uint32_t bytes, enum emu_use use) {
    warp->lane = lane;
    if (address & (bytes - 1)) {
        emu_fatal(warp, insn, EMU_MISALIGNED,
                  "%s of %u bytes at 0x%llx, which is not a multiple of %u", use_text(use), bytes,
                  (unsigned long long)address, bytes);
        return NULL;
    }
    if (space == SPACE_SHARED) return access_shared(warp, insn, lane, address, bytes, use);
    if (space == SPACE_LOCAL)
        return access_window(warp, insn, lane, EMU_LOCAL_WINDOW | (address & ~EMU_WINDOW_MASK),
                             bytes, use);
    switch (address >> 40) {
    case EMU_SHARED_WINDOW >> 40: return access_shared(warp, insn, lane, address, bytes, use);
    case EMU_LOCAL_WINDOW >> 40:
    case EMU_PARAM_WINDOW >> 40: return access_window(warp, insn, lane, address, bytes, use);
    default: return access_global(warp, insn, lane, address, bytes, use);
    }
}

void emu_async_touch_all(struct emu_async *op, struct emu_cta *cta, const struct emu_range *ranges,
                         uint32_t count, enum emu_use use) {
    struct emu_toucher toucher = {.agent = op->agent,
                                  .time = op->time,
                                  .clock = &op->clock,
                                  .async = op->through_proxy,
                                  .after_reads = op->after_reads,
                                  .layout = op->layout,
                                  .strength = use == EMU_ATOMIC ? EMU_STRONG : EMU_WEAK,
                                  .warp = op->warp,
                                  .insn = op->insn,
                                  .what = op->what};

    if (emu_machine(op->warp)->check)
        emu_shadow_touch_all(cta->shadow, ranges, count, use, &toucher);
}

void emu_async_touch(struct emu_async *op, struct emu_cta *cta, uint32_t offset, uint32_t bytes,
                     enum emu_use use) {
    emu_async_touch_all(op, cta, &(struct emu_range){offset, bytes}, bytes ? 1 : 0, use);
}

void emu_async_touch_global(struct emu_async *op, const struct emu_allocation *allocation,
                            uint64_t offset, size_t bytes, enum emu_use use, const void *value) {
    struct emu_touch_global by = {.warp = op->warp,
                                  .insn = op->insn,
                                  .what = op->what,
                                  .allocation = allocation,
                                  .offset = offset,
                                  .bytes = bytes,
                                  .use = use,
                                  .strength = use == EMU_ATOMIC ? EMU_STRONG : EMU_WEAK,
                                  .agent = op->agent,
                                  .time = op->time,
                                  .clock = &op->clock,
                                  .async = op->through_proxy,
                                  .value = value};

    if (emu_machine(op->warp)->check && bytes) emu_global_touch(&by);
}

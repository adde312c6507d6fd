// mbarriers as objects: counts, bytes, phase, and the clock that their waiters will learn.
// The 64 bits in shared memory stay opaque, as PTX says; ordinary writes to them are errors.
#ifndef TMG_EMU_MACHINE_MBARRIER_H
#define TMG_EMU_MACHINE_MBARRIER_H

#include "runtime/emu/machine/async.h"

struct emu_mbarrier {
    struct emu_mbarrier *next;
    struct emu_cta *cta;
    uint32_t offset;
    bool valid;
    uint32_t expected, pending;  // arrivals a phase, and still due in this one
    int64_t bytes;               // tx-count
    uint32_t phase;              // completed phases so far
    struct emu_clock clock, completed;
    uint32_t init_agent, init_time;
    bool fenced;  // the async proxy sees the init
    const struct emu_insn *init_insn;
    struct emu_warp *last;  // who arrived or completed bytes last, for reports
    const struct emu_insn *last_insn;
    const char *last_what;
    uint64_t arrived;  // warps of the cluster that arrived in this phase, by agent
};

// The valid mbarrier there, or NULL.
struct emu_mbarrier *emu_mbarrier_at(const struct emu_cta *cta, uint32_t offset);
// Does [offset, offset + bytes) touch a valid mbarrier?
struct emu_mbarrier *emu_mbarrier_overlapping(const struct emu_cta *cta, uint32_t offset,
                                              uint32_t bytes);
// complete_tx by [op]: its clock joins the phase. Reports where there is no mbarrier.
void emu_mbarrier_complete_bytes(struct emu_async *op, struct emu_cta *cta, uint32_t offset,
                                 uint32_t bytes);
// fence.mbarrier_init of [warp], for all whose init it knows.
void emu_mbarriers_fence(struct emu_warp *warp);
// One arrival by an asynchronous operation (cp.async.mbarrier.arrive).
void emu_mbarrier_arrive_async(struct emu_async *op, struct emu_mbarrier *barrier);
// All threads of the CTA have exited: no bytes may be due.
void emu_mbarriers_check_end(struct emu_warp *warp);
void emu_mbarriers_free(struct emu_cta *cta);

#endif

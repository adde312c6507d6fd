// mbarriers as objects: counts, bytes, phase, and the clock that their waiters will learn.
// The 64 bits in shared memory stay opaque, as PTX says; ordinary writes to them are errors.
#ifndef TMG_EMU_MACHINE_MBARRIER_H
#define TMG_EMU_MACHINE_MBARRIER_H

#include "runtime/emu/machine/async.h"

enum { EMU_MBARRIER_MAX = (1 << 20) - 1 };  // of arrivals and of bytes

struct emu_mbarrier {
    struct emu_mbarrier *next;
    struct emu_cta *cta;
    uint32_t offset;
    bool valid;
    uint32_t expected, pending;  // arrivals a phase, and still due in this one
    int64_t bytes;               // tx-count
    uint32_t phase;              // completed phases so far
    int64_t promised;            // bytes expected in this phase so far
    uint32_t least;              // bytes of the smallest copy so far; 0: none has come
    struct emu_clock clock, completed;
    uint32_t init_agent, init_time;
    bool fenced;  // the async proxy sees the init
    const struct emu_insn *init_insn;
    struct emu_warp *last;  // who arrived or completed bytes last, for reports
    const struct emu_insn *last_insn;
    const char *last_what;
    struct emu_warp *armed;  // who expected bytes last, for reports
    const struct emu_insn *armed_insn;
    // warps of the cluster, by agent: those that arrived in this phase, those in phases before
    // it, those whose copies have come
    uint64_t arrived, arrivers, bringers;
};

// The warp's bit in sets of them; 0 where there are too many for one.
static inline uint64_t emu_agent_bit(const struct emu_warp *warp) {
    return warp->agent < 64 ? UINT64_C(1) << warp->agent : 0;
}

// The valid mbarrier there, or NULL.
struct emu_mbarrier *emu_mbarrier_at(const struct emu_cta *cta, uint32_t offset);
// Does [offset, offset + bytes) touch a valid mbarrier?
struct emu_mbarrier *emu_mbarrier_overlapping(const struct emu_cta *cta, uint32_t offset,
                                              uint32_t bytes);
// That at [address] of the cluster's shared window, or NULL.
struct emu_mbarrier *emu_mbarrier_of(const struct emu_cluster *cluster, uint32_t address);
// That at [offset] of [cta], as [insn] of [warp] initialises it; NULL when memory is out.
struct emu_mbarrier *emu_mbarrier_init(struct emu_cta *cta, uint32_t offset, uint32_t count,
                                       const struct emu_warp *warp, const struct emu_insn *insn);
// Reports where [clock], that of [warp] or of an operation of its, does not know of the init.
void emu_mbarrier_check_init(struct emu_warp *warp, const struct emu_insn *insn,
                             const struct emu_clock *clock, const struct emu_mbarrier *barrier);
// [count] arrivals that know of [clock], NULL where another of the phase has told it; [what] they
// are, for reports. False after a report.
bool emu_mbarrier_arrive(struct emu_mbarrier *barrier, struct emu_warp *warp,
                         const struct emu_insn *insn, const struct emu_clock *clock, uint32_t count,
                         const char *what);
// Expects that many more bytes. False after a report.
bool emu_mbarrier_add_bytes(struct emu_mbarrier *barrier, struct emu_warp *warp,
                            const struct emu_insn *insn, int64_t bytes);
// Ends the phase if nothing is due in it.
void emu_mbarrier_end_phase(struct emu_mbarrier *barrier);
// complete_tx by [op]: its clock joins the phase. Reports where there is no mbarrier.
void emu_mbarrier_complete_bytes(struct emu_async *op, struct emu_cta *cta, uint32_t offset,
                                 uint32_t bytes);
// fence.mbarrier_init of [warp], for all whose init it knows.
void emu_mbarriers_fence(struct emu_warp *warp);
// An arrival for each lane of an asynchronous operation (cp.async.mbarrier.arrive).
void emu_mbarrier_arrive_async(struct emu_async *op, struct emu_mbarrier *barrier);
// All threads of the CTA have exited: no bytes may be due.
void emu_mbarriers_check_end(struct emu_warp *warp);
void emu_mbarriers_free(struct emu_cta *cta);

#endif

// What a kernel may rely on: initialisation, order between those that touch the same bytes, and
// registers that a matrix instruction still uses. Each access of an instruction comes through here.
#ifndef TMG_EMU_CHECK_H
#define TMG_EMU_CHECK_H

#include "runtime/emu/machine/async.h"

enum emu_use { EMU_READ, EMU_WRITE, EMU_ATOMIC };

// How an access bears one of another agent at the same time, see emu_may_meet.
enum emu_strength {
    EMU_WEAK,
    EMU_GUESS,  // a plain load of 1 to 8 bytes, which no hardware tears
    EMU_STRONG,
    EMU_UPDATE  // an atomic that looks at what it finds: cas, min, max, and, or
};

// May the two meet without order? Relaxed and stronger accesses may (PTX ISA 8.4). A guess meets an
// update in sound programs too: "if (x > *most) atomicMax(most, x)", or the first value of a loop
// around atomicCAS, can only be out of date. It may not meet a sum that others still add to.
static inline bool emu_may_meet(enum emu_strength a, enum emu_strength b) {
    return (a >= EMU_STRONG && b >= EMU_STRONG) || (a == EMU_GUESS && b == EMU_UPDATE) ||
           (a == EMU_UPDATE && b == EMU_GUESS);
}

// ---- shadow.c ----

// Who touches shared memory: a warp or an operation in flight.
struct emu_toucher {
    uint32_t agent, time;
    const struct emu_clock *clock;
    bool async;  // through the async proxy
    bool four;   // it ends when the four agents from [agent] on have: a warpgroup's wgmma
    enum emu_strength strength;
    uint8_t layout;  // 1 + the enum tmg_swizzle by which it places a matrix; 0: none of these
    struct emu_warp *warp;  // for reports: who, or who issued it
    struct emu_warp *group; /* four warps, of whose clocks [clock] is the least; NULL: one warp's */
    const struct emu_insn *insn;
    const char *what; /* "TMA load", ... for reports; NULL: a warp's own access */
};

struct emu_shadow *emu_shadow_new(uint32_t bytes);
// As new; and [smem], where it was touched, is blank again.
void emu_shadow_clean(struct emu_shadow *shadow, uint8_t *smem);
void emu_shadow_delete(struct emu_shadow *shadow);
// Notes that an mbarrier lies at [offset], which has just been written: what writes there from now
// on, while that mbarrier is valid, is reported.
void emu_shadow_barrier(struct emu_cta *cta, uint32_t offset);
void emu_shadow_touch(struct emu_cta *cta, uint32_t offset, uint32_t bytes, enum emu_use use,
                      const struct emu_toucher *toucher);

// ---- order.c: between clusters, where they may hear of each other ----

// Makes machine->order where it's wanted; where memory is out, nothing is checked.
void emu_order_new(struct emu_machine *machine);
void emu_order_delete(struct emu_machine *machine);
int emu_order_start(struct emu_cluster *cluster);
// As emu_sync_release and emu_sync_acquire, for a word of global memory; a fence beyond the
// cluster.
void emu_order_release(struct emu_cluster *cluster, uint64_t address, bool release);
void emu_order_acquire(struct emu_cluster *cluster, uint64_t address, bool acquire);
void emu_order_fence(struct emu_cluster *cluster);

// An access to bytes of an allocation, by a warp or (then [what] says so) an operation of its.
struct emu_touch_global {
    struct emu_warp *warp;
    const struct emu_insn *insn;
    const char *what;
    const struct emu_allocation *allocation;
    uint64_t offset;
    size_t bytes;
    enum emu_use use;
    enum emu_strength strength;
};
void emu_order_touch(const struct emu_touch_global *by);

// ---- sync.c: words of memory that serve as flags ----

// Publishes the warp's clock with a release (or, relaxed, the clock of its last fence) at a word.
void emu_sync_release(struct emu_warp *warp, const struct emu_insn *insn, uint64_t key,
                      bool release);
// Learns what was published there; relaxed: only with the next fence.
void emu_sync_acquire(struct emu_warp *warp, const struct emu_insn *insn, uint64_t key,
                      bool acquire);
void emu_syncs_free(struct emu_cluster *cluster);

// ---- access.c: addresses to bytes ----

// Checks and notes an access whose bounds are right: initialisation, and order between clusters.
void emu_global_touch(const struct emu_touch_global *by);

// The bytes behind an address of [space] as [lane] sees it, checked for bounds, alignment to
// [bytes], initialisation and races; NULL after a fatal report. *cta (may be NULL) is the owner of
// shared bytes.
uint8_t *emu_access(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                    uint64_t address, uint32_t bytes, enum emu_use use);
// The shared window address of a .shared or generic address, false after a fatal report. Where that
// CTA has exited this is reported, and goes on: its memory is kept until the cluster ends.
bool emu_shared_address(struct emu_warp *warp, const struct emu_insn *insn, uint64_t address,
                        struct emu_cta **cta, uint32_t *offset);
// Touches shared memory as operation [op] in flight.
void emu_async_touch(struct emu_async *op, struct emu_cta *cta, uint32_t offset, uint32_t bytes,
                     enum emu_use use);

// ---- pending.c: registers that a wgmma still uses ----

// Makes room for [warp]'s marks, once; false when memory is out.
bool emu_pending_new(struct emu_warp *warp);
void emu_pending_free(struct emu_warp *warp);
// Marks register [slot] as in use by wgmma group [group], as its A operand if [read].
void emu_pending_mark(struct emu_warp *warp, uint32_t slot, uint32_t group, bool read);
// The first [groups] groups are over.
void emu_pending_end(struct emu_warp *warp, uint32_t groups);
// Reports an instruction that touches marked registers.
void emu_pending_check(struct emu_warp *warp, const struct emu_insn *insn);

// ---- standstill.c ----

// The state of every warp; [why] the budget is spent, NULL for a deadlock.
void emu_report_standstill(struct emu_machine *machine, enum emu_class class_, const char *why);

#endif

// What a kernel may rely on: initialisation, order between those that touch the same bytes, and
// registers that a matrix instruction still uses. Each access of an instruction comes through here.
#ifndef TMG_EMU_CHECK_H
#define TMG_EMU_CHECK_H

#include "runtime/emu/machine/tmem.h"

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

// Who touches a memory: a warp or an operation in flight.
struct emu_toucher {
    uint32_t agent, time;
    uint32_t lanes;  // of the warp; 0: an operation
    const struct emu_clock *clock;
    bool async;        // through the async proxy
    bool after_reads;  // behind a fence for that proxy, too, of who has read what is written
    bool tensor;       // of tensor memory: it may rely on what clock.after has,
    bool pipelined;    // and on what the tensor core's pipeline has been given before it
    bool four;         // it ends when the four agents from [agent] on have: a warpgroup's wgmma
    enum emu_strength strength;
    uint8_t layout;  // 1 + the enum tmg_swizzle by which it places a matrix; 0: none of these
    struct emu_warp *warp;  // for reports: who, or who issued it
    struct emu_warp *group; /* four warps, of whose clocks [clock] is the least; NULL: one warp's */
    const struct emu_insn *insn;
    const char *what; /* "TMA load", ... for reports; NULL: a warp's own access */
};

// A memory that a shadow is of. Another one than shared memory needs a row like this, a shadow of
// it in struct emu_cta, and touches.
struct emu_shadowed {
    uint32_t begin;  // what lies below may be read though nobody writes it
    // "shared memory at 0x440": how reports speak of [offset], into [text]
    const char *(*place)(uint32_t offset, char *text, size_t size);
};
extern const struct emu_shadowed emu_shadowed_shared;

// ---- states.c ----

struct emu_shadow *emu_shadow_new(const struct emu_shadowed *of, const struct emu_cta *cta,
                                  uint32_t bytes);
// As new; and [smem], if not NULL, is blank again where it was touched.
void emu_shadow_clean(struct emu_shadow *shadow, uint8_t *smem);
// Those bytes count as never written or read.
void emu_shadow_forget(struct emu_shadow *shadow, uint32_t offset, uint32_t bytes);
void emu_shadow_delete(struct emu_shadow *shadow);

// ---- shadow.c: the rules ----

// Notes that an mbarrier lies at [offset], which has just been written: what writes there from now
// on, while that mbarrier is valid, is reported.
void emu_shadow_barrier(struct emu_shadow *shadow, uint32_t offset);
void emu_shadow_touch(struct emu_shadow *shadow, uint32_t offset, uint32_t bytes, enum emu_use use,
                      const struct emu_toucher *toucher);
// The same of many, faster than one by one.
struct emu_range {
    uint32_t offset, bytes;
};
void emu_shadow_touch_all(struct emu_shadow *shadow, const struct emu_range *ranges, uint32_t count,
                          enum emu_use use, const struct emu_toucher *toucher);

// ---- order.c: between clusters, where they may hear of each other ----

// Makes machine->order where it's wanted; where memory is out, nothing is checked. [hear]: the
// clusters may hear of each other; of too many that do, nothing is checked either.
void emu_order_new(struct emu_machine *machine, bool hear);
void emu_order_delete(struct emu_machine *machine);
int emu_order_start(struct emu_cluster *cluster);
// As emu_sync_release and emu_sync_acquire, for a word of global memory; a fence beyond the
// cluster.
void emu_order_release(struct emu_warp *warp, uint64_t address, bool release);
void emu_order_acquire(struct emu_cluster *cluster, uint64_t address, bool acquire);
void emu_order_fence(struct emu_warp *warp);
// From here on the async proxy may rely on what the cluster knows of others' global memory.
void emu_order_fence_async(struct emu_cluster *cluster);

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
    uint32_t agent, time;
    uint32_t lanes;  // of the warp; 0: an operation
    const struct emu_clock *clock;
    bool async;         // through the async proxy
    const void *value;  // that is written; NULL: not said
};
void emu_order_touch(const struct emu_touch_global *by);

// ---- weak.c: what loads may still see of what other clusters have overwritten ----

// Under drawn orders, those of a seed that is not 0.
void emu_weak_new(struct emu_machine *machine);
void emu_weak_delete(struct emu_machine *machine);
// What the cluster has stored until now is released; it sees from now on what others have released.
void emu_weak_release(const struct emu_cluster *cluster);
void emu_weak_acquire(const struct emu_cluster *cluster);
// [data] is about to be overwritten by the cluster; what a plain load of it sees there, up to the
// next load. Only where machine->weak is.
void emu_weak_write(const struct emu_cluster *cluster, uint64_t address, const uint8_t *data,
                    size_t bytes);
const uint8_t *emu_weak_read(const struct emu_cluster *cluster, uint64_t address,
                             const uint8_t *data, size_t bytes);

// ---- footprint.c: what a launch touches of global memory ----

// A cell, of 16 bytes: who came first, whether others came, and bits for bytes read and written.
enum { EMU_FOOT_UNIT = 16, EMU_FOOT_WRITTEN = 0xffff, EMU_FOOT_READ = 16, EMU_FOOT_OWNER = 33 };
#define EMU_FOOT_SHARED (UINT64_C(1) << 32)

void emu_footprints_start(struct emu_machine *machine);
// Adds [marks] and gives what was there.
uint64_t emu_foot_mark(_Atomic uint64_t *foot, uint64_t owner, uint64_t marks);

// Keeps what is there before it is written, until emu_pages_end brings it back or drops it.
int emu_pages_start(struct emu_machine *machine);
void emu_pages_keep(const struct emu_machine *machine, const struct emu_allocation *allocation,
                    uint64_t offset, size_t bytes);
void emu_pages_end(struct emu_apart *apart, bool restore);

// Reports [by] where the launch before this one, which is not over, touches the same.
void emu_before_touch(const struct emu_touch_global *by);

// Notes an access of [warp], or of an operation of its.
static inline void emu_footprint(const struct emu_warp *warp,
                                 const struct emu_allocation *allocation, uint64_t offset,
                                 size_t bytes, enum emu_use use) {
    struct emu_apart *apart = warp->cta->cluster->machine->apart;
    uint64_t owner = (uint64_t)warp->owner << EMU_FOOT_OWNER, end = offset + bytes, next;

    if (allocation->feet == NULL) return;
    if (use != EMU_READ && apart != NULL)
        emu_pages_keep(warp->cta->cluster->machine, allocation, offset, bytes);
    for (uint64_t at = offset; at < end; at = next) {
        _Atomic uint64_t *foot = &allocation->feet[at / EMU_FOOT_UNIT];
        uint64_t cell = atomic_load_explicit(foot, memory_order_relaxed);
        next = (at / EMU_FOOT_UNIT + 1) * EMU_FOOT_UNIT;
        uint64_t mask = (1u << ((next < end ? next : end) - at)) - 1;
        mask <<= at % EMU_FOOT_UNIT;
        uint64_t marks = (use != EMU_WRITE ? mask << EMU_FOOT_READ : 0);
        marks |= use != EMU_READ ? mask : 0;
        bool foreign = cell && (cell ^ owner) >> EMU_FOOT_OWNER;
        if ((cell | marks) != cell || (foreign && !(cell & EMU_FOOT_SHARED)))
            cell = emu_foot_mark(foot, owner, marks);
        foreign = cell && (cell ^ owner) >> EMU_FOOT_OWNER;
        if (apart != NULL && (foreign || (cell & EMU_FOOT_SHARED)) &&
            cell & (mask | (use != EMU_READ ? mask << EMU_FOOT_READ : 0)))
            atomic_store_explicit(&apart->suspect, true, memory_order_relaxed);
    }
}

// ---- sync.c: words of memory that serve as flags ----

// Publishes the warp's clock with [lane]'s release (or, relaxed, the clock of the last fence) at a
// word.
void emu_sync_release(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                      uint64_t key, bool release);
// Learns what was published there; relaxed: only with the next fence.
void emu_sync_acquire(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                      uint64_t key, bool acquire);
void emu_syncs_free(struct emu_cluster *cluster);

// ---- access.c: addresses to bytes ----

// Checks and notes an access whose bounds are right: initialisation, and order between clusters.
void emu_global_touch(const struct emu_touch_global *by);

// The bytes behind an address of [space] as [lane] sees it (EMU_LANES: all of them, as one),
// checked for bounds, alignment to [bytes], initialisation and races; NULL after a fatal report.
// *cta (may be NULL) is the owner of shared bytes.
uint8_t *emu_access(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                    uint64_t address, uint32_t bytes, enum emu_use use);
// The same in [space], where the instruction names another or none.
uint8_t *emu_access_in(struct emu_warp *warp, const struct emu_insn *insn, unsigned space,
                       unsigned lane, uint64_t address, uint32_t bytes, enum emu_use use);
// The shared window address of a .shared or generic address, false after a fatal report. Where that
// CTA has exited this is reported, and goes on: its memory is kept until the cluster ends.
bool emu_shared_address(struct emu_warp *warp, const struct emu_insn *insn, uint64_t address,
                        struct emu_cta **cta, uint32_t *offset);
// Touches shared memory as operation [op] in flight.
void emu_async_touch(struct emu_async *op, struct emu_cta *cta, uint32_t offset, uint32_t bytes,
                     enum emu_use use);
void emu_async_touch_all(struct emu_async *op, struct emu_cta *cta, const struct emu_range *ranges,
                         uint32_t count, enum emu_use use);
// The same of global memory; [value]: what is written there, NULL if that is not known yet.
void emu_async_touch_global(struct emu_async *op, const struct emu_allocation *allocation,
                            uint64_t offset, size_t bytes, enum emu_use use, const void *value);

// ---- tmem_touch.c: tensor memory ----

// Makes the CTA's tensor memory and its shadow where it has none; false when memory is out.
bool emu_tensor_start(struct emu_cta *cta);
// Columns that have just been allocated: nobody has touched them.
void emu_tensor_blank(struct emu_cta *cta, uint32_t column, uint32_t columns);
// Touches what is allocated of [cta]'s tensor memory as [op] of a pipeline. Of lanes it knows no
// less than eight, from a multiple of eight on.
void emu_tensor_touch(struct emu_async *op, struct emu_cta *cta, const struct emu_rectangle *at,
                      enum emu_use use);
// The same as [part] of [warp]: its loads, its stores; TENSOR_DONE: as dealloc, which wants all to
// have ended but no fence.
void emu_tensor_touch_by(struct emu_warp *warp, const struct emu_insn *insn,
                         enum emu_tensor_part part, const struct emu_rectangle *at,
                         enum emu_use use);
// tcgen05.fence::before_thread_sync, ::after_thread_sync, and a wait for all loads or all stores.
void emu_tensor_fence_before(struct emu_warp *warp);
void emu_tensor_fence_after(struct emu_warp *warp);
void emu_tensor_wait(struct emu_warp *warp, uint32_t lanes, enum emu_tensor_part part);

// ---- maps.c: tensor maps in global memory ----

// Fences of [warp]: for all maps that it knows to be written, for the one at [address].
void emu_map_release(struct emu_warp *warp);
void emu_map_acquire(struct emu_warp *warp, uint64_t address);
// [warp] writes the map: fences until now do not count.
void emu_map_changed(struct emu_warp *warp, uint64_t address);
// Reports a map that this launch has written and [warp] does not know the fences of.
void emu_map_check(struct emu_warp *warp, const struct emu_insn *insn, uint64_t address);
void emu_maps_free(struct emu_cluster *cluster);

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

// ---- blame.c ----

// Puts into [text] what the waits of [cluster]'s warps come down to: barriers that nobody is left
// to complete, or circles; and what waits for those in turn. Gives where the first is waited for;
// NULL where someone who runs may still bring all about.
const struct emu_insn *emu_blame(const struct emu_cluster *cluster, struct emu_text *text);

// ---- unused.c: what a read that was reported has left in registers ----

// Before [insn] of lanes [mask], where [warp] has been reported: watches what came of that, and
// notes in the report where it is used.
void emu_watch_step(struct emu_warp *warp, const struct emu_insn *insn, uint32_t mask);
// [report] is of a write over what [lanes] of [warp] loaded with [load], at [time] of its own.
void emu_watch_earlier(struct emu_warp *warp, const struct emu_insn *load, uint32_t lanes,
                       uint32_t time, struct emu_report *report);
// Where clusters are held to each other, loads of global memory have numbers, by warp, of which the
// end is kept: that of [insn], which is being executed; 0: none.
uint16_t emu_watch_number(const struct emu_warp *warp, const struct emu_insn *insn);
// [lanes] loaded with load [number], at that time, what the report is of.
void emu_watch_load(struct emu_warp *warp, uint16_t number, uint32_t time, uint32_t lanes,
                    struct emu_report *report);
// Some word is of both loads, of one time; by [before_lanes] of the first.
void emu_watch_both(const struct emu_warp *warp, uint16_t number, uint16_t before,
                    uint32_t before_lanes);
// What [warp] has just been reported for at [insn] is not about what a load brought.
void emu_watch_nothing(struct emu_warp *warp, const struct emu_insn *insn);
void emu_watches_free(struct emu_warp *warp);

// ---- standstill.c ----

// The state of every warp of [stuck], which stands still; NULL: of all, since the budget is spent
// as [why] says.
void emu_report_standstill(struct emu_machine *machine, struct emu_cluster *stuck, const char *why);

#endif

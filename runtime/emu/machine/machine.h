// The running machine: grid, clusters, CTAs, warps and what they wait for; who may know of what
// (clocks). One thread runs a machine; a seed decides every order that the hardware leaves open.
#ifndef TMG_EMU_MACHINE_H
#define TMG_EMU_MACHINE_H

#include "runtime/emu/decode/decode.h"

#include <stdatomic.h>

// ---- device memory ----

struct emu_allocation {
    uint64_t base;
    size_t bytes;
    uint8_t *data;
    uint8_t *written;  // a flag each byte, NULL when all are
    char *name;
    bool divided;    // among tensors of the launch that runs, with other bytes beside them
    uint64_t image;  // the number of the module whose variables these are; 0: of none
    // check/footprint.c's: cells of this launch and of the one before, which pages are kept
    _Atomic uint64_t *feet, *feet_before;
    _Atomic uint8_t *pages;
};

struct emu_memory {
    struct emu_allocation *allocations;  // by rising base
    size_t count, capacity;
    uint64_t next;
    // Of the latest launch: somebody waited for the one before it, somebody let the next one begin
    // who had not; and it is over, whatever comes next.
    _Atomic bool waited, hurried;
    bool settled;
};

// ---- clocks ----
// An agent is a warp or an asynchronous operation in flight. seen[a] is the last time of agent a
// that happened before now; async[a] is the part of that which the async proxy may rely on in
// shared
// memory.

struct emu_clock {
    uint32_t *seen, *async;
    // Where clusters tell each other things: async's twin for global memory, and what fences beyond
    // the cluster cover, of whichever warp; else NULL.
    uint32_t *global, *wide;
    // Where there is tensor memory: what tcgen05.fence::before_thread_sync covers, of whichever
    // warp, and what an operation on tensor memory may rely on, see tmem.h; else NULL.
    uint32_t *before, *after;
};

// What lanes of a warp know of each other: they go on by themselves, and only what orders threads
// orders them. See lanes.c.
struct emu_lanes {
    uint32_t joined[EMU_LANES];  // a lane knows all that the others did until that time of the warp
    uint32_t mates[EMU_LANES], until[EMU_LANES];  // and of these lanes, all until that
    // Where a few lanes have learnt what the others have not: what all know, and who knows more.
    bool ahead;
    uint32_t knowers;
    struct emu_clock common;
};

enum { EMU_TELLINGS = 32 };

// Which lanes of a warp told others of what they had done, at each of its latest times.
struct emu_told {
    uint32_t now;
    struct {
        uint32_t lanes, joined;  // and all lanes until [joined]
    } at[EMU_TELLINGS];
};

// ---- control flow: lanes that go together ----

enum emu_wait_kind {  // a row each in wait.c
    WAIT_NOTHING,
    WAIT_BARRIER,
    WAIT_CLUSTER,
    WAIT_MBARRIER,
    WAIT_BULK_GROUP,
    WAIT_COPY_GROUP,
    WAIT_WARPGROUP,
    WAIT_WARP,
    WAIT_SLEEP,
    WAIT_TMEM,
    WAIT_TMEM_PAIR,
    WAIT_KINDS
};

struct emu_wait {
    enum emu_wait_kind kind;
    uint32_t object;      // barrier number, mbarrier address, groups allowed to be pending
    uint64_t generation;  // of the barrier when it was reached
    bool arrived;         // the warp has, all of it, and waits for the barrier's end
    uint64_t until;
    bool expired;  // a try_wait's time limit is over
};

// Lanes part at a branch and meet again at its immediate post-dominator.
struct emu_join {
    struct emu_join *parent, *next;  // next: in the warp's list
    uint32_t pc, expected, arrived;
};

struct emu_split {
    uint32_t pc, mask;
    struct emu_join *join;
    struct emu_wait wait;
    uint64_t seen_change;  // cluster->changes when it blocked
    bool blocked;
};

// ---- asynchronous operations ----

struct emu_async;

struct emu_group_state {  // bulk or cp.async groups of one lane
    uint32_t open;        // number of the group that collects now
};

// ---- the hierarchy ----

enum { EMU_NAMED_BARRIERS = 16 };

// What the predicates of bar.red come to.
struct emu_votes {
    bool some_false, some_true;
    uint32_t count;
};

struct emu_named_barrier {
    uint32_t expected, arrived;  // in threads; expected 0 = not in use
    bool counted;                // somebody has asked for that many; else for all who live
    uint64_t generation;
    uint32_t warps, before;          // who arrived, and in the generations before
    struct emu_votes votes, result;  // of this generation, of the last one
    struct emu_clock clock, released;
    uint32_t line;
};

// Lanes of a warp at a barrier, where they wait for its other live lanes: the warp arrives as one.
struct emu_gather {
    const struct emu_insn *insn;  // of those who came last
    uint32_t lanes, number, asked;
    struct emu_votes votes;
    uint64_t done;        // how often all were there
    uint64_t generation;  // of the barrier when they were there last
};

struct emu_warpgroup {
    uint32_t arrived;  // warps at the wgmma at [pc]
    uint32_t pc;
    uint64_t generation;
};

struct emu_pending;

struct emu_warp {
    struct emu_cta *cta;
    unsigned index;
    uint32_t agent, owner;  // among the cluster's agents; among all warps of the grid, plus one
    uint32_t *regs;
    uint32_t *preds;
    uint32_t live, started;
    uint32_t warp_barrier, warp_barriers;  // bar.warp.sync: who is there, how many are done
    struct emu_gather gather;
    uint32_t cluster_arrived;  // lanes between barrier.cluster.arrive and .wait
    uint64_t cluster_generation;
    uint32_t carry;      // CC.CF, a bit a lane
    uint32_t registers;  // that setmaxnreg asked for; 0: none
    struct emu_split splits[EMU_LANES];
    unsigned split_count, current;
    struct emu_join *joins;
    uint8_t *local;
    uint64_t local_end;      // of what any lane has written in it
    struct emu_clock clock;  // clock.seen[agent] is the warp's own time
    struct emu_lanes lanes;
    struct emu_clock fenced;    // the clock at the last fence, what relaxed writes publish
    const void *stores;         // what a store in progress writes; NULL: not said
    struct emu_clock observed;  // what relaxed reads saw, acquired by the next fence
    bool has_observed, has_fenced;
    struct emu_group_state bulk[EMU_LANES], copies[EMU_LANES];
    uint32_t copies_begun;
    uint32_t wgmma_open;          // the group of wgmma that collects now
    bool wgmma_fenced;            // a wgmma.fence has been there
    struct emu_pending *pending;  // registers that those in flight use, see check/pending.c
    uint32_t pending_registers;   // how many; nonzero: check operands
    bool watched;                 // an unsound read's value may be in its registers
    struct emu_watches *watches;  // see check/unused.c
    uint16_t loads;               // of global memory that it has begun, by a number that wraps
    // the latest report against the warp, at which instruction, by accesses of which lanes
    struct emu_report *blamed;
    const struct emu_insn *blamed_insn;
    uint32_t blamed_lanes;
    unsigned lane;  // that accesses memory
    uint64_t steps;
    uint32_t line;  // of the instruction executed last
    // operations on tensor memory that it has begun, by enum emu_tensor_part; of each lane, the
    // last of its pipeline
    uint32_t tensor_begun[4], tensor_last[EMU_LANES];
};

struct emu_mbarrier;
struct emu_shadow;

struct emu_cta {
    struct emu_cluster *cluster;
    unsigned rank, id[3];
    uint8_t *smem;
    uint32_t smem_bytes, dynamic_offset;
    struct emu_warp *warps;
    unsigned warp_count, live_warps, threads, live_threads;
    struct emu_named_barrier barriers[EMU_NAMED_BARRIERS];
    struct emu_warpgroup *warpgroups;
    struct emu_mbarrier *mbarriers;
    struct emu_shadow *shadow;
    struct emu_tmem *tmem;           // NULL: nobody has allocated any of it, see tmem.h
    struct emu_shadow *tmem_shadow;  // check/tmem_touch.c's
    struct emu_async *pipeline;  // of its tensor core: who was put there last; NULL: it is empty
    bool refused;                // it knows that no cluster's launch can be cancelled any more
};

struct emu_cluster {
    struct emu_machine *machine;
    struct emu_cluster *next;
    unsigned id[3];
    uint32_t number;  // in the grid
    uint32_t *known;  // clocks of the grid's clusters, see order.c; NULL: nobody asks
    struct emu_cta *ctas;
    unsigned cta_count, live_ctas;
    struct emu_named_barrier barrier;
    struct emu_async *pending;  // in flight
    struct emu_async *spare;    // over, with a clock each, to be used again
    uint64_t next_due;          // before that step nothing of it goes on
    uint64_t changes;           // grows with every event that someone may wait for
    uint64_t last_change;       // step of the machine when it last grew
    unsigned expiries;    // of all try_waits' time limits, since an mbarrier last got anything
    uint32_t warp_count;  // of all its CTAs; the agents from here on are no warps
    bool has_tmem;        // its architecture does
    uint32_t agent_count, agent_capacity;
    uint32_t *agent_times;  // of asynchronous agents: last time used
    struct emu_told *told;  // by warp's agent
    uint64_t random;
    struct emu_sync *syncs;            // clocks of shared memory words used as flags
    struct emu_map_event *map_events;  // check/maps.c's
};

// Clusters that run apart: have two warps met in global memory, one of them writing? Perhaps.
struct emu_apart {
    _Atomic bool suspect, lost;  // lost: what memory held before is not known any more
    struct emu_page *_Atomic kept;
};

struct emu_machine {
    struct emu_memory *memory;
    const struct emu_launch *launch;
    struct emu_module *module;
    const struct emu_program *program;
    const struct ptx_function *entry;
    uint8_t *params;
    uint64_t workspace;      // of a cooperative grid; 0: it is none
    uint64_t image_address;  // of the module's .global and .const data
    unsigned grid[3], block[3], cluster_size[3];
    uint64_t steps, thread_steps, multiply_adds;
    struct emu_limit limit;
    uint64_t *printed;             // bytes, of the whole launch
    double seconds;                // of all CPUs
    struct emu_cluster *clusters;  // resident
    uint64_t resident, room;       // how many are, how many may be
    uint64_t ended;                // that have run to their end
    struct emu_cluster **spare;    // ended ones of the same launch, to be used again
    uint64_t next_cluster, cluster_total;
    struct emu_report *reports;
    size_t report_count;
    uint64_t left_out;        // reports that there was no room for
    enum emu_class ended_by;  // where it has stopped
    bool stop;
    bool check;
    uint32_t map_releases;    // fences of written tensor maps
    bool found_race;          // between warps in global memory
    struct emu_order *order;  // NULL: the clusters cannot hear of each other
    struct emu_weak *weak;    // what they may still see; NULL: only the latest
    struct emu_apart *apart;  // of clusters that run each on its own; NULL: they do not
    size_t last_allocation;   // that was accessed, most likely to be the next one
    uint64_t index;           // of the only cluster, with [last]
    _Atomic uint64_t *last;   // the grid ends with this cluster; NULL: this machine is the grid
};

// ---- registers ----

static inline uint32_t *emu_r32(struct emu_warp *warp, uint32_t entry) {
    return warp->regs + (size_t)(entry & ~EMU_WIDE) * EMU_LANES;
}

static inline uint64_t *emu_r64(struct emu_warp *warp, uint32_t entry) {
    return (uint64_t *)(void *)emu_r32(warp, entry);
}

// Lane [lane] of an operand of any width, zero-extended.
static inline uint64_t emu_get(struct emu_warp *warp, uint32_t entry, unsigned lane) {
    return entry & EMU_WIDE ? emu_r64(warp, entry)[lane] : emu_r32(warp, entry)[lane];
}

static inline void emu_set(struct emu_warp *warp, uint32_t entry, unsigned lane, uint64_t value) {
    if (entry & EMU_WIDE)
        emu_r64(warp, entry)[lane] = value;
    else
        emu_r32(warp, entry)[lane] = (uint32_t)value;
}

// Lanes where predicate [entry] holds.
static inline uint32_t emu_pred(const struct emu_warp *warp, uint32_t entry) {
    uint32_t value = warp->preds[entry & ~EMU_NEGATED];
    return entry & EMU_NEGATED ? ~value : value;
}

// Writes the predicate for the lanes of [mask]; EMU_NO_PC is the sink.
static inline void emu_set_pred(struct emu_warp *warp, uint32_t entry, uint32_t mask,
                                uint32_t value) {
    if (entry != EMU_NO_PC) warp->preds[entry] = (warp->preds[entry] & ~mask) | (value & mask);
}

// Base + offset of memory operand entries [at] and [at+1].
static inline uint64_t emu_address(struct emu_warp *warp, const struct emu_insn *insn, unsigned at,
                                   unsigned lane) {
    return emu_get(warp, insn->op[at], lane) + (uint64_t)(int64_t)(int32_t)insn->op[at + 1];
}

// [bytes] at [offset] of a lane's local memory are written.
static inline void emu_local_written(struct emu_warp *warp, uint64_t offset, uint64_t bytes) {
    if (offset + bytes > warp->local_end) warp->local_end = offset + bytes;
}

#define EMU_EACH_LANE(lane, mask)                                            \
    for (uint32_t lane##_left = (mask), lane = 0;                            \
         lane##_left && (lane = (uint32_t)__builtin_ctz(lane##_left), true); \
         lane##_left &= lane##_left - 1)

static inline struct emu_split *emu_split(struct emu_warp *warp) {
    return &warp->splits[warp->current];
}

static inline struct emu_machine *emu_machine(const struct emu_warp *warp) {
    return warp->cta->cluster->machine;
}

// ---- memory.c ----

// The allocation that holds [address], or NULL.
struct emu_allocation *emu_memory_find(const struct emu_memory *memory, uint64_t address);
// Forgets who touched the allocation.
void emu_memory_forget(struct emu_allocation *allocation);

// ---- tensors.c: the launch's tensors in their allocations ----

// Divides the memory's allocations among the launch's tensors.
void emu_tensors_start(struct emu_machine *machine);
// A tensor that has all of the bytes and, with [writes], may be written; NULL: none.
const struct emu_tensor *emu_tensor_at(const struct emu_machine *machine, uint64_t address,
                                       uint64_t bytes, bool writes);
enum { EMU_MEMORY_TEXT = 300 };
// "offset 132 of b, element [0, 66]", "offset 96 of a, which has 64 bytes, 32 bytes before b",
// "offset 0 of buffer 1": where [bytes] at [offset] of [allocation] are, maybe beyond it, into
// [text] of EMU_MEMORY_TEXT characters.
const char *emu_memory_text(const struct emu_machine *machine,
                            const struct emu_allocation *allocation, uint64_t offset,
                            uint64_t bytes, char *text, size_t size);

// ---- split.c: divergence ----

// The current split goes on at [target] for the lanes [taken], at [other] for the rest.
void emu_diverge(struct emu_warp *warp, uint32_t taken, uint32_t target, uint32_t other,
                 uint32_t join);
// All lanes of the current split go to [target] and meet at [join] before they go on there.
void emu_enter(struct emu_warp *warp, uint32_t target, uint32_t join);
// Lanes arrive at their join where the pc says so. False if the current split is gone.
bool emu_settle(struct emu_warp *warp);
// Lanes that wait where lanes of a branch meet for one of [mask], and where; 0 if there are none.
uint32_t emu_waits_for(const struct emu_warp *warp, uint32_t mask, uint32_t *pc);
// [mask] of the current split has exited.
void emu_exit_lanes(struct emu_warp *warp, uint32_t mask);
void emu_joins_free(struct emu_warp *warp);

// ---- wait.c ----

// What a report of those who stand still says of a wait, and what it knows of the object besides.
struct emu_wait_row {
    const char *says;  // a format for the object's number
    enum { WAIT_PLAIN, WAIT_AT_NAMED_BARRIER, WAIT_AT_MBARRIER } object;
};
extern const struct emu_wait_row emu_waits[WAIT_KINDS];

// Something happened that others may wait for.
void emu_changed(struct emu_cluster *cluster);
// Blocks the current split on what it waits for; returns EMU_BLOCKED.
enum emu_step emu_block(struct emu_warp *warp, enum emu_wait_kind kind, uint32_t object);
bool emu_waiting(struct emu_warp *warp, enum emu_wait_kind kind);
uint64_t emu_random(uint64_t *state);

// ---- budget.c ----

// May the kernel print another [bytes]? False after a report.
bool emu_budget_print(struct emu_warp *warp, const struct emu_insn *insn, uint64_t bytes);
// What a cluster takes whose CTAs have [smem] bytes of shared memory each.
uint64_t emu_cluster_bytes(const struct emu_machine *machine, uint64_t smem);

// ---- clock.c ----

int emu_clock_new(struct emu_cluster *cluster, struct emu_clock *clock);
void emu_clock_free(struct emu_clock *clock);
void emu_clock_join(const struct emu_cluster *cluster, struct emu_clock *into,
                    const struct emu_clock *from);
void emu_clock_copy(const struct emu_cluster *cluster, struct emu_clock *into,
                    const struct emu_clock *from);
void emu_clock_clear(const struct emu_cluster *cluster, struct emu_clock *clock);
// The agent that reads shared memory for [warp]'s part of wgmmas: its time is the number of the
// group, plus one, so that whoever waits for a group knows of all before it.
static inline uint32_t emu_wgmma_agent(const struct emu_warp *warp) {
    return warp->cta->cluster->warp_count + warp->agent;
}

// The launch before this one, which whoever has waited by griddepcontrol knows to be over.
static inline uint32_t emu_before_agent(const struct emu_cluster *cluster) {
    return 2 * cluster->warp_count;
}

// The agent of a warp's cp.async: its time is the number of the copy. Whoever waits for a group, or
// for an mbarrier at which copies arrive, knows of all copies before.
static inline uint32_t emu_copy_agent(const struct emu_warp *warp) {
    return emu_before_agent(warp->cta->cluster) + 1 + warp->agent;
}

// What a warp does in tensor memory, an agent each whose time is a number: of what its pipeline
// (mma, cp, shift) has done and has been given, of its loads and of its stores.
enum emu_tensor_part { TENSOR_DONE, TENSOR_GIVEN, TENSOR_LOADS, TENSOR_STORES, TENSOR_PARTS };
static inline uint32_t emu_tensor_agents(const struct emu_cluster *cluster,
                                         enum emu_tensor_part part) {
    return (3 + part) * cluster->warp_count + 1;  // from here on, by warp
}

static inline uint32_t emu_tensor_agent(const struct emu_warp *warp, enum emu_tensor_part part) {
    return emu_tensor_agents(warp->cta->cluster, part) + warp->agent;
}

// Agents that stand for something from the start; those behind are taken as they are needed.
static inline uint32_t emu_fixed_agents(const struct emu_cluster *cluster) {
    return (cluster->has_tmem ? 3 + TENSOR_PARTS : 3) * cluster->warp_count + 1;
}

static inline bool emu_knows_before(const struct emu_cluster *cluster,
                                    const struct emu_clock *clock) {
    return clock->seen[emu_before_agent(cluster)] != 0;
}

// ---- lanes.c ----

// What [warp] does from here on isn't covered by what it has released so far.
void emu_tick(struct emu_warp *warp);
// [lanes] publish what the warp knew at [time] of its own, now or then.
void emu_tell(struct emu_warp *warp, uint32_t lanes, uint32_t time);
// Did [lanes] of the warp with [agent], or others that knew, tell of what they did at [time],
// [until] then?
bool emu_was_told(const struct emu_cluster *cluster, uint32_t agent, uint32_t lanes, uint32_t time,
                  uint32_t until);
// [lanes] learn all that is in [from]; of the warp's other lanes what those have told.
void emu_learn(struct emu_warp *warp, uint32_t lanes, const struct emu_clock *from);
// The same, but nothing of the warp itself: [from] is that of an operation of its.
void emu_learn_end(struct emu_warp *warp, uint32_t lanes, const struct emu_clock *from);
// [lanes] know that [agent] has come to [time].
void emu_learn_time(struct emu_warp *warp, uint32_t lanes, uint32_t agent, uint32_t time);
// [lanes] meet (bar.warp.sync): each knows from here on what any of them did and knew.
void emu_lanes_meet(struct emu_warp *warp, uint32_t lanes);
void emu_lanes_start(struct emu_warp *warp);

// What [lanes] know of others.
static inline const struct emu_clock *emu_view(const struct emu_warp *warp, uint32_t lanes) {
    return warp->lanes.ahead && (lanes & ~warp->lanes.knowers) ? &warp->lanes.common : &warp->clock;
}

// Do [lanes] know what [others] of the same warp did at [time]?
static inline bool emu_lanes_know(const struct emu_warp *warp, uint32_t lanes, uint32_t others,
                                  uint32_t time) {
    const struct emu_lanes *known = &warp->lanes;
    unsigned lane = (unsigned)__builtin_ctz(lanes);

    if (time <= known->joined[lane] || others == 0) return true;
    if (lanes & (lanes - 1)) return false;
    return !(others & ~lanes) ||
           (time <= known->until[lane] && !(others & ~(lanes | known->mates[lane])));
}

// ---- report.c: how things are called, and reports ----

struct emu_text {  // grows; [at] is the owner's to free
    char *at;
    size_t used, capacity;
};
void emu_put(struct emu_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
// "stage.full[2]" or "0x1440": an mbarrier's address by the manifest's names, into [text].
const char *emu_barrier_text(const struct emu_cta *cta, uint32_t offset, char *text, size_t size);
// "producer warp 0", "warp 7"
const char *emu_warp_text(const struct emu_warp *warp, char *text, size_t size);
enum { EMU_PLACE_TEXT = 1000 };
// "gemm.cu:141, in 88 (PTX line 2100)", before it the same of the templates where they are known,
// into EMU_PLACE_TEXT characters.
const char *emu_place_text(const struct emu_machine *machine, const struct emu_insn *insn,
                           char *text, size_t size);
// Does [insn], or a call that was inlined around it, stand in a file below [folder]?
bool emu_comes_from(const struct emu_machine *machine, const struct emu_insn *insn,
                    const char *folder);
// What is to be said of a race with what [others] of a warp did and [lanes] of it do not know of;
// 0: whom another lane, that told of it, does not speak for.
const char *emu_lanes_text(uint32_t others, uint32_t lanes, char *text, size_t size);
// What the manifest calls the warp's role, or NULL.
const struct emu_role *emu_role_of(const struct emu_warp *warp);

// Counts a report of [insn] that there is already; false if there is none. emu_report does so too,
// but where millions are alike their texts would take longer than the run.
bool emu_report_again(struct emu_warp *warp, const struct emu_insn *insn,
                      const struct emu_insn *other, enum emu_class class_);
// Notes a report against [insn] of [warp]; the text is completed with where and who.
void emu_report(struct emu_warp *warp, const struct emu_insn *insn, enum emu_class class_,
                const char *format, ...) __attribute__((format(printf, 4, 5)));
// The same of two instructions that do not bear each other.
void emu_report_pair(struct emu_warp *warp, const struct emu_insn *insn,
                     const struct emu_insn *other, enum emu_class class_, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
// The same, and the launch ends.
void emu_fatal(struct emu_warp *warp, const struct emu_insn *insn, enum emu_class class_,
               const char *format, ...) __attribute__((format(printf, 4, 5)));
// A report of the machine itself; the launch ends.
void emu_report_machine(struct emu_machine *machine, enum emu_class class_, const char *text);
// Where a report of the machine, or of all that is in it, gets its text: NULL when there is one of
// [class_] at [insn] already, or no room.
struct emu_report *emu_report_new(struct emu_machine *machine, enum emu_class class_,
                                  const struct emu_insn *insn, const struct emu_insn *other);
// Puts [report], whose text it takes over, to the machine's: one a class and place.
void emu_report_add(struct emu_machine *machine, struct emu_report *report);
// Completes the texts of a launch that has come to its end.
void emu_reports_end(struct emu_report *reports, size_t count);
// By their rank, those that explain others first.
void emu_reports_sort(struct emu_report *reports, size_t count);

#endif

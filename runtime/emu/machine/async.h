// Asynchronous operations in flight: copies that the scheduler completes after a seeded delay.
// Each is an agent with a clock of its own, so that what it touches is ordered by what announces
// it.
#ifndef TMG_EMU_MACHINE_ASYNC_H
#define TMG_EMU_MACHINE_ASYNC_H

#include "runtime/emu/machine/machine.h"

// What is in flight, and so which member of the union below holds what is its own.
enum emu_async_kind {
    ASYNC_BULK,    // a run of bytes
    ASYNC_BOX,     // of a tensor map
    ASYNC_COPY,    // cp.async of a warp
    ASYNC_ARRIVE,  // behind those
    ASYNC_STORE,   // st.async, red.async
    ASYNC_TENSOR   // of the tensor core's pipeline, see tmem.h
};

struct emu_bulk {
    uint64_t source, destination;
    bool reduces;
};
struct emu_tensor_work {
    void (*run)(struct emu_async *op);  // when its turn has come
    void *data;                         // freed with the operation
    struct emu_async *behind;           // the next in the pipeline, which has not begun
};
struct emu_box;     // exec/tensor.c
struct emu_copies;  // exec/cp_async.c

struct emu_async {
    struct emu_async *next;  // with it, side by side, what is looked at of all in flight
    uint64_t due;            // step at which its next stage happens
    int stage;               // 0: reads its source, 1: writes, 2: done but someone may ask
    bool in_bulk_group, in_copy_group;
    bool through_proxy;     // async proxy (bulk, tensor); false: cp.async
    struct emu_warp *warp;  // the issuer
    const struct emu_insn *insn;
    enum emu_async_kind kind;
    const char *what; /* "TMA load", for reports */
    uint32_t lanes;   // whose groups it belongs to: it stands for the equal copies of all of them
    uint32_t waited;  // those of the lanes that have waited for it
    uint32_t agent, time;
    struct emu_clock clock;     // what happened before it
    uint32_t group[EMU_LANES];  // number of the group, by lane
    // Runs stage [stage]; the scheduler frees the operation after stage 1 unless a group holds it.
    void (*run)(struct emu_async *op, int stage);
    // what the check of a CTA's end and the touches ask every kind for
    uint8_t *bytes;  // data between source and destination
    size_t byte_count;
    struct emu_cta *cta;  // whose shared memory
    uint32_t shared;      // offset in it
    uint32_t barrier;     // mbarrier that gets complete_tx, 0 = none
    uint32_t ctas;        // by rank, those that it writes to: a multicast, a peer; 0: [cta]
    bool from_shared;     // it reads shared memory of [cta], though no bulk group waits for it
    bool after_reads;     // it writes where others read only behind a proxy fence of theirs
    uint8_t layout;       // of what it touches in shared memory, see struct emu_toucher
    union {
        struct emu_bulk bulk;
        struct emu_box *box;      // freed with the operation
        struct emu_copies *copy;  // the same
        struct emu_tensor_work tensor;
    };
};

// An agent for an operation of [warp] and its time: one whose last use the warp knows to have
// ended.
uint32_t emu_agent_take(struct emu_warp *warp, uint32_t *time);
// A new operation of [lanes], with the clock inherited and an agent of its own; NULL after a
// report.
struct emu_async *emu_async_new(struct emu_warp *warp, const struct emu_insn *insn, uint32_t lanes,
                                enum emu_async_kind kind, const char *what);
// Puts it in flight; it is the scheduler's from here.
void emu_async_start(struct emu_async *op);
// The same of [next], while a stage of [op] runs.
void emu_async_follow(struct emu_async *op, struct emu_async *next);
// Sets the CTAs of a multicast; false after a report of those that do not exist.
bool emu_async_multicast(struct emu_async *op, uint32_t ctas);
// Lets [into] write to the CTA, or to each of a multicast that has not exited, which is reported.
void emu_async_deliver(struct emu_async *op, void (*into)(struct emu_async *, struct emu_cta *));

// ---- called by the scheduler ----

// Runs all stages that are due; with [all_idle] the earliest one even if it is not. True if any
// ran.
bool emu_async_progress(struct emu_cluster *cluster, bool all_idle);
// True once every group before the last [allowed] of the lanes is done (or has read, with [reads]);
// then joins their clocks.
bool emu_async_groups_done(struct emu_warp *warp, uint32_t lanes, bool bulk, uint32_t allowed,
                           bool reads);
// All threads of the CTA have exited: no copy may still use its shared memory.
void emu_async_check_end(struct emu_warp *warp);
void emu_async_free_all(struct emu_cluster *cluster);

#endif

// Tensor memory (sm_100a, PTX ISA 9.7.16): 128 lanes of 512 columns, a word of 32 bits where they
// cross, of which a CTA allocates columns; and the pipeline of the tensor core that works on it.
//
// Who knows of what. A warp's tcgen05.ld and .st, and what it gives to the pipeline (mma, cp,
// shift), are operations of their own, with agents whose times are numbers (emu_tensor_agent).
// A clock says of them
//   seen    who has ended: known behind wait::ld and wait::st, behind the mbarrier of a commit,
//           and to all that those synchronise with; of the pipeline, as TENSOR_GIVEN, who has begun
//   before  the same, as far as a tcgen05.fence::before_thread_sync stands before what tells of it;
//           a commit needs none
//   after   what the warp knew in before at its latest tcgen05.fence::after_thread_sync: on this
//           its operations on tensor memory may rely
// So a missing wait or commit is a race, and a missing fence is named. An operation of the pipeline
// may rely on those that have begun before it; ld and st want them to have ended.
//
// An instruction that gives an operation to the pipeline, in its handler, for each lane:
//
//     struct emu_async *op = emu_pipeline_new(warp, insn, lane, pair, "tcgen05.mma");
//     if (op == NULL) return EMU_NEXT;    // reported
//     op->tensor.data = malloc(...);      // what the operation is, freed with it
//     op->tensor.run = multiply;          // called once, later, when all before it have run
//     emu_pipeline_give(op);
//     ...                                 // and once, behind the lanes: emu_tick(warp);
//
// [run] computes and writes at once. What it reads of shared memory it says by emu_async_touch(op,
// cta, offset, bytes, EMU_READ), what it touches of tensor memory by emu_tensor_touch (check.h),
// and computes where emu_tmem_has is true of it; what comes too late for its columns, which have
// been freed, is a race as well, and so touches them first. Of a pair the same of both CTAs,
// op->cta and emu_peer of it.
// tcgen05.commit (exec/tmem.c) is an operation of the same pipeline.
#ifndef TMG_EMU_MACHINE_TMEM_H
#define TMG_EMU_MACHINE_TMEM_H

#include "runtime/emu/machine/async.h"

enum { EMU_TMEM_UNITS = TMG_TENSOR_COLUMNS / TMG_TENSOR_COLUMNS_LEAST };

struct emu_tmem {
    uint32_t words[TMG_TENSOR_LANES][TMG_TENSOR_COLUMNS];
    // by 32 columns: how many columns the allocation has that begins there, 0 where none does; and
    // whether they are allocated
    uint16_t begins[EMU_TMEM_UNITS];
    bool taken[EMU_TMEM_UNITS];
    const struct emu_insn *allocated_at[EMU_TMEM_UNITS], *freed_at[EMU_TMEM_UNITS];
    const struct emu_insn *relinquished_at;  // the right to allocate; NULL: it still has it
    // What the tensor core keeps of operands: of A, and of four B's of .ws; a pair's is with its
    // first CTA.
    struct emu_collected {
        const struct emu_insn *filled_at;  // NULL: nothing that is valid
        uint64_t digest;
    } collected[5];
    // Of the latest instruction for a pair: a warp waits for the other CTA's, for [asked] columns;
    // how many are over; and the column that has been allocated.
    bool waits;
    uint32_t asked, given;
    uint64_t done;
};

// Lanes [lane, lane + lanes) of columns [column, column + columns).
struct emu_rectangle {
    uint32_t lane, lanes, column, columns;
};

// An address has the lane in its upper half, the column in the lower. Kernels of pairs count the
// second CTA's lanes from 128 on, as figures of the ISA do, and a B200 takes that for its own.
static inline uint32_t emu_tmem_lane(uint32_t address) {
    return address >> 16 & (TMG_TENSOR_LANES - 1);
}
static inline uint32_t emu_tmem_column(uint32_t address) { return address & 0xffff; }

// The words of [lane] from [column] on.
static inline uint32_t *emu_tmem_words(const struct emu_cta *cta, uint32_t lane, uint32_t column) {
    return &cta->tmem->words[lane][column];
}

// The other CTA of the pair, NULL where the cluster has none.
static inline struct emu_cta *emu_peer(const struct emu_cta *cta) {
    uint32_t rank = cta->rank ^ 1;
    return rank < cta->cluster->cta_count ? &cta->cluster->ctas[rank] : NULL;
}

// Is all of [at] inside of tensor memory and allocated by [cta]? Else, after a report that ends the
// launch, false. [what] touches it, for the report: "tcgen05.mma".
bool emu_tmem_has(struct emu_warp *warp, const struct emu_insn *insn, const struct emu_cta *cta,
                  const struct emu_rectangle *at, const char *what);

// ---- allocation ----

// Makes the CTA's memory where it has none; false when memory is out.
bool emu_tmem_new(struct emu_cta *cta);
void emu_tmem_clean(struct emu_cta *cta);
void emu_tmem_delete(struct emu_cta *cta);
// Is it a number of columns that may be allocated: a power of two from 32 to 512?
static inline bool emu_tmem_is_size(uint32_t columns) {
    return columns >= TMG_TENSOR_COLUMNS_LEAST && columns <= TMG_TENSOR_COLUMNS &&
           (columns & (columns - 1)) == 0;
}
// The first of [columns] free ones in [cta] and, where it is not NULL, [peer]; -1 where there are
// not as many.
int emu_tmem_room(const struct emu_cta *cta, const struct emu_cta *peer, uint32_t columns);
// Takes them, with what nobody has written in them, and gives them back.
void emu_tmem_take(struct emu_cta *cta, uint32_t column, uint32_t columns,
                   const struct emu_insn *insn);
void emu_tmem_free(struct emu_cta *cta, uint32_t column, uint32_t columns,
                   const struct emu_insn *insn);

// All threads of the CTA have exited: what is still allocated is reported.
void emu_tmem_check_end(struct emu_warp *warp);

// ---- the pipeline ----

// An operation of [lane], of its CTA or (with [pair]) of the pair that it is in; NULL after a
// report.
struct emu_async *emu_pipeline_new(struct emu_warp *warp, const struct emu_insn *insn,
                                   unsigned lane, bool pair, const char *what);
void emu_pipeline_give(struct emu_async *op);

#endif

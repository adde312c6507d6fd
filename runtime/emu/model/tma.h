// What a tensor copy touches: a box of a tensor map as runs of global memory and where each lies
// in shared memory. The caller checks, tracks and times the accesses; here is only the geometry.
#ifndef TMG_EMU_MODEL_TMA_H
#define TMG_EMU_MODEL_TMA_H

#include "runtime/emu/model/reduce.h"
#include "runtime/emu/model/tensormap.h"

// Operands of one cp{.reduce}.async.bulk.tensor. [coordinates] innermost first, as many as the
// rank; [offsets] are im2col's, W first, rank - 2 of them, or along W alone wHalo and wOffset, NULL
// for none; [rows] are those that gather4 and scatter4 name, 4 in place of the second coordinate,
// NULL for none. [shared] is the address of the box in the CTA's shared window. [stores]: a row
// that ends inside 16 bytes is written up to their end, as an H200 does it.
struct tmg_tma_request {
    const int32_t *coordinates;
    const uint16_t *offsets;
    const int32_t *rows;
    uint32_t shared;
    bool stores;
};

// Consecutive elements in global memory. [shared] is where they would lie without swizzle;
// [outside]: not of the tensor, [global] has no meaning, loads fill and stores skip. [behind]: not
// of the tensor either, but in the 16 bytes in which a stored row ends.
struct tmg_tma_run {
    uint64_t global;
    uint32_t shared, bytes;
    bool outside, behind;
};

typedef int tmg_tma_visit(void *context, const struct tmg_tma_run *run);
typedef int tmg_tma_visit_shared(void *context, uint32_t address, uint32_t bytes);

// NULL when this model can copy with [map] (which must have passed tmg_tensor_map_check), else
// what it lacks.
const char *tmg_tma_unsupported(const struct tmg_map *map);

// Makes of a map of single rows one of four, as gather4 and scatter4 take them; else what is wrong.
const char *tmg_tma_four_rows(struct tmg_map *map);

// Makes of a map along W the one of an instruction with [halo] and [offset] that begins at [w];
// else what is wrong.
const char *tmg_tma_halo(struct tmg_map *map, uint32_t halo, uint32_t offset, int32_t w);

// All below want a map that passed tmg_tensor_map_check and tmg_tma_unsupported: the bytes in
// memory may be anyone's, and tensormap.replace can leave them illegal.

// Bytes of the box in shared memory, fill included. A legal map's box can exceed any memory:
// compare before visiting it.
uint64_t tmg_tma_box_bytes(const struct tmg_map *map);
// What complete_tx counts of them (PTX ISA 9.7.9.25): of elements that are spread, none of the
// bytes in between, as CUTLASS's kernels expect it.
uint64_t tmg_tma_copied_bytes(const struct tmg_map *map);

// Visits the whole box in the order of shared memory; a non-zero result stops and is returned.
int tmg_tma_each(const struct tmg_map *map, const struct tmg_tma_request *request,
                 tmg_tma_visit *visit, void *context);

// Visits the bytes of shared memory that the box occupies, swizzle applied, in few large ranges.
int tmg_tma_each_shared(const struct tmg_map *map, uint32_t shared, tmg_tma_visit_shared *visit,
                        void *context);

// The same for those elements alone that lie in the tensor, or in the 16 bytes in which one of its
// rows ends: what a store reads.
int tmg_tma_each_stored(const struct tmg_map *map, const struct tmg_tma_request *request,
                        tmg_tma_visit_shared *visit, void *context);

// Brings one run to shared memory: [global] points at its bytes (not read when outside), [smem] at
// the window's address 0. Applies fill, the type's rounding and the swizzle.
void tmg_tma_load_run(const struct tmg_map *map, const struct tmg_tma_run *run, const void *global,
                      uint8_t *smem);

// Brings one run to [global], plainly; outside runs must not be passed.
void tmg_tma_store_run(const struct tmg_map *map, const struct tmg_tma_run *run, void *global,
                       const uint8_t *smem);

// Reduces one run into [global], element by element.
void tmg_tma_reduce_run(const struct tmg_map *map, const struct tmg_tma_run *run,
                        enum tmg_reduce op, void *global, const uint8_t *smem);

#endif

// cp.async.bulk.tensor: boxes of a tensor map to and from shared memory (PTX ISA 9.7.9.25.5).
// The geometry is the models'; here are the checks, the times, the barriers and who touches what.
#include "runtime/emu/check/profile.h"
#include "runtime/emu/exec/lanes.h"
#include "runtime/emu/machine/mbarrier.h"
#include "runtime/emu/model/tma.h"

#include <stdlib.h>
#include <string.h>

struct emu_box {
    struct tmg_map map;
    int32_t coordinates[5];
    uint16_t offsets[3];
    struct tmg_tma_request request;
    bool reduces;
    bool pair;        // .cta_group::2: of the two CTAs of a pair that of
    unsigned parity;  // this rank modulo 2 has the mbarrier
    // while a visit runs
    struct emu_async *op;
    struct emu_cta *cta;
    enum emu_use use;
};

// Names the buffer that the map is over: the map says more than that buffer has.
static void report_bounds(struct emu_async *op, const struct tmg_tma_run *run) {
    const struct emu_box *box = op->box;
    const struct emu_allocation *meant =
        emu_memory_find(emu_machine(op->warp)->memory, box->map.address);
    char where[EMU_MEMORY_TEXT];

    if (meant == NULL)
        emu_fatal(op->warp, op->insn, EMU_OUT_OF_BOUNDS,
                  "%s by a tensor map over 0x%llx, which is in no buffer", op->what,
                  (unsigned long long)box->map.address);
    else
        emu_fatal(op->warp, op->insn, EMU_OUT_OF_BOUNDS, "%s of %u bytes at %s", op->what,
                  run->bytes,
                  emu_memory_text(emu_machine(op->warp), meant, run->global - meant->base,
                                  run->bytes, where, sizeof where));
}

enum { LONGEST_RUN = 2048 };  // 256 elements of 8 bytes

// The bytes of one run in global memory; NULL after a report.
static uint8_t *run_bytes(struct emu_async *op, const struct tmg_tma_run *run, enum emu_use use) {
    const struct emu_box *box = op->box;
    uint8_t value[LONGEST_RUN];
    bool told = use == EMU_WRITE && run->bytes <= sizeof value && emu_machine(op->warp)->order;
    struct emu_allocation *found = emu_memory_find(emu_machine(op->warp)->memory, run->global);

    if (found == NULL || run->bytes > found->bytes - (run->global - found->base)) {
        report_bounds(op, run);
        return NULL;
    }
    uint64_t offset = run->global - found->base;
    if (told) tmg_tma_store_run(&box->map, run, value, op->bytes);
    emu_async_touch_global(op, found, offset, run->bytes, use, told ? value : NULL);
    if (emu_machine(op->warp)->launch->profile)
        emu_profile_copy(emu_machine(op->warp), op->insn, run->global, run->bytes);
    return found->data + offset;
}

static int load_run(void *context, const struct tmg_tma_run *run) {
    struct emu_box *box = context;
    const uint8_t *from = run->outside ? NULL : run_bytes(box->op, run, EMU_READ);

    if (!run->outside && from == NULL) return -1;
    tmg_tma_load_run(&box->map, run, from, box->cta->smem);
    return 0;
}

// What reports say of bytes that nobody asked for.
#define BEHIND " (of the whole 16 bytes in which a row of its tensor ends)"

static int store_run(void *context, const struct tmg_tma_run *run) {
    struct emu_box *box = context;
    const char *what = box->op->what;
    uint8_t *to = NULL;

    if (run->behind) box->op->what = box->reduces ? "TMA reduction" BEHIND : "TMA store" BEHIND;
    if (!run->outside) to = run_bytes(box->op, run, box->reduces ? EMU_ATOMIC : EMU_WRITE);
    box->op->what = what;
    if (to == NULL) return run->outside ? 0 : -1;
    // the data was taken out of shared memory at the first stage; box->op->bytes is that copy
    if (box->reduces)
        tmg_tma_reduce_run(&box->map, run, emu_reduction(box->op->insn), to, box->op->bytes);
    else
        tmg_tma_store_run(&box->map, run, to, box->op->bytes);
    return 0;
}

static int touch_range(void *context, uint32_t address, uint32_t bytes) {
    struct emu_box *box = context;

    emu_async_touch(box->op, box->cta, address, bytes, box->use);
    return 0;
}

static int save_range(void *context, uint32_t address, uint32_t bytes) {
    struct emu_box *box = context;

    memcpy(box->op->bytes + address, box->cta->smem + address, bytes);
    return touch_range(context, address, bytes);
}

static void load_into(struct emu_async *op, struct emu_cta *cta) {
    struct emu_box *box = op->box;

    box->cta = cta;
    box->use = EMU_WRITE;
    if (tmg_tma_each_shared(&box->map, op->shared, touch_range, box) != 0 ||
        tmg_tma_each(&box->map, &box->request, load_run, box) != 0)
        return;
    if (box->pair) cta = &cta->cluster->ctas[(cta->rank & ~1u) | box->parity];
    emu_mbarrier_complete_bytes(op, cta, op->barrier, tmg_tma_copied_bytes(&box->map));
}

static void run_load(struct emu_async *op, int stage) {
    if (stage > 0) emu_async_deliver(op, load_into);
}

static void run_store(struct emu_async *op, int stage) {
    struct emu_box *box = op->box;

    box->cta = op->cta;
    box->use = EMU_READ;
    box->request.stores = true;
    if (stage == 0)
        tmg_tma_each_stored(&box->map, &box->request, save_range, box);
    else
        tmg_tma_each(&box->map, &box->request, store_run, box);
}

// ---- reading the operands ----

// The map at generic [address]: in a parameter, or in global memory.
static bool read_map(struct emu_warp *warp, const struct emu_insn *insn, uint64_t address,
                     struct tmg_map *map) {
    struct emu_machine *machine = emu_machine(warp);
    uint8_t bytes[TMG_TENSOR_MAP_BYTES];
    char why[TMG_TENSOR_WHY];

    if (address % 64) {
        emu_fatal(warp, insn, EMU_MISALIGNED, "tensor map at 0x%llx, which is not a multiple of 64",
                  (unsigned long long)address);
        return false;
    }
    bool param = address >> 40 == EMU_PARAM_WINDOW >> 40;
    uint64_t offset = address & ~EMU_WINDOW_MASK;
    if (param && offset + sizeof bytes <= machine->entry->param_bytes)
        memcpy(bytes, machine->params + offset, sizeof bytes);
    else if (param || emu_memory_read(machine->memory, bytes, address, sizeof bytes) != 0) {
        emu_fatal(warp, insn, EMU_OUT_OF_BOUNDS, "no tensor map at 0x%llx",
                  (unsigned long long)address);
        return false;
    }
    if (!param) emu_map_check(warp, insn, address);
    if (tmg_tensor_map_read(bytes, map) != 0) {
        emu_fatal(warp, insn, EMU_BAD_OPERAND,
                  "the 128 bytes at 0x%llx are no tensor map: never encoded, or overwritten",
                  (unsigned long long)address);
        return false;
    }
    if (tmg_tensor_map_check(map, why) != 0) {
        emu_fatal(warp, insn, EMU_BAD_OPERAND, "the tensor map at 0x%llx is not a legal one%s: %s",
                  (unsigned long long)address,
                  map->built ? " (of zeros, by tensormap.replace; is a field missing?)" : "", why);
        return false;
    }
    if ((map->swizzle > TMG_SWIZZLE_128B || tmg_tensor_types[map->type].packed) &&
        !warp->cta->cluster->has_tmem) {
        emu_fatal(warp, insn, EMU_BAD_OPERAND, "tensor map: %s with swizzle %s needs sm_100a",
                  tmg_tensor_types[map->type].name, tmg_swizzle_rules[map->swizzle].name);
        return false;
    }
    const char *unsupported = tmg_tma_unsupported(map);
    if (unsupported != NULL) {
        emu_fatal(warp, insn, EMU_UNIMPLEMENTED, "tensor map: %s", unsupported);
        return false;
    }
    if (map->rank != insn->dimensions) {
        emu_fatal(warp, insn, EMU_BAD_OPERAND, "a tensor map of rank %d in an instruction for %dd",
                  map->rank, insn->dimensions);
        return false;
    }
    return true;
}

// TMA wants 128 bytes, whatever the swizzle: that goes by the bits of the address itself.
static bool shared_place(struct emu_warp *warp, const struct emu_insn *insn,
                         const struct emu_box *box, struct emu_cta *cta, uint32_t offset) {
    uint32_t bytes = tmg_tma_box_bytes(&box->map);

    if (offset % 128) {
        emu_fatal(warp, insn, EMU_MISALIGNED,
                  "box in shared memory at 0x%x; TMA needs a multiple of 128", offset);
        return false;
    }
    if (offset < EMU_SMEM_RESERVED || bytes > cta->smem_bytes || offset > cta->smem_bytes - bytes) {
        emu_fatal(warp, insn, EMU_OUT_OF_BOUNDS,
                  "box of %u bytes at 0x%x, outside of shared memory", bytes, offset);
        return false;
    }
    return true;
}

int emu_tensor_map_encode_im2col(void *map, int type, uint32_t rank, uint64_t address,
                                 const uint64_t *dims, const uint64_t *strides, const int *lower,
                                 const int *upper, uint32_t channels, uint32_t pixels,
                                 const uint32_t *element_strides, int interleave, int swizzle,
                                 int l2_promotion, int fill, struct emu_error *error) {
    char why[TMG_TENSOR_WHY];
    int status = tmg_tensor_map_encode_im2col(map, type, rank, address, dims, strides, lower, upper,
                                              channels, pixels, element_strides, interleave,
                                              swizzle, l2_promotion, fill, why);

    if (status != 0) snprintf(error->text, sizeof error->text, "%s", why);
    return status;
}

int emu_tensor_map_encode(void *map, int type, uint32_t rank, uint64_t address,
                          const uint64_t *dims, const uint64_t *strides, const uint32_t *box,
                          const uint32_t *element_strides, int interleave, int swizzle,
                          int l2_promotion, int fill, struct emu_error *error) {
    char why[TMG_TENSOR_WHY];
    int status =
        tmg_tensor_map_encode_tiled(map, type, rank, address, dims, strides, box, element_strides,
                                    interleave, swizzle, l2_promotion, fill, why);

    if (status != 0) snprintf(error->text, sizeof error->text, "%s", why);
    return status;
}

// aux
enum { OFFSETS = 1, REDUCES = 2, FOUR_ROWS = 4, ALONG_W = 8, ALONG_W128 = 16 };

// The H200 stops with an illegal instruction, though PTX does not say so: a row must start at a
// multiple of 16 bytes from the tensor, and a box that is written may not start before it.
static bool box_place(struct emu_warp *warp, const struct emu_insn *insn, const struct emu_box *box,
                      bool writes) {
    int count = insn->row->aux & FOUR_ROWS ? 5 : insn->dimensions;

    for (int i = 0; writes && i < count; i++)
        if (box->coordinates[i] < 0) {
            emu_fatal(warp, insn, EMU_OUT_OF_BOUNDS, "%s to coordinate %d of dimension %d",
                      box->op->what, (int)box->coordinates[i], i && count == 5 ? 1 : i);
            return false;
        }
    int type = box->map.type;
    int64_t bytes = tmg_tensor_global_bytes(type, 16);

    if (box->coordinates[0] * bytes % 256 == 0 &&
        (!tmg_tensor_spreads(type) || box->coordinates[0] % 128 == 0))
        return true;
    emu_fatal(warp, insn, EMU_MISALIGNED,
              "innermost coordinate %d of elements of %d bits: not a multiple of %s",
              (int)box->coordinates[0], (int)bytes / 2,
              tmg_tensor_spreads(type) ? "128 elements" : "16 bytes");
    return false;
}

// Four rows of a matrix, each with its number: coordinates are the column and these.
static bool four_rows(struct emu_warp *warp, const struct emu_insn *insn, struct emu_box *box) {
    const char *wrong = tmg_tma_four_rows(&box->map);

    box->request.rows = box->coordinates + 1;
    if (wrong == NULL) return true;
    emu_fatal(warp, insn, EMU_BAD_OPERAND,
              "the tensor map of a %s of four rows must be of a matrix, with boxes of one row: %s",
              box->op->what, wrong);
    return false;
}

// The offsets of an im2col load, and whether its map is of the same kind; false after a report.
static bool read_offsets(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                         struct emu_box *box) {
    static const char *const kinds[] = {"tiles", "im2col", "im2col::w", "im2col::w::128"};
    int aux = insn->row->aux;
    int kind = aux & ALONG_W      ? TMG_IM2COL_W
               : aux & ALONG_W128 ? TMG_IM2COL_W128
                                  : box->map.im2col == TMG_IM2COL_ALL && (aux & OFFSETS);
    const uint32_t *list = insn->op + insn->op[6];

    if (kind != box->map.im2col) {
        emu_fatal(warp, insn, EMU_BAD_OPERAND, "a tensor map of %s in an instruction for %s",
                  kinds[box->map.im2col], kinds[aux & OFFSETS && !kind ? TMG_IM2COL_ALL : kind]);
        return false;
    }
    if (!(aux & OFFSETS)) return true;
    for (uint32_t i = 0; i < list[0] && i < 3; i++)
        box->offsets[i] = (uint16_t)emu_get(warp, list[1 + i], lane);
    box->request.offsets = box->offsets;
    if (kind == TMG_IM2COL_ALL) return true;
    const char *wrong = list[0] != 2 ? "it wants wHalo and wOffset"
                                     : tmg_tma_halo(&box->map, box->offsets[0], box->offsets[1],
                                                    box->coordinates[1]);
    if (wrong != NULL) emu_fatal(warp, insn, EMU_BAD_OPERAND, "%s: %s", kinds[kind], wrong);
    return wrong == NULL;
}

// A box for [lanes], as the first of them names it. Entries of the tensor operand: map slot, list
// of coordinates.
static struct emu_async *new_box(struct emu_warp *warp, const struct emu_insn *insn, uint32_t lanes,
                                 unsigned tensor_at, uint64_t shared_address, const char *what) {
    const uint32_t *list = insn->op + insn->op[tensor_at + 1];
    unsigned lane = (unsigned)__builtin_ctz(lanes);
    bool four = insn->row->aux & FOUR_ROWS;
    struct emu_box *box = calloc(1, sizeof *box);
    struct emu_async *op = emu_async_new(warp, insn, lanes, ASYNC_BOX, what);
    struct emu_cta *cta;
    uint32_t offset;

    if (op == NULL || box == NULL) {
        free(box);
        return NULL;
    }
    op->box = box;
    box->op = op;
    op->run = run_store;  // so that a failed one can be freed by the scheduler
    emu_async_start(op);
    if (list[0] != (four ? 5 : insn->dimensions) || (four && insn->dimensions != 2)) {
        emu_fatal(warp, insn, EMU_BAD_OPERAND, "%u coordinates in an instruction for %ud%s",
                  list[0], insn->dimensions, four ? ", with a column and four rows" : "");
        return NULL;
    }
    for (uint32_t i = 0; i < list[0]; i++)
        box->coordinates[i] = (int32_t)emu_get(warp, list[1 + i], lane);
    if (emu_machine(warp)->launch->profile)
        emu_profile_place(warp, insn, box->coordinates, list[0]);
    if (!read_map(warp, insn, emu_r64(warp, insn->op[tensor_at])[lane], &box->map) ||
        !box_place(warp, insn, box, tensor_at == 0) || (four && !four_rows(warp, insn, box)) ||
        (tensor_at != 0 && !read_offsets(warp, insn, lane, box)) ||
        !emu_shared_address(warp, insn, shared_address, &cta, &offset) ||
        !shared_place(warp, insn, box, cta, offset))
        return NULL;
    op->cta = cta;
    op->shared = offset;
    op->layout = (uint8_t)(1 + box->map.swizzle);
    box->request.coordinates = box->coordinates;
    box->request.shared = offset;
    return op;
}

// With .cta_group::2 the mbarrier is in either CTA of the pair that the box goes to (PTX ISA
// 9.7.9.27.1.2); in several pairs, in those of its CTA's parity.
static bool pair_barrier(struct emu_async *op, const struct emu_cta *barrier_cta) {
    const struct emu_cta *cta = op->cta;

    if (cta->cluster->cta_count % 2) {
        emu_fatal(op->warp, op->insn, EMU_BAD_OPERAND,
                  "%s with .cta_group::2 where CTAs are no pairs: the cluster has %u", op->what,
                  cta->cluster->cta_count);
        return false;
    }
    if (!(op->insn->flags & F_MULTICAST) && barrier_cta->rank / 2 != cta->rank / 2) {
        emu_fatal(op->warp, op->insn, EMU_BAD_OPERAND,
                  "%s to CTA rank %u with an mbarrier of rank %u, which is not of its pair",
                  op->what, cta->rank, barrier_cta->rank);
        return false;
    }
    op->box->pair = true;
    op->box->parity = barrier_cta->rank & 1;
    return true;
}

// Operands: [dst], [map, {c}], [mbar] {, {im2col offsets}} {, mask} {, policy}
EMU_HANDLER(load) {
    bool offsets = insn->row->aux & OFFSETS;

    EMU_EACH_LANE(lane, mask) {
        struct emu_cta *barrier_cta;
        uint32_t barrier;
        struct emu_async *op =
            new_box(warp, insn, 1u << lane, 2, emu_address(warp, insn, 0, lane), "TMA load");
        if (op == NULL || !emu_shared_address(warp, insn, emu_address(warp, insn, 4, lane),
                                              &barrier_cta, &barrier))
            return EMU_NEXT;
        op->barrier = barrier;
        op->run = run_load;
        if ((insn->flags & F_PAIR) && !pair_barrier(op, barrier_cta)) return EMU_NEXT;
        if ((insn->flags & F_MULTICAST) &&
            !emu_async_multicast(op, emu_r32(warp, insn->op[offsets ? 7 : 6])[lane]))
            return EMU_NEXT;
    }
    emu_tick(warp);
    return EMU_NEXT;
}

// Those of [mask] that store the box that its first lane stores, from the same place.
static uint32_t same_store(struct emu_warp *warp, const struct emu_insn *insn, uint32_t mask) {
    const uint32_t *list = insn->op + insn->op[1];
    unsigned first = (unsigned)__builtin_ctz(mask);
    uint32_t same = 0;

    EMU_EACH_LANE(lane, mask) {
        const uint64_t *maps = emu_r64(warp, insn->op[0]);
        bool equal = maps[lane] == maps[first] &&
                     emu_get(warp, insn->op[2], lane) == emu_get(warp, insn->op[2], first);
        for (uint32_t i = 0; i < list[0] && equal; i++)
            equal = emu_get(warp, list[1 + i], lane) == emu_get(warp, list[1 + i], first);
        same |= (uint32_t)equal << lane;
    }
    return same;
}

// Operands: [map, {c}], [src] {, policy}. Libraries let a whole warp store one box: the 32 equal
// copies are one here, which each of the lanes has to wait for. Reductions are as many as lanes.
EMU_HANDLER(store) {
    bool reduces = insn->row->aux & REDUCES;

    for (uint32_t left = mask, lanes; left; left &= ~lanes) {
        lanes = reduces ? left & -left : same_store(warp, insn, left);
        struct emu_async *op = new_box(warp, insn, lanes, 0,
                                       emu_address(warp, insn, 2, (unsigned)__builtin_ctz(lanes)),
                                       reduces ? "TMA reduction" : "TMA store");
        if (op == NULL) return EMU_NEXT;
        struct emu_box *box = op->box;
        op->in_bulk_group = true;
        op->bytes = malloc(op->cta->smem_bytes + 64);
        box->reduces = reduces;
        if (op->bytes == NULL) emu_fatal(warp, insn, EMU_BAD_LAUNCH, "out of memory");
    }
    emu_tick(warp);
    return EMU_NEXT;
}

const struct emu_op emu_ops_tensor[] = {
#define BYTES ".mbarrier::complete_tx::bytes"
#define LOAD_AS(space, mode, group, more, aux, needs)                                        \
    {                                                                                        \
        "cp.async.bulk.tensor.DIM." space ".global" mode BYTES group,                        \
        "mTm" more,                                                                          \
        load,                                                                                \
        aux,                                                                                 \
        0,                                                                                   \
        needs},                                                                              \
        {"cp.async.bulk.tensor.DIM." space ".global" mode BYTES group ".L2::cache_hint",     \
         "mTm" more "j",                                                                     \
         load,                                                                               \
         aux,                                                                                \
         0,                                                                                  \
         needs},                                                                             \
        {"cp.async.bulk.tensor.DIM." space ".global" mode BYTES ".multicast::cluster" group, \
         "mTm" more "i",                                                                     \
         load,                                                                               \
         aux,                                                                                \
         0,                                                                                  \
         needs},                                                                             \
    {                                                                                        \
        "cp.async.bulk.tensor.DIM." space ".global" mode BYTES ".multicast::cluster" group   \
        ".L2::cache_hint",                                                                   \
            "mTm" more "ij", load, aux, 0, needs                                             \
    }
#define LOAD(space, mode, more, aux)        \
    LOAD_AS(space, mode, "", more, aux, 0), \
        LOAD_AS(space, mode, ".GROUP", more, aux, TMG_HAS_TENSOR_MEMORY)
    LOAD("shared::cluster", "{.tile}", "", 0),
    LOAD("shared::cta", "{.tile}", "", 0),
    LOAD("shared::cluster", ".im2col", "u", OFFSETS),
    LOAD("shared::cta", ".im2col", "u", OFFSETS),
    LOAD_AS("shared::cluster", ".im2col::w", "{.GROUP}", "u", OFFSETS | ALONG_W,
            TMG_HAS_TENSOR_MEMORY),
    LOAD_AS("shared::cta", ".im2col::w", "{.GROUP}", "u", OFFSETS | ALONG_W, TMG_HAS_TENSOR_MEMORY),
    LOAD_AS("shared::cluster", ".im2col::w::128", "{.GROUP}", "u", OFFSETS | ALONG_W128,
            TMG_HAS_TENSOR_MEMORY),
    LOAD_AS("shared::cta", ".im2col::w::128", "{.GROUP}", "u", OFFSETS | ALONG_W128,
            TMG_HAS_TENSOR_MEMORY),
    LOAD_AS("shared::cluster", ".tile::gather4", "{.GROUP}", "", FOUR_ROWS, TMG_HAS_TENSOR_MEMORY),
    LOAD_AS("shared::cta", ".tile::gather4", "{.GROUP}", "", FOUR_ROWS, TMG_HAS_TENSOR_MEMORY),
    {"cp.async.bulk.tensor.DIM.global.shared::cta.tile::scatter4.bulk_group", "Tm", store,
     FOUR_ROWS, 0, TMG_HAS_TENSOR_MEMORY},
    {"cp.async.bulk.tensor.DIM.global.shared::cta.tile::scatter4.bulk_group.L2::cache_hint", "Tmj",
     store, FOUR_ROWS, 0, TMG_HAS_TENSOR_MEMORY},
    {"cp.async.bulk.prefetch.tensor.DIM.L2.global.tile::gather4{.L2::cache_hint}", "T?j",
     emu_nothing, 0, 0, TMG_HAS_TENSOR_MEMORY},
    {"cp.async.bulk.tensor.DIM.global.shared::cta{.tile}.bulk_group", "Tm", store, 0},
    {"cp.async.bulk.tensor.DIM.global.shared::cta{.tile}.bulk_group.L2::cache_hint", "Tmj", store,
     0},
    {"cp.async.bulk.tensor.DIM.global.shared::cta.im2col_no_offs.bulk_group", "Tm", store, 0},
    {"cp.async.bulk.tensor.DIM.global.shared::cta.im2col_no_offs.bulk_group.L2::cache_hint", "Tmj",
     store, 0},
    {"cp.reduce.async.bulk.tensor.DIM.global.shared::cta.ATOM{.tile}.bulk_group", "Tm", store,
     REDUCES, FACT_TELLS},
    {"cp.reduce.async.bulk.tensor.DIM.global.shared::cta.ATOM{.tile}.bulk_group.L2::cache_hint",
     "Tmj", store, REDUCES, FACT_TELLS},
    {"cp.reduce.async.bulk.tensor.DIM.global.shared::cta.ATOM.im2col_no_offs.bulk_group", "Tm",
     store, REDUCES, FACT_TELLS},
    {"cp.reduce.async.bulk.tensor.DIM.global.shared::cta.ATOM.im2col_no_offs.bulk_group"
     ".L2::cache_hint",
     "Tmj", store, REDUCES, FACT_TELLS},
    {"cp.async.bulk.prefetch.tensor.DIM.L2.global{.tile}", "T", emu_nothing, 0},
    {"cp.async.bulk.prefetch.tensor.DIM.L2.global{.tile}.L2::cache_hint", "Tj", emu_nothing, 0},
    {"cp.async.bulk.prefetch.tensor.DIM.L2.global.im2col", "Tu", emu_nothing, 0},
    {"cp.async.bulk.prefetch.tensor.DIM.L2.global.im2col.L2::cache_hint", "Tuj", emu_nothing, 0},
    {"cp.async.bulk.prefetch.tensor.DIM.L2.global.im2col::w{.L2::cache_hint}", "Tu?j", emu_nothing,
     0, 0, TMG_HAS_TENSOR_MEMORY},
    {"cp.async.bulk.prefetch.tensor.DIM.L2.global.im2col::w::128{.L2::cache_hint}", "Tu?j",
     emu_nothing, 0, 0, TMG_HAS_TENSOR_MEMORY},
    {NULL, NULL, NULL, 0},
};

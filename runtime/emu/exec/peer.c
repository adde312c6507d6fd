// Addresses in a cluster: mapa, getctarank, and stores that count bytes at a peer's mbarrier (PTX
// ISA 9.7.9). A .shared::cluster address carries the CTA's rank above its offset, so all of these
// are arithmetic.
#include "runtime/emu/exec/lanes.h"
#include "runtime/emu/machine/mbarrier.h"

#include <stdlib.h>
#include <string.h>

EMU_HANDLER(map_address) {
    unsigned count = warp->cta->cluster->cta_count;

    EMU_EACH_LANE(lane, mask) {
        uint64_t address = emu_get(warp, insn->op[1], lane);
        uint32_t rank = emu_r32(warp, insn->op[2])[lane];
        if (rank >= count) {
            emu_fatal(warp, insn, EMU_BAD_OPERAND, "mapa to CTA rank %u in a cluster of %u", rank,
                      count);
            return EMU_NEXT;
        }
        uint64_t window = insn->row->aux ? EMU_SHARED_WINDOW : 0;
        uint64_t offset = address & ((1u << EMU_RANK_SHIFT) - 1);
        emu_set(warp, insn->op[0], lane, window | (uint64_t)rank << EMU_RANK_SHIFT | offset);
    }
    return EMU_NEXT;
}

EMU_HANDLER(get_rank) {
    EMU_EACH_LANE(lane, mask)
    emu_r32(warp, insn->op[0])[lane] =
        (uint32_t)(emu_get(warp, insn->op[1], lane) & UINT32_MAX) >> EMU_RANK_SHIFT;
    return EMU_NEXT;
}

// ---- st.async, red.async: at a peer, whose mbarrier counts the bytes ----

static void run_store(struct emu_async *op, int stage) {
    if (stage == 0) return;
    emu_async_touch(op, op->cta, op->shared, (uint32_t)op->byte_count,
                    op->insn->row->aux ? EMU_ATOMIC : EMU_WRITE);
    if (op->insn->row->aux)
        emu_reduce(op->insn, op->cta->smem + op->shared, op->bytes, op->byte_count);
    else
        memcpy(op->cta->smem + op->shared, op->bytes, op->byte_count);
    emu_mbarrier_complete_bytes(op, op->cta, op->barrier, (uint32_t)op->byte_count);
}

EMU_HANDLER(store_async) {
    const uint32_t *list = insn->op + insn->op[2];
    unsigned size = ptx_type_bytes((enum ptx_type)insn->type[0]);

    EMU_EACH_LANE(lane, mask) {
        struct emu_async *op = emu_async_new(warp, insn, 1u << lane, ASYNC_STORE,
                                             insn->row->aux ? "red.async" : "st.async");
        struct emu_cta *barrier_cta;
        if (op == NULL) return EMU_NEXT;
        op->run = run_store;
        op->through_proxy = false;
        op->byte_count = size * list[0];
        op->bytes = malloc(op->byte_count + 8);
        emu_async_start(op);
        if (op->bytes == NULL ||
            !emu_shared_address(warp, insn, emu_address(warp, insn, 0, lane), &op->cta,
                                &op->shared) ||
            !emu_shared_address(warp, insn, emu_address(warp, insn, 3, lane), &barrier_cta,
                                &op->barrier))
            return EMU_NEXT;
        if (op->shared < EMU_SMEM_RESERVED || op->shared + op->byte_count > op->cta->smem_bytes) {
            emu_fatal(warp, insn, EMU_OUT_OF_BOUNDS, "%s to 0x%x", op->what, op->shared);
            return EMU_NEXT;
        }
        for (uint32_t i = 0; i < list[0]; i++) {
            uint64_t value = emu_get(warp, list[1 + i], lane);
            memcpy(op->bytes + i * size, &value, size);
        }
    }
    emu_tick(warp);
    return EMU_NEXT;
}

const struct emu_op emu_ops_cluster[] = {
    {"mapa.SHARED.u32", "rsi", map_address, 0},
    {"mapa.SHARED.u64", "rsi", map_address, 0},
    {"mapa.u32", "rsi", map_address, 1},
    {"mapa.u64", "rsi", map_address, 1},
    {"getctarank{.SHARED}.u32", "Is", get_rank, 0},
    {"getctarank{.SHARED}.u64", "Is", get_rank, 0},
    {"st.async.SCOPE{.SHARED}.mbarrier::complete_tx::bytes{.VEC}.TYPE", "mvm", store_async, 0},
    {"st.async{.weak}.mbarrier::complete_tx::bytes{.SHARED}{.VEC}.TYPE", "mvm", store_async, 0},
    {"st.async{.weak}{.SHARED}.mbarrier::complete_tx::bytes{.VEC}.TYPE", "mvm", store_async, 0},
    {"red.async{.relaxed}{.SCOPE}{.SHARED}.mbarrier::complete_tx::bytes.ATOM.TYPE", "mvm",
     store_async, 1},
    {NULL, NULL, NULL, 0},
};

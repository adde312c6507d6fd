// atom, red and the memory fences (PTX ISA 9.7.13): read-modify-write of one element a lane, in
// lane order. The arithmetic is the models'; here is what it means for the order between warps.
#include "runtime/emu/exec/lanes.h"
#include "runtime/emu/machine/mbarrier.h"

#include <string.h>

static const uint8_t numbers[T_COUNT] = {
    [T_U32] = TMG_U32, [T_S32] = TMG_S32,   [T_B32] = TMG_U32,   [T_U64] = TMG_U64,
    [T_S64] = TMG_S64, [T_B64] = TMG_U64,   [T_F32] = TMG_F32,   [T_F64] = TMG_F64,
    [T_F16] = TMG_F16, [T_BF16] = TMG_BF16, [T_F16X2] = TMG_F16, [T_BF16X2] = TMG_BF16,
    [T_U16] = TMG_U16, [T_B16] = TMG_U16,
};

enum tmg_reduce emu_reduction(const struct emu_insn *insn) {
    static const uint8_t operations[] = {
        [WORD_ADD] = TMG_REDUCE_ADD, [WORD_MIN] = TMG_REDUCE_MIN, [WORD_MAX] = TMG_REDUCE_MAX,
        [WORD_INC] = TMG_REDUCE_INC, [WORD_DEC] = TMG_REDUCE_DEC, [WORD_AND] = TMG_REDUCE_AND,
        [WORD_OR] = TMG_REDUCE_OR,   [WORD_XOR] = TMG_REDUCE_XOR,
    };
    return (enum tmg_reduce)operations[insn->word];
}

void emu_reduce(const struct emu_insn *insn, uint8_t *to, const uint8_t *from, size_t bytes) {
    enum tmg_number number = (enum tmg_number)numbers[insn->type[0]];
    unsigned size = (unsigned)tmg_number_bytes(number);

    for (size_t i = 0; i < bytes; i += size) {
        uint64_t old = 0, value = 0;
        memcpy(&old, to + i, size);
        memcpy(&value, from + i, size);
        value = tmg_reduce_element(emu_reduction(insn), number, number == TMG_F64, old, value);
        memcpy(to + i, &value, size);
    }
}

static uint64_t combine(const struct emu_insn *insn, enum ptx_type type, bool global, uint64_t old,
                        uint64_t value) {
    enum tmg_number number = (enum tmg_number)numbers[type];

    if (insn->word == WORD_EXCH) return value;
    enum tmg_reduce op = emu_reduction(insn);
    if (type == T_F16X2 || type == T_BF16X2) {
        uint64_t low = tmg_reduce_element(op, number, false, old & 0xffff, value & 0xffff) & 0xffff;
        uint64_t high =
            tmg_reduce_element(op, number, false, old >> 16 & 0xffff, value >> 16 & 0xffff);
        return low | (high & 0xffff) << 16;
    }
    return tmg_reduce_element(op, number, global && (type == T_F32 || type == T_F64), old, value);
}

static uint64_t key_of(const struct emu_insn *insn, uint64_t address) {
    return insn->space == SPACE_SHARED ? EMU_SHARED_WINDOW | (address & UINT32_MAX) : address;
}

static bool releases(const struct emu_insn *insn) {
    return insn->sem == SEM_RELEASE || insn->sem == SEM_ACQ_REL;
}

// Both halves of what an atomic does to the order; relaxed is the default (PTX ISA 9.7.13.3).
static void order(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane, uint64_t key) {
    bool acquires = insn->sem == SEM_ACQUIRE || insn->sem == SEM_ACQ_REL;

    emu_sync_acquire(warp, insn, lane, key, acquires);
    emu_sync_release(warp, insn, lane, key, releases(insn));
}

static uint8_t *locate(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                       uint64_t address, uint32_t bytes, bool *global) {
    *global = insn->space == SPACE_GLOBAL ||
              (insn->space == SPACE_GENERIC && (address & EMU_WINDOW_MASK) != EMU_SHARED_WINDOW);
    order(warp, insn, lane, key_of(insn, address));
    return emu_access(warp, insn, lane, address, bytes, EMU_ATOMIC);
}

// One lane's update; *old is what was there. False after a fatal report.
static bool update(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                   uint64_t address, uint64_t value, uint64_t *old) {
    enum ptx_type type = (enum ptx_type)insn->type[0];
    unsigned bytes = ptx_type_bytes(type);
    bool global;
    uint8_t *at = locate(warp, insn, lane, address, bytes, &global);

    if (at == NULL) return false;
    if (bytes > sizeof *old) {
        emu_fatal(warp, insn, EMU_UNIMPLEMENTED, "128 bits have atom.exch and atom.cas only");
        return false;
    }
    *old = 0;
    memcpy(old, at, bytes);
    uint64_t made = combine(insn, type, global, *old, value);
    if (memcmp(at, &made, bytes) != 0) warp->cta->cluster->last_change = emu_machine(warp)->steps;
    memcpy(at, &made, bytes);
    return true;
}

// exch and cas on 128 bits: a register's low halves, then its high ones (see mov.b128). Nothing
// else exists on them (PTX ISA 9.7.13.16).
EMU_HANDLER(atom_128) {
    const bool compares = insn->word != WORD_EXCH;
    const uint64_t *expected = emu_r64(warp, insn->op[3]);
    const uint64_t *made = compares ? emu_r64(warp, insn->op[4]) : expected;

    EMU_EACH_LANE(lane, mask) {
        bool global;
        uint8_t *at = locate(warp, insn, lane, emu_address(warp, insn, 1, lane), 16, &global);
        uint64_t old[2], wanted[2] = {expected[lane], expected[lane + EMU_LANES]};
        uint64_t value[2] = {made[lane], made[lane + EMU_LANES]};
        if (at == NULL) return EMU_NEXT;
        memcpy(old, at, sizeof old);
        if (!compares || memcmp(old, wanted, sizeof old) == 0) {
            if (memcmp(old, value, sizeof old) != 0)
                warp->cta->cluster->last_change = emu_machine(warp)->steps;
            memcpy(at, value, sizeof value);
        }
        if (insn->op[0] == 0) continue;
        emu_r64(warp, insn->op[0])[lane] = old[0];
        emu_r64(warp, insn->op[0])[lane + EMU_LANES] = old[1];
    }
    if (releases(insn)) emu_tick(warp);
    return EMU_YIELD;
}

EMU_HANDLER(atom) {
    if (insn->type[0] == T_B128 && insn->word == WORD_EXCH) return atom_128(warp, insn, mask);
    bool wide = ptx_type_bytes((enum ptx_type)insn->type[0]) == 8;
    uint32_t flag = wide ? EMU_WIDE : 0;

    EMU_EACH_LANE(lane, mask) {
        uint64_t old;
        if (!update(warp, insn, lane, emu_address(warp, insn, 1, lane),
                    emu_get(warp, insn->op[3] | flag, lane), &old))
            return EMU_NEXT;
        if (insn->op[0] != 0) emu_set(warp, insn->op[0] | flag, lane, old);
    }
    if (releases(insn)) emu_tick(warp);
    return EMU_YIELD;
}

EMU_HANDLER(cas) {
    if (insn->type[0] == T_B128) return atom_128(warp, insn, mask);
    unsigned bytes = ptx_type_bytes((enum ptx_type)insn->type[0]);
    uint32_t flag = bytes == 8 ? EMU_WIDE : 0;

    EMU_EACH_LANE(lane, mask) {
        bool global;
        uint8_t *at = locate(warp, insn, lane, emu_address(warp, insn, 1, lane), bytes, &global);
        uint64_t old = 0, expected = emu_get(warp, insn->op[3] | flag, lane);
        uint64_t made = emu_get(warp, insn->op[4] | flag, lane);
        if (at == NULL) return EMU_NEXT;
        memcpy(&old, at, bytes);
        if (memcmp(at, &expected, bytes) == 0 && memcmp(at, &made, bytes) != 0) {
            memcpy(at, &made, bytes);
            warp->cta->cluster->last_change = emu_machine(warp)->steps;
        }
        if (insn->op[0] != 0) emu_set(warp, insn->op[0] | flag, lane, old);
    }
    if (releases(insn)) emu_tick(warp);
    return EMU_YIELD;
}

EMU_HANDLER(red) {
    const uint32_t *list = insn->op + insn->op[2];
    unsigned bytes = ptx_type_bytes((enum ptx_type)insn->type[0]);

    EMU_EACH_LANE(lane, mask)
    for (uint32_t i = 0; i < list[0]; i++) {
        uint64_t old;
        if (!update(warp, insn, lane, emu_address(warp, insn, 0, lane) + i * bytes,
                    emu_get(warp, list[1 + i], lane), &old))
            return EMU_NEXT;
    }
    if (releases(insn)) emu_tick(warp);
    return EMU_NEXT;
}

// atom with a vector: an update an element, each for itself.
EMU_HANDLER(atom_vector) {
    const uint32_t *to = insn->op + insn->op[0], *from = insn->op + insn->op[3];
    unsigned bytes = ptx_type_bytes((enum ptx_type)insn->type[0]);

    EMU_EACH_LANE(lane, mask)
    for (uint32_t i = 0; i < from[0] && i < to[0]; i++) {
        uint64_t old;
        if (!update(warp, insn, lane, emu_address(warp, insn, 1, lane) + i * bytes,
                    emu_get(warp, from[1 + i], lane), &old))
            return EMU_NEXT;
        if ((to[1 + i] & ~EMU_WIDE) != 0) emu_set(warp, to[1 + i], lane, old);
    }
    if (releases(insn)) emu_tick(warp);
    return EMU_YIELD;
}

// ---- fences ----

// What was observed by relaxed reads becomes known; what is known is what relaxed writes publish.
EMU_HANDLER(fence) {
    struct emu_cluster *cluster = warp->cta->cluster;

    if (warp->has_observed) emu_learn(warp, mask, &warp->observed);
    emu_clock_copy(cluster, &warp->fenced, &warp->clock);
    warp->has_fenced = true;
    if (emu_is(insn, FACT_TELLS) || insn->scope >= SCOPE_GPU) emu_order_fence(warp);
    emu_tick(warp);
    return EMU_NEXT;
}

// What mbarriers the warp knows of, the async proxy may use from here on.
EMU_HANDLER(fence_init) {
    emu_mbarriers_fence(warp);
    return fence(warp, insn, mask);
}

// The launch before this one is over, and all that it wrote is visible.
EMU_HANDLER(wait_for_before) {
    (void)insn;
    emu_machine(warp)->memory->waited = true;
    emu_learn_time(warp, mask, emu_before_agent(warp->cta->cluster), 1);
    return EMU_NEXT;
}

// The next launch may begin.
EMU_HANDLER(launch_dependents) {
    const struct emu_cluster *cluster = warp->cta->cluster;

    (void)insn;
    if (!emu_knows_before(cluster, emu_view(warp, mask))) cluster->machine->memory->hurried = true;
    return EMU_NEXT;
}

enum { SHARED_ONLY = 1, GLOBAL_ONLY };

static void make_async(struct emu_warp *warp, const struct emu_clock *clock, int spaces) {
    size_t bytes = warp->cta->cluster->agent_count * sizeof *clock->seen;

    if (spaces != GLOBAL_ONLY) memcpy(clock->async, clock->seen, bytes);
    if (spaces != SHARED_ONLY && clock->global != NULL) memcpy(clock->global, clock->seen, bytes);
}

// From here on the async proxy may rely on all that is known now of the state space named.
EMU_HANDLER(fence_async) {
    (void)mask;
    make_async(warp, &warp->clock, insn->row->aux);
    if (warp->lanes.ahead) make_async(warp, &warp->lanes.common, insn->row->aux);
    if (insn->row->aux != SHARED_ONLY) emu_order_fence_async(warp->cta->cluster);
    emu_tick(warp);
    return EMU_NEXT;
}

EMU_HANDLER(release_maps) {
    (void)insn;
    (void)mask;
    emu_map_release(warp);
    return EMU_NEXT;
}

EMU_HANDLER(acquire_map) {
    emu_map_acquire(warp, emu_address(warp, insn, 0, (unsigned)__builtin_ctz(mask)));
    return EMU_NEXT;
}

const struct emu_op emu_ops_atomic[] = {
    {"atom{.SEM}{.SCOPE}{.SPACE}.cas.TYPE", "dmaa?j", cas, 0, FACT_UPDATES},
    {"atom{.SEM}{.SCOPE}{.SPACE}.ATOM{.noftz}{.L2::cache_hint}.TYPE", "dma?j", atom, 0,
     FACT_UPDATES},
    {"atom{.SPACE}.cas{.SEM}{.SCOPE}{.SPACE}.TYPE", "dmaa", cas, 0,
     FACT_UPDATES},  // libcu++ writes them so
    {"atom{.SPACE}.ATOM{.SEM}{.SCOPE}{.SPACE}.TYPE", "dma", atom, 0, FACT_UPDATES},
    {"atom{.SEM}{.SCOPE}{.SPACE}.ATOM{.noftz}{.L2::cache_hint}.VEC.TYPE", "Vmv?j", atom_vector, 0,
     FACT_UPDATES, TMG_HAS_CLUSTERS},
    {"red{.SEM}{.SCOPE}{.SPACE}.ATOM{.noftz}{.L2::cache_hint}{.VEC}.TYPE", "mv?j", red, 0,
     FACT_UPDATES},
    {NULL, NULL, NULL, 0},
};

const struct emu_op emu_ops_fence[] = {
    {"griddepcontrol.launch_dependents", "", launch_dependents, 0, 0, TMG_HAS_CLUSTERS},
    {"griddepcontrol.wait", "", wait_for_before, 0, 0, TMG_HAS_CLUSTERS},
    {"membar.cta", "", fence, 0},
    {"membar.gl", "", fence, 0, FACT_TELLS},
    {"membar.sys", "", fence, 0, FACT_TELLS},
    {"fence.SEM.SCOPE", "", fence, 0, FACT_FENCES},
    {"fence.SCOPE", "", fence, 0, FACT_FENCES},
    {"fence.SEM.sync_restrict::shared::cta.SCOPE", "", fence, 0, FACT_FENCES},
    {"fence.SEM.sync_restrict::shared::cluster.SCOPE", "", fence, 0, FACT_FENCES},
    {"fence.proxy.async", "", fence_async, 0, 0, TMG_HAS_CLUSTERS},
    {"fence.proxy.async.global", "", fence_async, GLOBAL_ONLY, 0, TMG_HAS_CLUSTERS},
    {"fence.proxy.async.SHARED", "", fence_async, SHARED_ONLY, 0, TMG_HAS_CLUSTERS},
    {"fence.proxy.async::generic.SEM.sync_restrict::shared::cta.SCOPE", "", fence_async,
     SHARED_ONLY, 0, TMG_HAS_CLUSTERS},
    {"fence.proxy.async::generic.SEM.sync_restrict::shared::cluster.SCOPE", "", fence_async,
     SHARED_ONLY, 0, TMG_HAS_CLUSTERS},
    {"fence.proxy.alias", "", emu_nothing, 0},
    {"membar.proxy.alias", "", emu_nothing, 0},
    {"fence.mbarrier_init.release.cluster", "", fence_init, 0, 0, TMG_HAS_CLUSTERS},
    {"fence.proxy.tensormap::generic.release.SCOPE", "", release_maps, 0, 0, TMG_HAS_CLUSTERS},
    {"fence.proxy.tensormap::generic.acquire.SCOPE", "mn", acquire_map, 0, 0, TMG_HAS_CLUSTERS},
    {NULL, NULL, NULL, 0},
};

// What lanes of a warp do together: shuffles, votes, match, redux, elect, warp barriers (PTX ISA
// 9.7.9, 9.7.13). All members must be here; a member that is elsewhere is reported, as the
// hardware leaves it undefined.
#include "runtime/emu/exec/lanes.h"

// Lanes with different member masks are groups of their own: [exec] runs for each.
static enum emu_step each_group(struct emu_warp *warp, const struct emu_insn *insn, uint32_t mask,
                                unsigned at, emu_exec *exec) {
    const uint32_t *wanted = emu_r32(warp, insn->op[at]);

    while (mask != 0) {
        uint32_t first = wanted[__builtin_ctz(mask)], same = 0;
        EMU_EACH_LANE(lane, mask)
        same |= (uint32_t)(wanted[lane] == first) << lane;
        exec(warp, insn, same);
        mask &= ~same;
    }
    return EMU_NEXT;
}

#define EACH_GROUP(name, at) \
    EMU_HANDLER(name) { return each_group(warp, insn, mask, at, name##_group); }

// The member mask of an instruction, the same for all lanes here; 0 after a report.
static uint32_t members(struct emu_warp *warp, const struct emu_insn *insn, unsigned at,
                        uint32_t mask) {
    uint32_t wanted = emu_r32(warp, insn->op[at])[__builtin_ctz(mask)];

    if (wanted & warp->live & ~mask) {
        emu_fatal(
            warp, insn, EMU_DIVERGENT,
            "lanes 0x%08x execute this with member mask 0x%08x, but lanes 0x%08x are elsewhere",
            mask, wanted, wanted & warp->live & ~mask);
        return 0;
    }
    return wanted & mask;
}

enum { SHUFFLE_UP, SHUFFLE_DOWN, SHUFFLE_BFLY, SHUFFLE_IDX };

EMU_HANDLER(shfl_group) {
    const uint32_t *a = emu_r32(warp, insn->op[2]), *b = emu_r32(warp, insn->op[3]);
    const uint32_t *c = emu_r32(warp, insn->op[4]);
    uint32_t *d = emu_r32(warp, insn->op[0]), result[EMU_LANES], valid = 0;
    uint32_t here = members(warp, insn, 5, mask);

    EMU_EACH_LANE(lane, here) {
        uint32_t segment = c[lane] >> 8 & 31, clamp = c[lane] & 31, n = b[lane] & 31;
        uint32_t most = (lane & segment) | (clamp & ~segment), least = lane & segment, from;
        bool inside;
        switch (insn->row->aux) {
        case SHUFFLE_UP:
            from = lane - n;
            inside = (int)from >= (int)most;
            break;
        case SHUFFLE_DOWN:
            from = lane + n;
            inside = from <= most;
            break;
        case SHUFFLE_BFLY:
            from = lane ^ n;
            inside = from <= most;
            break;
        default:
            from = least | (n & ~segment);
            inside = from <= most;
            break;
        }
        if (!inside) from = lane;
        valid |= (uint32_t)inside << lane;
        if (!(here >> (from & 31) & 1))
            emu_report(warp, insn, EMU_DIVERGENT,
                       "lane %u reads from lane %u, which does not take part", lane, from & 31);
        result[lane] = a[from & 31];
    }
    EMU_EACH_LANE(lane, here)
    d[lane] = result[lane];
    emu_set_pred(warp, insn->op[1], here, valid);
    return EMU_NEXT;
}

enum { VOTE_ALL, VOTE_ANY, VOTE_UNI, VOTE_BALLOT };

EMU_HANDLER(vote_group) {
    uint32_t here = members(warp, insn, 2, mask), votes = emu_pred(warp, insn->op[1]) & here;

    switch (insn->row->aux) {
    case VOTE_ALL: emu_set_pred(warp, insn->op[0], here, votes == here ? UINT32_MAX : 0); break;
    case VOTE_ANY: emu_set_pred(warp, insn->op[0], here, votes ? UINT32_MAX : 0); break;
    case VOTE_UNI:
        emu_set_pred(warp, insn->op[0], here, votes == here || !votes ? UINT32_MAX : 0);
        break;
    default: EMU_EACH_LANE(lane, here) emu_r32(warp, insn->op[0])[lane] = votes;
    }
    return EMU_NEXT;
}

// match.any: who has my value; match.all: everyone, if all have the same
EMU_HANDLER(match_group) {
    bool all = insn->row->aux;
    unsigned a = all ? 2 : 1;
    uint32_t wide = insn->type[0] == T_B64 ? EMU_WIDE : 0;
    uint32_t here = members(warp, insn, a + 1, mask), same[EMU_LANES];

    EMU_EACH_LANE(lane, here) {
        uint64_t mine = emu_get(warp, insn->op[a] | wide, lane);
        same[lane] = 0;
        EMU_EACH_LANE(other, here)
        same[lane] |= (uint32_t)(emu_get(warp, insn->op[a] | wide, other) == mine) << other;
    }
    EMU_EACH_LANE(lane, here)
    emu_r32(warp, insn->op[0])[lane] = !all ? same[lane] : same[lane] == here ? here : 0;
    if (all && here)
        emu_set_pred(warp, insn->op[1], here, same[__builtin_ctz(here)] == here ? UINT32_MAX : 0);
    return EMU_NEXT;
}

static uint32_t reduce(const struct emu_insn *insn, uint32_t a, uint32_t b) {
    bool is_signed = insn->type[0] == T_S32;
    bool less = is_signed ? (int32_t)a < (int32_t)b : a < b;

    if (insn->type[0] == T_F32) return emu_extreme_f32(a, b, insn->word == WORD_MAX, insn->flags);

    switch (insn->word) {
    case WORD_ADD: return a + b;
    case WORD_MIN: return less ? a : b;
    case WORD_MAX: return less ? b : a;
    case WORD_AND: return a & b;
    case WORD_OR: return a | b;
    default: return a ^ b;
    }
}

EMU_HANDLER(redux_group) {
    const uint32_t *a = emu_r32(warp, insn->op[1]), kept = insn->flags & F_ABS ? INT32_MAX : ~0u;
    uint32_t here = members(warp, insn, 2, mask), result;

    if (here == 0) return EMU_NEXT;
    result = a[__builtin_ctz(here)] & kept;
    if (insn->type[0] == T_F32) result = reduce(insn, result, result);  // a NaN is the one
    EMU_EACH_LANE(lane, here & (here - 1))
    result = reduce(insn, result, a[lane] & kept);
    EMU_EACH_LANE(lane, here)
    emu_r32(warp, insn->op[0])[lane] = result;
    return EMU_NEXT;
}

EMU_HANDLER(activemask) {
    EMU_EACH_LANE(lane, mask)
    emu_r32(warp, insn->op[0])[lane] = mask;
    return EMU_NEXT;
}

EMU_HANDLER(elect_group) {
    uint32_t here = members(warp, insn, 2, mask);

    if (here == 0) return EMU_NEXT;
    uint32_t leader = (uint32_t)__builtin_ctz(here);
    EMU_EACH_LANE(lane, here)
    emu_r32(warp, insn->op[0])[lane] = leader;
    emu_set_pred(warp, insn->op[1], here, 1u << leader);
    return EMU_NEXT;
}

// ---- bar.warp.sync: lanes may come along different paths ----

EMU_HANDLER(bar_warp) {
    uint32_t wanted = 0;

    EMU_EACH_LANE(lane, mask)
    wanted |= emu_r32(warp, insn->op[0])[lane] & warp->live;

    if (!emu_waiting(warp, WAIT_WARP)) {
        warp->warp_barrier |= mask;
        if ((warp->warp_barrier & wanted) != wanted) {
            emu_split(warp)->wait.generation = warp->warp_barriers;
            return emu_block(warp, WAIT_WARP, wanted);
        }
        warp->warp_barrier &= ~wanted;
        warp->warp_barriers++;
        emu_lanes_meet(warp, wanted);
        emu_changed(warp->cta->cluster);
        return EMU_NEXT;
    }
    return warp->warp_barriers != emu_split(warp)->wait.generation ? EMU_NEXT : EMU_BLOCKED;
}

EACH_GROUP(shfl, 5)
EACH_GROUP(vote, 2)
EACH_GROUP(match, insn->row->aux ? 3 : 2)
EACH_GROUP(redux, 2)
EACH_GROUP(elect, 2)

const struct emu_op emu_ops_warp[] = {
    {"shfl.sync.up.b32", "Xaiii", shfl, SHUFFLE_UP},
    {"shfl.sync.down.b32", "Xaiii", shfl, SHUFFLE_DOWN},
    {"shfl.sync.bfly.b32", "Xaiii", shfl, SHUFFLE_BFLY},
    {"shfl.sync.idx.b32", "Xaiii", shfl, SHUFFLE_IDX},
    {"vote.sync.all.pred", "Ppi", vote, VOTE_ALL},
    {"vote.sync.any.pred", "Ppi", vote, VOTE_ANY},
    {"vote.sync.uni.pred", "Ppi", vote, VOTE_UNI},
    {"vote.sync.ballot.b32", "Ipi", vote, VOTE_BALLOT},
    {"match.any.sync.b32", "Iai", match, 0},
    {"match.any.sync.b64", "Iai", match, 0},
    {"match.all.sync.b32", "Xai", match, 1},
    {"match.all.sync.b64", "Xai", match, 1},
    {"redux.sync.ATOM.u32", "dai", redux, 0},
    {"redux.sync.ATOM.s32", "dai", redux, 0},
    {"redux.sync.ATOM.b32", "dai", redux, 0},
    {"redux.sync.LEAST{.abs}{.NaN}.f32", "dai", redux, 0, 0, TMG_HAS_TENSOR_MEMORY},
    {"activemask.b32", "I", activemask, 0},
    {"elect.sync", "Xi", elect, 0, 0, TMG_HAS_CLUSTERS},
    {"bar.warp.sync", "i", bar_warp, 0},
    {NULL, NULL, NULL, 0},
};

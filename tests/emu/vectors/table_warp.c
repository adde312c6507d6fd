// What lanes do together: shuffles, votes, match, redux, elect, barriers with a result,
// mbarriers' arithmetic. Two warps, so that barriers span them. All exact.
#include "tests/emu/vectors/vectors.h"

#define EXACTLY(text) \
    { text, {EXACT, 0}, NULL }
#define BALLOT ".reg .b32 m; vote.sync.ballot.b32 m, $p, -1; "
#define ONE    ".reg .pred q; setp.eq.u32 q, tid, 0; .reg .b32 n; .reg .b64 s; mov.u32 n, 0; "

static const struct vector_row warp_rows[] = {
    EXACTLY("shfl.sync.<up|down|bfly|idx>.b32 =i|=p, $i, $n, $c, -1;"),
    EXACTLY("shfl.sync.<up|down|bfly|idx>.b32 =i|=p, $i, $s, $i, -1;"),
    EXACTLY("shfl.sync.up.b32 =i|=p, $i, <1|7|16>, <0|0x1800|0x1e05>, -1;"),
    EXACTLY("shfl.sync.<down|bfly|idx>.b32 =i, $i, <1|5|16>, <0x1f|0x181f|0x1e1f>, -1;"),
    EXACTLY("vote.sync.<all|any|uni>.pred =p, $p, -1;"),
    EXACTLY("vote.sync.<all|any|uni>.pred =p, !$p, -1;"),
    EXACTLY("vote.sync.ballot.b32 =i, $p, -1;"),
    EXACTLY(BALLOT "mov.b32 =i, 9; @a0 vote.sync.ballot.b32 r0, $p, m; .reg .pred t, u;"
                   " setp.ne.u32 t, 0, 0; setp.ne.u32 u, 0, 0; @a0 vote.sync.any.pred t, a1, m;"
                   " @a0 vote.sync.uni.pred u, a1, m; selp.u32 =i, 1, 0, t; selp.u32 =i, 1, 0, u;"),
    EXACTLY("and.b32 word, $i, <3|7|0xf0000000>; match.any.sync.b32 =i, word, -1;"),
    EXACTLY("and.b64 wide, $l, <3|0xf00000000>; match.any.sync.b64 =i, wide, -1;"),
    EXACTLY("and.b32 word, $i, <0|1>; match.all.sync.b32 =i|=p, word, -1;"),
    EXACTLY("and.b64 wide, $l, <0|1>; match.all.sync.b64 =i|=p, wide, -1;"),
    EXACTLY(BALLOT "and.b32 word, $i, 3; mov.b32 =i, 5; @a0 match.any.sync.b32 r0, word, m;"),
    EXACTLY("redux.sync.<add|min|max>.<u32|s32> =i, $i, -1;"),
    EXACTLY("redux.sync.<and|or|xor>.b32 =i, $i, -1;"),
    EXACTLY(BALLOT "mov.b32 =i, 5; @a0 redux.sync.<add.s32|min.u32|max.s32|and.b32|or.b32|xor.b32> "
                   "r0, $i, m;"),
    EXACTLY("mov.b32 =i, $i; @$p bra AWAY_#; .reg .b32 m; activemask.b32 m; and.b32 r0, m, 0;"
            " AWAY_#: add.u32 r0, r0, 1;"),
    EXACTLY("activemask.b32 =i;"),
    EXACTLY("elect.sync =i|=p, -1;"),
    EXACTLY(".reg .pred t; vote.sync.any.pred t, $p, -1; mov.u32 word, %laneid; setp.eq.u32 t, "
            "word, 3; or.pred t, t, a0;"
            " .reg .b32 m; vote.sync.ballot.b32 m, t, -1; mov.b32 =i, 99; .reg .pred e;"
            " setp.ne.u32 e, 0, 0; @t elect.sync r0|e, m; selp.u32 =i, 1, 0, e;"),
    EXACTLY(
        "st.shared.b32 [s4], $i; bar.warp.sync -1; xor.b32 word, s4, 4; ld.shared.b32 =i, [word];"),
    EXACTLY("bar.red.popc.u32 =i, 0, $p; bar.red.popc.u32 =i, 1, 64, !$p;"),
    EXACTLY("bar.red.<and|or>.pred =p, 0, $p; bar.red.<and|or>.pred =p, 2, !a0;"),
    EXACTLY("barrier.red.popc.u32 =i, 3, 64, $p; barrier.red.<and|or>.pred =p, 3, $p;"),
    EXACTLY("barrier.red.popc.aligned.u32 =i, 1, $p; barrier.sync.aligned 1; barrier.sync 2, 64;"),
    // mbarriers: states are opaque, so only what is asked of them is recorded
    EXACTLY(
        ONE
        "@q mbarrier.init.shared.b64 [sm], 5; bar.sync 0; @q mbarrier.arrive.shared.b64 s, [sm];"
        " @q mbarrier.pending_count.b64 n, s; mov.b32 =i, n;"
        " @q mbarrier.arrive.noComplete.shared.b64 s, [sm], 3; @q mbarrier.pending_count.b64 n, s;"
        " mov.b32 =i, n; .reg .pred d; setp.ne.u32 d, 0, 0; @q mbarrier.test_wait.shared.b64 d, "
        "[sm], s;"
        " selp.u32 =i, 1, 0, d; @q mbarrier.arrive.shared.b64 _, [sm]; @q "
        "mbarrier.test_wait.shared.b64 d, [sm], s;"
        " selp.u32 =i, 1, 0, d; bar.sync 0; @q mbarrier.inval.shared.b64 [sm]; bar.sync 0;"),
    EXACTLY(ONE
            "@q mbarrier.init.shared.b64 [sm], 64; bar.sync 0; st.shared.b32 [s4+64], $i;"
            " mbarrier.arrive.shared.b64 _, [sm]; .reg .pred d; WAIT_#: "
            "mbarrier.try_wait.parity.shared.b64 d, [sm], 0;"
            " @!d bra WAIT_#; xor.b32 word, tid, 37; shl.b32 word, word, 2; mov.u32 n, sm; add.u32 "
            "word, word, n;"
            " ld.shared.b32 =i, [word+64]; mbarrier.test_wait.parity.shared.b64 d, [sm], 1;"
            " selp.u32 =i, 1, 0, d; bar.sync 0; @q mbarrier.inval.shared.b64 [sm]; bar.sync 0;"),
    EXACTLY(
        ONE
        "@q mbarrier.init.shared.b64 [sm], 2; bar.sync 0; @q mbarrier.arrive_drop.shared.b64 s, "
        "[sm];"
        " @q mbarrier.pending_count.b64 n, s; mov.b32 =i, n; .reg .pred d; setp.ne.u32 d, 0, 0;"
        " @q mbarrier.arrive.shared.b64 _, [sm]; @q mbarrier.test_wait.parity.shared.b64 d, [sm], "
        "0;"
        " selp.u32 =i, 1, 0, d; @q mbarrier.arrive.shared.b64 s, [sm]; @q "
        "mbarrier.pending_count.b64 n, s;"
        " mov.b32 =i, n; setp.ne.u32 d, 0, 0; @q mbarrier.test_wait.parity.shared.b64 d, [sm], 1;"
        " selp.u32 =i, 1, 0, d; bar.sync 0; @q mbarrier.inval.shared.b64 [sm]; bar.sync 0;"),
    EXACTLY(ONE
            "@q mbarrier.init.shared.b64 [sm], 1; bar.sync 0; .reg .pred d; setp.ne.u32 d, 0, 0;"
            " @q mbarrier.arrive.expect_tx.shared.b64 _, [sm], 48;"
            " @q mbarrier.test_wait.parity.shared.b64 d, [sm], 0; selp.u32 =i, 1, 0, d;"
            " @q mbarrier.complete_tx.shared.b64 [sm], 16; @q mbarrier.test_wait.parity.shared.b64 "
            "d, [sm], 0;"
            " selp.u32 =i, 1, 0, d; @q mbarrier.complete_tx.shared.b64 [sm], 32;"
            " @q mbarrier.test_wait.parity.shared.b64 d, [sm], 0; selp.u32 =i, 1, 0, d; bar.sync 0;"
            " @q mbarrier.inval.shared.b64 [sm]; bar.sync 0;"),
    EXACTLY("gfill(0,1024,i); .reg .pred q, d; setp.eq.u32 q, tid, 0; @q mbarrier.init.shared.b64 "
            "[sm], 64;"
            " bar.sync 0; .reg .b64 p; cvta.global.u64 p, g16; cp.async.ca.shared.global [s16+64], "
            "[p], 16;"
            " cp.async.mbarrier.arrive.noinc.shared.b64 [sm]; WAIT_#: "
            "mbarrier.test_wait.parity.shared.b64 d, [sm], 0;"
            " @!d bra WAIT_#; dump(64,1024); bar.sync 0; @q mbarrier.inval.shared.b64 [sm]; "
            "bar.sync 0;"),
};

const struct vector_table warp_table = TABLE(warp, 64, 4, 6, true, 0);

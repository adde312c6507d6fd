// Barriers, fences and mbarriers in the forms that other tables do not use. Two warps; what one
// writes the other reads. A fence that is missing is not seen here, only one that does harm.
#include "tests/emu/vectors/vectors.h"

#define EXACTLY(text) \
    { text, {EXACT, 0}, NULL }
// Each thread writes a word, then reads that of a thread of the other warp.
#define HAND_OVER(between)                                                                \
    "st.shared.b32 [s4], $i; st.global.b32 [g4], $i; " between                            \
    " bar.sync 0; xor.b32 word, tid, 63; shl.b32 word, word, 2; cvt.u64.u32 wide, word;"  \
    " .reg .b32 base; mov.u32 base, sm; add.u32 word, word, base; add.u64 wide, g, wide;" \
    " ld.shared.b32 =i, [word]; ld.global.b32 =i, [wide];"
// Warp 0 arrives at barrier 1 and goes on; warp 1 waits for it and reads.
#define ARRIVE(prefix, aligned)                                                                    \
    EXACTLY(".reg .pred q; setp.lt.u32 q, tid, 32; mov.b32 =i, $i; @!q bra WAIT_#;"                \
            " st.shared.b32 [s4], r0; " prefix ".arrive" aligned " 1, 64; bra DONE_#;"             \
            " WAIT_#: " prefix ".sync" aligned " 1, 64; sub.u32 word, s4, 128;"                    \
            " ld.shared.b32 r0, [word]; DONE_#: add.u32 r0, r0, 1;"),                              \
        EXACTLY(prefix ".sync" aligned " 2; " prefix ".red.popc" aligned ".u32 =i, 0, $p; " prefix \
                       ".red.popc" aligned ".u32 =i, 1, 64, !a0; " prefix ".red.<and|or>" aligned  \
                       ".pred =p, 0, $p; " prefix ".red.<and|or>" aligned ".pred =p, 1, 64, !$p;")

#define ONE                                                                                  \
    ".reg .pred q, d; setp.eq.u32 q, tid, 0; setp.ne.u32 d, 0, 0; .reg .b32 n; .reg .b64 s;" \
    " mov.u32 n, 0; mov.b64 s, 0; "
#define INIT(count) ONE "@q mbarrier.init.shared::cta.b64 [sm], " count "; bar.sync 0; "
#define DONE        " bar.sync 0; @q mbarrier.inval.shared::cta.b64 [sm]; bar.sync 0;"
#define COUNT       " @q mbarrier.pending_count.b64 n, s; mov.b32 =i, n; "
#define SEEN        " selp.u32 =i, 1, 0, d; "
#define IS(phase)   "@q mbarrier.test_wait.parity.shared.b64 d, [sm], " phase ";" SEEN

static const struct vector_row sync_rows[] = {
    ARRIVE("bar", ""),
    ARRIVE("bar.cta", ""),
    ARRIVE("barrier", ""),
    ARRIVE("barrier.cta", ""),
    ARRIVE("barrier", ".aligned"),
    ARRIVE("barrier.cta", ".aligned"),
    EXACTLY(
        HAND_OVER("<membar.cta|membar.gl|membar.sys|fence.cta|fence.cluster|fence.gpu|fence.sys"
                  "|membar.proxy.alias|fence.proxy.alias|griddepcontrol.wait"
                  "|griddepcontrol.launch_dependents|pmevent 1|pmevent.mask 5|nanosleep.u32 9>;")),
    EXACTLY(HAND_OVER("fence.<sc|acq_rel|acquire|release>.<cta|cluster|gpu|sys>;")),
    EXACTLY(HAND_OVER("fence.proxy.async<|.global|.shared::cta|.shared::cluster>;")),
    EXACTLY(HAND_OVER("fence<|.proxy.async::generic>.<acquire.sync_restrict::shared::cluster"
                      "|release.sync_restrict::shared::cta>.cluster;")),
    EXACTLY(HAND_OVER(".reg .b64 p; cvta.global.u64 p, g; fence.proxy.tensormap::generic.release"
                      ".<cta|cluster|gpu|sys>; fence.proxy.tensormap::generic.acquire"
                      ".<cta|gpu> [p], 128;")),
    // mbarriers by generic address
    EXACTLY(ONE
            "mov.u32 word, sm; cvt.u64.u32 wide, word; cvta.shared.u64 wide, wide;"
            " @q mbarrier.init.b64 [wide], 3; bar.sync 0; @q mbarrier.arrive.b64 s, [wide];" COUNT
            "@q mbarrier.arrive.b64 s, [wide], 2;" COUNT
            "@q mbarrier.test_wait.b64 d, [wide], s;" SEEN
            "@q mbarrier.test_wait.parity.b64 d, [wide], 0;" SEEN
            "bar.sync 0; @q mbarrier.inval.b64 [wide]; bar.sync 0;"),
    // bytes expected and done, arrivals to come
    EXACTLY(INIT(
        "2") "@q mbarrier.expect_tx.relaxed.<cta.shared::cta|cluster.shared::cluster>.b64"
             " [sm], 24; @q mbarrier.arrive.shared.b64 s, [sm], 2;" COUNT IS(
                 "0") "@q mbarrier.complete_tx.relaxed.<cta.shared::cta|cluster.shared::cluster>"
                      ".b64 [sm], 24; " IS("0") IS("1") DONE),
    EXACTLY(INIT("5") "@q mbarrier.arrive_drop.noComplete.shared.b64 s, [sm], 2;" COUNT
                      "@q mbarrier.arrive_drop.shared.b64 s, [sm], 2;" COUNT
                      "@q mbarrier.arrive.shared.b64 _, [sm]; " IS(
                          "0") "@q mbarrier.arrive.shared.b64 s, [sm];" COUNT IS("1") DONE),
    EXACTLY(
        INIT("3") "@q mbarrier.arrive_drop.expect_tx<|.release.cta>.shared.b64 s, [sm], 16;" COUNT
                  "@q mbarrier.arrive.shared.b64 s, [sm], 2;" COUNT
                      IS("0") "@q mbarrier.complete_tx.shared.b64 [sm], 16; " IS(
                          "0") "@q mbarrier.arrive.noComplete.release.cta.shared::cta.b64 s, [sm], "
                               "1;" COUNT DONE),
    EXACTLY(INIT(
        "2") "@q mbarrier.arrive<.relaxed|.release>.<cta|cluster>.shared::cta.b64 s, [sm];" COUNT
             "@q mbarrier.arrive_drop<.relaxed|.release>.cta.shared::cta.b64 _, [sm]; "
             "@q mbarrier.test_wait<.relaxed|.acquire>.cta.shared::cta.b64 d, [sm], s;" SEEN
             "@q mbarrier.try_wait.shared.b64 d, [sm], s;" SEEN
             "@q mbarrier.try_wait.<acquire|relaxed>.cluster.shared::cta.b64 d, [sm], s, 1000;" SEEN
             "@q mbarrier.try_wait.parity.shared.b64 d, [sm], 0, 1000;" SEEN DONE),
    // a cp.async that counts in itself
    EXACTLY("gfill(0,1024,i); " INIT(
        "64") ".reg .b64 p; cvta.global.u64 p, g16;"
              " cvt.u64.u32 wide, s16; cp.async.cg.shared.global [s16+64], [p], 16; mov.u32 word, "
              "sm;"
              " cvt.u64.u32 wide, word; cvta.shared.u64 wide, wide;"
              " cp.async.mbarrier.arrive<.shared::cta.b64 [sm]|.b64 [wide]>;"
              " mbarrier.arrive.shared.b64 _, [sm]; WAIT_#:"
              " mbarrier.test_wait.parity.shared.b64 d, [sm], 0; @!d bra WAIT_#; "
              "dump(64,1024);" DONE),
};

const struct vector_table sync_table = TABLE(sync, 64, 2, 4, true, 0);

// Clusters of four CTAs: peers' shared memory and mbarriers, stores and copies that count bytes
// there, multicast; PTX ISA 5.1.8, 9.7.9 and 9.7.13. No place has two writers, so all are exact.
#include "tests/emu/vectors/tma.h"

MAP(plane, UINT16, 128B, 0, 2, .dims = {64, 40}, .strides = {128}, .box = {64, 8},
    .element_strides = ONES);
MAP(slice, UINT32, NONE, 0, 2, .dims = {20, 12}, .strides = {80}, .box = {8, 4},
    .element_strides = ONES);

MAP(cube, UINT32, NONE, 0, 3, .dims = {8, 8, 20}, .strides = {32, 256}, .box = {4, 8, 8},
    .element_strides = ONES);
MAP(images, UINT16, NONE, 0, 4, .im2col = true, .channels = 16, .pixels = 32, .dims = {16, 7, 5, 2},
    .strides = {32, 224, 1120}, .lower = {-1, -1}, .upper = {-1, -1}, .element_strides = ONES);

// Everything before it, in all CTAs, is seen by everything behind it.
#define MEET "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; "
#define RANK ".reg .b32 rank, peer, far, bar; mov.u32 rank, %cluster_ctarank; "
// The next CTA or the one before: a ring in which everybody has one peer, and is one peer's.
#define PEER       RANK "add.u32 peer, rank, <1|3>; and.b32 peer, peer, 3; "
#define FAR(place) "mapa.shared::cluster.u32 far, " place ", peer; "
#define GENERIC    "cvt.u64.u32 wide, s4; cvta.shared.u64 wide, wide; mapa.u64 wide, wide, peer; "
#define FILLED     "fill(0,1024,i); " MEET
// Waits for phase 0 of the own barrier; gives up after a while, as a wrong count shall be seen.
#define RECEIVE                                                                               \
    " mov.u32 n, 0; WAIT_#: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 d, " BAR \
    ", 0; @d bra DONE_#; add.u32 n, n, 1; setp.lt.u32 d, n, 1000; @d bra WAIT_#;"             \
    " setp.ne.u32 d, 0, 0; DONE_#: selp.u32 =i, 1, 0, d; "
#define INIT(count)                                             \
    START "@q mbarrier.init.shared.b64 " BAR ", " count "; @q " \
          "fence.mbarrier_init.release.cluster; "
#define EXPECT(bytes) "@q mbarrier.arrive.expect_tx.shared.b64 _, " BAR ", " bytes "; "
#define FAR_BAR \
    "mov.u32 bar, sm; add.u32 bar, bar, 45056; mapa.shared::cluster.u32 bar, bar, peer; "
// A thread's value goes to the same place of the peer.
#define SEND(bytes, place, insn, value)                                                       \
    EXACTLY("fill(0," bytes ",i); " INIT("1") EXPECT(bytes) PEER MEET FAR_BAR FAR(place) insn \
            " [far], " value ", [bar];" RECEIVE "dump(0," bytes "); " MEET)
#define ASYNC ".mbarrier::complete_tx::bytes"
#define PUSH(bytes)                                                                         \
    EXACTLY("fill(0,2048,i); fence.proxy.async; " INIT("1") EXPECT(bytes) PEER MEET FAR_BAR \
            "mov.u32 word, sm; add.u32 word, word, 1024; " FAR(                             \
                "word") "@q cp.async.bulk.shared::cluster.shared::cta" ASYNC                \
                        " [far], [sm+32], " bytes ", [bar];" RECEIVE "dump(1024,384); " MEET)
// The map's tensor is the first CTA's.
#define LOADED "gfill(0,5120,i); fill(0,1024,i); fence.proxy.async; "
#define TENSOR "@q cp.async.bulk.tensor.2d.shared::cluster.global" ASYNC
// CTA 0 or 2 sends 1024 bytes to those whose bits are set, which expect them.
#define TO(mask)                                                                                   \
    RANK "mov.u32 peer, " mask "; .reg .b16 to; cvt.u16.u32 to, peer; shr.u32 word, peer, rank;"   \
         " and.b32 word, word, 1; shl.b32 word, word, 10; @q mbarrier.arrive.expect_tx.shared.b64" \
         " _, " BAR                                                                                \
         ", word; .reg .pred one; setp.eq.u32 one, rank, <0|2>; and.pred one, one, q; " MEET

static const struct vector_row cluster_rows[] = {
    EXACTLY("mov.u32 =i, %cluster_<ctarank|nctarank>;"),
    EXACTLY("mov.u32 =i, %<cluster_ctaid|cluster_nctaid|clusterid|nclusterid|ctaid|nctaid>.<x|y>;"),
    EXACTLY("mov.pred =p, %is_explicit_cluster;"),
    // addresses
    EXACTLY(PEER FAR(
        "s4") "getctarank.shared::cluster.u32 =i, far; sub.u32 far, far, s4;"
              " mapa.shared::cluster.u32 word, sm, peer; mapa.shared::cluster.u32 peer, sm, rank;"
              " sub.u32 word, word, peer; sub.u32 =i, far, word;"),
    EXACTLY(PEER GENERIC "getctarank.u64 =i, wide; .reg .pred q;"
                         " isspacep.<shared::cluster|shared::cta|shared|global|local> q, wide;"
                         " selp.u32 =i, 1, 0, q;"),
    EXACTLY(RANK
            "cvt.u64.u32 wide, s4; cvta.shared.u64 wide, wide; mapa.u64 wide, wide, rank;"
            " .reg .pred q; isspacep.<shared::cluster|shared::cta> q, wide; selp.u32 =i, 1, 0, q;"),
    // a peer's shared memory
    EXACTLY(FILLED PEER FAR("s4") "ld.shared::cluster.<u8|s16|b32|f32> =i, [far+<0|64>]; " MEET),
    EXACTLY(FILLED PEER FAR("s16") "ld.shared::cluster.v4.b32 ={4i}, [far]; " MEET),
    EXACTLY(FILLED PEER FAR("s16") "ld.shared::cluster.v2.b64 ={2l}, [far]; " MEET),
    EXACTLY(FILLED PEER FAR("s8") "ld<.relaxed.cluster|.acquire.cluster|.volatile>"
                                  ".shared::cluster.b64 =l, [far]; " MEET),
    EXACTLY(FILLED PEER GENERIC "ld.<s8|b32> =i, [wide]; " MEET),
    EXACTLY(FILLED PEER FAR("s4") "st.shared::cluster.<b8|b16> [far], $h; " MEET "dump(0,128);"),
    EXACTLY(FILLED PEER FAR("s16") "st.shared::cluster.v4.b32 [far], ${4i}; " MEET "dump(0,512);"),
    EXACTLY(FILLED PEER FAR("s16") "st.shared::cluster.v2.f64 [far], ${2d}; " MEET "dump(0,512);"),
    EXACTLY(FILLED PEER GENERIC "st.v2.b16 [wide], ${2h}; " MEET "dump(0,128);"),
    EXACTLY(FILLED PEER FAR(
        "s4") "atom.shared::cluster.<add|min|max>.<u32|s32> =i, [far], $i; " MEET "dump(0,128);"),
    EXACTLY(FILLED PEER FAR("s4") "atom<.relaxed.cluster|.acq_rel.cluster>.shared::cluster."
                                  "<and|or|xor|exch>.b32 =i, [far], $i; " MEET "dump(0,128);"),
    EXACTLY(FILLED PEER FAR("s4") "atom.shared::cluster.<inc|dec>.u32 =i, [far], $i; " MEET
                                  "dump(0,128);"),
    EXACTLY(FILLED PEER FAR("s8") "atom.shared::cluster.<add|max>.u64 =l, [far], $l; " MEET
                                  "dump(0,256);"),
    EXACTLY(FILLED PEER FAR("s4") "ld.shared::cluster.b32 word, [far]; @$p mov.b32 word, $i;"
                                  " atom.shared::cluster.cas.b32 =i, [far], word, $i; " MEET
                                  "dump(0,128);"),
    EXACTLY("fill(0,128,f); " MEET PEER FAR(
        "s4") "atom.shared::cluster.add.f32 =f, [far], $f; " MEET "dump(0,128);"),
    // Not here: atom.shared::cluster.add.noftz.f16x2 on a peer's memory. ptxas 13.0 compiles it to
    // ATOM.E.ADD.F16x2 and, as that takes no shared address, a way round: for one that is not the
    // CTA's own LD.E, IMAD.IADD, ST.E, so a sum of 32-bit integers that is not atomic. An H200 gave
    // that integer sum in all 128 threads of both forms that were recorded; PTX wants two halves.
    // bf16x2 and red go the same way; all other types add, or compare and swap, as they should.
    EXACTLY(FILLED PEER GENERIC "atom.<add|max>.u32 =i, [wide], $i; red.xor.b32 [wide], $i; " MEET
                                "dump(0,128);"),
    EXACTLY(FILLED RANK "mov.u32 peer, <0|2>; " FAR(
        "sm") "red.shared::cluster."
              "<add.u32|min.s32|max.u32|xor.b32> [far], $i; " MEET "dump(0,128);"),
    // a peer's mbarrier
    EXACTLY("fill(0,128,i); " INIT("32") PEER MEET FAR_BAR FAR(
        "s4") "st.shared::cluster.b32 [far], $i;"
              " mbarrier.arrive<|.release.cluster>.shared::cluster.b64 _, [bar];" RECEIVE
              "dump(0,128); " MEET),
    EXACTLY("fill(0,128,i); " INIT("32") PEER MEET FAR_BAR FAR(
        "s4") "st.shared::cluster.b32 [far], $i;"
              " mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [bar], 0;" RECEIVE
              "dump(0,128); " MEET),
    EXACTLY(INIT("300") RANK
            "mov.u32 peer, <0|3>; " MEET FAR_BAR
            "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [bar], <1|2>; " MEET
            ".reg .b64 token; mov.b32 word, 0; @q mbarrier.arrive.shared.b64 token, " BAR ";"
            " @q mbarrier.pending_count.b64 word, token; mov.b32 =i, word;"),
    // stores that count their bytes
    SEND("128", "s4", "st.async<|.weak>.shared::cluster" ASYNC ".<b32|f32>", "$i"),
    SEND("256", "s8", "st.async.shared::cluster" ASYNC ".<b64|s64>", "$l"),
    SEND("256", "s8", "st.async.shared::cluster" ASYNC ".v2.b32", "${2i}"),
    SEND("512", "s16", "st.async.shared::cluster" ASYNC ".v4.<u32|f32>", "${4i}"),
    SEND("512", "s16", "st.async.shared::cluster" ASYNC ".v2.b64", "${2l}"),
    SEND("128", "s4", "red.async.relaxed.cluster.shared::cluster" ASYNC ".<add|min|max>.<u32|s32>",
         "$i"),
    SEND("128", "s4", "red.async.relaxed.cluster.shared::cluster" ASYNC ".<inc|dec>.u32", "$i"),
    SEND("128", "s4", "red.async.relaxed.cluster.shared::cluster" ASYNC ".<and|or|xor>.b32", "$i"),
    SEND("256", "s8", "red.async.relaxed.cluster.shared::cluster" ASYNC ".add.u64", "$l"),
    // copies to a peer, and to several
    PUSH("304"),
    PUSH("16"),
    EXACTLY("gfill(0,512,i); fill(0,512,i); fence.proxy.async; " INIT("1") EXPECT("208")
                PEER MEET FAR_BAR FAR("sm") ".reg .b64 p; cvta.global.u64 p, g;"
                                            " @q cp.async.bulk.shared::cluster.global" ASYNC
                                            " [far+16], [p+48], 208, [bar];" RECEIVE
                                            "dump(0,512); " MEET),
    MAPPED(plane, LOADED INIT("1") EXPECT("1024") PEER MEET FAR_BAR FAR("sm") TENSOR
           " [far], [map, {0, <0|35>}], [bar];" RECEIVE "dump(0,1024); " MEET),
    MAPPED(plane, LOADED INIT("1")
                      TO("<15|6|8>") "@one cp.async.bulk.tensor.2d.shared::cluster.global" ASYNC
                                     ".multicast::cluster [sm], [map, {0, <8|-3>}], " BAR
                                     ", to;" RECEIVE "dump(0,1024); " MEET),
    EXACTLY(LOADED INIT("1") TO("<15|5>") ".reg .b64 p; cvta.global.u64 p, g;"
                                          " @one cp.async.bulk.shared::cluster.global" ASYNC
                                          ".multicast::cluster [sm], [p+64], 1024, " BAR
                                          ", to;" RECEIVE "dump(0,1024); " MEET),
    // each CTA fetches a slice for all of them
    MAPPED(slice, LOADED INIT("1") EXPECT("512") RANK
           ".reg .b16 all; mov.b16 all, 15;"
           " mov.u32 far, sm; mad.lo.u32 far, rank, 128, far; shl.b32 word, rank, <0|1|2>; " MEET
           "@q cp.async.bulk.tensor.2d.shared::cluster.global" ASYNC ".multicast::cluster [far], "
           "[map, {8, word}], " BAR ", all;" RECEIVE "dump(0,512); " MEET),
// the other types of atomics on a peer's memory
#define FAR_ATOM(at, class, fill, op)                                                           \
    EXACTLY("fill(0,256," fill "); " MEET PEER FAR(                                             \
        at) "atom.shared::cluster." op " =" class ", [far], $" class "; " MEET "dump(0,256);"), \
        EXACTLY("fill(0,256," fill "); " MEET PEER FAR(                                         \
            at) "red.shared::cluster." op " [far], $" class "; " MEET "dump(0,256);")
    FAR_ATOM("s4", "i", "i", "<add.u32|min.s32|max.u32|and.b32|or.b32|xor.b32|inc.u32|dec.u32>"),
    FAR_ATOM("s8", "l", "i", "<min|max>.<u64|s64>"),
    FAR_ATOM("s8", "l", "i", "<add.u64|and.b64|or.b64|xor.b64>"),
    FAR_ATOM("s4", "f", "f", "add.f32"),
    FAR_ATOM("s8", "d", "f", "add.f64"),
    FAR_ATOM("s4", "x", "X", "add.noftz.f16"),
    FAR_ATOM("s4", "y", "Y", "add.noftz.bf16"),
    EXACTLY("fill(0,256,i); " MEET PEER FAR(
        "s8") "atom.shared::cluster.exch.b64 =l, [far], $l; " MEET "dump(0,256);"),
    EXACTLY("fill(0,256,i); " MEET PEER FAR(
        "s8") "ld.shared::cluster.b64 wide, [far]; @$p mov.b64 "
              "wide, $l; atom.shared::cluster.cas.b64 =l, [far], wide, $l; " MEET "dump(0,256);"),
    EXACTLY("fill(0,256,i); " MEET PEER FAR(
        "s4") ".reg .b16 o; ld.shared::cluster.b16 o, [far]; "
              "@$p mov.b16 o, $h; atom.shared::cluster.cas.b16 =h, [far], o, $h; " MEET
              "dump(0,256);"),
    EXACTLY(FILLED PEER "cvt.u64.u32 wide, s8; cvta.shared.u64 wide, wide; mapa.u64 wide, wide, "
                        "peer; atom.<add.u64|max.u64|and.b64> =l, [wide], $l; " MEET
                        "dump(0,256);"),
    EXACTLY(FILLED PEER GENERIC "red.add.f32 [wide], $f; atom.exch.b32 =i, [wide], $i; " MEET
                                "dump(0,128);"),
    EXACTLY(PEER
            "cvt.u64.u32 wide, s4; .reg .b64 o; mapa.shared::cluster.u64 o, wide, peer;"
            " getctarank.shared::cluster.u64 =i, o; sub.u64 o, o, wide; mapa.shared::cluster.u64"
            " wide, wide, rank; cvt.u64.u32 wide, s4; " FAR(
                "s4") "sub.u32 far, far, s4; cvt.u32.u64 word, o; sub.u32 =i, far, word;"),
// a meeting in its other forms
#define FAR_STORE(meet) \
    EXACTLY(FILLED PEER FAR("s4") "st.shared::cluster.b32 [far], $i; " meet " dump(0,128);")
    FAR_STORE("barrier.cluster.arrive<|.release>; barrier.cluster.wait<|.acquire>;"),
    FAR_STORE("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;"),
    FAR_STORE("fence.<acq_rel|sc>.cluster; barrier.cluster.arrive.relaxed<|.aligned>;"
              " barrier.cluster.wait.acquire<|.aligned>;"),
    // a peer's mbarrier: those that do not come again
    EXACTLY(INIT("64") PEER MEET FAR_BAR
            "mbarrier.arrive_drop.release.cluster.shared::cluster.b64 _, [bar];"
            " mbarrier.arrive.<relaxed|release>.cluster.shared::cluster.b64 _, [bar];" RECEIVE MEET
            ".reg .b64 token; mov.b32 word, 0; @q mbarrier.arrive.shared.b64 token, " BAR ";"
            " @q mbarrier.pending_count.b64 word, token; mov.b32 =i, word;"),
    EXACTLY(INIT("32") PEER MEET FAR_BAR
            "mbarrier.arrive_drop.expect_tx.shared::cluster.b64 _, [bar], 0;" RECEIVE MEET),
    SEND("128", "s4",
         "st.async<.cluster.shared::cluster" ASYNC "|.weak" ASYNC ".shared::cluster>.<b32|s32>",
         "$i"),
    SEND("256", "s8", "st.async.shared::cluster" ASYNC ".<u64|f64>", "$d"),
    SEND("512", "s16", "st.async.shared::cluster" ASYNC ".v4.s32", "${4i}"),
    SEND("512", "s16", "st.async.shared::cluster" ASYNC ".v2.<f64|s64>", "${2d}"),
    SEND("256", "s8", "red.async.relaxed.cluster.shared::cluster" ASYNC ".add.s64", "$l"),
// copies that reduce in a peer's memory; policies
#define PUSH_TO(op)                                                                         \
    EXACTLY("fill(0,2048,i); fence.proxy.async; " INIT("1") EXPECT("304") PEER MEET FAR_BAR \
            "mov.u32 word, sm; add.u32 word, word, 1024; " FAR(                             \
                "word") "@q cp.reduce.async.bulk.shared::cluster.shared::cta" ASYNC "." op  \
                        " [far], [sm+32], 304, [bar];" RECEIVE "dump(1024,384); " MEET)
    PUSH_TO("<add|min|max>.<u32|s32>"),
    PUSH_TO("<inc|dec>.u32"),
    PUSH_TO("<and|or|xor>.b32"),
    PUSH_TO("add.u64"),
    EXACTLY(LOADED POLICY INIT("1")
                TO("<15|5>") ".reg .b64 p; cvta.global.u64 p, g;"
                             " @one cp.async.bulk.shared::cluster.global" ASYNC
                             ".multicast::cluster.L2::cache_hint [sm], [p+64], 1024, " BAR
                             ", to, pol;" RECEIVE "dump(0,1024); " MEET),
    MAPPED(plane, LOADED POLICY INIT("1") TO(
                      "<15|6>") "@one cp.async.bulk.tensor.2d.shared::cluster.global<|.tile>" ASYNC
                                ".multicast::cluster.L2::cache_hint [sm], [map, {0, 8}], " BAR
                                ", to, pol;" RECEIVE "dump(0,1024); " MEET),
    MAPPED(cube, LOADED INIT("1")
                     TO("<15|6>") "@one cp.async.bulk.tensor.3d.shared::cluster.global.tile" ASYNC
                                  ".multicast::cluster [sm], [map, {4, 2, -1}], " BAR
                                  ", to;" RECEIVE "dump(0,1024); " MEET),
#define IMAGE                                                                        \
    LOADED POLICY INIT("1") ".reg .b16 x, y; mov.b16 x, 2; mov.b16 y, 1; " TO(       \
        "<15|6>") "@one cp.async.bulk.tensor.4d.shared::cluster.global.im2col" ASYNC \
                  ".multicast::cluster"
#define PIXEL " [sm], [map, {0, 3, 2, 0}], " BAR ", {x, y}, to"
    MAPPED(images, IMAGE PIXEL ";" RECEIVE "dump(0,1024); " MEET),
    MAPPED(images, IMAGE ".L2::cache_hint" PIXEL ", pol;" RECEIVE "dump(0,1024); " MEET),
};

const struct vector_table cluster_table = TABLE(cluster, 32, 4, 1, true, 4);

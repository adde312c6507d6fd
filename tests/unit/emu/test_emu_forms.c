// Every kind of instruction that the emulator promises, by a line each: it parses, decodes, runs
// and gives nothing to report.
// What the results are is for the vectors and the models' own tests.
#include "tests/unit/emu/emu_kernel.h"

#include <stdlib.h>

enum { BYTES = 65536 };

// One warpgroup in each of two CTAs. %rd1 is global memory (its address %rd2 generic for a thread),
// %rd3 the tensor map, %r1 the thread, %r2 shared memory (1 KB aligned, all written), %r3 an
// mbarrier that one arrival completes, %r4 the same in the other CTA, %p1 is true for one thread of
// the CTA, %p2 for all.
static const char frame[] =
    ".version 8.6\n.target sm_90a\n.address_size 64\n"
    ".func (.param .b32 back) twice(.param .b32 given)\n{\n.reg .b32 %%r<4>;\n"
    "ld.param.u32 %%r1, [given];\nadd.u32 %%r1, %%r1, %%r1;\nst.param.u32 [back], %%r1;\nret;\n}\n"
    ".visible .entry k(.param .u64 out, .param .align 64 .b8 map[128])\n"
    ".explicitcluster\n.reqnctapercluster 2, 1, 1\n{\n"
    ".reg .pred %%p<8>;\n.reg .b16 %%h<32>;\n.reg .b32 %%r<64>;\n.reg .b64 %%rd<32>;\n"
    ".reg .f32 %%f<64>;\n.reg .f64 %%fd<16>;\n.reg .b128 %%q<4>;\n.local .align 16 .b8 stack[64];\n"
    ".shared .align 1024 .b8 smem[32768];\n.shared .align 8 .b8 bar[64];\n"
    "ld.param.u64 %%rd1, [out];\nmov.u32 %%r1, %%tid.x;\nmov.u32 %%r60, %%ctaid.x;\n"
    "mad.lo.u32 %%r60, %%r60, 128, %%r1;\nmad.wide.u32 %%rd2, %%r60, 16, %%rd1;\n"
    "mov.b64 %%rd3, map;\ncvta.param.u64 %%rd3, %%rd3;\nmov.u32 %%r2, smem;\nmov.u32 %%r3, bar;\n"
    "setp.eq.u32 %%p1, %%r1, 0;\nsetp.eq.u32 %%p2, 0, 0;\n"
    "mov.u32 %%r60, %%r1;\nshl.b32 %%r60, %%r60, 4;\nadd.u32 %%r60, %%r60, %%r2;\nmov.u32 %%r61, "
    "0;\n"
    "FILL: st.shared.v4.b32 [%%r60], {%%r61, %%r61, %%r61, %%r61};\nadd.u32 %%r60, %%r60, 2048;\n"
    "add.u32 %%r61, %%r61, 1;\nsetp.lt.u32 %%p3, %%r61, 16;\n@%%p3 bra FILL;\nmov.u32 %%r61, 0;\n"
    "@%%p1 mbarrier.init.shared.b64 [%%r3], 1;\n@%%p1 mbarrier.init.shared.b64 [%%r3+8], 2;\n"
    "fence.mbarrier_init.release.cluster;\nfence.proxy.async;\n"
    "mov.u32 %%r5, %%cluster_ctarank;\nxor.b32 %%r6, %%r5, 1;\nmapa.shared::cluster.u32 %%r4, "
    "%%r3, %%r6;\n"
    "mapa.shared::cluster.u32 %%r7, %%r2, %%r6;\nmov.b64 %%rd4, 0;\n"
    "barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;\n"
    "%s\n"
    "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\nret;\n}\n";

// A bulk copy into shared memory by one thread, and everyone's wait for it.
#define LOADS(bytes, copy)                                                             \
    "@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r3], " #bytes ";\n@%p1 " copy "\n" \
    "W: mbarrier.try_wait.parity.shared.b64 %p3, [%r3], 0;\n@!%p3 bra W;\n"            \
    "ld.shared.u32 %r10, [%r2];"
#define STORES(copy)                                                                               \
    "bar.sync 0;\n@%p1 " copy "\n@%p1 cp.async.bulk.commit_group;\n@%p1 cp.async.bulk.wait_group " \
    "0;"
#define TMA "cp.async.bulk.tensor."
#define TX  ".mbarrier::complete_tx::bytes"
// {%f0, ...}: the accumulators of a wgmma of n = 8
#define D4 "{%f0, %f1, %f2, %f3}"
#define WGMMA(call)                                                                       \
    "mov.f32 %f0, 0f00000000;\nmov.f32 %f1, %f0;\nmov.f32 %f2, %f0;\nmov.f32 %f3, %f0;\n" \
    "mov.u32 %r20, 0;\nmov.u32 %r21, 0;\nmov.u32 %r22, 0;\nmov.u32 %r23, 0;\n"            \
    "shr.u32 %r8, %r2, 4;\nand.b32 %r8, %r8, 0x3fff;\ncvt.u64.u32 %rd5, %r8;\n"           \
    "or.b64 %rd5, %rd5, 0x0000002000080000;\nwgmma.fence.sync.aligned;\n" call "\n"       \
    "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;"

static const struct {
    const char *name, *code;
} forms[] = {
    // ---- integer, float, half
    {"integers",
     "add.s32 %r10, %r1, 1; mul.wide.u32 %rd5, %r1, 7; mad.lo.s32 %r11, %r1, %r1, 3;\n"
     "sad.u32 %r12, %r1, 5, 0; popc.b32 %r13, %r1; clz.b32 %r14, %r1; brev.b32 %r15, %r1;\n"
     "rem.u32 %r16, %r1, 7; mul24.lo.u32 %r17, %r1, 3; bmsk.clamp.b32 %r18, 3, 5;\n"
     "szext.clamp.u32 %r19, %r1, 4;\n"
     "dp2a.lo.u32.u32 %r21, %r1, 3, 0; fns.b32 %r22, 0xff, 0, 3;"},
    {"add with carry, 64 bits", "add.cc.u64 %rd5, %rd1, -1; addc.cc.u64 %rd6, 0, 0;\n"
                                "sub.cc.u32 %r10, %r1, 1; subc.u32 %r11, 0, 0;\n"
                                "mad.lo.cc.u32 %r12, %r1, 3, 4; madc.hi.u32 %r13, %r1, 3, 4;"},
    {"floats",
     "cvt.rn.f32.u32 %f1, %r1; fma.rz.ftz.f32 %f2, %f1, %f1, %f1; div.rn.f32 %f3, %f1, %f2;\n"
     "sqrt.rn.f32 %f4, %f1; ex2.approx.ftz.f32 %f5, %f1; lg2.approx.f32 %f6, %f1;\n"
     "rcp.approx.ftz.f32 %f7, %f1; rsqrt.approx.f32 %f8, %f1; tanh.approx.f32 %f9, %f1;\n"
     "sin.approx.f32 %f10, %f1; cos.approx.f32 %f11, %f1; min.NaN.f32 %f12, %f1, %f2;\n"
     "max.xorsign.abs.f32 %f13, %f1, %f2; copysign.f32 %f14, %f1, %f2; testp.finite.f32 %p3, %f1;"},
    {"doubles",
     "cvt.rn.f64.u32 %fd1, %r1; fma.rn.f64 %fd2, %fd1, %fd1, %fd1; div.rn.f64 %fd3, %fd2, %fd2;\n"
     "sqrt.rn.f64 %fd4, %fd1; rcp.rn.f64 %fd5, %fd2; cvt.rzi.s32.f64 %r10, %fd1;"},
    {"halves",
     "cvt.rn.f16.f32 %h1, 0f3F800000; fma.rn.relu.f16 %h2, %h1, %h1, %h1;\n"
     "mov.b32 %r10, {%h1, %h2}; add.rn.f16x2 %r11, %r10, %r10; fma.rn.bf16x2 %r12, %r10, %r10, "
     "%r10;\n"
     "ex2.approx.f16 %h3, %h1; tanh.approx.bf16x2 %r13, %r10; max.NaN.bf16x2 %r14, %r10, %r11;\n"
     "neg.bf16 %h4, %h1; abs.f16x2 %r15, %r10; setp.lt.f16x2 %p3|%p4, %r10, %r11;"},
    {"conversions",
     "mov.f32 %f1, 0f3FC00000; cvt.rn.bf16x2.f32 %r10, %f1, %f1;\n"
     "cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f1; cvt.rn.f16x2.e4m3x2 %r11, %h1;\n"
     "cvt.rn.satfinite.e5m2x2.f16x2 %h2, %r11; cvt.rna.tf32.f32 %r12, %f1;\n"
     "cvt.rzi.s32.f32 %r13, %f1; cvt.rn.relu.bf16.f32 %h3, %f1; cvt.sat.u8.s32 %r14, %r1;\n"
     "cvt.pack.sat.s8.s32.b32 %r15, %r1, %r1, 0; cvt.pack.sat.u16.s32 %r16, %r1, %r1;"},
    {"predicates", "setp.ge.and.u32 %p3|%p4, %r1, 4, %p2; selp.u32 %r10, 1, 2, %p3; slct.u32.s32 "
                   "%r11, 1, 2, %r1;\n"
                   "set.lt.u32.u32 %r12, %r1, 4; and.pred %p5, %p3, %p2; not.pred %p6, %p5;"},
    {"bytes and bits",
     "prmt.b32.f4e %r10, %r1, %r2, 1; lop3.b32 %r11, %r1, %r2, %r3, 0x1e;\n"
     "shf.r.clamp.b32 %r12, %r1, %r2, 5; bfi.b32 %r13, %r1, %r2, 3, 4; bfe.u32 %r14, %r1, 1, 3;\n"
     "mov.b64 {%r15, %r16}, %rd1; mov.b32 {%h1, %h2}, %r1; cnot.b32 %r17, %r1;"},
    // ---- memory
    {"vectors and caches",
     "st.global.v4.b32 [%rd2], {%r1, %r1, %r1, %r1}; ld.global.nc.L1::no_allocate.L2::128B.v4.u32 "
     "{%r10, %r11, %r12, %r13}, [%rd2];\n"
     "ld.global.L2::cache_hint.u32 %r14, [%rd2], %rd4; st.global.cs.v2.f32 [%rd2], {%f1, %f1};\n"
     "prefetch.global.L2 [%rd2]; createpolicy.fractional.L2::evict_first.b64 %rd5, 1.0;"},
    {"128 bits", "st.global.v4.b32 [%rd2], {%r1, %r1, %r1, %r1}; ld.global.b128 %q1, [%rd2]; "
                 "mov.b128 {%rd5, %rd6}, %q1;\n"
                 "mov.b128 %q2, {%rd5, %rd6}; st.global.b128 [%rd2], %q2;"},
    {"local memory and addresses",
     "st.local.u32 [stack+4], %r1; ld.local.u32 %r10, [stack+4]; mov.u64 %rd5, stack;\n"
     "cvta.local.u64 %rd5, %rd5; ld.u32 %r11, [%rd5+4]; isspacep.local %p3, %rd5; "
     "cvta.to.local.u64 %rd6, %rd5;"},
    {"call", "{.param .b32 in; .param .b32 res; st.param.b32 [in], %r1; call (res), twice, (in); "
             "ld.param.b32 %r10, [res];}"},
    {"indirect call",
     "mov.u64 %rd5, twice;\n{.param .b32 in; .param .b32 res; st.param.b32 [in], %r1;\n"
     "P: .callprototype (.param .b32 _) _ (.param .b32 _);\ncall (res), %rd5, (in), P; "
     "ld.param.b32 %r10, [res];}"},
    {"indexed branch", "and.b32 %r10, %r1, 1; T: .branchtargets A, B; brx.idx %r10, T; A: add.u32 "
                       "%r11, %r1, 1; B: add.u32 %r11, %r1, 2;"},
    // ---- warp
    {"shuffles and votes",
     "shfl.sync.bfly.b32 %r10|%p3, %r1, 1, 31, 0xffffffff; shfl.sync.idx.b32 %r11, %r1, 0, 0x1f, "
     "-1;\n"
     "vote.sync.any.pred %p4, %p3, -1; vote.sync.ballot.b32 %r12, %p3, -1; match.any.sync.b32 "
     "%r13, %r1, -1;\n"
     "match.all.sync.b32 %r14|%p5, %r1, -1; redux.sync.add.s32 %r15, %r1, -1; redux.sync.or.b32 "
     "%r16, %r1, -1;\n"
     "activemask.b32 %r17; elect.sync %r18|%p6, -1; elect.sync _|%p6, -1; bar.warp.sync -1;"},
    {"barriers",
     "bar.sync 0; barrier.sync.aligned 1, 128; bar.red.popc.u32 %r10, 2, %p1; bar.red.or.pred %p3, "
     "3, 128, %p1;\n"
     "barrier.arrive.aligned 4, 128; barrier.cta.sync.aligned 5; bar.red.and.pred %p4, 6, !%p1;"},
    {"fences", "membar.cta; membar.gl; fence.acq_rel.gpu; fence.sc.cta; fence.proxy.alias; "
               "fence.proxy.async.shared::cta;\n"
               "fence.proxy.tensormap::generic.release.gpu; "
               "fence.proxy.tensormap::generic.acquire.gpu [%rd3], 128;\n"
               "fence.acquire.sync_restrict::shared::cluster.cluster; membar.proxy.alias;\n"
               "fence.release.sync_restrict::shared::cta.cluster;\n"
               "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;\n"
               "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;"},
    {"modifiers in another order",
     "min.s32.relu %r10, %r1, 5; max.s16x2.relu %r11, %r1, %r1; fma.rn.f16x2.relu %r12, %r1, %r1, "
     "%r1;\n"
     "@%p1 mbarrier.expect_tx.shared::cluster.relaxed.cluster.b64 [%r3+8], 16;\n"
     "@%p1 mbarrier.complete_tx.shared::cluster.relaxed.cluster.b64 [%r3+8], 16;"},
    {"atom of a vector, its type before the operation",
     "atom.global.v2.f32.add {%f0, %f1}, [%rd2], {%f2, %f3};\n"
     "red.global.v4.f32.add [%rd2], {%f0, %f1, %f2, %f3};"},
    {"special registers",
     "mov.u32 %r10, %aggr_smem_size; mov.u32 %r11, %total_smem_size; mov.u32 %r12, %envreg31;\n"
     "mov.u64 %rd5, %current_graph_exec; mov.pred %p3, %is_explicit_cluster;"},
    {"registers of a warpgroup",
     "setmaxnreg.dec.sync.aligned.u32 40; setmaxnreg.inc.sync.aligned.u32 232;"},
    {"dependent launches", "griddepcontrol.wait; griddepcontrol.launch_dependents;"},
    {"time",
     "mov.u32 %r10, %clock; mov.u64 %rd5, %globaltimer; nanosleep.u32 20; mov.u64 %rd6, %clock64;"},
    // ---- atomics
    {"atomics", "atom.global.add.u32 %r10, [%rd1], 1; atom.acq_rel.gpu.global.cas.b64 %rd5, "
                "[%rd1+8], 0, 1; red.relaxed.gpu.global.add.f32 [%rd1+16], 0f3F800000;\n"
                "atom.shared.max.s32 %r11, [%r2], 5; atom.global.add.noftz.bf16x2 %r12, [%rd1+32], "
                "%r1; red.global.add.noftz.f16x2 [%rd1+36], %r1;\n"
                "atom.global.inc.u32 %r13, [%rd1+40], 9; atom.global.exch.b32 %r14, [%rd1+44], 3; "
                "atom.global.add.f64 %fd1, [%rd1+48], %fd1;\n"
                "atom.global.cas.b16 %h1, [%rd1+80], %h1, %h2;"},
    {"128-bit atomics", "mov.b128 %q1, {%rd4, %rd4}; atom.global.exch.b128 %q2, [%rd1], %q1; "
                        "atom.global.cas.b128 %q3, [%rd1], %q2, %q1;"},
    {"vector reductions",
     "red.global.add.v4.f32 [%rd1+64], {%f1, %f1, %f1, %f1}; red.global.add.noftz.v2.bf16x2 "
     "[%rd1+96], {%r1, %r1}; atom.global.add.v2.f32 {%f1, %f2}, [%rd1+64], {%f3, %f4};"},
    {"strong accesses", "st.release.gpu.global.u32 [%rd1], 1; ld.acquire.gpu.global.u32 %r10, "
                        "[%rd1]; ld.volatile.global.u32 %r11, [%rd1]; st.relaxed.sys.global.u32 "
                        "[%rd1], 2; ld.mmio.relaxed.sys.global.u32 %r12, [%rd1];"},
    // ---- mbarriers
    {"mbarrier: state",
     "@%p1 mbarrier.arrive.shared.b64 %rd5, [%r3]; @%p1 mbarrier.test_wait.shared.b64 %p3, [%r3], "
     "%rd5; @%p1 mbarrier.inval.shared.b64 [%r3+8];"},
    {"mbarrier: counts", "@%p1 mbarrier.arrive.shared::cta.b64 %rd5, [%r3+8], 2; @%p1 "
                         "mbarrier.try_wait.shared::cta.b64 %p3, [%r3+8], %rd5, 100; @%p1 "
                         "mbarrier.pending_count.b64 %r10, %rd5;"},
    {"mbarrier: noComplete", "@%p1 mbarrier.arrive.noComplete.shared.b64 %rd5, [%r3+8], 1; @%p1 "
                             "mbarrier.arrive.release.cta.shared::cta.b64 _, [%r3+8]; W: "
                             "mbarrier.test_wait.parity.shared.b64 %p3, [%r3+8], 0; @!%p3 bra W;"},
    {"mbarrier: drop",
     "@%p1 mbarrier.arrive_drop.shared.b64 %rd5, [%r3+8]; @%p1 mbarrier.arrive.shared.b64 %rd5, "
     "[%r3+8]; W: mbarrier.try_wait.parity.shared.b64 %p3, [%r3+8], 0; @!%p3 bra W;"},
    {"mbarrier: bytes", "@%p1 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r3], 16; @%p1 "
                        "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r3], 16; @%p1 "
                        "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 %rd5, [%r3], 0;"},
    {"mbarrier: generic address",
     "cvt.u64.u32 %rd6, %r3; cvta.shared.u64 %rd6, %rd6; @%p1 mbarrier.arrive.b64 %rd5, [%rd6]; W: "
     "mbarrier.try_wait.parity.b64 %p3, [%rd6], 0; @!%p3 bra W;"},
    {"mbarrier: remote",
     "@%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r4]; W: "
     "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p3, [%r3], 0; @!%p3 bra W;"},
    {"mbarrier: remote, bytes",
     "@%p1 mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%r4], 16; @%p1 "
     "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%r4], 16; W: "
     "mbarrier.try_wait.parity.shared.b64 %p3, [%r3], 0; @!%p3 bra W;"},
    {"mbarrier: remote, expect",
     "@%p1 mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%r4], 16; @%p1 "
     "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%r4], 16; @%p1 "
     "mbarrier.arrive_drop.expect_tx.release.cluster.shared::cluster.b64 _, [%r4], 0;"},
    // ---- copies
    {"cp.async",
     "shl.b32 %r10, %r1, 4; add.u32 %r10, %r10, %r2; cp.async.cg.shared.global.L2::128B [%r10], "
     "[%rd2], 16; cp.async.ca.shared.global [%r10+2048], [%rd2], 8, 4; cp.async.commit_group; "
     "cp.async.wait_group 0; cp.async.wait_all; cp.async.cg.shared.global.L2::cache_hint [%r10], "
     "[%rd2], 16, %rd4; cp.async.wait_all;"},
    {"cp.async of fewer bytes, with a policy",
     "shl.b32 %r10, %r1, 4; add.u32 %r10, %r10, %r2; mov.u32 %r11, 8; "
     "cp.async.ca.shared.global.L2::"
     "cache_hint.L2::256B [%r10], [%rd2], 16, %r11, %rd4; cp.async.wait_all;"},
    {"cp.async and mbarrier",
     "mov.u32 %r11, 0; shl.b32 %r10, %r1, 4; add.u32 %r10, %r10, %r2; @%p1 "
     "cp.async.ca.shared::cta.global [%r10], [%rd2], 4; @%p1 "
     "cp.async.mbarrier.arrive.noinc.shared.b64 [%r3]; W: mbarrier.try_wait.parity.shared.b64 %p3, "
     "[%r3], 0; @!%p3 bra W; @%p1 cp.async.mbarrier.arrive.shared.b64 [%r3+8]; @%p1 "
     "cp.async.wait_all;"},
    {"bulk load",
     LOADS(64, "cp.async.bulk.shared::cluster.global" TX " [%r2], [%rd1], 64, [%r3];")},
    {"bulk load, hint", LOADS(64, "cp.async.bulk.shared::cta.global" TX
                                  ".L2::cache_hint [%r2], [%rd1], 64, [%r3], %rd4;")},
    {"bulk load, multicast",
     "mov.u16 %h1, 3; setp.eq.and.u32 %p4, %r5, 0, %p1; @%p1 mbarrier.arrive.expect_tx.shared.b64 "
     "_, [%r3], 64; barrier.cluster.arrive; barrier.cluster.wait; @%p4 "
     "cp.async.bulk.shared::cluster.global" TX
     ".multicast::cluster [%r2], [%rd1], 64, [%r3], %h1; W: mbarrier.try_wait.parity.shared.b64 "
     "%p3, [%r3], 0; @!%p3 bra W;"},
    {"bulk copy to a peer", "@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r3], 64; @%p1 "
                            "cp.async.bulk.shared::cluster.shared::cta" TX
                            " [%r7], [%r2+4096], 64, [%r4]; W: mbarrier.try_wait.parity.shared.b64 "
                            "%p3, [%r3], 0; @!%p3 bra W;"},
    {"bulk reduction at a peer", "@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r3], 64; @%p1 "
                                 "cp.reduce.async.bulk.shared::cluster.shared::cta" TX
                                 ".add.u32 [%r7], [%r2+4096], 64, [%r4]; W: "
                                 "mbarrier.try_wait.parity.shared.b64 %p3, [%r3], 0; @!%p3 bra W;"},
    {"bulk store", STORES("cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r2], 64;")},
    {"bulk store, waiting for the read",
     STORES("cp.async.bulk.global.shared::cta.bulk_group.L2::"
            "cache_hint [%rd1], [%r2], 64, %rd4;") " @%p1 "
                                                   "cp.async.bulk."
                                                   "wait_group."
                                                   "read 0;"},
    {"bulk reduction",
     STORES("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%rd1], [%r2], 64;")},
    {"bulk reduction of halves",
     STORES(
         "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.bf16 [%rd1], [%r2], 64;")},
    {"bulk prefetch", "@%p1 cp.async.bulk.prefetch.L2.global [%rd1], 64; @%p1 "
                      "cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%rd3, {%r61, %r61}]; "
                      "prefetch.tensormap [%rd3]; prefetch.param.tensormap [%rd3];"},
    {"st.async",
     "@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r3], 20; @%p1 st.async.weak.shared::cluster" TX
     ".u32 [%r7], %r1, [%r4]; @%p1 st.async.shared::cluster" TX
     ".v4.b32 [%r7+16], {%r1, %r1, %r1, %r1}, [%r4]; W: mbarrier.try_wait.parity.shared.b64 %p3, "
     "[%r3], 0; @!%p3 bra W;"},
    {"red.async", "@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r3], 4; @%p1 "
                  "red.async.relaxed.cluster.shared::cluster" TX
                  ".add.u32 [%r7], %r1, [%r4]; W: mbarrier.try_wait.parity.shared.b64 %p3, [%r3], "
                  "0; @!%p3 bra W;"},
    // ---- tensor copies; the map is 2-D, 32 by 32 floats, box 8 by 16
    {"tensor load",
     LOADS(512, TMA "2d.shared::cluster.global.tile" TX " [%r2], [%rd3, {%r61, %r61}], [%r3];")},
    {"tensor load, hint",
     LOADS(512, TMA "2d.shared::cta.global" TX
                    ".L2::cache_hint [%r2], [%rd3, {%r61, %r61}], [%r3], %rd4;")},
    {"tensor load, multicast",
     "mov.u16 %h1, 3; setp.eq.and.u32 %p4, %r5, 0, %p1; @%p1 mbarrier.arrive.expect_tx.shared.b64 "
     "_, [%r3], 512; barrier.cluster.arrive; barrier.cluster.wait; @%p4 " TMA
     "2d.shared::cluster.global.tile" TX
     ".multicast::cluster.L2::cache_hint [%r2], [%rd3, {%r61, %r61}], [%r3], %h1, %rd4; W: "
     "mbarrier.try_wait.parity.shared.b64 %p3, [%r3], 0; @!%p3 bra W;"},
    {"tensor store",
     STORES(TMA "2d.global.shared::cta.tile.bulk_group [%rd3, {%r61, %r61}], [%r2];")},
    {"tensor store, hint",
     STORES(TMA
            "2d.global.shared::cta.bulk_group.L2::cache_hint [%rd3, {%r61, %r61}], [%r2], %rd4;")},
    {"tensor reduction", STORES("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_"
                                "group [%rd3, {%r61, %r61}], [%r2];")},
    {"tensormap.replace",
     "setp.lt.u32 %p3, %r1, 8; shl.b32 %r60, %r1, 4; cvt.u64.u32 %rd5, %r60;\n"
     "add.u64 %rd5, %rd5, %rd3; add.u32 %r60, %r60, %r2;\n"
     "@%p3 ld.v4.u32 {%r10, %r11, %r12, %r13}, [%rd5]; bar.sync 0;\n"
     "@%p3 st.shared.v4.u32 [%r60], {%r10, %r11, %r12, %r13}; bar.sync 0; @!%p1 bra E;\n"
     "tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r2], %rd1;\n"
     "tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r2], 0, %r3;\n"
     "tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%r2], 0, 256;\n"
     "tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r2], 1, 8;\n"
     "tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%r2], 1, 1;\n"
     "tensormap.replace.tile.rank.shared::cta.b1024.b32 [%r2], 1;\n"
     "tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%r2], 7;\n"
     "tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%r2], 0;\n"
     "tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [%r2], 0;\n"
     "tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [%r2], 0; E: bar.sync 0;\n"
     "setp.lt.u32 %p3, %r1, 32; mad.wide.u32 %rd6, %r5, 4096, %rd1; @%p3 "
     "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "
     "[%rd6], [%r2], 128; fence.proxy.tensormap::generic.acquire.gpu [%rd6], 128;"},
    // ---- matrices
    {"ldmatrix, stmatrix", "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10, %r11, %r12, %r13}, "
                           "[%r2]; ldmatrix.sync.aligned.m8n8.x1.trans.shared::cta.b16 {%r14}, "
                           "[%r2]; bar.sync 0; shl.b32 %r60, %r1, 4; add.u32 %r60, %r60, %r2; "
                           "stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r60], {%r10, %r11};"},
    {"mma, f16",
     "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f0, %f1, %f2, %f3}, {%r10, %r11, %r12, "
     "%r13}, {%r14, %r15}, {%f4, %f5, %f6, %f7}; mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 "
     "{%r20, %r21}, {%r10, %r11}, {%r12}, {%r14, %r15};"},
    {"mma, tf32, f8, s8",
     "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f0, %f1, %f2, %f3}, {%r10, %r11, %r12, "
     "%r13}, {%r14, %r15}, {%f4, %f5, %f6, %f7}; "
     "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {%f0, %f1, %f2, %f3}, {%r10, %r11, %r12, "
     "%r13}, {%r14, %r15}, {%f4, %f5, %f6, %f7}; mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 "
     "{%r20, %r21, %r22, %r23}, {%r10, %r11, %r12, %r13}, {%r14, %r15}, {%r16, %r17, %r18, %r19};"},
    {"mma, f64",
     "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%fd0, %fd1}, {%fd2}, {%fd3}, {%fd4, %fd5};"},
    {"mma.sp", "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 "
               "{%f0, %f1, %f2, %f3}, {%r10, %r11, %r12, %r13}, {%r14, %r15, %r16, %r17}, "
               "{%f4, %f5, %f6, %f7}, %r18, 0x1;\n"
               "mma.sp.sync.aligned.m16n8k64.row.col.satfinite.s32.s8.u8.s32 "
               "{%r20, %r21, %r22, %r23}, {%r10, %r11, %r12, %r13}, {%r14, %r15, %r16, %r17}, "
               "{%r20, %r21, %r22, %r23}, %r18, 0;"},
    {"wgmma.sp", WGMMA("wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 " D4
                       ", %rd5, %rd5, %r18, 1, %p2, 1, 1, 0, 0;")},
    {"wgmma.sp, A in registers",
     WGMMA("wgmma.mma_async.sp.sync.aligned.m64n8k64.s32.s8.s8.satfinite "
           "{%r20, %r21, %r22, %r23}, {%r10, %r11, %r12, %r13}, %rd5, "
           "%r18, 0, %p2;")},
    {"wgmma, f16", WGMMA("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 " D4
                         ", %rd5, %rd5, %p2, 1, 1, 0, 0;")},
    {"wgmma, A in registers", WGMMA("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 " D4
                                    ", {%r20, %r21, %r22, %r23}, %rd5, %p2, 1, -1, 1;")},
    {"wgmma, f8",
     WGMMA("wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e5m2 " D4 ", %rd5, %rd5, 0, 1, 1;")},
    {"wgmma, tf32",
     WGMMA("wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 " D4 ", %rd5, %rd5, %p2, 1, 1;")},
    {"wgmma, s8", WGMMA("wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.u8.satfinite {%r20, %r21, "
                        "%r22, %r23}, %rd5, %rd5, %p2;")},
    {"wgmma, b1", WGMMA("wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.and.popc {%r20, %r21, "
                        "%r22, %r23}, %rd5, %rd5, %p2;")},
    // ---- clusters
    {"modifiers in another order",
     "atom.global.gpu.acq_rel.add.u32 %r10, [%rd1], 1; ld.global.acquire.gpu.b32 %r11, [%rd1];\n"
     "red.and.release.cta.b32 [%rd2+4], 1; vote.ballot.sync.b32 %r12, %p1, -1;\n"
     "ldmatrix.sync.aligned.x4.trans.m8n8.shared.b16 {%r10, %r11, %r12, %r13}, [%r2];"},
    {"a parameter's address in 32 bits",
     "mov.b32 %r10, map; cvt.u64.u32 %rd5, %r10; cvta.param.u64 %rd5, %rd5; "
     "prefetch.tensormap [%rd5]; ld.u32 %r11, [%rd5];"},
    {"one mbarrier.init by a warp",
     "setp.lt.u32 %p3, %r1, 32; @%p3 mbarrier.init.shared.b64 [%r3+16], 1;"},
    {"cluster",
     "mapa.u64 %rd5, %rd4, 1; getctarank.shared::cluster.u32 %r10, %r7; ld.shared::cluster.u32 "
     "%r11, [%r7]; mov.u32 %r12, %cluster_nctarank; mov.b32 %r13, %clusterid.x;"},
};

// Misuse of the same, and the class of its report.
static const struct {
    const char *name, *code;
    enum emu_class class_;
} misuses[] = {
    {"more registers than there are",
     "setmaxnreg.inc.sync.aligned.u32 256; setmaxnreg.inc.sync.aligned.u32 36;", EMU_BAD_OPERAND},
    {"a call of what is no function",
     "mov.u64 %rd5, 12345;\nP: .callprototype _ ();\ncall %rd5, P;", EMU_BAD_OPERAND},
    {"tensormap.replace of no map",
     "@%p1 tensormap.replace.tile.rank.shared::cta.b1024.b32 [%r2+2048], 1;", EMU_BAD_OPERAND},
    {"st.async without anyone to count",
     "@%p1 st.async.weak.shared::cluster" TX ".u32 [%r7], %r1, [%r4+32];", EMU_BARRIER_MISUSE},
    {"more arrivals than are due", "mbarrier.arrive.noComplete.shared.b64 %rd5, [%r3], 1;",
     EMU_BARRIER_MISUSE},
    {"noComplete that completes", "@%p1 mbarrier.arrive.noComplete.shared.b64 %rd5, [%r3], 1;",
     EMU_BARRIER_MISUSE},
    {"bytes left over", "@%p1 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r3], 16;",
     EMU_BARRIER_MISUSE},
    {"bulk load without a fence",
     "@%p1 st.shared.u32 [%r2], 1;" STORES(
         "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r2], 64;"),
     EMU_MISSING_PROXY_FENCE},
    {"wgmma of registers just written",
     WGMMA("mov.u32 %r20, %r1; add.u32 %r21, %r20, "
           "1;\nwgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 " D4
           ", {%r20, %r21, %r22, %r23}, %rd5, %p2, 1, 1, 0;"),
     EMU_REGISTER_HAZARD},
};

static struct emu_result result;

static void run_code(const char *code) {
    char text[8000];
    struct emu_error error;
    struct emu_memory *memory = emu_memory_new();
    uint64_t out = emu_memory_alloc(memory, BYTES, "out");
    _Alignas(64) unsigned char map[EMU_TENSOR_MAP_BYTES];
    const uint64_t dims[] = {32, 32}, strides[] = {128};
    const uint32_t box[] = {8, 16}, ones[] = {1, 1};
    const void *params[] = {&out, map};

    assert_int_equal(
        emu_tensor_map_encode(map, 7, 2, out, dims, strides, box, ones, 0, 0, 0, 0, &error), 0);
    emu_memory_fill(memory, out, 0, BYTES);
    snprintf(text, sizeof text, frame, code);
    emu_kernel_launch(memory, text, (struct emu_launch){.grid = {2}, .block = {128}, .seed = 1},
                      params, 2, &result);
    emu_memory_delete(memory);
}

static void run_form(void **state) {
    run_code(forms[(size_t)*state].code);
    emu_kernel_is_clean(&result);
    emu_result_free(&result);
}

static void run_misuse(void **state) {
    run_code(misuses[(size_t)*state].code);
    emu_kernel_is_reported(&result, misuses[(size_t)*state].class_);
    emu_result_free(&result);
}

int main(void) {
    enum { COUNT = sizeof forms / sizeof *forms, MISUSES = sizeof misuses / sizeof *misuses };
    static struct CMUnitTest tests[COUNT + MISUSES];

    for (size_t i = 0; i < MISUSES; i++)
        tests[COUNT + i] = (struct CMUnitTest){misuses[i].name, run_misuse, NULL, NULL, (void *)i};
    for (size_t i = 0; i < COUNT; i++)
        tests[i] = (struct CMUnitTest){forms[i].name, run_form, NULL, NULL, (void *)i};
    return _cmocka_run_group_tests("emu forms", tests, COUNT + MISUSES, NULL, NULL);
}

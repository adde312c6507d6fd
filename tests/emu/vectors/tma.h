// What tables of bulk copies share: rows with a tensor map, a barrier that is armed and awaited.
// Texts only, as every row is one; a barrier lies at sm+45056, behind all data.
#pragma once

#include "runtime/cuda_api.h"
#include "tests/emu/vectors/vectors.h"

#define EXACTLY(text) \
    { text, {EXACT, 0}, NULL }
#define MAPPED(name, text) \
    { "map(" #name ") " text, {EXACT, 0}, &(name) }

#define ONES \
    { 1, 1, 1, 1, 1 }
#define MAP(name, type_, swizzle_, fill_, rank_, ...)                                            \
    static const struct tmg_tensor_map_args name = {.type = CU_TENSOR_MAP_DATA_TYPE_##type_,     \
                                                    .swizzle = CU_TENSOR_MAP_SWIZZLE_##swizzle_, \
                                                    .fill = fill_,                               \
                                                    .rank = rank_,                               \
                                                    __VA_ARGS__}

#define BAR   "[sm+45056]"
#define START ".reg .pred q, d; setp.eq.u32 q, tid, 0; .reg .b32 n; "
#define ARM(bytes)                                                           \
    "@q mbarrier.init.shared.b64 " BAR ", 1; fence.proxy.async; bar.sync 0;" \
    " @q mbarrier.arrive.expect_tx.shared.b64 _, " BAR ", " bytes "; "
// Gives up after a while, so that a wrong count of bytes is seen and does not hang.
#define AWAIT                                                                                  \
    " mov.u32 n, 0; WAIT_#: mbarrier.try_wait.parity.shared.b64 d, " BAR ", 0; @d bra DONE_#;" \
    " add.u32 n, n, 1; setp.lt.u32 d, n, 1000; @d bra WAIT_#; setp.ne.u32 d, 0, 0; DONE_#:"    \
    " selp.u32 =i, 1, 0, d; "
// A load by another form: [insn] up to the tensor's coordinates, [rest] behind the barrier.
#define POLICY ".reg .b64 pol; createpolicy.fractional.L2::evict_first.b64 pol, 1.0; "
#define LOAD_BY(insn, tensor, class, at, bytes, rest)                                   \
    START "gfill(0," tensor "," class "); " POLICY ARM(                                 \
        bytes) "@q " insn " [sm], [map, {" at "}], " BAR rest ";" AWAIT "dump(0," bytes \
               "); bar.sync 0; @q mbarrier.inval.shared.b64 " BAR "; bar.sync 0;"
#define SAVE_BY(insn, tensor, class, at, bytes, rest)                                              \
    START POLICY                                                                                   \
        "gfill(0," tensor                                                                          \
        "," class "); fill(0," bytes                                                               \
                  "," class "); fence.proxy.async; bar.sync 0; @q " insn " [map, {" at             \
                            "}], [sm]" rest                                                        \
                            "; @q cp.async.bulk.commit_group; @q cp.async.bulk.wait_group.read 0;" \
                            " @q cp.async.bulk.wait_group 0; fence.proxy.async; bar.sync 0; "      \
                            "gdump(0," tensor ");"
#define LOAD(tensor, class, dim, at, bytes)                                                      \
    START "gfill(0," tensor                                                                      \
          "," class "); " ARM(bytes) "@q cp.async.bulk.tensor." dim                              \
                                     ".shared::cluster.global.tile.mbarrier::complete_tx::bytes" \
                                     " [sm], [map, {" at "}], " BAR ";" AWAIT "dump(0," bytes    \
                                     "); bar.sync 0;"                                            \
                                     " @q mbarrier.inval.shared.b64 " BAR "; bar.sync 0;"
#define SAVE(tensor, class, insn, dim, at, bytes)                                                \
    START "gfill(0," tensor "," class "); fill(0," bytes                                         \
                                      "," class "); fence.proxy.async;"                          \
                                                " bar.sync 0; @q " insn " [map, {" at            \
                                                "}], [sm]; @q cp.async.bulk.commit_group;"       \
                                                " @q cp.async.bulk.wait_group 0; "               \
                                                "fence.proxy.async; bar.sync 0; gdump(0," tensor \
                                                ");"

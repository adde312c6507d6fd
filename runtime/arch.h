// The architectures, a row each: what an SM and a CTA may have, and what the hardware can.
// The one place in C for these numbers; templates/lib/archs.lua has those that plans compute with.
#pragma once

#include <stdint.h>

// What a kernel of an architecture may use that others lack.
enum {
    TMG_HAS_FP8 = 1u << 0,             // E4M3 and E5M2
    TMG_HAS_CLUSTERS = 1u << 1,        // clusters, bulk and tensor copies, the async proxy
    TMG_HAS_REGISTER_MOVES = 1u << 2,  // setmaxnreg
    TMG_HAS_MAP_CHANGES = 1u << 3,     // tensormap.replace
    TMG_HAS_WGMMA = 1u << 4,
    TMG_HAS_TENSOR_MEMORY = 1u << 5,   // and what works on it, tcgen05
    TMG_HAS_TENSOR_I8 = 1u << 6,       // tcgen05.mma of integers
    TMG_HAS_TENSOR_MINIMUM = 1u << 7,  // tcgen05.ld.red
    TMG_HAS_LAUNCH_CONTROL = 1u << 8   // a cluster takes over another's work before that starts
};

struct tmg_arch {
    const char *name;  // as .target and --gpu-architecture spell it
    uint32_t features;
    uint32_t sms;               // of the product that defaults are tuned for
    uint32_t shared_per_block;  // bytes; those of an SM are with the reserved ones of its CTAs
    uint32_t shared_per_sm;
    uint32_t warps_per_sm, blocks_per_sm;
};

// The same of all of them.
enum {
    TMG_SM_REGISTERS = 65536,
    TMG_BLOCK_THREADS = 1024,
    TMG_BLOCK_RESERVE = 1024,  // bytes of shared memory that each CTA costs beside its own
    TMG_CLUSTER_PORTABLE = 8,  // CTAs of a cluster that every GPU has room for; and, where a kernel
    TMG_CLUSTER_BLOCKS = 16,   // has cudaFuncAttributeNonPortableClusterSizeAllowed, that some have
    // tensor memory, of an SM that has it: words of 32 bits, allocated by columns
    TMG_TENSOR_LANES = 128,
    TMG_TENSOR_COLUMNS = 512,
    TMG_TENSOR_COLUMNS_LEAST = 32
};

// The emulated device is a small one of that architecture: few SMs, so that small problems already
// give each CTA of a persistent grid several tiles.
#define TMG_EMULATED_ARCH "sm_90a"
enum { TMG_EMULATED_SMS = 4 };

// "sm_90a", "sm_90"; NULL when there is no such row. A family's name that has no
// row of its own (sm_90f) is its first member.
const struct tmg_arch *tmg_arch_find(const char *name);
// The first row that has all of [features]; NULL when none has.
const struct tmg_arch *tmg_arch_with(uint32_t features);

// Whether machine code for [code], as "sm_90a", runs on a GPU of [gpu], as "sm_90": sm_90a on sm_90
// and nowhere else; sm_90 on every sm_9x that is not older.
int tmg_arch_runs(const char *code, const char *gpu);
// Whether the driver of a GPU of [gpu] can compile PTX for [ptx]: of sm_90a for sm_90 alone, of
// sm_100f for every sm_10x that is not older, of sm_90 for whatever is not older.
int tmg_arch_compiles(const char *ptx, const char *gpu);
// Which of two is for the later GPUs, or uses more of the same: from 1 on.
int tmg_arch_rank(const char *name);

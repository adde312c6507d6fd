// wgmma.mma_async as a pure function: descriptors, layouts in shared memory and in registers, and
// the product. When its reads and writes happen, and who may race with them, is the caller's.
#ifndef TMG_EMU_MODEL_WGMMA_H
#define TMG_EMU_MODEL_WGMMA_H

#include "runtime/emu/model/convert.h"
#include "runtime/emu/model/swizzle.h"

// A 64-bit shared memory matrix descriptor taken apart (PTX ISA 9.7.15.5.1.2.2); bytes.
struct tmg_matrix_descriptor {
    uint32_t start, leading_offset, stride_offset, base_offset;
    enum tmg_swizzle swizzle;
};

// Every bit pattern decodes; bits outside of the fields are ignored.
struct tmg_matrix_descriptor tmg_matrix_descriptor_decode(uint64_t bits);
uint64_t tmg_matrix_descriptor_encode(const struct tmg_matrix_descriptor *descriptor);

// Shared address of element (mn, k) of a matrix of [element_bits]; [mn_major] as imm-trans says.
// For elements below a byte, of the byte that holds it (PTX ISA 9.7.15.5.1.2.1.3).
uint32_t tmg_matrix_address(const struct tmg_matrix_descriptor *descriptor, bool mn_major,
                            int element_bits, uint32_t mn, uint32_t k);

// One wgmma.mma_async instruction, m = 64.
struct tmg_wgmma {
    enum tmg_number a, b, d;
    int n;
    bool a_in_registers;
    bool transpose_a, transpose_b;  // imm-trans: the operand is M- or N-major
    bool negate_a, negate_b;        // imm-scale -1
    bool scale_d;                   // false: D = A * B, the old D is not read
    bool satfinite;
    bool sparse;  // A holds half of its k elements
    int selector;
};

// NULL when PTX has this instruction, else a sentence naming what it lacks.
const char *tmg_wgmma_check(const struct tmg_wgmma *op);

int tmg_wgmma_k(const struct tmg_wgmma *op);  // elements: 256 bits of them, 512 of a sparse one
int tmg_wgmma_d_registers(const struct tmg_wgmma *op);  // 32-bit registers of D a thread holds

// What an instruction works on. Registers are rows of 32 lanes: a[warp][register][lane].
// [a] may stay unset when A is in shared memory; only the first tmg_wgmma_d_registers of each
// d[warp] are used.
struct tmg_wgmma_operands {
    const uint8_t *smem;  // the CTA's shared window, address 0 first
    uint32_t smem_bytes;
    uint64_t a_descriptor, b_descriptor;
    const uint32_t *a[4][4];
    const uint32_t *metadata[4];  // of a sparse one, by warp
    uint32_t *d[4][128];
};

// D = A * B (+ D); [op] has passed tmg_wgmma_check. Returns NULL, or a sentence when an operand is
// outside of shared memory, with the address in [bad_address] (may be NULL) and D unchanged.
// Sums as Hopper does: model/fused.h.
const char *tmg_wgmma_run(const struct tmg_wgmma *op, const struct tmg_wgmma_operands *operands,
                          uint32_t *bad_address);

// Shared memory that an instruction reads, a bit for each 16 bytes of the descriptors' 256 KiB.
struct tmg_footprint {
    uint64_t granules[256];
    uint32_t first, end;  // words of [granules] that may not be 0
};

static inline void tmg_footprint_add(struct tmg_footprint *footprint, uint32_t address) {
    uint32_t granule = address / 16, word = granule / 64;
    if (word < footprint->first || footprint->end == 0) footprint->first = word;
    if (word >= footprint->end) footprint->end = word + 1;
    footprint->granules[word] |= UINT64_C(1) << granule % 64;
}

// Leaves it empty.
void tmg_footprint_clear(struct tmg_footprint *footprint);

// Adds the rows of A that warp [warp] (0..3) reads through [descriptor] to [footprint]: the same 16
// as of D and of A in registers.
void tmg_wgmma_footprint_a(const struct tmg_wgmma *op, int warp, uint64_t descriptor,
                           struct tmg_footprint *footprint);
// Adds B, which all four warps read.
void tmg_wgmma_footprint_b(const struct tmg_wgmma *op, uint64_t descriptor,
                           struct tmg_footprint *footprint);

// Calls [visit] for each maximal run of granules, in rising order; a non-zero result stops it and
// is returned.
int tmg_footprint_each(const struct tmg_footprint *footprint,
                       int (*visit)(void *context, uint32_t address, uint32_t bytes),
                       void *context);

// Where register [index] of D in lane [lane] of warp [warp] (0..3) lies in the 64 x n matrix: the
// column of its low or only element; an f16 register also holds column + 1 (Figure 149).
static inline int tmg_wgmma_d_row(int warp, int lane, int index, bool f16) {
    return warp * 16 + lane / 4 + 8 * (f16 ? index % 2 : index / 2 % 2);
}
static inline int tmg_wgmma_d_column(int lane, int index, bool f16) {
    return f16 ? index / 2 * 8 + lane % 4 * 2 : index / 4 * 8 + lane % 4 * 2 + index % 2;
}

#endif

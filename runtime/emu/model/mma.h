// mma.sync and the matrix moves around it, as pure functions on a warp's registers.
// All fragment layouts of PTX ISA 9.7.14.5 but m8n8k4.f16 are one formula: see model/mma.c.
#ifndef TMG_EMU_MODEL_MMA_H
#define TMG_EMU_MODEL_MMA_H

#include "runtime/emu/model/convert.h"

// One mma.sync.aligned instruction, A row-major and B column-major.
struct tmg_mma {
    int m, n, k;
    enum tmg_number a, b, c, d;
    bool satfinite;
    bool xor_popc;  // b1: .xor.popc, else .and.popc
    bool sparse;    // mma.sp: A holds half of its k elements
    int selector;   // of the lanes whose metadata count
};

// NULL when this model runs the instruction, else a sentence: no such instruction in PTX, or one
// that is not modelled (m8n8k4.f16, .kind and block scaling).
const char *tmg_mma_check(const struct tmg_mma *op);

// Bits of an element in a register or a dense operand.
int tmg_mma_element_bits(enum tmg_number type);

// Registers of each operand a thread holds: 32-bit ones, 64-bit ones for f64.
struct tmg_mma_registers {
    int a, b, c, d;
};
struct tmg_mma_registers tmg_mma_registers(const struct tmg_mma *op);

// Registers as rows of 32 lanes; [d] may share rows with any operand.
struct tmg_mma_operands {
    const uint32_t *a[4], *b[4], *c[4];
    uint32_t *d[4];
    const uint32_t *metadata;  // of a sparse one
};
struct tmg_mma_operands_f64 {
    const uint64_t *a[8], *b[4], *c[4];
    uint64_t *d[4];
};

// D = A * B + C; [op] has passed tmg_mma_check. Floats sum as Hopper does: model/fused.h.
void tmg_mma_run(const struct tmg_mma *op, const struct tmg_mma_operands *operands);

// The same for f64: a chain of fused multiply-adds in the order of k, round to nearest even.
void tmg_mma_run_f64(const struct tmg_mma *op, const struct tmg_mma_operands_f64 *operands);

// Where register [i] of [lane] stands in the dense operand: a byte of A's m rows of k or, of a
// sparse A, of k / 2, one of B's 8
// rows of k (B is transposed), or the element of C's m rows of 8, where an f16 register holds the
// next column too.
int tmg_mma_a_byte(const struct tmg_mma *op, int i, int lane);
int tmg_mma_b_byte(const struct tmg_mma *op, int i, int lane);
int tmg_mma_c_element(enum tmg_number type, int i, int lane);

// ldmatrix.m8n8.b16 (9.7.14.5.15): [count] is 1, 2 or 4. rows[8 j + r] holds the 16 bytes at the
// address that lane 8 j + r gave: row r of matrix j. Matrix j goes to registers d[j].
void tmg_ldmatrix(int count, bool transpose, const uint8_t (*rows)[16], uint32_t *const *d);

// stmatrix.m8n8.b16 (9.7.14.5.16): fills rows[8 j + r] for the caller to store.
void tmg_stmatrix(int count, bool transpose, const uint32_t *const *registers, uint8_t (*rows)[16]);

// ldmatrix.m16n16.trans of elements of a byte: rows[16 j + r], of [count] 1 or 2. Registers d[2 j]
// and d[2 j + 1] have, of 4 rows, two each and of these two columns. And stmatrix.m16n8.trans.b8.
// The ISA's figures tell which element goes to which lane; which byte it is there, CuTe's traits.
void tmg_ldmatrix_bytes(int count, const uint8_t (*rows)[16], uint32_t *const *d);
void tmg_stmatrix_bytes(int count, const uint32_t *const *registers, uint8_t (*rows)[16]);

// movmatrix.m8n8.trans.b16 (9.7.14.5.17); [d] may be [a].
void tmg_movmatrix(const uint32_t *a, uint32_t *d);

#endif

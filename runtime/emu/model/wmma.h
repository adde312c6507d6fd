// wmma.load, .mma and .store as pure functions: a warp's matrices and the fragments they become.
// PTX leaves the fragments' layout open (9.7.14.4.1); here it is that of the mma.sync instructions
// that a wmma.mma is made of, so that the model of mma.sync does the arithmetic.
#ifndef TMG_EMU_MODEL_WMMA_H
#define TMG_EMU_MODEL_WMMA_H

#include "runtime/emu/model/mma.h"

enum { TMG_WMMA_REGISTERS = 8, TMG_WMMA_BYTES = 1024 };  // the most of a fragment, of a matrix

enum tmg_wmma_part { TMG_WMMA_A, TMG_WMMA_B, TMG_WMMA_C };

// One shape and its operand type (A's and B's); [c] and [d] are the accumulators' types.
struct tmg_wmma {
    int m, n, k;
    enum tmg_number a, c, d;
    bool satfinite, xor_popc;
};

// NULL when this model runs the instruction, else a sentence: no such instruction in PTX, or one
// that is not modelled.
const char *tmg_wmma_check(const struct tmg_wmma *op);

// Registers of a fragment that a thread holds: 32-bit ones, 64-bit ones for f64. [type] is that of
// the accumulator, for TMG_WMMA_C.
int tmg_wmma_registers(const struct tmg_wmma *op, enum tmg_wmma_part part, enum tmg_number type);

// The matrix that a fragment holds, dense: [lines] of [length] elements. A has m lines of k, B n
// lines of k (a line is a column), C m lines of n.
struct tmg_wmma_matrix {
    int lines, length, element_bits;
};
struct tmg_wmma_matrix tmg_wmma_matrix(const struct tmg_wmma *op, enum tmg_wmma_part part,
                                       enum tmg_number type);

// Between the dense matrix and the registers, rows of 32 lanes. f64 registers are two rows in one:
// 32 of 64 bits.
void tmg_wmma_spread(const struct tmg_wmma *op, enum tmg_wmma_part part, enum tmg_number type,
                     const uint8_t *matrix, uint32_t *const *registers);
void tmg_wmma_collect(const struct tmg_wmma *op, enum tmg_number type,
                      const uint32_t *const *registers, uint8_t *matrix);

// D = A * B + C; [op] has passed tmg_wmma_check. [d] may share rows with any operand.
void tmg_wmma_run(const struct tmg_wmma *op, const uint32_t *const *a, const uint32_t *const *b,
                  const uint32_t *const *c, uint32_t *const *d);

#endif

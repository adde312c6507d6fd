// Matrices with half of their elements kept: where the metadata of mma.sp and wgmma.mma_async.sp
// says that they stand, and the rows of B that they meet.
#ifndef TMG_EMU_MODEL_SPARSE_H
#define TMG_EMU_MODEL_SPARSE_H

#include "runtime/emu/model/convert.h"

enum {
    TMG_SPARSE_ROWS = 16,  // of A, whose metadata a warp holds
    TMG_SPARSE_KEPT = 32,  // elements of a row, at most
    TMG_SPARSE_COLUMNS = 256,
};

// index[row][i]: which of a row's [k] elements of [type] the kept element i is, i < k / 2. Of 16
// and 8 bits, two of every four are kept, of tf32 one of every two. [metadata] is a register of the
// warp, [selector] as in the instruction. Metadata that PTX calls invalid counts as it stands.
void tmg_sparse_index(enum tmg_number type, int k, int selector, const uint32_t *metadata,
                      uint8_t (*index)[TMG_SPARSE_KEPT]);

// Most selectors that there are for [type] and [k]: as many as lanes of four share the metadata.
int tmg_sparse_selectors(enum tmg_number type, int k);

// One row of A against B: the [kept] elements at [a], and of b[k][n] those rows that they meet, in
// their order; both with zeros up to a multiple of 8, which is returned.
int tmg_sparse_row(const uint8_t *index, int kept, int n, const float *a, const float *b,
                   float *row_a, float *row_b);

#endif

// Metadata of sparse matrices by lane, as the figures of PTX ISA 9.7.14.6.2 and 9.7.15.6.2 have it:
// four bits for every two elements that are kept, 16 or 32 bits of a row together in a register.
#include "runtime/emu/model/sparse.h"

#include <string.h>

static bool is_byte(enum tmg_number type) { return tmg_number_bytes(type) == 1; }

// Bits of one row
static int row_bits(enum tmg_number type, int k) { return type == TMG_TF32 ? 2 * k : k; }

// Of four lanes, those that hold the metadata of two rows; the selector picks them.
static int lanes_of_four(enum tmg_number type, int k) { return 2 * row_bits(type, k) / 32; }

int tmg_sparse_selectors(enum tmg_number type, int k) { return 4 / lanes_of_four(type, k); }

// The four bits for [chunk] of [row]. Lanes 4 g to 4 g + 3 hold the rows g and g + 8: of bytes, a
// lane has 32 bits of one row and the rows take turns, else it has 16 bits of both, row g's below.
static unsigned chunk_bits(enum tmg_number type, int first, const uint32_t *metadata, int row,
                           int chunk) {
    int at = 4 * chunk, half = row / 8, lane = row % 8 * 4 + first;
    if (is_byte(type)) return metadata[lane + at / 32 * 2 + half] >> at % 32 & 15;
    return metadata[lane + at / 16] >> (at % 16 + 16 * half) & 15;
}

void tmg_sparse_index(enum tmg_number type, int k, int selector, const uint32_t *metadata,
                      uint8_t (*index)[TMG_SPARSE_KEPT]) {
    int first = selector * lanes_of_four(type, k);
    for (int row = 0; row < TMG_SPARSE_ROWS; ++row) {
        for (int chunk = 0; chunk < row_bits(type, k) / 4; ++chunk) {
            unsigned bits = chunk_bits(type, first, metadata, row, chunk);
            if (type == TMG_TF32) {  // counts halves of elements
                index[row][chunk] = (uint8_t)(2 * chunk + (int)(bits & 3) / 2);
            } else {
                index[row][2 * chunk] = (uint8_t)(4 * chunk + (int)(bits & 3));
                index[row][2 * chunk + 1] = (uint8_t)(4 * chunk + (int)(bits >> 2));
            }
        }
    }
}

int tmg_sparse_row(const uint8_t *index, int kept, int n, const float *a, const float *b,
                   float *row_a, float *row_b) {
    int padded = (kept + 7) / 8 * 8;
    for (int i = 0; i < padded; ++i) {
        row_a[i] = i < kept ? a[i] : 0;
        if (i < kept) memcpy(row_b + i * n, b + index[i] * n, (size_t)n * sizeof *b);
        if (i >= kept) memset(row_b + i * n, 0, (size_t)n * sizeof *b);
    }
    return padded;
}

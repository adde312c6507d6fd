// tcgen05.mma as a pure function: instruction descriptors, where operands lie in shared and in
// tensor memory, and the product. When its reads and writes happen is the caller's. Sections are of
// PTX ISA 9.0; what it leaves open, and where the answer is from, stands in tcgen05_sum.h.
#ifndef TMG_EMU_MODEL_TCGEN05_H
#define TMG_EMU_MODEL_TCGEN05_H

#include <stddef.h>

#include "runtime/emu/model/wgmma.h"

enum tmg_tcgen05_kind {
    TMG_KIND_F16,
    TMG_KIND_TF32,
    TMG_KIND_F8F6F4,
    TMG_KIND_I8,
    TMG_KIND_MXF8F6F4,
    TMG_KIND_MXF4,
    TMG_KIND_MXF4NVF4,
    TMG_KIND_COUNT
};

// .scale_vec::NX and .blockN
enum tmg_scale_blocks {
    TMG_BLOCKS_DEFAULT,
    TMG_BLOCKS_1X,
    TMG_BLOCKS_2X,
    TMG_BLOCKS_4X,
    TMG_BLOCKS_16,
    TMG_BLOCKS_32
};

enum { TMG_TMEM_LANES = 128, TMG_TMEM_COLUMNS = 512 };  // columns of 32 bits

// One instruction. The first part is in its text; tmg_tcgen05_decode fills the second; the third
// are operands that are no addresses.
struct tmg_tcgen05 {
    enum tmg_tcgen05_kind kind;
    bool pair;  // .cta_group::2
    bool sparse, ws, a_in_tmem, ashift;
    enum tmg_scale_blocks blocks;
    bool scale_input;  // scale-input-d is given

    int m, n, k;  // of both CTAs together; k of a sparse A with its zeros
    enum tmg_number a, b, d;
    enum tmg_number scale;  // TMG_UE8M0, or TMG_E4M3, whose sign is dropped
    int scales;             // for each row of A and each column of B; 0: none
    bool negate_a, negate_b, transpose_a, transpose_b, saturate;
    int selector, scale_a_id, scale_b_id;
    int max_shift;  // of .ws: columns of B

    bool add_d;             // enable-input-d
    int input_shift;        // scale-input-d: the old D counts as D * 2^-input_shift
    uint32_t disabled[8];   // disable-output-lane, of each CTA four words
    uint64_t zero_columns;  // zero-column-mask-desc
};

// ---- tcgen05_descriptor.c ----

// Takes the instruction descriptor apart (9.7.16.4.2) and checks it against what the text says.
// NULL, or a sentence that names the field, in [text].
const char *tmg_tcgen05_decode(struct tmg_tcgen05 *op, uint32_t descriptor, char *text,
                               size_t size);

// The descriptor's places and its swizzling mode, TMG_SWIZZLE_COUNT where there is no such, of any
// instruction that takes one; nothing is refused.
struct tmg_matrix_descriptor tmg_tcgen05_matrix_place(uint64_t descriptor);
// Takes the descriptor of operand A or B in shared memory apart (9.7.16.4.1), likewise.
// [absolute]: its leading offset is an address (K of 48 bytes).
struct tmg_tcgen05_matrix {
    struct tmg_matrix_descriptor at;
    bool absolute;
};
const char *tmg_tcgen05_matrix_decode(const struct tmg_tcgen05 *op, bool is_b, uint64_t descriptor,
                                      struct tmg_tcgen05_matrix *matrix, char *text, size_t size);

// Does the zero-column mask (9.7.16.4.3) make column [n] of B zero? And by how many columns does
// it shift B?
bool tmg_tcgen05_zero_column(const struct tmg_tcgen05 *op, int n);
int tmg_tcgen05_column_shift(const struct tmg_tcgen05 *op);

// ---- tcgen05_layout.c ----

// The letter of 9.7.16.10.5: 'A' to 'G'.
char tmg_tcgen05_layout(const struct tmg_tcgen05 *op);

// Rows of A and D that one CTA has; into how many parts the columns of D are folded, each with all
// of these rows in lanes of its own.
int tmg_tcgen05_rows(const struct tmg_tcgen05 *op);
int tmg_tcgen05_folds(const struct tmg_tcgen05 *op);

// The lane of [row] of a CTA in fold [fold], for D at lane [base] and likewise for A and metadata.
int tmg_tcgen05_lane(const struct tmg_tcgen05 *op, int base, int fold, int row);

// Bytes of one row of A, and of one column of B, as they are stored in shared memory.
int tmg_tcgen05_a_bytes(const struct tmg_tcgen05 *op);
int tmg_tcgen05_b_bytes(const struct tmg_tcgen05 *op);

// Shared address of 16 bytes. K-major: [line] is the row of MN, [piece] counts along k; MN-major:
// [line] is k, [piece] counts along MN.
uint32_t tmg_tcgen05_piece(const struct tmg_tcgen05_matrix *matrix, bool mn_major, uint32_t line,
                           uint32_t piece);
// The same of [lines] lines of [pieces] each, line after line; no operand has more of them.
enum { TMG_TCGEN05_PIECES = 1280 };
void tmg_tcgen05_pieces(const struct tmg_tcgen05_matrix *matrix, bool mn_major, uint32_t lines,
                        uint32_t pieces, uint32_t *at);

// The scale factor [index] of a row of A or column of B that is number [at] of its fold: its
// column and byte, from the matrix's first column; its lane is [at] % 32 of each 32.
// [count]: how many rows or columns there are.
struct tmg_scale_place {
    int column, byte;
};
struct tmg_scale_place tmg_tcgen05_scale_place(int count, int id, int at, int index);

// A rectangle of tensor memory that the instruction uses, of CTA [cta] of a pair.
struct tmg_tmem_part {
    int cta;
    char matrix;  // 'A', 'D', 'S' and 'T': scales of A and of B, 'M': metadata
    int lane, lanes, column, columns;
};

// Where the operands lie. Addresses of tensor memory: lane << 16 | column.
struct tmg_tcgen05_operands {
    const uint8_t *smem[2];  // the CTAs' shared windows, address 0 first; the even CTA's first
    uint32_t smem_bytes;
    uint32_t *tmem[2];  // words, 512 a lane
    uint64_t a_descriptor, b_descriptor;
    uint32_t a, d, scale_a, scale_b, metadata;
};

// Calls [visit] for each rectangle; false where it has returned false.
bool tmg_tcgen05_each_part(const struct tmg_tcgen05 *op,
                           const struct tmg_tcgen05_operands *operands,
                           bool (*visit)(void *context, const struct tmg_tmem_part *part),
                           void *context);

// Adds what is read of A's (or, with [is_b], B's) rows in one CTA's shared memory.
void tmg_tcgen05_footprint(const struct tmg_tcgen05 *op, bool is_b,
                           const struct tmg_tcgen05_matrix *matrix,
                           struct tmg_footprint *footprint);

// ---- tcgen05.c ----

// Of the values of A, or of B before a mask or a shift, as they lie there now.
uint64_t tmg_tcgen05_digest(const struct tmg_tcgen05 *op,
                            const struct tmg_tcgen05_operands *operands, bool is_b);

// D = A * B (+ D); [op] has been decoded, the rectangles of tensor memory lie within it. NULL, or
// a sentence on operands in shared memory, with the address in [bad_address], and D as it was.
const char *tmg_tcgen05_run(const struct tmg_tcgen05 *op,
                            const struct tmg_tcgen05_operands *operands, uint32_t *bad_address);

#endif

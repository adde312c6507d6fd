// wgmma.mma_async: gather the operands to dense tiles, widen to float, multiply, scatter D.
// Everything in shared memory moves in 16-byte pieces, the unit in which all layouts are defined.
#include "runtime/emu/model/wgmma.h"

#include <string.h>

#include "runtime/emu/model/fused.h"
#include "runtime/emu/model/matmul.h"
#include "runtime/emu/model/sparse.h"

enum {
    ROWS_A = 64,
    ROWS_MAX = 256,
    PIECE = 16,             // bytes
    PERIOD = 1024,          // of every swizzle
    PIECES_MAX = 1024,      // of an operand: B's of a sparse A
    K_BYTES = 32,           // one instruction's k of one row, every type; B's of a sparse A: twice
    WINDOW_MASK = 0x3ffff,  // descriptors address 256 KiB
    K_MAX = 64,             // elements, of the types that multiply as floats
};

struct tmg_matrix_descriptor tmg_matrix_descriptor_decode(uint64_t bits) {
    static const enum tmg_swizzle modes[4] = {TMG_SWIZZLE_NONE, TMG_SWIZZLE_128B, TMG_SWIZZLE_64B,
                                              TMG_SWIZZLE_32B};
    return (struct tmg_matrix_descriptor){
        .start = (uint32_t)(bits & 0x3fff) << 4,
        .leading_offset = (uint32_t)(bits >> 16 & 0x3fff) << 4,
        .stride_offset = (uint32_t)(bits >> 32 & 0x3fff) << 4,
        .base_offset = (uint32_t)(bits >> 49 & 7),
        .swizzle = modes[bits >> 62],
    };
}

uint64_t tmg_matrix_descriptor_encode(const struct tmg_matrix_descriptor *descriptor) {
    static const uint64_t codes[TMG_SWIZZLE_COUNT] = {
        [TMG_SWIZZLE_128B] = 1, [TMG_SWIZZLE_64B] = 2, [TMG_SWIZZLE_32B] = 3};
    return (uint64_t)(descriptor->start >> 4 & 0x3fff) |
           (uint64_t)(descriptor->leading_offset >> 4 & 0x3fff) << 16 |
           (uint64_t)(descriptor->stride_offset >> 4 & 0x3fff) << 32 |
           (uint64_t)(descriptor->base_offset & 7) << 49 | codes[descriptor->swizzle] << 62;
}

// How the 16-byte pieces of a matrix lie. K-major: a line is a row of MN, pieces count along k.
// MN-major: a line is k, pieces count along MN. The canonical layouts of 9.7.15.5.1.2.1.3: 8 lines
// make a block, pieces go near within a span, which is 1 << span_bits of them, and far beyond it.
struct layout {
    uint32_t start, line, block, near, far, span_bits;
    enum tmg_swizzle swizzle;
    uint32_t base;
};

static struct layout layout_of(struct tmg_matrix_descriptor d, bool mn_major) {
    const uint32_t span = tmg_swizzle_rules[d.swizzle].span;
    struct layout layout = {d.start,          span, d.stride_offset, PIECE,
                            d.leading_offset, 0,    d.swizzle,       d.base_offset};
    if (d.swizzle == TMG_SWIZZLE_NONE && mn_major) {
        layout.block = d.leading_offset;
        layout.far = d.stride_offset;
    } else if (d.swizzle != TMG_SWIZZLE_NONE) {
        layout.span_bits = mn_major ? (uint32_t)__builtin_ctz(span / PIECE) : 31;
    }
    return layout;
}

static inline uint32_t piece_address(const struct layout *l, uint32_t line, uint32_t piece) {
    uint32_t near = piece & ((1u << l->span_bits) - 1), far = piece >> l->span_bits;
    uint32_t offset = line % 8 * l->line + line / 8 * l->block + near * l->near + far * l->far;
    uint32_t address = (l->start + offset) & WINDOW_MASK;
    return tmg_swizzle_address_based(l->swizzle, address, l->base) & WINDOW_MASK;
}

uint32_t tmg_matrix_address(const struct tmg_matrix_descriptor *descriptor, bool mn_major,
                            int element_bits, uint32_t mn, uint32_t k) {
    struct layout layout = layout_of(*descriptor, mn_major);
    uint32_t line = mn_major ? k : mn;
    uint32_t byte = (mn_major ? mn : k) * (uint32_t)element_bits / 8;
    return piece_address(&layout, line, byte / PIECE) + byte % PIECE;
}

static int element_bits(enum tmg_number type) {
    return type == TMG_B1 ? 1 : 8 * tmg_number_bytes(type);
}

static uint32_t b_bytes(const struct tmg_wgmma *op) { return op->sparse ? 2 * K_BYTES : K_BYTES; }

int tmg_wgmma_k(const struct tmg_wgmma *op) { return 8 * (int)b_bytes(op) / element_bits(op->a); }

int tmg_wgmma_d_registers(const struct tmg_wgmma *op) {
    return op->d == TMG_F16 ? op->n / 4 : op->n / 2;
}

static bool is_integer(const struct tmg_wgmma *op) { return !tmg_number_is_float(op->a); }

// The rows of PTX ISA 9.7.15.5.2: operand types that go together, and their accumulators.
static const struct pairing {
    enum tmg_number a, b;
    bool f16, f32, s32;
} pairings[] = {
    {TMG_F16, TMG_F16, .f16 = true, .f32 = true},
    {TMG_BF16, TMG_BF16, .f32 = true},
    {TMG_TF32, TMG_TF32, .f32 = true},
    {TMG_E4M3, TMG_E4M3, .f16 = true, .f32 = true},
    {TMG_E4M3, TMG_E5M2, .f16 = true, .f32 = true},
    {TMG_E5M2, TMG_E4M3, .f16 = true, .f32 = true},
    {TMG_E5M2, TMG_E5M2, .f16 = true, .f32 = true},
    {TMG_S8, TMG_S8, .s32 = true},
    {TMG_S8, TMG_U8, .s32 = true},
    {TMG_U8, TMG_S8, .s32 = true},
    {TMG_U8, TMG_U8, .s32 = true},
    {TMG_B1, TMG_B1, .s32 = true},
};

static bool has_pairing(const struct tmg_wgmma *op) {
    for (size_t i = 0; i < sizeof pairings / sizeof *pairings; ++i) {
        const struct pairing *p = &pairings[i];
        if (p->a != op->a || p->b != op->b) continue;
        return op->d == TMG_F16 ? p->f16 : op->d == TMG_F32 ? p->f32 : op->d == TMG_S32 && p->s32;
    }
    return false;
}

const char *tmg_wgmma_check(const struct tmg_wgmma *op) {
    if (!has_pairing(op)) return "wgmma has no such combination of operand types";
    if (op->n < 8 || op->n > 256 || op->n % 8) return "n is not 8, 16, ... 256";
    if (is_integer(op) && op->n > 32 && op->n % 16) {
        return "n of an integer wgmma is 8, 16, 24, 32, 48, ... in steps of 16";
    }
    bool half = op->a == TMG_F16 || op->a == TMG_BF16;
    if ((op->transpose_a || op->transpose_b) && !half) return "only f16 and bf16 transpose";
    if (op->transpose_a && op->a_in_registers) return "A in registers does not transpose";
    if ((op->negate_a || op->negate_b) && is_integer(op)) return "integers are not negated";
    if (op->sparse && op->a == TMG_B1) return "single bits are not sparse";
    if (op->sparse &&
        (op->selector < 0 || op->selector >= tmg_sparse_selectors(op->a, tmg_wgmma_k(op))))
        return "the sparsity selector is too large for this shape";
    if (op->satfinite && (!is_integer(op) || op->a == TMG_B1)) return ".satfinite is for s8 and u8";
    return NULL;
}

// A part of an operand in shared memory: lines of pieces of 16 bytes.
struct extent {
    uint32_t line, lines, piece, pieces;
};

static struct extent operand_extent(uint32_t first, uint32_t rows, bool mn_major,
                                    uint32_t k_bytes) {
    // Only 16-bit types are MN-major: 16 lines of k, or 32, two bytes a row.
    return mn_major ? (struct extent){0, k_bytes / 2, first * 2 / PIECE, rows * 2 / PIECE}
                    : (struct extent){first, rows, 0, k_bytes / PIECE};
}

// The addresses of an extent's pieces, line after line. Where blocks are a whole number of periods
// of the swizzle apart, all lie as the first.
struct pieces {
    uint32_t count, at[PIECES_MAX];
};

static void place_pieces(const struct layout *layout, const struct extent *extent,
                         struct pieces *to) {
    uint32_t block = 8 * extent->pieces, *at = to->at;
    to->count = extent->lines * extent->pieces;
    for (uint32_t i = 0; i < extent->lines; ++i, at += extent->pieces) {
        bool alike = i >= 8 && layout->block % PERIOD == 0;
        for (uint32_t piece = 0; piece < extent->pieces; ++piece)
            at[piece] = alike ? (at[(int)piece - (int)block] + layout->block) & WINDOW_MASK
                              : piece_address(layout, extent->line + i, extent->piece + piece);
    }
}

// Copies an operand out of shared memory to [dense], line after line; false with the first address
// that is not in the window.
static bool gather(const struct tmg_wgmma_operands *operands, uint64_t descriptor, bool mn_major,
                   struct extent extent, uint8_t *dense, uint32_t *bad_address) {
    struct layout layout = layout_of(tmg_matrix_descriptor_decode(descriptor), mn_major);
    struct pieces pieces;
    place_pieces(&layout, &extent, &pieces);
    for (uint32_t i = 0; i < pieces.count; ++i, dense += PIECE) {
        if (pieces.at[i] + PIECE > operands->smem_bytes) {
            if (bad_address) *bad_address = pieces.at[i];
            return false;
        }
        memcpy(dense, operands->smem + pieces.at[i], PIECE);
    }
    return true;
}

// A's fragment: lane (g, t), register i holds bytes 4t + 16(i/2) of row 16 warp + g + 8(i%2), for
// every operand type (Figures 148, 150, 152 and 154).
static void gather_registers(const struct tmg_wgmma_operands *operands, uint8_t *dense) {
    for (int warp = 0; warp < 4; ++warp) {
        for (int i = 0; i < 4; ++i) {
            for (int lane = 0; lane < 32; ++lane) {
                int row = 16 * warp + lane / 4 + 8 * (i % 2), byte = lane % 4 * 4 + 16 * (i / 2);
                memcpy(dense + row * K_BYTES + byte, &operands->a[warp][i][lane], 4);
            }
        }
    }
}

// D's registers against the dense 64 x n matrix, in blocks of 8 rows by 8 columns: lanes 4g .. 4g+3
// hold row g. A block is a register of packed f16, else an even register and the odd one behind it,
// which take turns in a row.
static float *block_place(const struct tmg_wgmma *op, float *d, int warp, int i) {
    bool f16 = op->d == TMG_F16;
    return d + tmg_wgmma_d_row(warp, 0, i, f16) * op->n + tmg_wgmma_d_column(0, i, f16);
}

static void load_f16(const uint32_t *row, int n, float *place) {
    for (int lane = 0; lane < 32; ++lane) {
        float *to = place + lane / 4 * n + lane % 4 * 2;
        to[0] = tmg_f16_to_f32((uint16_t)row[lane]);
        to[1] = tmg_f16_to_f32((uint16_t)(row[lane] >> 16));
    }
}

static void store_f16(uint32_t *row, int n, const float *place) {
    for (int lane = 0; lane < 32; ++lane) {
        const float *from = place + lane / 4 * n + lane % 4 * 2;
        row[lane] = tmg_f32_to_f16_rn(from[0]) | (uint32_t)tmg_f32_to_f16_rn(from[1]) << 16;
    }
}

typedef int32_t four __attribute__((vector_size(16), aligned(4), may_alias));
typedef uint32_t four_unsigned __attribute__((vector_size(16), aligned(4), may_alias));
typedef float four_floats __attribute__((vector_size(16), aligned(4), may_alias));

static void load_f32(const uint32_t *even, const uint32_t *odd, int n, float *place) {
    for (int g = 0; g < 8; ++g, place += n, even += 4, odd += 4) {
        const four x = *(const four *)even, y = *(const four *)odd;
        *(four *)place = __builtin_shufflevector(x, y, 0, 4, 1, 5);
        *(four *)(place + 4) = __builtin_shufflevector(x, y, 2, 6, 3, 7);
    }
}

// With the NaN that the hardware gives.
static four bits_of(const float *place) {
    const four bits = *(const four *)place;
    const four special = (bits & INT32_MAX) > 0x7f800000;
    return (bits & ~special) | (special & (int32_t)TMG_F32_NAN);
}

static void store_f32(uint32_t *even, uint32_t *odd, int n, const float *place) {
    for (int g = 0; g < 8; ++g, place += n, even += 4, odd += 4) {
        const four x = bits_of(place), y = bits_of(place + 4);
        *(four *)even = __builtin_shufflevector(x, y, 0, 2, 4, 6);
        *(four *)odd = __builtin_shufflevector(x, y, 1, 3, 5, 7);
    }
}

// The exact [product] joins the accumulator, which wraps or saturates.
static void accumulate_four(const struct tmg_wgmma *op, uint32_t *row, four product) {
    four old = {0}, over = {0};
    if (op->scale_d) old = *(const four *)row;
    const four sum = (four)((four_unsigned)old + (four_unsigned)product);
    if (op->satfinite) over = ((old ^ sum) & (product ^ sum)) >> 31;
    *(four *)row = (sum & ~over) | (over & (old >> 31 ^ INT32_MAX));
}

static void accumulate_s32(const struct tmg_wgmma *op, uint32_t *even, uint32_t *odd,
                           const float *place) {
    for (int g = 0; g < 8; ++g, place += op->n, even += 4, odd += 4) {
        const four x = __builtin_convertvector(*(const four_floats *)place, four);
        const four y = __builtin_convertvector(*(const four_floats *)(place + 4), four);
        accumulate_four(op, even, __builtin_shufflevector(x, y, 0, 2, 4, 6));
        accumulate_four(op, odd, __builtin_shufflevector(x, y, 1, 3, 5, 7));
    }
}

// What to add the product to: the old D, or zero where it is not read or joins later.
static void load_d(const struct tmg_wgmma *op, const struct tmg_wgmma_operands *operands,
                   float *d) {
    if (!op->scale_d || is_integer(op)) {
        memset(d, 0, (size_t)(ROWS_A * op->n) * sizeof *d);
        return;
    }
    for (int warp = 0; warp < 4; ++warp) {
        uint32_t *const *rows = operands->d[warp];
        for (int i = 0; i < tmg_wgmma_d_registers(op); i += 2) {
            if (op->d == TMG_F16) {
                load_f16(rows[i], op->n, block_place(op, d, warp, i));
                load_f16(rows[i + 1], op->n, block_place(op, d, warp, i + 1));
            } else {
                load_f32(rows[i], rows[i + 1], op->n, block_place(op, d, warp, i));
            }
        }
    }
}

static void store_d(const struct tmg_wgmma *op, const struct tmg_wgmma_operands *operands,
                    float *d) {
    for (int warp = 0; warp < 4; ++warp) {
        uint32_t *const *rows = operands->d[warp];
        for (int i = 0; i < tmg_wgmma_d_registers(op); i += 2) {
            float *place = block_place(op, d, warp, i);
            if (op->d == TMG_F16) {
                store_f16(rows[i], op->n, place);
                store_f16(rows[i + 1], op->n, block_place(op, d, warp, i + 1));
            } else if (is_integer(op)) {
                accumulate_s32(op, rows[i], rows[i + 1], place);
            } else {
                store_f32(rows[i], rows[i + 1], op->n, place);
            }
        }
    }
}

// .and.popc: counts common ones of 256-bit rows of A and B.
static void multiply_b1(const uint8_t *dense_a, const uint8_t *dense_b, int n, float *d) {
    for (int m = 0; m < ROWS_A; ++m) {
        uint64_t a[4], b[4];
        memcpy(a, dense_a + m * K_BYTES, sizeof a);
        for (int column = 0; column < n; ++column) {
            memcpy(b, dense_b + column * K_BYTES, sizeof b);
            int ones = 0;
            for (int i = 0; i < 4; ++i) ones += __builtin_popcountll(a[i] & b[i]);
            d[m * n + column] += (float)ones;
        }
    }
}

// d[n] += a[k] * b[k][n] of integers
static void multiply_row(int n, int k, const float *a, const float *b, float *d) {
    for (int i = 0; i < k; ++i)
        for (int column = 0; column < n; ++column) d[column] += a[i] * b[i * n + column];
}

// Row after row of A, each with the rows of B that it meets.
static void multiply_sparse(const struct tmg_wgmma *op, const struct tmg_wgmma_operands *operands,
                            const float *a, const float *b, float *d) {
    uint8_t index[TMG_SPARSE_ROWS][TMG_SPARSE_KEPT];
    float row_a[TMG_SPARSE_KEPT], row_b[TMG_SPARSE_KEPT * ROWS_MAX];
    struct tmg_fused how = tmg_fused_for(op->a, op->b, op->d, true);
    int k = tmg_wgmma_k(op), kept = k / 2, n = op->n;
    for (int row = 0; row < ROWS_A; ++row, a += kept, d += n) {
        int in_warp = row % TMG_SPARSE_ROWS;
        if (in_warp == 0)
            tmg_sparse_index(op->a, k, op->selector, operands->metadata[row / TMG_SPARSE_ROWS],
                             index);
        int count = tmg_sparse_row(index[in_warp], kept, n, a, b, row_a, row_b);
        if (is_integer(op))
            multiply_row(n, count, row_a, row_b, d);
        else
            tmg_multiply_fused(&how, 1, n, count, row_a, row_b, d);
    }
}

// Dense operands, in bytes as in shared memory, to floats a[64][k] and b[k][n]; then multiplies.
static void multiply_floats(const struct tmg_wgmma *op, const struct tmg_wgmma_operands *operands,
                            const uint8_t *dense_a, const uint8_t *dense_b, float *d) {
    float wide[ROWS_MAX * K_MAX], a[ROWS_A * K_MAX], b[ROWS_MAX * K_MAX];
    int k = tmg_wgmma_k(op), k_of_a = op->sparse ? k / 2 : k, n = op->n;
    tmg_widen(op->a, dense_a, (size_t)(ROWS_A * k_of_a), op->negate_a ? -1 : 1,
              op->transpose_a ? wide : a);
    if (op->transpose_a) tmg_transpose(k_of_a, ROWS_A, wide, a);
    tmg_widen(op->b, dense_b, (size_t)(n * k), op->negate_b ? -1 : 1, op->transpose_b ? b : wide);
    if (!op->transpose_b) tmg_transpose(n, k, wide, b);
    if (op->sparse) {
        multiply_sparse(op, operands, a, b, d);
    } else if (is_integer(op)) {
        tmg_multiply(ROWS_A, n, k, a, b, d);
    } else {
        struct tmg_fused how = tmg_fused_for(op->a, op->b, op->d, true);
        tmg_multiply_fused(&how, ROWS_A, n, k, a, b, d);
    }
}

const char *tmg_wgmma_run(const struct tmg_wgmma *op, const struct tmg_wgmma_operands *operands,
                          uint32_t *bad_address) {
    uint8_t dense_a[ROWS_A * K_BYTES], dense_b[ROWS_MAX * 2 * K_BYTES];
    float d[ROWS_A * ROWS_MAX];
    uint32_t n = (uint32_t)op->n;
    if (op->a_in_registers) {
        gather_registers(operands, dense_a);
    } else if (!gather(operands, operands->a_descriptor, op->transpose_a,
                       operand_extent(0, ROWS_A, op->transpose_a, K_BYTES), dense_a, bad_address)) {
        return "matrix A lies outside of shared memory";
    }
    if (!gather(operands, operands->b_descriptor, op->transpose_b,
                operand_extent(0, n, op->transpose_b, b_bytes(op)), dense_b, bad_address)) {
        return "matrix B lies outside of shared memory";
    }
    load_d(op, operands, d);
    if (op->a == TMG_B1) {
        multiply_b1(dense_a, dense_b, op->n, d);
    } else {
        multiply_floats(op, operands, dense_a, dense_b, d);
    }
    store_d(op, operands, d);
    return NULL;
}

static void mark_rows(uint64_t descriptor, bool mn_major, struct extent extent,
                      struct tmg_footprint *footprint) {
    struct layout layout = layout_of(tmg_matrix_descriptor_decode(descriptor), mn_major);
    struct pieces pieces;
    place_pieces(&layout, &extent, &pieces);
    for (uint32_t i = 0; i < pieces.count; ++i) tmg_footprint_add(footprint, pieces.at[i]);
}

void tmg_wgmma_footprint_a(const struct tmg_wgmma *op, int warp, uint64_t descriptor,
                           struct tmg_footprint *footprint) {
    uint32_t rows = ROWS_A / 4, first = (uint32_t)warp * rows;
    mark_rows(descriptor, op->transpose_a, operand_extent(first, rows, op->transpose_a, K_BYTES),
              footprint);
}

void tmg_wgmma_footprint_b(const struct tmg_wgmma *op, uint64_t descriptor,
                           struct tmg_footprint *footprint) {
    mark_rows(descriptor, op->transpose_b,
              operand_extent(0, (uint32_t)op->n, op->transpose_b, b_bytes(op)), footprint);
}

void tmg_footprint_clear(struct tmg_footprint *footprint) {
    for (uint32_t word = footprint->first; word < footprint->end; ++word)
        footprint->granules[word] = 0;
    footprint->first = footprint->end = 0;
}

int tmg_footprint_each(const struct tmg_footprint *footprint,
                       int (*visit)(void *context, uint32_t address, uint32_t bytes),
                       void *context) {
    uint32_t first = 0, end = 0;  // of a run that may go on
    for (uint32_t word = footprint->first; word < footprint->end; ++word)
        for (uint64_t rest = footprint->granules[word]; rest;) {
            uint32_t at = (uint32_t)__builtin_ctzll(rest);
            uint64_t others = ~(rest >> at);  // 0: all 64 are in the run
            uint32_t count = others ? (uint32_t)__builtin_ctzll(others) : 64;
            if (64 * word + at != end) {
                int stop = end ? visit(context, first * PIECE, (end - first) * PIECE) : 0;
                if (stop) return stop;
                first = 64 * word + at;
            }
            end = 64 * word + at + count;
            rest = at + count < 64 ? rest & ~UINT64_C(0) << (at + count) : 0;
        }
    return end ? visit(context, first * PIECE, (end - first) * PIECE) : 0;
}

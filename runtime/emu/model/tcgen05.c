// tcgen05.mma: operands come to dense floats, fold by fold of a CTA's D they are multiplied, and
// D goes back to its lanes.
#include "runtime/emu/model/tcgen05.h"

#include "runtime/emu/model/matmul.h"
#include "runtime/emu/model/sparse.h"
#include "runtime/emu/model/tcgen05_sum.h"

enum {
    PIECE = 16,
    ROWS_MAX = 256,  // of B, or of A in a CTA: 128
    SHIFT_MAX = 64,  // columns that .ws may shift B by
    K_MAX = 128,
    KEPT_MAX = 96,
    ROWS_A = 128,
    CHUNK = 128,     // rows that are multiplied at once
    WORDS_MAX = 12,  // of a row of A in tensor memory
    SCALES_MAX = 6
};

// ---- elements ----

static const float e2m1[16] = {0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.f, -0.5, -1, -1.5, -2, -3, -4, -6};

static float e2m3(unsigned bits) {
    int field = (int)(bits >> 3 & 3), fraction = (int)(bits & 7) + (field ? 8 : 0);
    float value = (float)(fraction << (field ? field - 1 : 0)) * 0.125f;
    return bits & 32 ? -value : value;
}

static float e3m2(unsigned bits) {
    int field = (int)(bits >> 2 & 7), fraction = (int)(bits & 3) + (field ? 4 : 0);
    float value = (float)(fraction << (field ? field - 1 : 0)) * 0.0625f;
    return bits & 32 ? -value : value;
}

static float narrow(enum tmg_number type, unsigned bits) {
    return type == TMG_E2M1 ? e2m1[bits & 15] : type == TMG_E2M3 ? e2m3(bits) : e3m2(bits);
}

static bool is_narrow(enum tmg_number type) {
    return type == TMG_E2M1 || type == TMG_E2M3 || type == TMG_E3M2;
}

static bool is_packed(const struct tmg_tcgen05 *op) {
    return op->kind == TMG_KIND_MXF4 || op->kind == TMG_KIND_MXF4NVF4;
}

static void widen_packed(const uint8_t *from, int count, float sign, float *to) {
    for (int i = 0; i < count; ++i) to[i] = sign * e2m1[from[i / 2] >> i % 2 * 4 & 15];
}

// In shared memory 16 elements of 4 or 6 bits are together, with padding up to 16 bytes
// (9.7.16.10.4.4).
static void widen_padded(enum tmg_number type, const uint8_t *from, int count, float sign,
                         float *to) {
    int bits = type == TMG_E2M1 ? 4 : 6;
    for (int i = 0; i < count; ++i) {
        const uint8_t *piece = from + i / PIECE * PIECE;
        int at = i % PIECE * bits;
        unsigned two = piece[at / 8] | (unsigned)piece[at / 8 + 1] << 8;
        to[i] = sign * narrow(type, two >> at % 8 & 63);
    }
}

// In tensor memory each has a byte: 6 bits below, 4 bits in the middle (9.7.16.10.4.3, as those of
// mma.sync).
static void widen_bytes(enum tmg_number type, const uint8_t *from, int count, float sign,
                        float *to) {
    for (int i = 0; i < count; ++i)
        to[i] = sign * narrow(type, type == TMG_E2M1 ? from[i] >> 2 & 15 : from[i]);
}

static void widen(const struct tmg_tcgen05 *op, bool is_b, bool in_tmem, const uint8_t *from,
                  int count, float *to) {
    enum tmg_number type = is_b ? op->b : op->a;
    int sign = (is_b ? op->negate_b : op->negate_a) ? -1 : 1;
    if (is_packed(op))
        widen_packed(from, count, (float)sign, to);
    else if (is_narrow(type) && in_tmem)
        widen_bytes(type, from, count, (float)sign, to);
    else if (is_narrow(type))
        widen_padded(type, from, count, (float)sign, to);
    else
        tmg_widen(type, from, (size_t)count, sign, to);
}

// ---- operands ----

// One operand of one CTA in shared memory.
struct matrix_source {
    const struct tmg_tcgen05 *op;
    const uint8_t *smem;
    uint32_t smem_bytes;
    struct tmg_tcgen05_matrix matrix;
    bool is_b, mn_major;
    int rows, k;  // k: elements that are stored
    uint32_t *bad_address;
};

// [lines] lines of [pieces] each to [dense], one behind the other.
static bool read_lines(const struct matrix_source *from, int lines, int pieces, uint8_t *dense) {
    uint32_t at[TMG_TCGEN05_PIECES];
    tmg_tcgen05_pieces(&from->matrix, from->mn_major, (uint32_t)lines, (uint32_t)pieces, at);
    for (int i = 0; i < lines * pieces; ++i, dense += PIECE) {
        if (at[i] + PIECE > from->smem_bytes) {
            if (from->bad_address) *from->bad_address = at[i];
            return false;
        }
        memcpy(dense, from->smem + at[i], PIECE);
    }
    return true;
}

static bool gather_k_major(const struct matrix_source *from, int first, float *to) {
    const struct tmg_tcgen05 *op = from->op;
    int bytes = from->is_b ? tmg_tcgen05_b_bytes(op) : tmg_tcgen05_a_bytes(op);
    uint8_t dense[TMG_TCGEN05_PIECES * PIECE];
    if (!read_lines(from, from->rows, bytes / PIECE, dense)) return false;
    widen(op, from->is_b, false, dense + first * bytes, (from->rows - first) * from->k, to);
    return true;
}

static bool gather_mn_major(const struct matrix_source *from, int first, float *to) {
    int bytes = tmg_number_bytes(from->is_b ? from->op->b : from->op->a);
    int pieces = (from->rows * bytes + PIECE - 1) / PIECE;
    uint8_t dense[TMG_TCGEN05_PIECES * PIECE];
    float wide[(ROWS_MAX + SHIFT_MAX)];
    if (!read_lines(from, from->k, pieces, dense)) return false;
    for (int k = 0; k < from->k; ++k) {
        widen(from->op, from->is_b, false, dense + k * pieces * PIECE, from->rows, wide);
        for (int row = first; row < from->rows; ++row) to[(row - first) * from->k + k] = wide[row];
    }
    return true;
}

// Rows from [first] on to to[row][k].
static bool gather(const struct matrix_source *from, int first, float *to) {
    return from->mn_major ? gather_mn_major(from, first, to) : gather_k_major(from, first, to);
}

static void zero_columns(const struct tmg_tcgen05 *op, float *b) {
    for (int n = 0; n < op->n && op->zero_columns >> 39 & 1; ++n)
        if (tmg_tcgen05_zero_column(op, n)) memset(b + n * op->k, 0, (size_t)op->k * sizeof *b);
}

// B as b[n][k], from both CTAs of a pair.
static bool gather_b(const struct tmg_tcgen05 *op, const struct tmg_tcgen05_operands *operands,
                     struct matrix_source *from, float *b) {
    int ctas = op->pair ? 2 : 1, first = op->ws ? tmg_tcgen05_column_shift(op) : 0;
    for (int cta = 0; cta < ctas; ++cta) {
        from->smem = operands->smem[cta];
        from->rows = op->n / ctas + first;
        if (!gather(from, first, b + cta * (op->n / ctas) * op->k)) return false;
    }
    if (op->ws) zero_columns(op, b);
    return true;
}

static int kept_of(const struct tmg_tcgen05 *op) { return op->sparse ? op->k / 2 : op->k; }

static const uint32_t *lane_words(const struct tmg_tcgen05_operands *operands, int cta,
                                  uint32_t address, int lane) {
    return operands->tmem[cta] + lane * TMG_TMEM_COLUMNS + (address & 0xffff);
}

// .ashift: every row is the next one in the CTA's tensor memory, as tcgen05.shift would have moved
// it and as .ws shifts columns; the last one stays.
static int shifted(const struct tmg_tcgen05 *op, int row) {
    return op->ashift && row + 1 < tmg_tcgen05_rows(op) ? row + 1 : row;
}

static void gather_a_of_tmem(const struct tmg_tcgen05 *op,
                             const struct tmg_tcgen05_operands *operands, int cta, int fold,
                             float *a) {
    int rows = tmg_tcgen05_rows(op), kept = kept_of(op);
    for (int row = 0; row < rows; ++row) {
        int lane = tmg_tcgen05_lane(op, (int)(operands->a >> 16), fold, shifted(op, row));
        const uint32_t *words = lane_words(operands, cta, operands->a, lane);
        widen(op, false, true, (const uint8_t *)words, kept, a + row * kept);
    }
}

// ---- sparse rows ----

// The four bits of metadata for [chunk] of a row: of 16 and 32 bits two lanes hold eight rows' and
// eight others' halves each, of less a lane holds a row's.
static unsigned chunk_bits(const struct tmg_tcgen05 *op,
                           const struct tmg_tcgen05_operands *operands, int cta, int fold, int row,
                           int chunk) {
    uint32_t address = operands->metadata + (uint32_t)op->selector;
    bool words = op->kind == TMG_KIND_F16 || op->kind == TMG_KIND_TF32;
    int at = 4 * chunk, lane_row = words ? row / 16 * 16 + row % 8 + at / 16 * 8 : row;
    int lane = tmg_tcgen05_lane(op, (int)(address >> 16), fold, lane_row);
    const uint32_t *held = lane_words(operands, cta, address, lane);
    if (words) return held[0] >> (at % 16 + row % 16 / 8 * 16) & 15;
    return held[at / 32] >> at % 32 & 15;
}

static void index_row(const struct tmg_tcgen05 *op, const struct tmg_tcgen05_operands *operands,
                      int cta, int fold, int row, uint8_t *index) {
    int kept = kept_of(op), per_chunk = op->kind == TMG_KIND_TF32 ? 1 : is_packed(op) ? 4 : 2;
    for (int chunk = 0; chunk < kept / per_chunk; ++chunk, index += per_chunk) {
        unsigned bits = chunk_bits(op, operands, cta, fold, row, chunk);
        int low = (int)(bits & 3), high = (int)(bits >> 2);
        if (per_chunk == 1) {
            index[0] = (uint8_t)(2 * chunk + low / 2);  // counts halves of elements
        } else if (per_chunk == 2) {
            index[0] = (uint8_t)(4 * chunk + low);
            index[1] = (uint8_t)(4 * chunk + high);
        } else {
            for (int i = 0; i < 4; ++i)
                index[i] = (uint8_t)(8 * chunk + 2 * (i < 2 ? low : high) + i % 2);
        }
    }
}

// ---- scale factors ----

static struct tmg_scale read_scale(const struct tmg_tcgen05 *op,
                                   const struct tmg_tcgen05_operands *operands, int cta, int lane,
                                   uint32_t address, struct tmg_scale_place place) {
    const uint32_t *words = lane_words(operands, cta, address, lane) + place.column;
    return tmg_scale_of(op->scale, (uint8_t)(*words >> 8 * place.byte));
}

// Of the row that D has in [lane], from the same 32 lanes.
static void scales_of_row(const struct tmg_tcgen05 *op, const struct tmg_tcgen05_operands *operands,
                          int cta, int lane, int row, struct tmg_scale *scales) {
    for (int i = 0; i < op->scales; ++i) {
        struct tmg_scale_place place =
            tmg_tcgen05_scale_place(tmg_tcgen05_rows(op), op->scale_a_id, row, i);
        scales[i] =
            read_scale(op, operands, cta, lane / 32 * 32 + row % 32, operands->scale_a, place);
    }
}

// scales[index][column] of a fold, as the 32 lanes from [lane] on have them.
static void scales_of_columns(const struct tmg_tcgen05 *op,
                              const struct tmg_tcgen05_operands *operands, int cta, int lane,
                              int count, struct tmg_scale *scales) {
    for (int i = 0; i < op->scales; ++i) {
        for (int n = 0; n < count; ++n) {
            struct tmg_scale_place place = tmg_tcgen05_scale_place(count, op->scale_b_id, n, i);
            scales[i * count + n] =
                read_scale(op, operands, cta, lane / 32 * 32 + n % 32, operands->scale_b, place);
        }
    }
}

// ---- the product of a fold ----

// A fold of a CTA: its rows of A, its columns of B as b[k][n], its D.
struct fold {
    const struct tmg_tcgen05 *op;
    const struct tmg_tcgen05_operands *operands;
    int cta, number, rows, kept, n;
    float *a, b[K_MAX * ROWS_MAX], d[ROWS_A * ROWS_MAX];
    struct tmg_scale scales[SCALES_MAX * ROWS_MAX];  // of B
};

static int lane_of(const struct fold *fold, int row) {
    return tmg_tcgen05_lane(fold->op, (int)(fold->operands->d >> 16), fold->number, row);
}

// Integers: any number of rows.
static void multiply_integers(const struct fold *fold, int m, int k, const float *a, const float *b,
                              float *d) {
    int n = fold->n;
    if (m % 8 == 0) {
        tmg_multiply(m, n, k, a, b, d);
        return;
    }
    for (int i = 0; i < k; ++i)
        for (int column = 0; column < n; ++column) d[column] += a[i] * b[i * n + column];
}

// [m] rows from [row] on, all of them in the same 32 lanes where there are scales.
static void multiply_rows(const struct fold *fold, int row, int m, int k, const float *a,
                          const float *b, float *d) {
    const struct tmg_tcgen05 *op = fold->op;
    struct tmg_fused how = tmg_tcgen05_fused(op->a, op->b, op->d);
    struct tmg_scale scales[CHUNK * SCALES_MAX];
    for (int i = 0; i < m && op->scales > 0; ++i)
        scales_of_row(op, fold->operands, fold->cta, lane_of(fold, row + i), row + i,
                      scales + i * op->scales);
    if (op->kind == TMG_KIND_I8)
        multiply_integers(fold, m, k, a, b, d);
    else if (op->scales == 0)
        tmg_multiply_fused(&how, m, fold->n, k, a, b, d);
    else if (is_packed(op))
        tmg_multiply_blocks(m, fold->n, k, op->scales, a, scales, b, fold->scales, d);
    else
        tmg_multiply_scaled(&how, m, fold->n, k, a, scales, b, fold->scales, d);
}

static void multiply_sparse(const struct fold *fold, int row, int m, float *d) {
    uint8_t index[KEPT_MAX];
    float row_a[KEPT_MAX], row_b[KEPT_MAX * ROWS_MAX];
    for (int i = 0; i < m; ++i, d += fold->n) {
        index_row(fold->op, fold->operands, fold->cta, fold->number, row + i, index);
        int k = tmg_sparse_row(index, fold->kept, fold->n, fold->a + (row + i) * fold->kept,
                               fold->b, row_a, row_b);
        multiply_rows(fold, row + i, 1, k, row_a, row_b, d);
    }
}

static void multiply(struct fold *fold) {
    const struct tmg_tcgen05 *op = fold->op;
    int step = op->scales > 0 ? 32 : CHUNK;
    for (int row = 0; row < fold->rows; row += step) {
        int m = fold->rows - row < step ? fold->rows - row : step;
        float *d = fold->d + row * fold->n;
        if (op->scales > 0)
            scales_of_columns(op, fold->operands, fold->cta, lane_of(fold, row), fold->n,
                              fold->scales);
        if (op->sparse)
            multiply_sparse(fold, row, m, d);
        else
            multiply_rows(fold, row, m, fold->kept, fold->a + row * fold->kept, fold->b, d);
    }
}

// ---- D ----

static uint32_t *d_words(const struct fold *fold, int row) {
    const struct tmg_tcgen05_operands *operands = fold->operands;
    return operands->tmem[fold->cta] + lane_of(fold, row) * TMG_TMEM_COLUMNS +
           (operands->d & 0xffff);
}

// What the product is added to; zero where the old D is not read, or joins later.
static void load_row(const struct tmg_tcgen05 *op, int n, const uint32_t *words, float *d) {
    float factor = 1.0f / (float)(1 << op->input_shift);
    if (!op->add_d || op->kind == TMG_KIND_I8) {
        memset(d, 0, (size_t)n * sizeof *d);
    } else if (op->d == TMG_F16) {
        for (int i = 0; i < n; ++i) d[i] = factor * tmg_f16_to_f32((uint16_t)words[i]);
    } else {
        memcpy(d, words, (size_t)n * sizeof *d);
        for (int i = 0; i < n && op->input_shift > 0; ++i) d[i] *= factor;
    }
}

static void store_row(const struct tmg_tcgen05 *op, int n, const float *d, uint32_t *words) {
    if (op->kind == TMG_KIND_I8) {
        for (int i = 0; i < n; ++i)
            words[i] = (uint32_t)tmg_accumulate_s32(op->add_d ? (int32_t)words[i] : 0,
                                                    (int32_t)d[i], op->saturate);
    } else if (op->d == TMG_F16) {
        for (int i = 0; i < n; ++i) words[i] = tmg_f32_to_f16_rn(d[i]);
    } else {
        tmg_store_f32(n, d, words);
    }
}

static void load_d(struct fold *fold) {
    for (int row = 0; row < fold->rows; ++row)
        load_row(fold->op, fold->n, d_words(fold, row), fold->d + row * fold->n);
}

static void store_d(const struct fold *fold) {
    const uint32_t *disabled = fold->op->disabled + 4 * fold->cta;
    for (int row = 0; row < fold->rows; ++row) {
        int lane = lane_of(fold, row);
        if (disabled[lane / 32] >> lane % 32 & 1) continue;
        store_row(fold->op, fold->n, fold->d + row * fold->n, d_words(fold, row));
    }
}

// ---- D of f32, where it lies ----

static bool in_place(const struct tmg_tcgen05 *op) {
    return op->kind != TMG_KIND_I8 && op->d == TMG_F32 && op->scales == 0 && !op->sparse &&
           !(op->add_d && op->input_shift > 0);
}

static void multiply_in_place(struct fold *fold) {
    const struct tmg_tcgen05 *op = fold->op;
    const struct tmg_fused how = tmg_tcgen05_fused(op->a, op->b, op->d);
    const uint32_t *disabled = op->disabled + 4 * fold->cta;
    const size_t bytes = (size_t)fold->n * sizeof *fold->d;
    float *rows[ROWS_A];
    for (int row = 0; row < fold->rows; ++row) {
        int lane = lane_of(fold, row);
        rows[row] = (float *)d_words(fold, row);
        if (disabled[lane / 32] >> lane % 32 & 1) rows[row] = memset(fold->d, 0, bytes);
        if (!op->add_d) memset(rows[row], 0, bytes);
    }
    tmg_multiply_rows(&how, fold->rows, fold->n, fold->kept, fold->a, fold->b, rows);
}

// ---- the instruction ----

static void run_fold(struct fold *fold, const float *b_rows) {
    if (tmg_tcgen05_folds(fold->op) > 1 || fold->cta == 0)
        tmg_transpose(fold->n, fold->op->k, b_rows + fold->number * fold->n * fold->op->k, fold->b);
    if (fold->op->a_in_tmem)
        gather_a_of_tmem(fold->op, fold->operands, fold->cta, fold->number, fold->a);
    if (in_place(fold->op)) {
        multiply_in_place(fold);
        return;
    }
    load_d(fold);
    multiply(fold);
    store_d(fold);
}

// B goes to [b_rows], A of each CTA to a[cta]; false where one is not in shared memory.
static const char *gather_all(const struct tmg_tcgen05 *op,
                              const struct tmg_tcgen05_operands *operands, uint32_t *bad_address,
                              float *b_rows, float (*a)[ROWS_A * KEPT_MAX]) {
    char text[160];
    struct matrix_source from = {.op = op,
                                 .smem_bytes = operands->smem_bytes,
                                 .is_b = true,
                                 .mn_major = op->transpose_b,
                                 .k = op->k,
                                 .bad_address = bad_address};
    tmg_tcgen05_matrix_decode(op, true, operands->b_descriptor, &from.matrix, text, sizeof text);
    if (!gather_b(op, operands, &from, b_rows)) return "matrix B lies outside of shared memory";
    from.is_b = false;
    from.mn_major = op->transpose_a;
    from.rows = tmg_tcgen05_rows(op);
    from.k = kept_of(op);
    tmg_tcgen05_matrix_decode(op, false, operands->a_descriptor, &from.matrix, text, sizeof text);
    for (int cta = 0; cta < (op->pair ? 2 : 1) && !op->a_in_tmem; ++cta) {
        from.smem = operands->smem[cta];
        if (!gather(&from, 0, a[cta])) return "matrix A lies outside of shared memory";
    }
    return NULL;
}

static uint64_t add_digest(uint64_t digest, int count, const float *values) {
    for (int i = 0; i < count; ++i)
        digest = (digest ^ tmg_f32_bits(values[i])) * UINT64_C(0x100000001b3);
    return digest;
}

uint64_t tmg_tcgen05_digest(const struct tmg_tcgen05 *op,
                            const struct tmg_tcgen05_operands *operands, bool is_b) {
    float b[ROWS_MAX * K_MAX], a[2][ROWS_A * KEPT_MAX];
    struct tmg_tcgen05 plain = *op;
    uint64_t digest = UINT64_C(0xcbf29ce484222325);
    int count = tmg_tcgen05_rows(op) * kept_of(op);
    plain.zero_columns = 0;
    if (gather_all(&plain, operands, NULL, b, a) != NULL) return 0;
    if (is_b) return add_digest(digest, op->n * op->k, b);
    for (int cta = 0; cta < (op->pair ? 2 : 1); ++cta)
        for (int fold = 0; fold < (op->a_in_tmem ? tmg_tcgen05_folds(op) : 1); ++fold) {
            if (op->a_in_tmem) gather_a_of_tmem(op, operands, cta, fold, a[cta]);
            digest = add_digest(digest, count, a[cta]);
        }
    return digest;
}

const char *tmg_tcgen05_run(const struct tmg_tcgen05 *op,
                            const struct tmg_tcgen05_operands *operands, uint32_t *bad_address) {
    float b_rows[ROWS_MAX * K_MAX], a[2][ROWS_A * KEPT_MAX];
    const char *wrong = gather_all(op, operands, bad_address, b_rows, a);
    int folds = tmg_tcgen05_folds(op);
    struct fold fold;
    if (wrong != NULL) return wrong;
    fold.op = op;
    fold.operands = operands;
    fold.rows = tmg_tcgen05_rows(op);
    fold.kept = kept_of(op);
    fold.n = op->n / folds;
    for (fold.cta = 0; fold.cta < (op->pair ? 2 : 1); ++fold.cta) {
        fold.a = a[fold.cta];
        for (fold.number = 0; fold.number < folds; ++fold.number) run_fold(&fold, b_rows);
    }
    return NULL;
}

// mma.sync: gather fragments to dense rows of bytes, multiply with the shared kernel, scatter.
// With g = lane / 4 and t = lane % 4, register i of A is unit t + 4 (i / 2) of row g + 8 (i % 2),
// register i of B is unit t + 4 i of column g; a unit is one register, whatever elements it packs.
#include "runtime/emu/model/mma.h"

#include <math.h>

#include "runtime/emu/model/fused.h"
#include "runtime/emu/model/matmul.h"
#include "runtime/emu/model/sparse.h"

enum { M_MAX = 16, N = 8, K_BYTES_MAX = 64, K_MAX = 64 };

// Shapes by operand type (PTX ISA 9.7.14.5.14); [ks] is the sum of the legal k, powers of two.
static const struct mma_shape {
    enum tmg_number a;
    int m, ks;
    bool f16, f32, s32, f64;  // accumulators
} shapes[] = {
    {TMG_F16, 16, 8 | 16, true, true, false, false},
    {TMG_BF16, 16, 8 | 16, false, true, false, false},
    {TMG_TF32, 16, 4 | 8, false, true, false, false},
    {TMG_E4M3, 16, 16 | 32, true, true, false, false},
    {TMG_E5M2, 16, 16 | 32, true, true, false, false},
    {TMG_S8, 16, 16 | 32, false, false, true, false},
    {TMG_U8, 16, 16 | 32, false, false, true, false},
    {TMG_S8, 8, 16, false, false, true, false},
    {TMG_U8, 8, 16, false, false, true, false},
    {TMG_S4, 16, 32 | 64, false, false, true, false},
    {TMG_U4, 16, 32 | 64, false, false, true, false},
    {TMG_S4, 8, 32, false, false, true, false},
    {TMG_U4, 8, 32, false, false, true, false},
    {TMG_B1, 16, 128 | 256, false, false, true, false},
    {TMG_B1, 8, 128, false, false, true, false},
    {TMG_F64, 8, 4, false, false, false, true},
    {TMG_F64, 16, 4 | 8 | 16, false, false, false, true},
};

static bool accumulates(const struct mma_shape *shape, enum tmg_number type) {
    return type == TMG_F16   ? shape->f16
           : type == TMG_F32 ? shape->f32
           : type == TMG_S32 ? shape->s32
                             : type == TMG_F64 && shape->f64;
}

static bool is_fp8(enum tmg_number type) { return type == TMG_E4M3 || type == TMG_E5M2; }
static bool is_int8(enum tmg_number type) { return type == TMG_S8 || type == TMG_U8; }
static bool is_int4(enum tmg_number type) { return type == TMG_S4 || type == TMG_U4; }

int tmg_mma_element_bits(enum tmg_number type) {
    return type == TMG_B1 ? 1 : is_int4(type) ? 4 : 8 * tmg_number_bytes(type);
}

// mma.sp (PTX ISA 9.7.14.6) has twice the k of mma, of the types below; of 8-bit floats, one shape.
static const char *check_sparse(const struct tmg_mma *op) {
    bool half = op->a == TMG_F16 || op->a == TMG_BF16;
    if (!half && op->a != TMG_TF32 && !is_fp8(op->a) && !is_int8(op->a))
        return "mma.sp has no such type, or it is not modelled";
    if (op->m != 16) return "mma.sp has m = 16";
    if (is_fp8(op->a) && (op->k != 64 || op->d != TMG_F32))
        return "mma.sp has no such shape for 8-bit floats";
    if (op->selector < 0 || op->selector >= tmg_sparse_selectors(op->a, op->k))
        return "the sparsity selector is too large for this shape";
    return NULL;
}

const char *tmg_mma_check(const struct tmg_mma *op) {
    bool mixed = (is_fp8(op->a) && is_fp8(op->b)) || (is_int8(op->a) && is_int8(op->b)) ||
                 (is_int4(op->a) && is_int4(op->b));
    if (op->a != op->b && !mixed) return "mma has no such combination of operand types";
    if (op->satfinite && !is_int8(op->a) && !is_int4(op->a))
        return ".satfinite is for integers of 8 and 4 bits";
    if (op->xor_popc && op->a != TMG_B1) return ".xor.popc is for b1";
    if (op->c != op->d) return "C and D of different types are for m8n8k4.f16 only";
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
        const struct mma_shape *shape = &shapes[i];
        int k = op->sparse ? op->k / 2 : op->k;
        bool is_power = op->k > 0 && (op->k & (op->k - 1)) == 0;
        if (shape->a != op->a || shape->m != op->m || op->n != N || !is_power) continue;
        if ((shape->ks & k) && accumulates(shape, op->c))
            return op->sparse ? check_sparse(op) : NULL;
    }
    return "mma has no such shape for these types, or it is not modelled";
}

static int k_bytes(const struct tmg_mma *op) { return op->k * tmg_mma_element_bits(op->a) / 8; }

// Elements of a row of A that there are, and their bytes.
static int k_of_a(const struct tmg_mma *op) { return op->sparse ? op->k / 2 : op->k; }
static int a_bytes(const struct tmg_mma *op) {
    return k_of_a(op) * tmg_mma_element_bits(op->a) / 8;
}

struct tmg_mma_registers tmg_mma_registers(const struct tmg_mma *op) {
    int unit = op->a == TMG_F64 ? 8 : 4, columns = k_bytes(op) / (4 * unit), halves = op->m / 8;
    int pairs = op->d == TMG_F16 ? 1 : 2;
    return (struct tmg_mma_registers){.a = a_bytes(op) / (4 * unit) * halves,
                                      .b = columns,
                                      .c = pairs * halves,
                                      .d = pairs * halves};
}

// Register [i] of A, for a matrix of [m] rows.
static int a_row(int m, int i, int lane) { return lane / 4 + (m == 16 ? 8 * (i % 2) : 0); }
static int a_unit(int m, int i, int lane) { return lane % 4 + 4 * (m == 16 ? i / 2 : i); }

int tmg_mma_a_byte(const struct tmg_mma *op, int i, int lane) {
    int unit = op->a == TMG_F64 ? 8 : 4;
    return a_row(op->m, i, lane) * a_bytes(op) + unit * a_unit(op->m, i, lane);
}

int tmg_mma_b_byte(const struct tmg_mma *op, int i, int lane) {
    int unit = op->b == TMG_F64 ? 8 : 4;
    return lane / 4 * k_bytes(op) + unit * (lane % 4 + 4 * i);
}

static void gather(const struct tmg_mma *op, const struct tmg_mma_operands *operands, uint8_t *a,
                   uint8_t *b) {
    struct tmg_mma_registers count = tmg_mma_registers(op);
    for (int i = 0; i < count.a; ++i) {
        for (int lane = 0; lane < 32; ++lane) {
            memcpy(a + tmg_mma_a_byte(op, i, lane), &operands->a[i][lane], 4);
        }
    }
    for (int i = 0; i < count.b; ++i) {
        for (int lane = 0; lane < 32; ++lane) {
            memcpy(b + tmg_mma_b_byte(op, i, lane), &operands->b[i][lane], 4);
        }
    }
}

// The element of C or D that register [i] holds first; an f16 register holds the next column too.
static int d_element(bool f16, int i, int lane) {
    int row = lane / 4 + 8 * (f16 ? i : i / 2), column = lane % 4 * 2 + (f16 ? 0 : i % 2);
    return row * N + column;
}

int tmg_mma_c_element(enum tmg_number type, int i, int lane) {
    return d_element(type == TMG_F16, i, lane);
}

static void load_c(const struct tmg_mma *op, const struct tmg_mma_operands *operands, float *d) {
    bool f16 = op->c == TMG_F16;
    for (int i = 0; i < tmg_mma_registers(op).c; ++i) {
        for (int lane = 0; lane < 32; ++lane) {
            uint32_t bits = operands->c[i][lane];
            float *place = d + d_element(f16, i, lane);
            place[0] = f16 ? tmg_f16_to_f32((uint16_t)bits) : tmg_f32_from_bits(bits);
            if (f16) place[1] = tmg_f16_to_f32((uint16_t)(bits >> 16));
        }
    }
}

static uint32_t packed_result(bool f16, const float *place) {
    if (f16) return tmg_f32_to_f16_rn(place[0]) | (uint32_t)tmg_f32_to_f16_rn(place[1]) << 16;
    return place[0] != place[0] ? TMG_F32_NAN : tmg_f32_bits(place[0]);
}

static void store_d(const struct tmg_mma *op, const struct tmg_mma_operands *operands,
                    const float *d) {
    bool f16 = op->d == TMG_F16;
    for (int i = 0; i < tmg_mma_registers(op).d; ++i) {
        for (int lane = 0; lane < 32; ++lane) {
            operands->d[i][lane] = packed_result(f16, d + d_element(f16, i, lane));
        }
    }
}

// Integers: [sums] is exact; the accumulator's update wraps or saturates.
static void accumulate_s32(const struct tmg_mma *op, const struct tmg_mma_operands *operands,
                           const float *sums) {
    uint32_t result[4][32];
    int count = tmg_mma_registers(op).d;
    for (int i = 0; i < count; ++i) {
        for (int lane = 0; lane < 32; ++lane) {
            int32_t sum = (int32_t)sums[d_element(false, i, lane)];
            int32_t c = (int32_t)operands->c[i][lane];
            result[i][lane] = (uint32_t)tmg_accumulate_s32(c, sum, op->satfinite);
        }
    }
    for (int i = 0; i < count; ++i) memcpy(operands->d[i], result[i], sizeof result[i]);
}

static void multiply_b1(const struct tmg_mma *op, const uint8_t *a, const uint8_t *b, float *d) {
    int pitch = k_bytes(op);
    for (int row = 0; row < op->m; ++row) {
        for (int column = 0; column < N; ++column) {
            int ones = 0;
            for (int i = 0; i < pitch; ++i) {
                uint8_t x = a[row * pitch + i], y = b[column * pitch + i];
                ones += __builtin_popcount(op->xor_popc ? x ^ y : x & y);
            }
            d[row * N + column] = (float)ones;
        }
    }
}

// Integers: the exact sum of products. [m] may be any.
static void multiply_integers(const struct tmg_mma *op, const float *a, const float *b, float *d) {
    if (op->m % 8 == 0) {
        tmg_multiply(op->m, N, op->k, a, b, d);
        return;
    }
    for (int i = 0; i < op->m * N; ++i)
        for (int k = 0; k < op->k; ++k) d[i] += a[i / N * op->k + k] * b[k * N + i % N];
}

// One half of all steps along k: the elements [first] and [first] + 1 of every four.
static void multiply_pairs(const struct tmg_mma *op, const struct tmg_fused *how, const float *a,
                           const float *b, int first, float *d) {
    float part_a[M_MAX * 16], part_b[16 * N];
    int half = op->k / 2;
    for (int k = 0; k < half; ++k) {
        int from = k / 2 * 4 + k % 2 + first;
        for (int row = 0; row < op->m; ++row) part_a[row * half + k] = a[row * op->k + from];
        memcpy(part_b + k * N, b + from * N, N * sizeof *b);
    }
    tmg_multiply_fused(how, op->m, N, half, part_a, part_b, d);
}

// Hopper has no fp8 mma.sync: ptxas widens to f16, multiplies the lower halves of all registers and
// then the upper ones (HMMA.16816 for k 32, HMMA.1688 for k 16), and adds C last, rounded.
static void multiply_fp8(const struct tmg_mma *op, const struct tmg_fused *how, const float *a,
                         const float *b, float *d) {
    float sum[M_MAX * N] = {0};
    multiply_pairs(op, how, a, b, 0, sum);
    multiply_pairs(op, how, a, b, 2, sum);
    for (int i = 0; i < op->m * N; ++i) d[i] += sum[i];
}

static void multiply_floats(const struct tmg_mma *op, const float *a, const float *b, float *d) {
    struct tmg_fused how = tmg_fused_for(op->a, op->b, op->d, false);
    if (is_fp8(op->a)) {
        multiply_fp8(op, &how, a, b, d);
    } else {
        tmg_multiply_fused(&how, op->m, N, op->k, a, b, d);
    }
}

static void multiply(const struct tmg_mma *op, const float *a, const float *b, float *d) {
    if (tmg_number_is_float(op->a)) {
        multiply_floats(op, a, b, d);
    } else {
        multiply_integers(op, a, b, d);
    }
}

// Row after row of A, each with the rows of B that it meets.
static void multiply_sparse(const struct tmg_mma *op, const uint32_t *metadata, const float *a,
                            const float *b, float *d) {
    uint8_t index[TMG_SPARSE_ROWS][TMG_SPARSE_KEPT];
    float row_a[TMG_SPARSE_KEPT], row_b[TMG_SPARSE_KEPT * N];
    struct tmg_mma row = *op;
    int kept = k_of_a(op);
    tmg_sparse_index(op->a, op->k, op->selector, metadata, index);
    row.m = 1;
    for (int i = 0; i < op->m; ++i) {
        row.k = tmg_sparse_row(index[i], kept, N, a + i * kept, b, row_a, row_b);
        multiply(&row, row_a, row_b, d + i * N);
    }
}

// [count] packed elements to floats; of a byte, the low half comes first.
static void widen(enum tmg_number type, const uint8_t *from, size_t count, float *to) {
    if (!is_int4(type)) {
        tmg_widen(type, from, count, 1, to);
        return;
    }
    for (size_t i = 0; i < count; ++i) {
        int value = from[i / 2] >> (i % 2 * 4) & 15;
        to[i] = (float)(type == TMG_S4 && value > 7 ? value - 16 : value);
    }
}

void tmg_mma_run(const struct tmg_mma *op, const struct tmg_mma_operands *operands) {
    uint8_t dense_a[M_MAX * K_BYTES_MAX], dense_b[N * K_BYTES_MAX];
    float a[M_MAX * K_MAX], b_rows[N * K_MAX], b[N * K_MAX], d[M_MAX * N] = {0};
    bool integer = !tmg_number_is_float(op->a);
    gather(op, operands, dense_a, dense_b);
    if (!integer) load_c(op, operands, d);
    if (op->a == TMG_B1) {
        multiply_b1(op, dense_a, dense_b, d);
    } else {
        widen(op->a, dense_a, (size_t)(op->m * k_of_a(op)), a);
        widen(op->b, dense_b, (size_t)(N * op->k), b_rows);
        tmg_transpose(N, op->k, b_rows, b);
        if (op->sparse)
            multiply_sparse(op, operands->metadata, a, b, d);
        else
            multiply(op, a, b, d);
    }
    if (integer) {
        accumulate_s32(op, operands, d);
    } else {
        store_d(op, operands, d);
    }
}

static double f64_from_bits(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// a * b + c. Which NaN lives on PTX leaves open; as recorded it is b's, else c's, else a's, made
// quiet, and one that comes of infinities is negative without payload.
static double multiply_add(double a, double b, double c) {
    const uint64_t quiet = UINT64_C(1) << 51, made = UINT64_C(0xfff8000000000000);
    double nan = b != b ? b : c != c ? c : a, sum = fma(a, b, c);
    uint64_t bits;
    if (sum == sum) return sum;
    memcpy(&bits, &nan, sizeof bits);
    return f64_from_bits(nan != nan ? bits | quiet : made);
}

static double dot_f64(const struct tmg_mma *op, const double *a, const double *b, double sum) {
    for (int k = 0; k < op->k; ++k) sum = multiply_add(a[k], b[k], sum);
    return sum;
}

void tmg_mma_run_f64(const struct tmg_mma *op, const struct tmg_mma_operands_f64 *operands) {
    double a[M_MAX][16], b[N][16], result[4][32];
    struct tmg_mma_registers count = tmg_mma_registers(op);
    for (int lane = 0; lane < 32; ++lane) {
        for (int i = 0; i < count.a; ++i) {
            a[a_row(op->m, i, lane)][a_unit(op->m, i, lane)] = f64_from_bits(operands->a[i][lane]);
        }
        for (int i = 0; i < count.b; ++i) {
            b[lane / 4][lane % 4 + 4 * i] = f64_from_bits(operands->b[i][lane]);
        }
    }
    for (int i = 0; i < count.d; ++i) {
        for (int lane = 0; lane < 32; ++lane) {
            int at = d_element(false, i, lane);
            double c = f64_from_bits(operands->c[i][lane]);
            result[i][lane] = dot_f64(op, a[at / N], b[at % N], c);
        }
    }
    for (int i = 0; i < count.d; ++i) memcpy(operands->d[i], result[i], sizeof result[i]);
}

// Half [e] of lane's register of an 8x8 matrix of b16: (lane / 4, 2 (lane % 4) + e), or transposed.
static int matrix_byte(bool transpose, int lane, int e) {
    int row = lane / 4, column = lane % 4 * 2 + e;
    return 2 * (transpose ? column * 8 + row : row * 8 + column);
}

void tmg_ldmatrix(int count, bool transpose, const uint8_t (*rows)[16], uint32_t *const *d) {
    for (int j = 0; j < count; ++j) {
        const uint8_t *matrix = (const uint8_t *)(rows + 8 * j);
        for (int lane = 0; lane < 32; ++lane) {
            uint16_t low, high;
            memcpy(&low, matrix + matrix_byte(transpose, lane, 0), sizeof low);
            memcpy(&high, matrix + matrix_byte(transpose, lane, 1), sizeof high);
            d[j][lane] = low | (uint32_t)high << 16;
        }
    }
}

void tmg_stmatrix(int count, bool transpose, const uint32_t *const *registers,
                  uint8_t (*rows)[16]) {
    for (int j = 0; j < count; ++j) {
        uint8_t *matrix = (uint8_t *)(rows + 8 * j);
        for (int lane = 0; lane < 32; ++lane) {
            uint16_t low = (uint16_t)registers[j][lane],
                     high = (uint16_t)(registers[j][lane] >> 16);
            memcpy(matrix + matrix_byte(transpose, lane, 0), &low, sizeof low);
            memcpy(matrix + matrix_byte(transpose, lane, 1), &high, sizeof high);
        }
    }
}

// Element [e] of a lane: its row, of so many to a lane, and column.
static int byte_row(int lane, int rows, int e) { return lane % 4 * rows + e / 4 * 2 + e % 2; }
static int byte_column(int lane, int e) { return lane / 4 + e / 2 % 2 * 8; }

void tmg_ldmatrix_bytes(int count, const uint8_t (*rows)[16], uint32_t *const *d) {
    for (int j = 0; j < count; ++j, rows += 16, d += 2)
        for (int lane = 0; lane < 32; ++lane) {
            uint8_t held[8];
            for (int e = 0; e < 8; ++e) held[e] = rows[byte_row(lane, 4, e)][byte_column(lane, e)];
            memcpy(&d[0][lane], held, 4);
            memcpy(&d[1][lane], held + 4, 4);
        }
}

void tmg_stmatrix_bytes(int count, const uint32_t *const *registers, uint8_t (*rows)[16]) {
    for (int j = 0; j < count; ++j, rows += 8)
        for (int lane = 0; lane < 32; ++lane)
            for (int e = 0; e < 4; ++e)
                rows[byte_row(lane, 2, e)][byte_column(lane, e)] =
                    (uint8_t)(registers[j][lane] >> 8 * e);
}

void tmg_movmatrix(const uint32_t *a, uint32_t *d) {
    uint8_t rows[8][16];
    tmg_stmatrix(1, false, &a, rows);
    tmg_ldmatrix(1, true, (const uint8_t(*)[16])rows, &d);
}

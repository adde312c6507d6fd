// Descriptors of tcgen05.mma, field by field: a table row a kind holds what that kind may say.
#include "runtime/emu/model/tcgen05.h"

#include <stdarg.h>
#include <stdio.h>

enum { NONE = TMG_NUMBER_COUNT };

// What the tables of 9.7.16.2.1, 9.7.16.4.2, 9.7.16.10.1 and 9.7.16.10.7.1 say of a kind.
static const struct kind_row {
    const char *name;
    int k;               // dense
    uint8_t types[8];    // by code, of A and B
    uint8_t d_types[4];  // by code
    bool block_scaled, integer, has_ws, has_m64, transposes, negates;
} kinds[TMG_KIND_COUNT] = {
    [TMG_KIND_F16] = {"f16",
                      16,
                      {TMG_F16, TMG_BF16, NONE, NONE, NONE, NONE, NONE, NONE},
                      {TMG_F16, TMG_F32, NONE, NONE},
                      .has_ws = true,
                      .has_m64 = true,
                      .transposes = true,
                      .negates = true},
    [TMG_KIND_TF32] = {"tf32",
                       8,
                       {NONE, NONE, TMG_TF32, NONE, NONE, NONE, NONE, NONE},
                       {NONE, TMG_F32, NONE, NONE},
                       .has_ws = true,
                       .has_m64 = true,
                       .transposes = true,
                       .negates = true},
    [TMG_KIND_F8F6F4] = {"f8f6f4",
                         32,
                         {TMG_E4M3, TMG_E5M2, NONE, TMG_E2M3, TMG_E3M2, TMG_E2M1, NONE, NONE},
                         {TMG_F16, TMG_F32, NONE, NONE},
                         .has_ws = true,
                         .has_m64 = true,
                         .transposes = true,
                         .negates = true},
    [TMG_KIND_I8] = {"i8",
                     32,
                     {TMG_U8, TMG_S8, NONE, NONE, NONE, NONE, NONE, NONE},
                     {NONE, NONE, TMG_S32, NONE},
                     .integer = true,
                     .has_ws = true,
                     .has_m64 = true,
                     .transposes = true},
    [TMG_KIND_MXF8F6F4] = {"mxf8f6f4",
                           32,
                           {TMG_E4M3, TMG_E5M2, NONE, TMG_E2M3, TMG_E3M2, TMG_E2M1, NONE, NONE},
                           {NONE, NONE, NONE, NONE},
                           .block_scaled = true,
                           .transposes = true,
                           .negates = true},
    [TMG_KIND_MXF4] = {"mxf4",
                       64,
                       {NONE, TMG_E2M1, NONE, NONE, NONE, NONE, NONE, NONE},
                       {NONE, NONE, NONE, NONE},
                       .block_scaled = true,
                       .negates = true},
    [TMG_KIND_MXF4NVF4] = {"mxf4nvf4",
                           64,
                           {NONE, TMG_E2M1, NONE, NONE, NONE, NONE, NONE, NONE},
                           {NONE, NONE, NONE, NONE},
                           .block_scaled = true,
                           .negates = true},
};

// A sentence being written; once there is one, no other comes.
struct field_refusal {
    char *text;
    size_t size;
    bool refused;
};

__attribute__((format(printf, 2, 3))) static void refuse(struct field_refusal *refusal,
                                                         const char *format, ...) {
    va_list arguments;
    if (refusal->refused) return;
    va_start(arguments, format);
    vsnprintf(refusal->text, refusal->size, format, arguments);
    va_end(arguments);
    refusal->refused = true;
}

static const char *group(const struct tmg_tcgen05 *op) {
    return op->pair ? ".cta_group::2" : ".cta_group::1";
}

static unsigned field(uint32_t bits, int low, int count) {
    return bits >> low & ((1u << count) - 1);
}

static void zeros(struct field_refusal *refusal, uint32_t bits, int low, int count) {
    if (field(bits, low, count) != 0)
        refuse(refusal, "bits %d to %d, reserved, are not 0", low, low + count - 1);
}

static enum tmg_number type_of(struct field_refusal *refusal, const struct kind_row *kind,
                               const char *matrix, unsigned code) {
    if (kind->types[code] == NONE)
        refuse(refusal, "%s type: .kind::%s has no type %u", matrix, kind->name, code);
    return (enum tmg_number)kind->types[code];
}

// Of elements that are stored as less than 8 bits.
static bool is_narrow(enum tmg_number type) {
    return type == TMG_E2M1 || type == TMG_E2M3 || type == TMG_E3M2;
}

// ---- fields that all kinds have ----

static void decode_operand(struct field_refusal *refusal, struct tmg_tcgen05 *op, uint32_t bits,
                           bool is_b) {
    const struct kind_row *kind = &kinds[op->kind];
    const char *matrix = is_b ? "B" : "A";
    enum tmg_number type = type_of(refusal, kind, matrix, field(bits, is_b ? 10 : 7, 3));
    bool negate = field(bits, is_b ? 14 : 13, 1), transpose = field(bits, is_b ? 16 : 15, 1);
    if (negate && !kind->negates)
        refuse(refusal, "negate %s: .kind::%s does not negate", matrix, kind->name);
    if (transpose && !kind->transposes)
        refuse(refusal, "transpose %s: .kind::%s does not transpose", matrix, kind->name);
    if (transpose && is_narrow(type))
        refuse(refusal, "transpose %s: elements of 4 and 6 bits do not transpose", matrix);
    if (transpose && !is_b && op->a_in_tmem)
        refuse(refusal, "transpose A: A in tensor memory does not transpose");
    *(is_b ? &op->b : &op->a) = type;
    *(is_b ? &op->negate_b : &op->negate_a) = negate;
    *(is_b ? &op->transpose_b : &op->transpose_a) = transpose;
}

static void decode_sparsity(struct field_refusal *refusal, struct tmg_tcgen05 *op, uint32_t bits) {
    op->selector = (int)field(bits, 0, 2);
    if ((field(bits, 2, 1) != 0) != op->sparse)
        refuse(refusal, "sparsity: %d in an instruction %s .sp", !op->sparse,
               op->sparse ? "with" : "without");
    if (!op->sparse && op->selector != 0)
        refuse(refusal, "sparsity selector: %d, but A is dense", op->selector);
    if (op->selector != 0 && op->kind != TMG_KIND_F16 && op->kind != TMG_KIND_TF32)
        refuse(refusal, "sparsity selector: %d, but .kind::%s has none but 0", op->selector,
               kinds[op->kind].name);
}

// ---- kinds without scales (Table 42) ----

static void check_m(struct field_refusal *refusal, const struct tmg_tcgen05 *op) {
    const struct kind_row *kind = &kinds[op->kind];
    int m = op->m;
    bool small = op->pair ? m == 128 : m == 64 && kind->has_m64;
    bool large = m == (op->pair ? 256 : 128);
    if (kind->block_scaled && op->pair && op->sparse) small = false;
    if (!small && !large && !(op->ws && m == 32))
        refuse(refusal, "M: .kind::%s%s%s with %s has no %d", kind->name, op->sparse ? ".sp" : "",
               op->ws ? ".ws" : "", group(op), m);
    if (op->ashift && m < 128) refuse(refusal, "M: .ashift has no %d", m);
}

// N's step where N is at most 32, and beyond.
static void steps_of_n(const struct tmg_tcgen05 *op, int *small, int *large) {
    bool bytes = tmg_number_bytes(op->b) == 1 && op->transpose_b;
    *small = op->pair ? 16 : 8;
    if (kinds[op->kind].integer && op->pair) *small = 32;
    *large = kinds[op->kind].integer && !op->pair ? 16 : *small;
    if (bytes) *small = *large = op->pair ? 32 : 16;
}

static void check_n(struct field_refusal *refusal, const struct tmg_tcgen05 *op) {
    const char *name = kinds[op->kind].name;
    int small, large, n = op->n;
    steps_of_n(op, &small, &large);
    if (op->ws) {
        if (n != 64 && n != 128 && (n != 256 || op->sparse))
            refuse(refusal, "N: .ws%s has no %d", op->sparse ? ".sp" : "", n);
    } else if (n == 0 || n > 256 || n % (n > 32 ? large : small) != 0) {
        refuse(refusal, "N: .kind::%s with %s%s has no %d", name, group(op),
               op->transpose_b && tmg_number_bytes(op->b) == 1 ? " and a transposed B of 8 bits"
                                                               : "",
               n);
    }
}

static void decode_plain(struct field_refusal *refusal, struct tmg_tcgen05 *op, uint32_t bits) {
    const struct kind_row *kind = &kinds[op->kind];
    unsigned d = field(bits, 4, 2);
    op->saturate = field(bits, 3, 1);
    if (op->saturate && !kind->integer)
        refuse(refusal, "saturate: .kind::%s does not saturate", kind->name);
    op->d = (enum tmg_number)kind->d_types[d];
    if (op->d == (enum tmg_number)NONE)
        refuse(refusal, "D type: .kind::%s has no type %u", kind->name, d);
    if (op->kind == TMG_KIND_F16 && op->d == TMG_F16 && (op->a != TMG_F16 || op->b != TMG_F16))
        refuse(refusal, "D type: f16 is for A and B of f16");
    zeros(refusal, bits, 6, 1);
    op->n = (int)field(bits, 17, 6) << 3;
    zeros(refusal, bits, 23, 1);
    op->m = (int)field(bits, 24, 5) << 4;
    zeros(refusal, bits, 29, 1);
    op->max_shift = (int)(4u << field(bits, 30, 2)) & ~4;
    if (op->max_shift != 0 && !op->ws) refuse(refusal, "maximum shift: only .ws shifts");
    op->k = kind->k * (op->sparse ? 2 : 1);
}

// ---- kinds with scales (Tables 43 and 44) ----

static void decode_blocks(struct field_refusal *refusal, struct tmg_tcgen05 *op) {
    enum tmg_scale_blocks blocks = op->blocks;
    bool is_16 = blocks == TMG_BLOCKS_4X || blocks == TMG_BLOCKS_16;
    bool is_32 = blocks == TMG_BLOCKS_32 ||
                 blocks == (op->kind == TMG_KIND_MXF8F6F4 ? TMG_BLOCKS_1X : TMG_BLOCKS_2X) ||
                 (blocks == TMG_BLOCKS_DEFAULT && op->kind != TMG_KIND_MXF4NVF4);
    if (op->kind != TMG_KIND_MXF4NVF4) is_16 = false;
    if (!is_16 && !is_32)
        refuse(refusal, "the scale vector size is not one of .kind::%s", kinds[op->kind].name);
    op->scales = op->kind == TMG_KIND_MXF8F6F4 ? 1 : is_16 ? 4 : 2;
    if (op->k == 96) op->scales = is_16 ? 6 : 3;
    if (is_32 && op->scale != TMG_UE8M0)
        refuse(refusal, "scale type: UE4M3 is for blocks of 16 elements");
}

static void check_scale_id(struct field_refusal *refusal, const struct tmg_tcgen05 *op,
                           const char *matrix, int id) {
    bool pairs = op->scales == 2 || op->scales == 6;
    if ((op->scales == 4 && id != 0) || (pairs && id % 2 != 0))
        refuse(refusal, "scale factor %s ID: %d, but with %d scales a row it is %s", matrix, id,
               op->scales, pairs ? "0 or 2" : "0");
}

static void decode_k(struct field_refusal *refusal, struct tmg_tcgen05 *op, uint32_t bits) {
    bool long_k = field(bits, 31, 1);
    op->k = kinds[op->kind].k * (op->sparse ? 2 : 1);
    if (long_k && op->kind == TMG_KIND_MXF8F6F4) refuse(refusal, "bit 31, reserved, is not 0");
    if (long_k && op->sparse) refuse(refusal, "K: a sparse A has no K of 96");
    if (long_k && op->m != (op->pair ? 256 : 128))
        refuse(refusal, "K: 96 is for M of %d with %s", op->pair ? 256 : 128, group(op));
    if (long_k) op->k = 96;
}

static void decode_scaled(struct field_refusal *refusal, struct tmg_tcgen05 *op, uint32_t bits) {
    bool four = op->kind != TMG_KIND_MXF8F6F4;
    op->d = TMG_F32;
    op->scale = field(bits, 23, 1) ? TMG_UE8M0 : TMG_E4M3;
    if (op->scale != TMG_UE8M0 && op->kind != TMG_KIND_MXF4NVF4)
        refuse(refusal, "scale type: .kind::%s has UE8M0 only", kinds[op->kind].name);
    zeros(refusal, bits, 3, 1);
    op->scale_b_id = (int)field(bits, 4, 2);
    zeros(refusal, bits, 6, 1);
    if (four) zeros(refusal, bits, 12, 1);
    op->n = (int)field(bits, 17, 6) << 3;
    zeros(refusal, bits, 24, 3);
    op->m = (int)field(bits, 27, 2) << 7;
    op->scale_a_id = (int)field(bits, 29, 2);
    decode_k(refusal, op, bits);
    decode_blocks(refusal, op);
    check_scale_id(refusal, op, "A", op->scale_a_id);
    check_scale_id(refusal, op, "B", op->scale_b_id);
}

// ---- what the text says ----

static void check_text(struct field_refusal *refusal, const struct tmg_tcgen05 *op) {
    const struct kind_row *kind = &kinds[op->kind];
    if (op->ws && (op->pair || !kind->has_ws))
        refuse(refusal, ".ws has no .kind::%s with %s", kind->name, group(op));
    if (op->ashift && !op->a_in_tmem) refuse(refusal, ".ashift is for A in tensor memory");
    if (op->scale_input && op->kind != TMG_KIND_F16 && op->kind != TMG_KIND_TF32)
        refuse(refusal, "scale-input-d is for .kind::f16 and .kind::tf32");
    if (op->input_shift < 0 || op->input_shift > 15)
        refuse(refusal, "scale-input-d: %d is not in 0 .. 15", op->input_shift);
}

const char *tmg_tcgen05_decode(struct tmg_tcgen05 *op, uint32_t descriptor, char *text,
                               size_t size) {
    struct field_refusal refusal = {text, size, false};
    check_text(&refusal, op);
    decode_sparsity(&refusal, op, descriptor);
    decode_operand(&refusal, op, descriptor, false);
    decode_operand(&refusal, op, descriptor, true);
    op->scales = 0;
    if (refusal.refused) return text;
    if (kinds[op->kind].block_scaled)
        decode_scaled(&refusal, op, descriptor);
    else
        decode_plain(&refusal, op, descriptor);
    check_m(&refusal, op);
    check_n(&refusal, op);
    if (op->ws && tmg_tcgen05_column_shift(op) > (op->m == 32 ? 16 : 32))
        refuse(&refusal, "zero-column mask: M of %d has no shift of %d columns", op->m,
               tmg_tcgen05_column_shift(op));
    if (op->ws && tmg_tcgen05_column_shift(op) > op->max_shift)
        refuse(&refusal, "maximum shift: %d, but the zero-column mask shifts by %d", op->max_shift,
               tmg_tcgen05_column_shift(op));
    return refusal.refused ? text : NULL;
}

// ---- shared memory ----

static void check_swizzle(struct field_refusal *refusal, const struct tmg_tcgen05 *op, bool is_b,
                          enum tmg_swizzle swizzle) {
    bool transpose = is_b ? op->transpose_b : op->transpose_a;
    bool atom_32 = swizzle == TMG_SWIZZLE_128B_ATOM_32B;
    if (!transpose || atom_32 == (op->kind == TMG_KIND_TF32)) return;
    refuse(refusal, "swizzling mode: a transposed %s of .kind::%s %s 128 bytes with atoms of 32",
           is_b ? "B" : "A", kinds[op->kind].name, atom_32 ? "has no" : "is for");
}

struct tmg_matrix_descriptor tmg_tcgen05_matrix_place(uint64_t descriptor) {
    static const uint8_t modes[8] = {
        TMG_SWIZZLE_NONE, TMG_SWIZZLE_128B_ATOM_32B, TMG_SWIZZLE_128B, TMG_SWIZZLE_COUNT,
        TMG_SWIZZLE_64B,  TMG_SWIZZLE_COUNT,         TMG_SWIZZLE_32B,  TMG_SWIZZLE_COUNT};
    struct tmg_matrix_descriptor place = tmg_matrix_descriptor_decode(descriptor);
    place.swizzle = (enum tmg_swizzle)modes[descriptor >> 61];
    return place;
}

const char *tmg_tcgen05_matrix_decode(const struct tmg_tcgen05 *op, bool is_b, uint64_t descriptor,
                                      struct tmg_tcgen05_matrix *matrix, char *text, size_t size) {
    struct field_refusal refusal = {text, size, false};
    uint32_t low = (uint32_t)descriptor, high = (uint32_t)(descriptor >> 32);
    matrix->at = tmg_tcgen05_matrix_place(descriptor);
    matrix->absolute = field(high, 20, 1);
    if (field(high, 14, 3) != 1)
        refuse(&refusal, "fixed constant: bits 46 to 48 are %u and not 1", field(high, 14, 3));
    if (field(high, 21, 8) != 0) refuse(&refusal, "fixed constant: bits 53 to 60 are not 0");
    zeros(&refusal, low, 14, 2);
    zeros(&refusal, low, 30, 2);
    if (matrix->absolute && op->k != 96)
        refuse(&refusal, "leading dimension stride mode: an address is for K of 96");
    if (matrix->at.swizzle == TMG_SWIZZLE_COUNT)
        refuse(&refusal, "swizzling mode: there is no %u", field(high, 29, 3));
    else
        check_swizzle(&refusal, op, is_b, matrix->at.swizzle);
    return refusal.refused ? text : NULL;
}

// ---- the zero-column mask ----

int tmg_tcgen05_column_shift(const struct tmg_tcgen05 *op) {
    return (int)(op->zero_columns >> 56 & 63);
}

// Spans of used and of zero columns take turns in each sub-mask, of which M says how many there
// are. As the examples of 9.7.16.4.3 have it, the skip span counts zeros and the use span the
// others, though its table says it the other way round.
bool tmg_tcgen05_zero_column(const struct tmg_tcgen05 *op, int n) {
    uint64_t mask = op->zero_columns;
    int parts = op->m >= 128 ? 1 : 128 / op->m, part = n / (op->n / parts);
    int skip = (int)(mask >> 40 & 255) + 1, use = (int)(mask >> 48 & 255) + 1;
    int at = n % (op->n / parts) + (int)(mask >> 8 * part & 255);
    bool starts_with_zeros = mask >> (32 + part) & 1;
    if (!(mask >> 39 & 1)) return false;
    at %= skip + use;
    return starts_with_zeros ? at < skip : at >= use;
}

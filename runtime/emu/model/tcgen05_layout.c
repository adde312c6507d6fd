// Where the operands of tcgen05.mma lie: data path layouts, scale factors and metadata in tensor
// memory (9.7.16.10.5, .7 and .8), 16-byte pieces in shared memory (9.7.16.10.6).
#include "runtime/emu/model/tcgen05.h"

enum { PIECE = 16, LINE = 128, PERIOD = 1024, WINDOW_MASK = 0x3ffff };

char tmg_tcgen05_layout(const struct tmg_tcgen05 *op) {
    if (op->pair) return op->m == 256 ? 'A' : op->sparse ? 'C' : 'B';
    if (op->m == 64) return op->ws ? 'E' : 'F';
    return op->m == 32 ? 'G' : 'D';
}

int tmg_tcgen05_rows(const struct tmg_tcgen05 *op) { return op->pair ? op->m / 2 : op->m; }

int tmg_tcgen05_folds(const struct tmg_tcgen05 *op) {
    char layout = tmg_tcgen05_layout(op);
    return layout == 'G' ? 4 : layout == 'B' || layout == 'E' ? 2 : 1;
}

// Half of the lanes: 16 of each 32.
static bool is_half(const struct tmg_tcgen05 *op) {
    char layout = tmg_tcgen05_layout(op);
    return layout == 'C' || layout == 'F';
}

int tmg_tcgen05_lane(const struct tmg_tcgen05 *op, int base, int fold, int row) {
    if (is_half(op)) return base + row / 16 * 32 + row % 16;
    return base + fold * tmg_tcgen05_rows(op) + row;
}

// Two elements of the 4-bit kinds share a byte; elsewhere each has a whole one, or more.
static int stored_bytes(const struct tmg_tcgen05 *op, enum tmg_number type, int count) {
    bool packed = op->kind == TMG_KIND_MXF4 || op->kind == TMG_KIND_MXF4NVF4;
    return packed ? count / 2 : count * tmg_number_bytes(type);
}

int tmg_tcgen05_a_bytes(const struct tmg_tcgen05 *op) {
    return stored_bytes(op, op->a, op->sparse ? op->k / 2 : op->k);
}

int tmg_tcgen05_b_bytes(const struct tmg_tcgen05 *op) { return stored_bytes(op, op->b, op->k); }

// ---- shared memory ----

// The canonical layouts of 9.7.16.10.6, as wgmma's; but with atoms of 32 bytes the lines of an
// MN-major matrix repeat after four (Table 53).
static uint32_t piece_at(const struct tmg_matrix_descriptor *at, bool mn_major, uint32_t line,
                         uint32_t piece) {
    uint32_t span = tmg_swizzle_rules[at->swizzle].span / PIECE;
    uint32_t lines = mn_major && at->swizzle == TMG_SWIZZLE_128B_ATOM_32B ? 4 : 8;
    uint32_t offset = line % lines * span * PIECE;
    if (at->swizzle == TMG_SWIZZLE_NONE)
        offset += mn_major ? line / 8 * at->leading_offset + piece * at->stride_offset
                           : line / 8 * at->stride_offset + piece * at->leading_offset;
    else
        offset +=
            line / lines * at->stride_offset +
            (mn_major ? piece % span * PIECE + piece / span * at->leading_offset : piece * PIECE);
    uint32_t address = (at->start + offset) & WINDOW_MASK;
    return tmg_swizzle_address_based(at->swizzle, address, at->base_offset) & WINDOW_MASK;
}

// Rows of 48 bytes: what would cross the 128-byte line lies at the address that the leading offset
// is then (9.7.16.3.1.2).
uint32_t tmg_tcgen05_piece(const struct tmg_tcgen05_matrix *matrix, bool mn_major, uint32_t line,
                           uint32_t piece) {
    struct tmg_matrix_descriptor at = matrix->at;
    uint32_t rest = LINE / PIECE - at.start % LINE / PIECE;  // of the line
    if (matrix->absolute && piece >= rest) {
        piece -= rest;
        at.start = at.leading_offset;
    }
    return piece_at(&at, mn_major, line, piece);
}

// Where blocks of 8 rows are a whole number of periods of the swizzle apart, all lie as the first.
void tmg_tcgen05_pieces(const struct tmg_tcgen05_matrix *matrix, bool mn_major, uint32_t lines,
                        uint32_t pieces, uint32_t *at) {
    const uint32_t stride = matrix->at.stride_offset, block = 8 * pieces;
    const bool alike = !mn_major && stride % PERIOD == 0;
    for (uint32_t i = 0; i < lines * pieces; ++i)
        at[i] = alike && i >= block ? (at[i - block] + stride) & WINDOW_MASK
                                    : tmg_tcgen05_piece(matrix, mn_major, i / pieces, i % pieces);
}

static void mark(const struct tmg_tcgen05_matrix *matrix, bool mn_major, uint32_t lines,
                 uint32_t pieces, struct tmg_footprint *footprint) {
    uint32_t at[TMG_TCGEN05_PIECES];
    tmg_tcgen05_pieces(matrix, mn_major, lines, pieces, at);
    for (uint32_t i = 0; i < lines * pieces; ++i) tmg_footprint_add(footprint, at[i]);
}

void tmg_tcgen05_footprint(const struct tmg_tcgen05 *op, bool is_b,
                           const struct tmg_tcgen05_matrix *matrix,
                           struct tmg_footprint *footprint) {
    int rows = is_b ? (op->pair ? op->n / 2 : op->n) : tmg_tcgen05_rows(op);
    int bytes = is_b ? tmg_tcgen05_b_bytes(op) : tmg_tcgen05_a_bytes(op);
    enum tmg_number type = is_b ? op->b : op->a;
    bool mn_major = is_b ? op->transpose_b : op->transpose_a;
    if (is_b && op->ws) rows += tmg_tcgen05_column_shift(op);
    uint32_t across = (uint32_t)(rows * tmg_number_bytes(type) + PIECE - 1) / PIECE;
    uint32_t depth = (uint32_t)(bytes / tmg_number_bytes(type));
    if (mn_major)
        mark(matrix, true, depth, across, footprint);
    else
        mark(matrix, false, (uint32_t)rows, (uint32_t)bytes / PIECE, footprint);
}

// ---- tensor memory ----

struct tmg_scale_place tmg_tcgen05_scale_place(int count, int id, int at, int index) {
    int word = (id + index) / 4, columns = (count + 127) / 128 * 4;
    return (struct tmg_scale_place){word * columns + at / 32, (id + index) % 4};
}

struct part_visitor {
    bool (*visit)(void *context, const struct tmg_tmem_part *part);
    void *context;
};

static bool visit(const struct part_visitor *to, int cta, char matrix, int lane, int lanes,
                  int column, int columns) {
    struct tmg_tmem_part part = {cta, matrix, lane, lanes, column, columns};
    return to->visit(to->context, &part);
}

// [columns] of all lanes that have rows.
static bool visit_rows(const struct part_visitor *to, const struct tmg_tcgen05 *op, int cta,
                       char matrix, uint32_t address, int columns) {
    int lane = (int)(address >> 16), column = (int)(address & 0xffff), rows = tmg_tcgen05_rows(op);
    if (!is_half(op))
        return visit(to, cta, matrix, lane, rows * tmg_tcgen05_folds(op), column, columns);
    for (int row = 0; row < rows; row += 16)
        if (!visit(to, cta, matrix, tmg_tcgen05_lane(op, lane, 0, row), 16, column, columns))
            return false;
    return true;
}

// Columns of 32 rows each, the last perhaps of fewer, in every 32 lanes alike.
static bool visit_scales(const struct part_visitor *to, const struct tmg_tcgen05 *op, int cta,
                         char matrix, uint32_t address, int id, int count) {
    for (int index = 0; index < op->scales; ++index) {
        if (index > 0 && (id + index) % 4 != 0) continue;  // of the word before
        for (int at = 0; at < count; at += 32) {
            int column =
                (int)(address & 0xffff) + tmg_tcgen05_scale_place(count, id, at, index).column;
            int lanes = count - at < 32 ? count - at : 32;
            for (int part = 0; part < TMG_TMEM_LANES; part += 32)
                if (!visit(to, cta, matrix, part, lanes, column, 1)) return false;
        }
    }
    return true;
}

static bool visit_cta(const struct part_visitor *to, const struct tmg_tcgen05 *op,
                      const struct tmg_tcgen05_operands *operands, int cta) {
    bool words = op->kind == TMG_KIND_F16 || op->kind == TMG_KIND_TF32;
    int folds = tmg_tcgen05_folds(op);
    if (op->a_in_tmem &&
        !visit_rows(to, op, cta, 'A', operands->a, (tmg_tcgen05_a_bytes(op) + 3) / 4))
        return false;
    if (op->sparse &&
        !visit_rows(to, op, cta, 'M', operands->metadata + (uint32_t)op->selector, words ? 1 : 2))
        return false;
    if (op->scales > 0 &&
        (!visit_scales(to, op, cta, 'S', operands->scale_a, op->scale_a_id, tmg_tcgen05_rows(op)) ||
         !visit_scales(to, op, cta, 'T', operands->scale_b, op->scale_b_id, op->n / folds)))
        return false;
    return visit_rows(to, op, cta, 'D', operands->d, op->n / folds);
}

bool tmg_tcgen05_each_part(const struct tmg_tcgen05 *op,
                           const struct tmg_tcgen05_operands *operands,
                           bool (*visitor)(void *context, const struct tmg_tmem_part *part),
                           void *context) {
    struct part_visitor to = {visitor, context};
    return visit_cta(&to, op, operands, 0) && (!op->pair || visit_cta(&to, op, operands, 1));
}

// tcgen05.mma: one thread gives the product to the tensor core's pipeline, where it reads its
// operands and writes D when those before it have. Its descriptors are checked at once.
#include "runtime/emu/exec/lanes.h"
#include "runtime/emu/model/tcgen05.h"

#include <stdlib.h>
#include <string.h>

// What is in flight.
struct tensor_product {
    struct tmg_tcgen05 op;
    struct tmg_tcgen05_operands operands;
    struct emu_cta *ctas[2];  // the pair's first comes first
    int cta_count;
    uint32_t masks;  // words of disable-output-lane
};

// aux: which operands there are
enum { A_IN_TMEM = 1, SPARSE = 2, WS = 4, SHIFTED = 8, MASKED = 16, SCALED = 32, MORE = 64 };

// ---- when it is issued ----

static const uint8_t kinds[MATRIX_KINDS] = {
    [MATRIX_F16] = TMG_KIND_F16,           [MATRIX_TF32] = TMG_KIND_TF32,
    [MATRIX_F8F6F4] = TMG_KIND_F8F6F4,     [MATRIX_I8] = TMG_KIND_I8,
    [MATRIX_MXF8F6F4] = TMG_KIND_MXF8F6F4, [MATRIX_MXF4] = TMG_KIND_MXF4,
    [MATRIX_MXF4NVF4] = TMG_KIND_MXF4NVF4,
};
static const uint8_t blocks[] = {
    [BLOCKS_NONE] = TMG_BLOCKS_DEFAULT, [BLOCKS_1X] = TMG_BLOCKS_1X, [BLOCKS_2X] = TMG_BLOCKS_2X,
    [BLOCKS_4X] = TMG_BLOCKS_4X,        [BLOCKS_16] = TMG_BLOCKS_16, [BLOCKS_32] = TMG_BLOCKS_32,
};

// Operands come in the order of PTX: D, A, B, metadata, descriptor, scales, mask, enable-input-d,
// and the last, that may be missing.
static uint32_t read_operands(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                              struct tensor_product *product) {
    struct tmg_tcgen05 *op = &product->op;
    struct tmg_tcgen05_operands *operands = &product->operands;
    unsigned at = 2;
    int aux = insn->row->aux;

    operands->d = (uint32_t)emu_address(warp, insn, 0, lane);
    if (aux & A_IN_TMEM)
        operands->a = (uint32_t)emu_address(warp, insn, at, lane), at += 2;
    else
        operands->a_descriptor = emu_r64(warp, insn->op[at++])[lane];
    operands->b_descriptor = emu_r64(warp, insn->op[at++])[lane];
    if (aux & SPARSE) operands->metadata = (uint32_t)emu_address(warp, insn, at, lane), at += 2;
    uint32_t descriptor = emu_r32(warp, insn->op[at++])[lane];
    if (aux & SCALED) {
        operands->scale_a = (uint32_t)emu_address(warp, insn, at, lane);
        operands->scale_b = (uint32_t)emu_address(warp, insn, at + 2, lane);
        at += 4;
    }
    if (aux & MASKED) {
        const uint32_t *list = insn->op + insn->op[at++];
        product->masks = list[0];
        for (uint32_t i = 0; i < list[0] && i < 8; i++)
            op->disabled[i] = (uint32_t)emu_get(warp, list[1 + i], lane);
    }
    op->add_d = emu_pred(warp, insn->op[at++]) >> lane & 1;
    if (!(aux & MORE) || insn->op[at] == EMU_NO_PC) return descriptor;
    if (aux & WS) {
        op->zero_columns = emu_r64(warp, insn->op[at])[lane];
    } else {
        op->scale_input = true;
        op->input_shift = insn->op[at] > 15 ? 16 : (int)insn->op[at];
    }
    return descriptor;
}

// The first lane of a matrix: 0 or, where the layout has half of the lanes, 16, all alike.
static const char *check_lanes(struct tensor_product *product) {
    char layout = tmg_tcgen05_layout(&product->op);
    struct tmg_tcgen05_operands *operands = &product->operands;
    uint32_t *const addresses[] = {&operands->d, &operands->a, &operands->metadata};

    for (int i = 0; i < 3; i++)
        *addresses[i] = emu_tmem_lane(*addresses[i]) << 16 | emu_tmem_column(*addresses[i]);
    uint32_t lane = emu_tmem_lane(operands->d);
    if (lane != 0 && (lane != 16 || (layout != 'C' && layout != 'F')))
        return "D begins in a lane that its layout does not begin in";
    if (product->op.a_in_tmem && operands->a >> 16 != lane)
        return "A begins in another lane than D";
    if (product->op.sparse && operands->metadata >> 16 != lane)
        return "the metadata begins in another lane than D";
    return NULL;
}

// False after a report.
static bool check(struct emu_warp *warp, const struct emu_insn *insn, uint32_t descriptor,
                  struct tensor_product *product) {
    struct tmg_tcgen05 *op = &product->op;
    struct tmg_tcgen05_matrix matrix;
    char text[200];
    const char *where = "the instruction descriptor";
    const char *wrong = tmg_tcgen05_decode(op, descriptor, text, sizeof text);

    if (wrong == NULL && !op->a_in_tmem) {
        where = "the descriptor of A";
        wrong = tmg_tcgen05_matrix_decode(op, false, product->operands.a_descriptor, &matrix, text,
                                          sizeof text);
    }
    if (wrong == NULL) {
        where = "the descriptor of B";
        wrong = tmg_tcgen05_matrix_decode(op, true, product->operands.b_descriptor, &matrix, text,
                                          sizeof text);
    }
    if (wrong == NULL) {
        where = "an address";
        wrong = check_lanes(product);
    }
    if (wrong != NULL) emu_fatal(warp, insn, EMU_BAD_OPERAND, "%s: %s", where, wrong);
    return wrong == NULL;
}

// False after a report.
static bool describe(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                     struct tensor_product *product) {
    int aux = insn->row->aux;

    *product =
        (struct tensor_product){.op = {.kind = (enum tmg_tcgen05_kind)kinds[insn->matrix],
                                       .pair = insn->flags & F_PAIR,
                                       .sparse = aux & SPARSE,
                                       .ws = aux & WS,
                                       .a_in_tmem = aux & A_IN_TMEM,
                                       .ashift = aux & SHIFTED,
                                       .blocks = (enum tmg_scale_blocks)blocks[insn->blocks]}};
    uint32_t descriptor = read_operands(warp, insn, lane, product);
    if (product->masks == 0 || product->masks == (product->op.pair ? 8 : 4))
        return check(warp, insn, descriptor, product);
    emu_fatal(warp, insn, EMU_BAD_OPERAND, "disable-output-lane has %u words and not %d",
              product->masks, product->op.pair ? 8 : 4);
    return false;
}

// ---- when its turn has come ----

enum { MATRIX_RANGES = 1024 };

struct product_toucher {
    struct emu_async *op;
    const struct tensor_product *product;
    struct emu_range ranges[MATRIX_RANGES];  // of an operand in shared memory
    uint32_t count;
};

static bool has_part(void *context, const struct tmg_tmem_part *part) {
    struct product_toucher *toucher = context;
    struct emu_rectangle at = {(uint32_t)part->lane, (uint32_t)part->lanes, (uint32_t)part->column,
                               (uint32_t)part->columns};

    return emu_tmem_has(toucher->op->warp, toucher->op->insn, toucher->product->ctas[part->cta],
                        &at, toucher->op->what);
}

static void touch_lanes(const struct product_toucher *toucher, const struct tmg_tmem_part *part,
                        int lane, int lanes) {
    struct emu_rectangle at = {(uint32_t)lane, (uint32_t)lanes, (uint32_t)part->column,
                               (uint32_t)part->columns};
    struct emu_cta *cta = toucher->product->ctas[part->cta];

    if (part->matrix != 'D' || toucher->product->op.add_d)
        emu_tensor_touch(toucher->op, cta, &at, EMU_READ);
    if (part->matrix == 'D') emu_tensor_touch(toucher->op, cta, &at, EMU_WRITE);
}

// D in lanes that are all disabled is neither read nor written.
static bool touch_part(void *context, const struct tmg_tmem_part *part) {
    const struct product_toucher *toucher = context;
    const uint32_t *disabled = toucher->product->op.disabled + 4 * part->cta;
    bool any = disabled[0] | disabled[1] | disabled[2] | disabled[3];

    if (part->matrix != 'D' || !any) {
        touch_lanes(toucher, part, part->lane, part->lanes);
        return true;
    }
    for (int lane = part->lane; lane < part->lane + part->lanes; lane += 8)
        if ((disabled[lane / 32] >> lane % 32 & 0xff) != 0xff) touch_lanes(toucher, part, lane, 8);
    return true;
}

static void touch_ranges(struct product_toucher *toucher) {
    for (int i = 0; i < toucher->product->cta_count; i++)
        emu_async_touch_all(toucher->op, toucher->product->ctas[i], toucher->ranges, toucher->count,
                            EMU_READ);
    toucher->count = 0;
}

// What lies outside of shared memory the product itself will say.
static int note_range(void *context, uint32_t address, uint32_t bytes) {
    struct product_toucher *toucher = context;

    if (address < EMU_SMEM_RESERVED || address + bytes > toucher->op->cta->smem_bytes) return 0;
    if (toucher->count == MATRIX_RANGES) touch_ranges(toucher);
    toucher->ranges[toucher->count++] = (struct emu_range){address, bytes};
    return 0;
}

static void touch_matrix(struct product_toucher *toucher, bool is_b) {
    const struct tensor_product *product = toucher->product;
    const struct tmg_tcgen05_operands *operands = &product->operands;
    struct tmg_footprint footprint = {{0}, 0, 0};
    struct tmg_tcgen05_matrix matrix;
    char text[200];

    tmg_tcgen05_matrix_decode(&product->op, is_b,
                              is_b ? operands->b_descriptor : operands->a_descriptor, &matrix, text,
                              sizeof text);
    tmg_tcgen05_footprint(&product->op, is_b, &matrix, &footprint);
    toucher->op->layout = (uint8_t)(1 + matrix.at.swizzle);
    tmg_footprint_each(&footprint, note_range, toucher);
    touch_ranges(toucher);
}

// ---- collector buffers ----

// Where A, or B of .ws, may come from one, that must have been filled, with what is there now: it
// is left open which of the two is read. Without a word A's, or b0 of .ws, is discarded.
static void collect(struct emu_async *op, const struct tensor_product *product) {
    static const char *const names[] = {"a", "b0", "b1", "b2", "b3"};
    unsigned said = op->insn->collector, is_b = product->op.ws;
    unsigned buffer = said ? said >> COLLECT_BUFFER : is_b;
    unsigned what = said ? said & ((1 << COLLECT_BUFFER) - 1) : COLLECT_DISCARD;
    struct emu_collected *held = &product->ctas[0]->tmem->collected[buffer];
    char place[EMU_PLACE_TEXT];

    if (what == COLLECT_DISCARD) {
        held->filled_at = NULL;
        return;
    }
    uint64_t digest = tmg_tcgen05_digest(&product->op, &product->operands, is_b);
    if (what == COLLECT_FILL) {
        *held = (struct emu_collected){op->insn, digest};
    } else if (held->filled_at == NULL) {
        emu_report(op->warp, op->insn, EMU_BAD_OPERAND,
                   "%s may read collector buffer %s, which holds nothing: no fill is valid",
                   op->what, names[buffer]);
    } else if (held->digest != digest) {
        emu_report(op->warp, op->insn, EMU_BAD_OPERAND,
                   "%s may read collector buffer %s, which holds another matrix than its operand\n"
                   "  filled at %s",
                   op->what, names[buffer],
                   emu_place_text(emu_machine(op->warp), held->filled_at, place, sizeof place));
    }
    if (what == COLLECT_LASTUSE) held->filled_at = NULL;
}

static void multiply(struct emu_async *op) {
    struct tensor_product *product = op->tensor.data;
    struct product_toucher toucher;
    struct tmg_tcgen05_operands *operands = &product->operands;
    uint32_t bad = 0;

    toucher.op = op;
    toucher.product = product;
    toucher.count = 0;
    product->ctas[0] = op->cta;
    product->ctas[1] = emu_peer(op->cta);
    product->cta_count = product->op.pair ? 2 : 1;
    tmg_tcgen05_each_part(&product->op, operands, touch_part, &toucher);
    if (!tmg_tcgen05_each_part(&product->op, operands, has_part, &toucher)) return;
    if (emu_machine(op->warp)->check) {
        if (!product->op.a_in_tmem) touch_matrix(&toucher, false);
        touch_matrix(&toucher, true);
    }
    for (int i = 0; i < product->cta_count; i++) {
        operands->smem[i] = product->ctas[i]->smem;
        operands->tmem[i] = product->ctas[i]->tmem->words[0];
    }
    operands->smem_bytes = op->cta->smem_bytes;
    if (emu_machine(op->warp)->check) collect(op, product);
    const char *wrong = tmg_tcgen05_run(&product->op, operands, &bad);
    if (wrong != NULL)
        emu_fatal(op->warp, op->insn, EMU_OUT_OF_BOUNDS, "%s: %s (0x%x)", op->what, wrong, bad);
    emu_machine(op->warp)->multiply_adds +=
        (uint64_t)product->op.m * (uint64_t)product->op.n * (uint64_t)product->op.k;
}

static bool give(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane) {
    struct tensor_product product;

    if (!describe(warp, insn, lane, &product)) return false;
    struct emu_async *op = emu_pipeline_new(warp, insn, lane, product.op.pair, "tcgen05.mma");
    if (op == NULL) return false;
    op->tensor.data = malloc(sizeof product);
    if (op->tensor.data != NULL) memcpy(op->tensor.data, &product, sizeof product);
    op->tensor.run = multiply;
    emu_pipeline_give(op);
    if (op->tensor.data == NULL) emu_fatal(warp, insn, EMU_BAD_LAUNCH, "out of memory");
    return op->tensor.data != NULL;
}

EMU_HANDLER(mma) {
    EMU_EACH_LANE(lane, mask)
    if (!give(warp, insn, lane)) return EMU_NEXT;
    emu_tick(warp);
    return EMU_NEXT;
}

// A kind's rows: dense and sparse, A in shared or in tensor memory, with lanes disabled or not.
// [LAST], [HAS_LAST]: the operand that may come last, and MORE where there is one.
#define ROW(WORDS, OPERANDS, AUX, NEEDS) \
    { "tcgen05.mma" WORDS, OPERANDS, mma, AUX, 0, NEEDS }
#define ROWS(KIND, LAST, MORE_OR_NOT, NEEDS)                                                     \
    ROW(".GROUP." KIND "{.COLLECT}", "mjjip" LAST, MORE_OR_NOT, NEEDS),                          \
        ROW(".GROUP." KIND "{.COLLECT}", "mjjiup" LAST, MASKED | (MORE_OR_NOT), NEEDS),          \
        TMEM_ROWS(".GROUP." KIND "{.COLLECT}", "", LAST, MORE_OR_NOT, NEEDS),                    \
        TMEM_ROWS(".GROUP." KIND ".ashift{.DISCARD}", "", LAST, SHIFTED | (MORE_OR_NOT), NEEDS), \
        ROW(".sp.GROUP." KIND "{.COLLECT}", "mjjmip" LAST, SPARSE | (MORE_OR_NOT), NEEDS),       \
        ROW(".sp.GROUP." KIND "{.COLLECT}", "mjjmiup" LAST, SPARSE | MASKED | (MORE_OR_NOT),     \
            NEEDS),                                                                              \
        TMEM_ROWS(".sp.GROUP." KIND "{.COLLECT}", "m", LAST, SPARSE | (MORE_OR_NOT), NEEDS),     \
        TMEM_ROWS(".sp.GROUP." KIND ".ashift{.DISCARD}", "m", LAST,                              \
                  SPARSE | SHIFTED | (MORE_OR_NOT), NEEDS),                                      \
        ROW(".ws.cta_group::1." KIND "{.HINT}", "mjjip?j", WS | MORE, NEEDS),                    \
        ROW(".ws.cta_group::1." KIND "{.HINT}", "mmjip?j", WS | A_IN_TMEM | MORE, NEEDS),        \
        ROW(".ws.sp.cta_group::1." KIND "{.HINT}", "mjjmip?j", WS | SPARSE | MORE, NEEDS),       \
        ROW(".ws.sp.cta_group::1." KIND "{.HINT}", "mmjmip?j", WS | SPARSE | A_IN_TMEM | MORE,   \
            NEEDS)
#define TMEM_ROWS(WORDS, METADATA, LAST, AUX, NEEDS)                \
    ROW(WORDS, "mmj" METADATA "ip" LAST, A_IN_TMEM | (AUX), NEEDS), \
        ROW(WORDS, "mmj" METADATA "iup" LAST, A_IN_TMEM | MASKED | (AUX), NEEDS)

const struct emu_op emu_ops_tcgen05_mma[] = {
    ROWS("KIND", "?n", MORE, 0),
    ROWS("INTEGERS", "", 0, TMG_HAS_TENSOR_I8),
#define SCALED_WORDS ".GROUP.SCALED{.block_scale}{.BLOCKS}{.COLLECT}"
    ROW(SCALED_WORDS, "mjjimmp", SCALED, 0),
    ROW(SCALED_WORDS, "mmjimmp", SCALED | A_IN_TMEM, 0),
    ROW(".sp" SCALED_WORDS, "mjjmimmp", SCALED | SPARSE, 0),
    ROW(".sp" SCALED_WORDS, "mmjmimmp", SCALED | SPARSE | A_IN_TMEM, 0),
    {NULL, NULL, NULL, 0},
};

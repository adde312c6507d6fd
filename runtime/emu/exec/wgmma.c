// wgmma: four warps meet, the model multiplies, and both operands stay in use until a group is
// waited for. Results are there at once; marks on the registers and an agent for the reads stand
// for the time it takes.
#include "runtime/emu/exec/matrix.h"
#include "runtime/emu/model/wgmma.h"

#include <stdlib.h>
#include <string.h>

// ---- wgmma.fence ----

static bool in_list(const uint32_t *list, uint32_t slot) {
    for (uint32_t i = 0; i < list[0]; i++)
        if (list[1 + i] == slot) return true;
    return false;
}

// Does [insn] write, other than by a copy that the compiler makes, a register of [wgmma]'s?
static bool writes_operand(const struct emu_insn *insn, const struct emu_insn *wgmma) {
    const struct emu_letter *first = emu_letter(insn->row->operands[0]);
    bool a = wgmma->row->aux & 1;  // A_REGISTERS

    if (first->kind != LETTER_VALUE || !first->written || emu_is(insn, FACT_COPIES)) return false;
    return in_list(wgmma->op + wgmma->op[0], insn->op[0]) ||
           (a && in_list(wgmma->op + wgmma->op[1], insn->op[0]));
}

// A wgmma.fence comes before the first wgmma, and between one and the write of its registers (PTX
// ISA 9.7.15.7.1). For the latter this looks back as far as the code is straight.
static const struct emu_insn *unfenced_write(const struct emu_warp *warp,
                                             const struct emu_insn *wgmma) {
    const struct emu_insn *first = &emu_machine(warp)->program->code[wgmma->function->first_pc];

    for (const struct emu_insn *insn = wgmma; insn-- > first;) {
        if (emu_is(insn, FACT_FENCES_REGISTERS | FACT_BRANCHES | FACT_SELECTS | FACT_CALLS))
            return NULL;
        if (writes_operand(insn, wgmma)) return insn;
    }
    return NULL;
}

static void check_fence(struct emu_warp *first, const struct emu_insn *wgmma) {
    const struct emu_insn *unfenced = unfenced_write(first, wgmma);
    char place[EMU_PLACE_TEXT];

    for (struct emu_warp *warp = first; warp < first + 4; warp++) {
        if (!warp->wgmma_fenced)
            emu_report(warp, wgmma, EMU_REGISTER_HAZARD,
                       "the warp has executed no wgmma.fence before this, its first wgmma");
        else if (unfenced != NULL)
            emu_report(warp, wgmma, EMU_REGISTER_HAZARD,
                       "no wgmma.fence lies between this and the write of one of its registers\n"
                       "  written at %s",
                       emu_place_text(emu_machine(warp), unfenced, place, sizeof place));
        warp->wgmma_fenced = true;
    }
}

// ---- four warps meet ----

static struct emu_warpgroup *group_of(struct emu_warp *warp) {
    return &warp->cta->warpgroups[warp->index / 4];
}

// True for the warp that comes last; the others block until it has been here.
static bool all_here(struct emu_warp *warp, const struct emu_insn *insn, enum emu_step *result) {
    struct emu_warpgroup *group = group_of(warp);
    struct emu_split *split = emu_split(warp);

    *result = EMU_NEXT;
    if (emu_waiting(warp, WAIT_WARPGROUP)) {
        if (group->generation == split->wait.generation) *result = EMU_BLOCKED;
        return false;
    }
    if (group->arrived != 0 && group->pc != split->pc) {
        emu_fatal(warp, insn, EMU_DIVERGENT,
                  "the warps of a warpgroup execute different wgmma instructions");
        return false;
    }
    group->pc = split->pc;
    group->arrived |= 1u << (warp->index & 3);
    if (group->arrived != 0xf) {
        split->wait.generation = group->generation;
        *result = emu_block(warp, WAIT_WARPGROUP, 0);
        return false;
    }
    group->arrived = 0;
    group->generation++;
    emu_changed(warp->cta->cluster);
    return true;
}

// ---- the operation ----

// aux: which operands there are
enum { A_REGISTERS = 1, HAS_SCALES = 2, HAS_TRANSPOSES = 4, SPARSE = 8 };

static void describe(struct emu_warp *warp, const struct emu_insn *insn, struct tmg_wgmma *op) {
    int aux = insn->row->aux;
    const uint32_t *more = insn->op + (aux & SPARSE ? 5 : 3);  // behind metadata and selector

    *op = (struct tmg_wgmma){
        .d = emu_matrix_number(insn->type[0]),
        .a = emu_matrix_number(insn->type[1]),
        .b = emu_matrix_number(insn->type[2]),
        .n = insn->shape[1],
        .a_in_registers = aux & A_REGISTERS,
        .scale_d = emu_pred(warp, more[0]) & warp->live,
        .satfinite = insn->flags & F_SATFINITE,
        .sparse = aux & SPARSE,
    };
    if (op->sparse) op->selector = insn->op[4] > 3 ? 4 : (int)insn->op[4];
    if (aux & HAS_SCALES) {
        op->negate_a = (int32_t)more[1] == -1;
        op->negate_b = (int32_t)more[2] == -1;
    }
    if (aux & HAS_TRANSPOSES) {
        op->transpose_a = !(aux & A_REGISTERS) && more[3] == 1;
        op->transpose_b = more[aux & A_REGISTERS ? 3 : 4] == 1;
    }
}

struct operand_reader {
    struct emu_cta *cta;
    struct emu_toucher toucher;
    struct emu_range ranges[256];
    uint32_t count;
};

static void touch_ranges(struct operand_reader *reader) {
    emu_shadow_touch_all(reader->cta->shadow, reader->ranges, reader->count, EMU_READ,
                         &reader->toucher);
    reader->count = 0;
}

static int note_range(void *context, uint32_t address, uint32_t bytes) {
    struct operand_reader *reader = context;

    if (address < EMU_SMEM_RESERVED || address + bytes > reader->cta->smem_bytes) return 1;
    if (reader->count == sizeof reader->ranges / sizeof *reader->ranges) touch_ranges(reader);
    reader->ranges[reader->count++] = (struct emu_range){address, bytes};
    return 0;
}

static void touch(struct operand_reader *reader, struct tmg_footprint *footprint) {
    tmg_footprint_each(footprint, note_range, reader);
    touch_ranges(reader);
    tmg_footprint_clear(footprint);
}

// What all four warps know: the least that any of them has seen.
static int common_clock(struct emu_warp *first, struct emu_clock *common) {
    uint32_t count = first->cta->cluster->agent_count;

    if (emu_clock_new(first->cta->cluster, common)) return -1;
    emu_clock_copy(first->cta->cluster, common, &first->clock);
    for (int w = 1; w < 4; w++) {
        const struct emu_clock *other = &first[w].clock;
        for (uint32_t i = 0; i < count; i++) {
            if (other->seen[i] < common->seen[i]) common->seen[i] = other->seen[i];
            if (other->async[i] < common->async[i]) common->async[i] = other->async[i];
        }
    }
    return 0;
}

// Each warp reads its own rows of A, as FlashAttention-3 relies on; B is read for all four, so each
// of them must know that it is there, and each must have waited before it may be overwritten.
static void touch_operands(struct emu_warp *warp, const struct emu_insn *insn,
                           const struct tmg_wgmma *op, uint64_t a, uint64_t b) {
    struct emu_warp *first = warp - (warp->index & 3);
    struct operand_reader reader;
    struct tmg_footprint footprint = {{0}, 0, 0};
    struct emu_clock common;

    reader.cta = warp->cta;
    reader.toucher = (struct emu_toucher){.async = true, .insn = insn, .what = "wgmma"};
    reader.count = 0;
    for (int w = 0; w < 4 && !op->a_in_registers; w++) {
        tmg_wgmma_footprint_a(op, w, a, &footprint);
        reader.toucher.warp = first + w;
        reader.toucher.agent = emu_wgmma_agent(first + w);
        reader.toucher.time = first[w].wgmma_open + 1;
        reader.toucher.clock = &first[w].clock;
        reader.toucher.layout = (uint8_t)(1 + tmg_matrix_descriptor_decode(a).swizzle);
        touch(&reader, &footprint);
    }
    if (common_clock(first, &common)) return;
    tmg_wgmma_footprint_b(op, b, &footprint);
    reader.toucher.warp = warp;
    reader.toucher.agent = emu_wgmma_agent(first);
    reader.toucher.time = warp->wgmma_open + 1;
    reader.toucher.four = true;
    reader.toucher.group = first;
    reader.toucher.clock = &common;
    reader.toucher.layout = (uint8_t)(1 + tmg_matrix_descriptor_decode(b).swizzle);
    touch(&reader, &footprint);
    emu_clock_free(&common);
}

static void mark_registers(struct emu_warp *warp, const struct emu_insn *insn,
                           const struct tmg_wgmma *op) {
    const uint32_t *d = insn->op + insn->op[0], *a = insn->op + insn->op[1];
    uint32_t group = warp->wgmma_open;

    for (uint32_t i = 0; i < d[0]; i++) emu_pending_mark(warp, d[1 + i], group, false);
    for (uint32_t i = 0; op->a_in_registers && i < a[0]; i++)
        emu_pending_mark(warp, a[1 + i], group, true);
}

static void multiply(struct emu_warp *warp, const struct emu_insn *insn) {
    struct emu_warp *first = warp - (warp->index & 3);
    const uint32_t *d = insn->op + insn->op[0];
    struct tmg_wgmma op;
    struct tmg_wgmma_operands operands = {.smem = warp->cta->smem,
                                          .smem_bytes = warp->cta->smem_bytes};
    unsigned lane = (unsigned)__builtin_ctz(warp->live);
    uint32_t bad;

    describe(warp, insn, &op);
    const char *wrong = tmg_wgmma_check(&op);
    if (wrong != NULL || d[0] != (uint32_t)tmg_wgmma_d_registers(&op)) {
        emu_fatal(warp, insn, EMU_BAD_OPERAND, "wgmma: %s",
                  wrong ? wrong : "wrong number of registers");
        return;
    }
    if (!op.a_in_registers) operands.a_descriptor = emu_r64(warp, insn->op[1])[lane];
    operands.b_descriptor = emu_r64(warp, insn->op[2])[lane];
    for (int w = 0; w < 4; w++) {
        for (uint32_t i = 0; i < d[0]; i++) operands.d[w][i] = emu_r32(first + w, d[1 + i]);
        const uint32_t *a = insn->op + insn->op[1];
        if (op.sparse) operands.metadata[w] = emu_r32(first + w, insn->op[3]);
        for (uint32_t i = 0; op.a_in_registers && i < a[0] && i < 4; i++)
            operands.a[w][i] = emu_r32(first + w, a[1 + i]);
    }
    for (int w = 0; w < 4; w++)
        emu_tell(first + w, UINT32_MAX, first[w].clock.seen[first[w].agent]);
    if (emu_machine(warp)->check)
        touch_operands(warp, insn, &op, operands.a_descriptor, operands.b_descriptor);
    for (int w = 0; w < 4; w++) emu_tick(first + w);
    if (op.sparse && !op.transpose_b &&
        tmg_matrix_descriptor_decode(operands.b_descriptor).swizzle == TMG_SWIZZLE_32B) {
        emu_fatal(warp, insn, EMU_UNIMPLEMENTED,
                  "wgmma: rows of 64 bytes under a swizzle of 32 are not modelled");
        return;
    }
    wrong = tmg_wgmma_run(&op, &operands, &bad);
    if (wrong != NULL) emu_fatal(warp, insn, EMU_OUT_OF_BOUNDS, "wgmma: %s (0x%x)", wrong, bad);
    for (int w = 0; w < 4; w++) mark_registers(first + w, insn, &op);
}

EMU_HANDLER(wgmma) {
    enum emu_step result = EMU_NEXT;
    struct emu_warp *first = warp - (warp->index & 3);

    if (mask != UINT32_MAX) {
        emu_fatal(warp, insn, EMU_DIVERGENT, "wgmma by lanes 0x%08x; it needs all 32", mask);
        return EMU_NEXT;
    }
    if ((warp->index | 3) >= warp->cta->warp_count) {
        emu_fatal(warp, insn, EMU_DIVERGENT, "wgmma by a warpgroup of fewer than four warps");
        return EMU_NEXT;
    }
    if (!emu_pending_new(warp)) return EMU_NEXT;
    if (!all_here(warp, insn, &result)) return result;
    for (int w = 0; w < 4; w++)
        if (!emu_pending_new(first + w)) return EMU_NEXT;
    if (emu_machine(warp)->check) check_fence(first, insn);
    multiply(warp, insn);
    return EMU_NEXT;
}

EMU_HANDLER(commit) {
    (void)insn;
    (void)mask;
    warp->wgmma_open++;
    return EMU_NEXT;
}

// Groups before the last [allowed] ones are over: this warp's part of their reads happened before
// what comes now.
EMU_HANDLER(wait) {
    uint32_t allowed = insn->op[0], agent = emu_wgmma_agent(warp);

    if (!emu_pending_new(warp) || warp->wgmma_open < allowed) return EMU_NEXT;
    uint32_t done = warp->wgmma_open - allowed;
    emu_learn_time(warp, mask, agent, done);
    emu_pending_end(warp, done);
    emu_changed(warp->cta->cluster);
    return EMU_NEXT;
}

EMU_HANDLER(fence) {
    (void)insn;
    (void)mask;
    warp->wgmma_fenced = true;
    return EMU_NEXT;
}

enum { MULTIPLIES = FACT_MULTIPLIES | FACT_WARPGROUP | FACT_OWN_REGISTERS };

const struct emu_op emu_ops_wgmma[] = {
#define FORM "wgmma.mma_async.sync.aligned.SHAPE.TYPE.TYPE.TYPE"
    {FORM, "Ujjpnnnn", wgmma, HAS_SCALES | HAS_TRANSPOSES, MULTIPLIES},
    {FORM, "Uujpnnn", wgmma, A_REGISTERS | HAS_SCALES | HAS_TRANSPOSES, MULTIPLIES},
    {FORM, "Ujjpnn", wgmma, HAS_SCALES, MULTIPLIES},
    {FORM, "Uujpnn", wgmma, A_REGISTERS | HAS_SCALES, MULTIPLIES},
    {FORM "{.satfinite}", "Ujjp", wgmma, 0, MULTIPLIES},
    {FORM "{.satfinite}", "Uujp", wgmma, A_REGISTERS, MULTIPLIES},
    {"wgmma.mma_async.sync.aligned.SHAPE.satfinite.TYPE.TYPE.TYPE", "Ujjp", wgmma, 0, MULTIPLIES},
    {"wgmma.mma_async.sync.aligned.SHAPE.satfinite.TYPE.TYPE.TYPE", "Uujp", wgmma, A_REGISTERS,
     MULTIPLIES},
    {FORM ".and.popc", "Ujjp", wgmma, 0, MULTIPLIES},
    {FORM ".and.popc", "Uujp", wgmma, A_REGISTERS, MULTIPLIES},
#define SPARSE_FORM "wgmma.mma_async.sp.sync.aligned.SHAPE.TYPE.TYPE.TYPE"
    {SPARSE_FORM, "Ujjinpnnnn", wgmma, SPARSE | HAS_SCALES | HAS_TRANSPOSES, MULTIPLIES},
    {SPARSE_FORM, "Uujinpnnn", wgmma, SPARSE | A_REGISTERS | HAS_SCALES | HAS_TRANSPOSES,
     MULTIPLIES},
    {SPARSE_FORM, "Ujjinpnn", wgmma, SPARSE | HAS_SCALES, MULTIPLIES},
    {SPARSE_FORM, "Uujinpnn", wgmma, SPARSE | A_REGISTERS | HAS_SCALES, MULTIPLIES},
    {SPARSE_FORM "{.satfinite}", "Ujjinp", wgmma, SPARSE, MULTIPLIES},
    {SPARSE_FORM "{.satfinite}", "Uujinp", wgmma, SPARSE | A_REGISTERS, MULTIPLIES},
    {"wgmma.fence.sync.aligned", "", fence, 0, FACT_OWN_REGISTERS | FACT_FENCES_REGISTERS},
    {"wgmma.commit_group.sync.aligned", "", commit, 0, FACT_OWN_REGISTERS},
    {"wgmma.wait_group.sync.aligned", "n", wait, 0, FACT_OWN_REGISTERS},
    {NULL, NULL, NULL, 0},
};

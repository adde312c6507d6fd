// Tensor memory: which columns are whose, and operations one behind the other in the pipeline of
// the tensor core, of which the scheduler sees the first.
#include "runtime/emu/machine/tmem.h"

#include <stdlib.h>
#include <string.h>

enum { UNIT = TMG_TENSOR_COLUMNS_LEAST };

// ---- memory ----

bool emu_tmem_new(struct emu_cta *cta) {
    if (cta->tmem == NULL) cta->tmem = calloc(1, sizeof *cta->tmem);
    return cta->tmem != NULL;
}

void emu_tmem_delete(struct emu_cta *cta) {
    free(cta->tmem);
    cta->tmem = NULL;
}

// What is in it stays: it is blank where it is taken.
void emu_tmem_clean(struct emu_cta *cta) {
    const size_t words = sizeof cta->tmem->words;

    cta->pipeline = NULL;
    if (cta->tmem != NULL) memset((char *)cta->tmem + words, 0, sizeof *cta->tmem - words);
}

static void say_untaken(struct emu_warp *warp, const struct emu_insn *insn,
                        const struct emu_cta *cta, uint32_t column, const char *what) {
    const struct emu_insn *freed = cta->tmem ? cta->tmem->freed_at[column / UNIT] : NULL;
    char place[EMU_PLACE_TEXT];

    if (freed == NULL)
        emu_fatal(warp, insn, EMU_OUT_OF_BOUNDS,
                  "%s at column %u of tensor memory, which CTA rank %u has not allocated", what,
                  column, cta->rank);
    else
        emu_fatal(warp, insn, EMU_OUT_OF_BOUNDS,
                  "%s at column %u of tensor memory, which has been freed\n  freed at %s", what,
                  column, emu_place_text(emu_machine(warp), freed, place, sizeof place));
}

bool emu_tmem_has(struct emu_warp *warp, const struct emu_insn *insn, const struct emu_cta *cta,
                  const struct emu_rectangle *at, const char *what) {
    if (at->lane + at->lanes > TMG_TENSOR_LANES || at->column + at->columns > TMG_TENSOR_COLUMNS) {
        emu_fatal(warp, insn, EMU_OUT_OF_BOUNDS,
                  "%s of %u lanes from %u, %u columns from %u: tensor memory has %u lanes of %u "
                  "columns",
                  what, at->lanes, at->lane, at->columns, at->column, TMG_TENSOR_LANES,
                  TMG_TENSOR_COLUMNS);
        return false;
    }
    for (uint32_t column = at->column; column < at->column + at->columns;
         column = (column / UNIT + 1) * UNIT)
        if (cta->tmem == NULL || !cta->tmem->taken[column / UNIT]) {
            say_untaken(warp, insn, cta, column, what);
            return false;
        }
    return true;
}

// ---- allocation ----

static bool is_free(const struct emu_cta *cta, uint32_t column, uint32_t columns) {
    for (uint32_t unit = column / UNIT; unit < (column + columns) / UNIT; unit++)
        if (cta->tmem != NULL && cta->tmem->taken[unit]) return false;
    return true;
}

int emu_tmem_room(const struct emu_cta *cta, const struct emu_cta *peer, uint32_t columns) {
    for (uint32_t column = 0; column < TMG_TENSOR_COLUMNS; column += columns)
        if (is_free(cta, column, columns) && (peer == NULL || is_free(peer, column, columns)))
            return (int)column;
    return -1;
}

static void mark(struct emu_cta *cta, uint32_t column, uint32_t columns, bool taken,
                 const struct emu_insn *insn) {
    struct emu_tmem *tmem = cta->tmem;

    tmem->begins[column / UNIT] = (uint16_t)(taken ? columns : 0);
    for (uint32_t unit = column / UNIT; unit < (column + columns) / UNIT; unit++) {
        tmem->taken[unit] = taken;
        tmem->allocated_at[unit] = taken ? insn : NULL;
        tmem->freed_at[unit] = taken ? NULL : insn;
    }
}

void emu_tmem_take(struct emu_cta *cta, uint32_t column, uint32_t columns,
                   const struct emu_insn *insn) {
    mark(cta, column, columns, true, insn);
    for (unsigned lane = 0; lane < TMG_TENSOR_LANES; lane++)
        memset(&cta->tmem->words[lane][column], EMU_SMEM_BLANK, columns * sizeof(uint32_t));
}

void emu_tmem_free(struct emu_cta *cta, uint32_t column, uint32_t columns,
                   const struct emu_insn *insn) {
    mark(cta, column, columns, false, insn);
    emu_changed(cta->cluster);
}

void emu_tmem_check_end(struct emu_warp *warp) {
    const struct emu_tmem *tmem = warp->cta->tmem;

    for (unsigned unit = 0; tmem != NULL && unit < EMU_TMEM_UNITS; unit++)
        if (tmem->begins[unit] != 0)
            emu_report(warp, tmem->allocated_at[unit], EMU_TENSOR_MISUSE,
                       "the CTA has exited, and %u columns of tensor memory from %u on are still "
                       "allocated",
                       tmem->begins[unit], unit * UNIT);
}

// ---- the pipeline ----

struct emu_async *emu_pipeline_new(struct emu_warp *warp, const struct emu_insn *insn,
                                   unsigned lane, bool pair, const char *what) {
    struct emu_cluster *cluster = warp->cta->cluster;
    uint32_t given = emu_tensor_agent(warp, TENSOR_GIVEN);

    warp->clock.seen[given] = warp->clock.after[given] = ++warp->tensor_begun[TENSOR_GIVEN];
    warp->tensor_begun[TENSOR_DONE] = warp->tensor_begun[TENSOR_GIVEN];
    struct emu_async *op = emu_async_new(warp, insn, 1u << lane, ASYNC_TENSOR, what);
    if (op == NULL) return NULL;
    warp->tensor_last[lane] = op->time;
    if (pair) op->cta = &cluster->ctas[warp->cta->rank & ~1u];
    op->clock.before[op->agent] = op->time;  // a commit's needs no fence
    return op;
}

static void take_turn(struct emu_async *op, int stage) {
    struct emu_async *next = op->tensor.behind;

    if (stage != 0) return;
    op->tensor.run(op);
    op->tensor.behind = NULL;
    op->ctas = 0;  // nothing of it is left to be done
    if (next != NULL)
        emu_async_follow(op, next);
    else
        op->cta->pipeline = NULL;
}

void emu_pipeline_give(struct emu_async *op) {
    struct emu_async *before = op->cta->pipeline;  // a pair's is its first CTA's

    op->run = take_turn;
    op->from_shared = true;
    op->cta->pipeline = op;
    if (before == NULL)
        emu_async_start(op);
    else
        before->tensor.behind = op;
}

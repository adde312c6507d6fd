// tcgen05.ld, .ld.red and .st (PTX ISA 9.7.16.8): a warp's window of tensor memory to and from its
// registers. Words move at once; what has not been waited for is marked, and known to nobody.
#include "runtime/emu/model/tmem_shape.h"
#include "runtime/emu/exec/lanes.h"

#include <string.h>

// aux: the shape, and what else the instruction is
enum { SHAPE_MASK = 7, STORES = 8, REDUCES = 16, WINDOW = 32 };

// Where an instruction's operands stand.
struct operand_places {
    const uint32_t *list;  // registers, behind their count
    unsigned address;      // entry
    uint32_t reduced;      // register, EMU_NO_PC: none
    uint32_t split;        // columns
};

static struct operand_places find(const struct emu_insn *insn) {
    int aux = insn->row->aux;
    bool split = (aux & SHAPE_MASK) == TMG_TMEM_16X32BX2;

    if (aux & STORES)
        return (struct operand_places){insn->op + insn->op[split ? 3 : 2], 0, EMU_NO_PC,
                                       split ? insn->op[2] : 0};
    unsigned address = aux & REDUCES ? 2 : 1;
    return (struct operand_places){insn->op + insn->op[0], address,
                                   aux & REDUCES ? insn->op[1] : EMU_NO_PC,
                                   split ? insn->op[address + 2] : 0};
}

static const char *name_of(const struct emu_insn *insn) {
    return insn->row->aux & STORES ? "tcgen05.st" : "tcgen05.ld";
}

// False: the ISA has no such repetition of the shape.
static bool find_places(const struct emu_insn *insn, const struct operand_places *operands,
                        struct tmg_tmem_places *places) {
    return tmg_tmem_places((enum tmg_tmem_shape_id)(insn->row->aux & SHAPE_MASK), insn->vector,
                           insn->flags & F_PACK, operands->split, places);
}

const char *emu_tmem_shape_wrong(const struct emu_insn *insn, const struct ptx_statement *statement,
                                 char *text, size_t size) {
    const struct operand_places operands = find(insn);
    struct tmg_tmem_places places;

    (void)statement;
    if (!find_places(insn, &operands, &places))
        snprintf(text, size, "%s has no .x%u", tmg_tmem_shapes[insn->row->aux & SHAPE_MASK].name,
                 insn->vector);
    else if (operands.reduced != EMU_NO_PC && insn->vector < 2)
        snprintf(text, size, ".red is of .x2 and more");
    else if (places.registers != operands.list[0])
        snprintf(text, size, "%u registers where %u are due", operands.list[0], places.registers);
    else
        return NULL;
    return text;
}

// The address that all lanes give; false after a report of what PTX leaves undefined.
static bool agree(struct emu_warp *warp, const struct emu_insn *insn, uint32_t mask, unsigned entry,
                  uint32_t *address) {
    if (mask != UINT32_MAX) {
        emu_fatal(warp, insn, EMU_DIVERGENT, "%s by lanes 0x%08x; it needs all 32", name_of(insn),
                  mask);
        return false;
    }
    *address = (uint32_t)emu_address(warp, insn, entry, 0);
    for (unsigned lane = 1; lane < EMU_LANES; lane++)
        if ((uint32_t)emu_address(warp, insn, entry, lane) != *address) {
            emu_fatal(warp, insn, EMU_BAD_OPERAND,
                      "%s at 0x%x by lane 0 and at 0x%x by lane %u: a warp has one address",
                      name_of(insn), *address, (uint32_t)emu_address(warp, insn, entry, lane),
                      lane);
            return false;
        }
    return true;
}

// Touches one of the instruction's rectangles; false after a report.
static bool touch(struct emu_warp *warp, const struct emu_insn *insn,
                  const struct emu_rectangle *at) {
    bool stores = insn->row->aux & STORES;

    if (!emu_tmem_has(warp, insn, warp->cta, at, name_of(insn))) return false;
    emu_tensor_touch_by(warp, insn, stores ? TENSOR_STORES : TENSOR_LOADS, at,
                        stores ? EMU_WRITE : EMU_READ);
    return true;
}

// Is [lane], of [lanes], in the warp's window, and are all columns its CTA's?
static bool may_access(struct emu_warp *warp, const struct emu_insn *insn, uint32_t address,
                       const struct tmg_tmem_places *places, uint32_t split) {
    const struct tmg_tmem_shape *shape = &tmg_tmem_shapes[insn->row->aux & SHAPE_MASK];
    uint32_t lane = emu_tmem_lane(address), first = warp->index % 4 * WINDOW;
    struct emu_rectangle at = {lane, shape->lanes, emu_tmem_column(address), places->columns};

    if (lane != first && !(shape->lanes == WINDOW / 2 && lane == first + WINDOW / 2)) {
        emu_fatal(warp, insn, EMU_OUT_OF_BOUNDS,
                  "%s.%s at lane %u by warp %u of its CTA, whose window are lanes %u to %u: it may "
                  "begin at %u%s",
                  name_of(insn), shape->name, lane, warp->index, first, first + WINDOW - 1, first,
                  shape->lanes < WINDOW ? " or 16 behind" : "");
        return false;
    }
    if (!touch(warp, insn, &at)) return false;
    at.column += split;
    return !shape->split || touch(warp, insn, &at);
}

// One register of all lanes, from tensor memory or into it.
static void move(struct emu_warp *warp, uint32_t address, const struct tmg_tmem_places *places,
                 uint32_t r, uint32_t *row, bool store) {
    for (unsigned t = 0; t < EMU_LANES; t++) {
        uint32_t lane = emu_tmem_lane(address) + places->thread_lane[t] + places->register_lane[r];
        uint32_t column = emu_tmem_column(address) + places->thread_column[t];
        uint32_t *word = emu_tmem_words(warp->cta, lane, column + places->register_column[r]);
        if (!places->packed && store)
            *word = row[t];
        else if (!places->packed)
            row[t] = *word;
        else if (!store)
            row[t] = (word[0] & 0xffff) | word[1] << 16;
        else {
            word[0] = (word[0] & ~0xffffu) | (row[t] & 0xffff);
            word[1] = (word[1] & ~0xffffu) | row[t] >> 16;
        }
    }
}

// ---- .red ----

// The smaller or larger of two; NaN is neither, or with .NaN both.
static uint32_t pick(const struct emu_insn *insn, uint32_t a, uint32_t b) {
    bool min = insn->word == WORD_MIN;

    if (insn->type[0] == T_S32) return ((int32_t)a < (int32_t)b) == min ? a : b;
    if (insn->type[0] == T_U32) return (a < b) == min ? a : b;
    const uint32_t kept = insn->flags & F_ABS ? INT32_MAX : UINT32_MAX;
    return emu_extreme_f32(a & kept, b & kept, !min, insn->flags);
}

static void reduce(struct emu_warp *warp, const struct emu_insn *insn, const uint32_t *list,
                   uint32_t reduced) {
    uint32_t result[EMU_LANES];

    for (unsigned t = 0; t < EMU_LANES; t++) {
        uint32_t first = emu_r32(warp, list[1])[t];
        result[t] = pick(insn, first, first);
        for (uint32_t r = 1; r < list[0]; r++)
            result[t] = pick(insn, result[t], emu_r32(warp, list[1 + r])[t]);
    }
    memcpy(emu_r32(warp, reduced), result, sizeof result);
}

// ---- the instructions ----

static void mark_registers(struct emu_warp *warp, const uint32_t *list, uint32_t reduced) {
    uint32_t group = warp->tensor_begun[TENSOR_LOADS] - 1;

    for (uint32_t r = 0; r < list[0]; r++) emu_pending_mark(warp, list[1 + r], group, false);
    if (reduced != EMU_NO_PC) emu_pending_mark(warp, reduced, group, false);
}

EMU_HANDLER(access) {
    struct operand_places operands = find(insn);
    bool store = insn->row->aux & STORES;
    struct tmg_tmem_places places;
    uint32_t address, discarded[EMU_LANES];

    if (!agree(warp, insn, mask, operands.address, &address)) return EMU_NEXT;
    find_places(insn, &operands, &places);
    warp->tensor_begun[store ? TENSOR_STORES : TENSOR_LOADS]++;
    if (!emu_pending_new(warp) || !may_access(warp, insn, address, &places, operands.split))
        return EMU_NEXT;
    for (uint32_t r = 0; r < places.registers; r++) {
        uint32_t slot = operands.list[1 + r];
        move(warp, address, &places, r, slot || store ? emu_r32(warp, slot) : discarded, store);
    }
    if (operands.reduced != EMU_NO_PC) reduce(warp, insn, operands.list, operands.reduced);
    if (!store && emu_machine(warp)->check) mark_registers(warp, operands.list, operands.reduced);
    return EMU_NEXT;
}

const struct emu_op emu_ops_tmem_shape[] = {
#define LD(shape, operands, id) \
    { "tcgen05.ld.sync.aligned." shape ".REPEAT{.pack::16b}.b32", operands, access, id }
#define ST(shape, operands, id)                                                         \
    {                                                                                   \
        "tcgen05.st.sync.aligned." shape ".REPEAT{.unpack::16b}.b32", operands, access, \
            (id) | STORES                                                               \
    }
#define RED(order, operands, id)                                                   \
    {                                                                              \
        "tcgen05.ld.red.sync.aligned." order, operands, access, (id) | REDUCES, 0, \
            TMG_HAS_TENSOR_MINIMUM                                                 \
    }
    LD("32x32b", "Vm", TMG_TMEM_32X32B),
    LD("16x64b", "Vm", TMG_TMEM_16X64B),
    LD("16x128b", "Vm", TMG_TMEM_16X128B),
    LD("16x256b", "Vm", TMG_TMEM_16X256B),
    LD("16x32bx2", "Vmn", TMG_TMEM_16X32BX2),
    ST("32x32b", "mv", TMG_TMEM_32X32B),
    ST("16x64b", "mv", TMG_TMEM_16X64B),
    ST("16x128b", "mv", TMG_TMEM_16X128B),
    ST("16x256b", "mv", TMG_TMEM_16X256B),
    ST("16x32bx2", "mnv", TMG_TMEM_16X32BX2),
    RED("32x32b.REPEAT.LEAST{.abs}{.NaN}.f32", "VIm", TMG_TMEM_32X32B),
    RED("16x32bx2.REPEAT.LEAST{.abs}{.NaN}.f32", "VImn", TMG_TMEM_16X32BX2),
    RED("32x32b.REPEAT.LEAST.I32", "VIm", TMG_TMEM_32X32B),
    RED("16x32bx2.REPEAT.LEAST.I32", "VImn", TMG_TMEM_16X32BX2),
    // as the examples of the ISA have it
    RED("32x32b.REPEAT.I32.LEAST", "VIm", TMG_TMEM_32X32B),
    RED("16x32bx2.REPEAT.I32.LEAST", "VImn", TMG_TMEM_16X32BX2),
    {NULL, NULL, NULL, 0},
};

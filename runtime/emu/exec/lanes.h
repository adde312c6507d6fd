// Handlers of arithmetic by one macro each: an expression over lanes of typed rows.
// A full mask is a plain loop that the compiler vectorises; otherwise lane by lane.
#ifndef TMG_EMU_EXEC_LANES_H
#define TMG_EMU_EXEC_LANES_H

#include "runtime/emu/check/check.h"
#include "runtime/emu/exec/exec.h"
#include "runtime/emu/model/reduce.h"

#define EMU_LANES_DO(...)                                             \
    if (mask == UINT32_MAX) {                                         \
        for (unsigned lane = 0; lane < EMU_LANES; lane++) __VA_ARGS__ \
    } else {                                                          \
        EMU_EACH_LANE(lane, mask)                                     \
        __VA_ARGS__                                                   \
    }

#define EMU_HANDLER(name) \
    static enum emu_step name(struct emu_warp *warp, const struct emu_insn *insn, uint32_t mask)

// d = EXPR of a (and b, c) as type T; R is the row's width, U the unsigned type that is stored.
#define EMU_UNARY(name, R, T, U, EXPR)                       \
    EMU_HANDLER(name) {                                      \
        uint##R##_t *d = emu_r##R(warp, insn->op[0]);        \
        const uint##R##_t *pa = emu_r##R(warp, insn->op[1]); \
        EMU_LANES_DO({                                       \
            T a = (T)pa[lane];                               \
            d[lane] = (U)(EXPR);                             \
        })                                                   \
        return EMU_NEXT;                                     \
    }

#define EMU_BINARY(name, R, T, U, EXPR)                                                         \
    EMU_HANDLER(name) {                                                                         \
        uint##R##_t *d = emu_r##R(warp, insn->op[0]);                                           \
        const uint##R##_t *pa = emu_r##R(warp, insn->op[1]), *pb = emu_r##R(warp, insn->op[2]); \
        EMU_LANES_DO({                                                                          \
            T a = (T)pa[lane], b = (T)pb[lane];                                                 \
            d[lane] = (U)(EXPR);                                                                \
        })                                                                                      \
        return EMU_NEXT;                                                                        \
    }

#define EMU_TERNARY(name, R, T, U, EXPR)                                                        \
    EMU_HANDLER(name) {                                                                         \
        uint##R##_t *d = emu_r##R(warp, insn->op[0]);                                           \
        const uint##R##_t *pa = emu_r##R(warp, insn->op[1]), *pb = emu_r##R(warp, insn->op[2]); \
        const uint##R##_t *pc = emu_r##R(warp, insn->op[3]);                                    \
        EMU_LANES_DO({                                                                          \
            T a = (T)pa[lane], b = (T)pb[lane], c = (T)pc[lane];                                \
            d[lane] = (U)(EXPR);                                                                \
        })                                                                                      \
        return EMU_NEXT;                                                                        \
    }

// ---- load_store.c ----

// For what changes nothing that a program can see.
enum emu_step emu_nothing(struct emu_warp *warp, const struct emu_insn *insn, uint32_t mask);

// ---- atomic.c ----

// What an instruction's word says that a reduction does.
enum tmg_reduce emu_reduction(const struct emu_insn *insn);
// Reduces [bytes] at [from] into those at [to], element by element of the instruction's type.
void emu_reduce(const struct emu_insn *insn, uint8_t *to, const uint8_t *from, size_t bytes);

// ---- float.c ----

// The larger or smaller of two f32, as min and max have it with these flags.
uint32_t emu_extreme_f32(uint32_t a, uint32_t b, bool larger, uint32_t flags);

#endif

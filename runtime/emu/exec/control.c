// Branches, calls, exits, traps and sleeping (PTX ISA 9.7.12, 9.7.19), and the functions that the
// driver provides: vprintf and __assertfail. Functions have one frame each, so recursion is
// refused.
#include "runtime/emu/exec/lanes.h"
#include "runtime/emu/exec/print.h"
#include "runtime/emu/machine/barrier.h"
#include "runtime/emu/machine/mbarrier.h"

#include <string.h>

EMU_HANDLER(branch) {
    struct emu_split *split = emu_split(warp);

    if (mask == split->mask)
        split->pc = insn->target;
    else
        emu_diverge(warp, mask, insn->target, split->pc + 1, insn->join);
    return EMU_JUMPED;
}

// brx.idx: lanes part by their index, one target after the other.
EMU_HANDLER(branch_indexed) {
    const uint32_t *index = emu_r32(warp, insn->op[0]), *list = insn->op + insn->op[1];
    uint32_t rest = mask;

    while (rest) {
        uint32_t first = index[__builtin_ctz(rest)], same = 0;
        if (first >= list[0]) {
            emu_fatal(warp, insn, EMU_BAD_OPERAND, "index %u in a table of %u labels", first,
                      list[0]);
            return EMU_JUMPED;
        }
        EMU_EACH_LANE(lane, rest)
        same |= (uint32_t)(index[lane] == first) << lane;
        struct emu_split *split = emu_split(warp);
        if (same == split->mask) {
            split->pc = list[1 + first];
            return EMU_JUMPED;
        }
        // the rest stays at this instruction and comes here again
        emu_diverge(warp, same, list[1 + first], split->pc, insn->join);
        return EMU_JUMPED;
    }
    return EMU_JUMPED;
}

static void copy_params(struct emu_warp *warp, uint32_t mask, uint64_t to, uint64_t from,
                        uint64_t bytes) {
    uint64_t stride = emu_machine(warp)->program->local_bytes;

    if (bytes > stride || to > stride - bytes || from > stride - bytes) return;  // ill-matched
    emu_local_written(warp, to, bytes);
    EMU_EACH_LANE(lane, mask)
    memcpy(warp->local + lane * stride + to, warp->local + lane * stride + from, bytes);
}

// The function that the first lane of [mask] calls, NULL after a report. *same: who calls it too.
static const struct emu_function *find_callee(struct emu_warp *warp, const struct emu_insn *insn,
                                              uint32_t mask, uint32_t *same) {
    *same = mask;
    if (insn->callee != NULL) return insn->callee;
    const uint64_t *address = emu_r64(warp, insn->op[insn->row->aux]);
    uint64_t first = address[__builtin_ctz(mask)];
    EMU_EACH_LANE(lane, mask)
    if (address[lane] != first) *same &= ~(1u << lane);
    const struct emu_program *program = emu_machine(warp)->program;
    for (uint32_t i = 1; i < program->function_count; i++)
        if (emu_function_address(program->functions[i].source) == first &&
            program->functions[i].source->defined)
            return &program->functions[i];
    emu_fatal(warp, insn, EMU_BAD_OPERAND, "there is no function at 0x%llx",
              (unsigned long long)first);
    return NULL;
}

// Are [given], a list of the call's variables or NULL, as the function declares them? A variable of
// another size would take its neighbours along. False after a report.
static bool fit(struct emu_warp *warp, const struct emu_insn *insn, const uint32_t *given,
                struct ptx_symbol *const *declared, uint32_t count, const char *what) {
    uint32_t have = given ? given[0] : 0;

    if (have != count)
        emu_fatal(warp, insn, EMU_BAD_OPERAND, "the call has %u %ss, the function %u", have, what,
                  count);
    for (uint32_t i = 0; i < count && have == count; i++)
        if (given[1 + count + i] != declared[i]->bytes) {
            emu_fatal(warp, insn, EMU_BAD_OPERAND, "%s %u of the call has %u bytes, %s %llu", what,
                      i, given[1 + count + i], declared[i]->name,
                      (unsigned long long)declared[i]->bytes);
            return false;
        }
    return have == count;
}

// Entries: [returns] function [arguments], the lists by index; aux says where the function stands.
EMU_HANDLER(call) {
    uint32_t same;
    const struct emu_function *callee = find_callee(warp, insn, mask, &same);
    bool has_arguments = insn->row->operands[insn->row->aux + 1] == 'A';
    const uint32_t *arguments = has_arguments ? insn->op + insn->op[insn->row->aux + 1] : NULL;
    const uint32_t *returns = insn->row->aux ? insn->op + insn->op[0] : NULL;
    uint32_t pc = emu_split(warp)->pc;

    if (callee == NULL) return EMU_NEXT;
    const struct ptx_function *source = callee->source;
    if (!fit(warp, insn, arguments, source->params, source->param_count, "argument") ||
        (returns && !fit(warp, insn, returns, source->returns, source->return_count, "result")))
        return EMU_NEXT;
    if (!source->defined) {
        if (!emu_call_builtin(warp, insn, mask, arguments, returns))
            emu_fatal(warp, insn, EMU_UNIMPLEMENTED, "function %s is declared but not defined",
                      source->title);
        return EMU_NEXT;
    }
    if (mask != emu_split(warp)->mask) {  // @p call: those without p go on behind it
        emu_diverge(warp, mask, pc, pc + 1, pc + 1);
        return EMU_JUMPED;
    }
    if (same != mask) {  // the others come here again
        emu_diverge(warp, same, pc, pc, pc + 1);
        return EMU_JUMPED;
    }
    EMU_EACH_LANE(lane, mask) {
        uint32_t *back = &emu_r32(warp, callee->return_slot)[lane];
        if (*back != 0) {
            emu_fatal(warp, insn, EMU_UNIMPLEMENTED, "recursion (of %s) is not implemented",
                      source->title);
            return EMU_NEXT;
        }
        *back = pc + 1;
    }
    for (uint32_t i = 0; i < source->param_count; i++)
        copy_params(warp, mask, callee->first_local + source->params[i]->offset, arguments[1 + i],
                    source->params[i]->bytes);
    emu_enter(warp, callee->first_pc, pc + 1);
    return EMU_JUMPED;
}

// [mask] of [warp] has exited: counts, and the checks that an ended CTA must pass.
static void lanes_exited(struct emu_warp *warp, uint32_t mask) {
    struct emu_cta *cta = warp->cta;

    cta->live_threads -= (unsigned)__builtin_popcount(mask);
    emu_barriers_leave(warp, mask);
    emu_changed(cta->cluster);
    if (warp->live != 0) return;
    if (--cta->live_warps != 0) return;
    cta->cluster->live_ctas--;
    emu_mbarriers_check_end(warp);
    emu_async_check_end(warp);
    emu_tmem_check_end(warp);
}

static enum emu_step leave(struct emu_warp *warp, uint32_t mask) {
    struct emu_split *split = emu_split(warp);

    split->pc++;  // for lanes whose guard is false
    emu_exit_lanes(warp, mask);
    lanes_exited(warp, mask);
    return EMU_JUMPED;
}

EMU_HANDLER(leave_thread) {
    (void)insn;
    return leave(warp, mask);
}

EMU_HANDLER(leave_function) {
    const struct emu_function *function = insn->function;
    struct emu_split *split = emu_split(warp);

    if (function->source->entry) return leave(warp, mask);
    uint32_t back = emu_r32(warp, function->return_slot)[__builtin_ctz(mask)];
    const struct emu_insn *caller = &emu_machine(warp)->program->code[back - 1];
    EMU_EACH_LANE(lane, mask)
    emu_r32(warp, function->return_slot)[lane] = 0;
    if (caller->row->aux)
        for (uint32_t i = 0; i < function->source->return_count; i++)
            copy_params(warp, mask, caller->op[caller->op[0] + 1 + i],
                        function->first_local + function->source->returns[i]->offset,
                        function->source->returns[i]->bytes);
    if (mask == split->mask)
        split->pc = back;
    else
        emu_diverge(warp, mask, back, split->pc + 1, EMU_NO_PC);
    return EMU_JUMPED;
}

EMU_HANDLER(trap) {
    const struct emu_machine *machine = emu_machine(warp);
    bool alone = machine->program->uses_environment && !machine->workspace;

    emu_fatal(warp, insn, EMU_TRAP, "trap by lanes 0x%08x%s", mask,
              alone ? "; the kernel looks for a grid that is launched as cooperative, which this "
                      "one is not"
                    : "");
    return EMU_NEXT;
}

EMU_HANDLER(sleep) {
    struct emu_wait *wait = &emu_split(warp)->wait;
    uint64_t now = emu_machine(warp)->steps;

    if (emu_waiting(warp, WAIT_SLEEP)) return now >= wait->until ? EMU_YIELD : EMU_BLOCKED;
    wait->until = now + 1 + emu_r32(warp, insn->op[0])[__builtin_ctz(mask)] % 1024;
    return emu_block(warp, WAIT_SLEEP, 0);
}

// The registers that all warps of the CTA have asked for must be there at once: else an inc waits
// for ever. What a warp starts with is not in PTX, so those that never asked count nothing.
EMU_HANDLER(set_registers) {
    const struct emu_cta *cta = warp->cta;
    uint32_t asked = insn->op[0], sum = 0;

    if (mask != warp->live || asked < 24 || asked > 256 || asked % 8) {
        emu_fatal(warp, insn, mask != warp->live ? EMU_DIVERGENT : EMU_BAD_OPERAND,
                  "setmaxnreg to %u by lanes 0x%08x; it takes multiples of 8 in 24..256 and all "
                  "lanes of the warpgroup",
                  asked, mask);
        return EMU_NEXT;
    }
    warp->registers = asked;
    for (unsigned i = 0; i < cta->warp_count; i++) sum += cta->warps[i].registers * EMU_LANES;
    if (sum > TMG_SM_REGISTERS)
        emu_fatal(warp, insn, EMU_DEADLOCK,
                  "setmaxnreg waits for ever: the CTA's warps ask for %u registers, an SM has %u",
                  sum, TMG_SM_REGISTERS);
    return EMU_NEXT;
}

const struct emu_op emu_ops_control[] = {
    {"bra{.uni}", "l", branch, 0, FACT_BRANCHES},
    {"brx.idx{.uni}", "iL", branch_indexed, 0, FACT_SELECTS},
    {"call{.uni}", "AFA", call, 1, FACT_CALLS},
    {"call{.uni}", "AF", call, 1, FACT_CALLS},
    {"call{.uni}", "FA", call, 0, FACT_CALLS},
    {"call{.uni}", "F", call, 0, FACT_CALLS},
    {"call{.uni}", "AjAN", call, 1, FACT_CALLS},
    {"call{.uni}", "AjN", call, 1, FACT_CALLS},
    {"call{.uni}", "jAN", call, 0, FACT_CALLS},
    {"call{.uni}", "jN", call, 0, FACT_CALLS},
    {"ret{.uni}", "", leave_function, 0, FACT_LEAVES},
    {"exit", "", leave_thread, 0, FACT_LEAVES},
    {"trap", "", trap, 0, FACT_TRAPS},
    {"brkpt", "", trap, 0},
    {"nanosleep.u32", "i", sleep, 0},
    {"pmevent", "n", emu_nothing, 0},
    {"pmevent.mask", "n", emu_nothing, 0},
    {"setmaxnreg.inc.sync.aligned.u32", "n", set_registers, 0, 0, TMG_HAS_REGISTER_MOVES},
    {"setmaxnreg.dec.sync.aligned.u32", "n", set_registers, 0, 0, TMG_HAS_REGISTER_MOVES},
    {NULL, NULL, NULL, 0},
};

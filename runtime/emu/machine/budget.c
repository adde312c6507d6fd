// What a launch may take besides steps and time, which limit.c has: output, and the memory of what
// runs at once. Nothing is guessed, and where it ends too late for somebody the state of all is the
// report.
#include "runtime/emu/machine/machine.h"

#include <inttypes.h>

bool emu_budget_print(struct emu_warp *warp, const struct emu_insn *insn, uint64_t bytes) {
    struct emu_machine *machine = emu_machine(warp);

    *machine->printed += bytes;
    if (*machine->printed <= machine->limit.budget.output) return true;
    emu_fatal(warp, insn, EMU_BUDGET, "the kernel prints more than %" PRIu64 " bytes (max_output)",
              machine->limit.budget.output);
    return false;
}

uint64_t emu_cluster_bytes(const struct emu_machine *machine, uint64_t smem) {
    const struct emu_program *program = machine->program;
    uint64_t threads = (uint64_t)machine->block[0] * machine->block[1] * machine->block[2];
    uint64_t ctas =
        (uint64_t)machine->cluster_size[0] * machine->cluster_size[1] * machine->cluster_size[2];
    uint64_t warps = (threads + EMU_LANES - 1) / EMU_LANES;
    uint64_t lane = program->slot_count * sizeof(uint32_t) + program->local_bytes;

    if (machine->module->tree.arch->features & TMG_HAS_TENSOR_MEMORY)
        smem += sizeof(uint32_t) * TMG_TENSOR_LANES * TMG_TENSOR_COLUMNS;
    return ctas * (smem + warps * (sizeof(struct emu_warp) + EMU_LANES * lane));
}

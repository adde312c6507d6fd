// What a launch may take: steps, time, memory and output, and the word to end. Nothing is guessed:
// a long loop is no error, and where it ends too late for somebody the state of all is the report.
#include "runtime/emu/machine/machine.h"

#include <inttypes.h>
#include <time.h>

static const struct emu_budget defaults = {.steps = UINT64_C(10000000000),
                                           .seconds = 1200,
                                           .memory = UINT64_C(4) << 30,
                                           .output = 64 << 20};

static double now(void) {
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

void emu_budget_start(struct emu_machine *machine) {
    struct emu_budget *budget = &machine->budget;

    *budget = machine->launch->budget;
    if (budget->steps == 0) budget->steps = defaults.steps;
    if (!(budget->seconds > 0)) budget->seconds = defaults.seconds;
    if (budget->memory == 0) budget->memory = defaults.memory;
    if (budget->output == 0) budget->output = defaults.output;
    machine->deadline = now() + budget->seconds;
}

bool emu_budget_spent(const struct emu_machine *machine, uint64_t steps, char *why, size_t size) {
    const struct emu_budget *budget = &machine->budget;

    if (budget->cancel != NULL && *budget->cancel)
        snprintf(why, size, "it was told to end");
    else if (steps > budget->steps)
        snprintf(why, size, "%" PRIu64 " warp instructions are spent (max_steps)", budget->steps);
    else if (now() > machine->deadline)
        snprintf(why, size, "%g seconds are spent (max_seconds)", budget->seconds);
    else
        return false;
    return true;
}

bool emu_budget_print(struct emu_warp *warp, const struct emu_insn *insn, uint64_t bytes) {
    struct emu_machine *machine = emu_machine(warp);

    *machine->printed += bytes;
    if (*machine->printed <= machine->budget.output) return true;
    emu_fatal(warp, insn, EMU_BUDGET, "the kernel prints more than %" PRIu64 " bytes (max_output)",
              machine->budget.output);
    return false;
}

uint64_t emu_cluster_bytes(const struct emu_machine *machine, uint64_t smem) {
    const struct emu_program *program = machine->program;
    uint64_t threads = (uint64_t)machine->block[0] * machine->block[1] * machine->block[2];
    uint64_t ctas =
        (uint64_t)machine->cluster_size[0] * machine->cluster_size[1] * machine->cluster_size[2];
    uint64_t warps = (threads + EMU_LANES - 1) / EMU_LANES;
    uint64_t lane = program->slot_count * sizeof(uint32_t) + program->local_bytes;

    return ctas * (smem + warps * (sizeof(struct emu_warp) + EMU_LANES * lane));
}

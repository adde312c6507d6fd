// How long something may take, and how much memory: the budget of a launch, or of what is read
// before it, from the moment it begins. Nobody else knows what a budget is where it says nothing.
#include "runtime/emu/ptx/ptx.h"

#include <inttypes.h>
#include <stdio.h>

#include "runtime/seconds.h"

static const struct emu_budget defaults = {.steps = UINT64_C(10000000000),
                                           .seconds = 1200,
                                           .memory = UINT64_C(4) << 30,
                                           .output = 64 << 20};

struct emu_limit emu_limit_start(const struct emu_budget *budget) {
    struct emu_limit limit = {.budget = budget != NULL ? *budget : defaults};

    if (limit.budget.steps == 0) limit.budget.steps = defaults.steps;
    if (!(limit.budget.seconds > 0)) limit.budget.seconds = defaults.seconds;
    if (limit.budget.memory == 0) limit.budget.memory = defaults.memory;
    if (limit.budget.output == 0) limit.budget.output = defaults.output;
    limit.deadline = tmg_seconds() + limit.budget.seconds;
    return limit;
}

bool emu_limit_spent(const struct emu_limit *limit, uint64_t steps, char *why, size_t size) {
    const struct emu_budget *budget = &limit->budget;

    if (budget->cancel != NULL && *budget->cancel)
        snprintf(why, size, "it was told to end");
    else if (steps > budget->steps)
        snprintf(why, size, "%" PRIu64 " warp instructions are spent (max_steps)", budget->steps);
    else if (tmg_seconds() > limit->deadline)
        snprintf(why, size, "%g seconds are spent (max_seconds)", budget->seconds);
    else
        return false;
    return true;
}

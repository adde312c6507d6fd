// CTAs an SM, by the granularity at which the hardware hands out its resources.
#include "measure/occupancy.h"

#include <stddef.h>

#include "runtime/arch.h"

enum { REGISTER_UNIT = 256, SHARED_UNIT = 128, WARP = 32 };

static int round_up(int value, int unit) { return (value + unit - 1) / unit * unit; }

struct occupancy occupancy_of(const char *arch, int threads, int registers, int shared_memory) {
    const struct tmg_arch *a = tmg_arch_find(arch);
    if (!a || threads < 1) return (struct occupancy){.blocks = -1, .limit = ""};
    int warps = round_up(threads, WARP) / WARP;
    int warp_registers = round_up((registers > 0 ? registers : 1) * WARP, REGISTER_UNIT);
    const struct occupancy limits[] = {
        {(int)a->shared_per_sm / (round_up(shared_memory, SHARED_UNIT) + TMG_BLOCK_RESERVE),
         "shared memory"},
        {TMG_SM_REGISTERS / warp_registers / warps, "registers"},
        {(int)a->warps_per_sm / warps, "threads"},
        {(int)a->blocks_per_sm, "CTAs"},
    };
    struct occupancy least = limits[0];
    for (size_t i = 1; i < sizeof limits / sizeof *limits; i++)
        if (limits[i].blocks < least.blocks) least = limits[i];
    return least;
}

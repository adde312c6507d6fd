// CTAs an SM, by the granularity at which the hardware hands out its resources.
// Figures: CUDA programming guide, technical specifications per compute capability.
#include "measure/occupancy.h"

#include <stddef.h>
#include <string.h>

static const struct arch {
    const char *name;
    int warps, blocks, registers, shared_memory, reserved;  // of an SM; reserved bytes a CTA
} archs[] = {
    {"sm_80", 64, 32, 65536, 167936, 1024},  {"sm_86", 48, 16, 65536, 102400, 1024},
    {"sm_89", 48, 24, 65536, 102400, 1024},  {"sm_90", 64, 32, 65536, 233472, 1024},
    {"sm_100", 64, 32, 65536, 233472, 1024}, {"sm_120", 48, 24, 65536, 102400, 1024},
};

enum { REGISTER_UNIT = 256, SHARED_UNIT = 128, WARP = 32 };

static int round_up(int value, int unit) { return (value + unit - 1) / unit * unit; }

// The row for "sm_90a" is that of "sm_90".
static const struct arch *find(const char *name) {
    size_t len = strcspn(name, "af");
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++)
        if (strlen(archs[i].name) == len && !strncmp(archs[i].name, name, len)) return &archs[i];
    return NULL;
}

struct occupancy occupancy_of(const char *arch, int threads, int registers, int shared_memory) {
    const struct arch *a = find(arch);
    if (!a || threads < 1) return (struct occupancy){.blocks = -1, .limit = ""};
    int warps = round_up(threads, WARP) / WARP;
    int warp_registers = round_up((registers > 0 ? registers : 1) * WARP, REGISTER_UNIT);
    const struct occupancy limits[] = {
        {a->shared_memory / (round_up(shared_memory, SHARED_UNIT) + a->reserved), "shared memory"},
        {a->registers / warp_registers / warps, "registers"},
        {a->warps / warps, "threads"},
        {a->blocks, "CTAs"},
    };
    struct occupancy least = limits[0];
    for (size_t i = 1; i < sizeof limits / sizeof *limits; i++)
        if (limits[i].blocks < least.blocks) least = limits[i];
    return least;
}

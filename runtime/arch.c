// Figures: CUDA programming guide, technical specifications per compute capability, and the data
// sheets for the number of SMs (A100, A40, Orin, L40, H200, B200, B300, RTX PRO 6000). What of
// tcgen05 there is where: the target notes of the PTX ISA.
#include "runtime/arch.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { KB = 1024, AMPERE = 0, ADA = TMG_HAS_FP8, HOPPER = ADA | TMG_HAS_CLUSTERS };
enum { SPECIAL = TMG_HAS_REGISTER_MOVES | TMG_HAS_MAP_CHANGES };
enum { LATER = HOPPER | TMG_HAS_LAUNCH_CONTROL };
enum { BLACKWELL = LATER | SPECIAL | TMG_HAS_TENSOR_MEMORY };

static const struct tmg_arch archs[] = {
    // name, features, SMs, shared memory of a CTA and of an SM, warps and CTAs of an SM
    {"sm_80", AMPERE, 108, 163 * KB, 164 * KB, 64, 32},
    {"sm_86", AMPERE, 84, 99 * KB, 100 * KB, 48, 16},
    {"sm_87", AMPERE, 16, 163 * KB, 164 * KB, 48, 16},
    {"sm_89", ADA, 142, 99 * KB, 100 * KB, 48, 24},
    {"sm_90", HOPPER, 132, 227 * KB, 228 * KB, 64, 32},
    {"sm_90a", HOPPER | SPECIAL | TMG_HAS_WGMMA, 132, 227 * KB, 228 * KB, 64, 32},
    {"sm_100", LATER, 148, 227 * KB, 228 * KB, 64, 32},
    {"sm_100a", BLACKWELL | TMG_HAS_TENSOR_I8, 148, 227 * KB, 228 * KB, 64, 32},
    {"sm_100f", BLACKWELL, 148, 227 * KB, 228 * KB, 64, 32},
    {"sm_103", LATER, 148, 227 * KB, 228 * KB, 64, 32},
    {"sm_103a", BLACKWELL | TMG_HAS_TENSOR_MINIMUM, 148, 227 * KB, 228 * KB, 64, 32},
    {"sm_103f", BLACKWELL | TMG_HAS_TENSOR_MINIMUM, 148, 227 * KB, 228 * KB, 64, 32},
    {"sm_120", LATER, 188, 99 * KB, 100 * KB, 48, 24},
    {"sm_120a", LATER | SPECIAL, 188, 99 * KB, 100 * KB, 48, 24},
};
enum { ARCHS = sizeof archs / sizeof *archs };

const struct tmg_arch *tmg_arch_find(const char *name) {
    size_t length = strlen(name);

    for (size_t i = 0; i < ARCHS; i++)
        if (strcmp(archs[i].name, name) == 0) return &archs[i];
    if (length > 0 && name[length - 1] == 'f') length--;
    for (size_t i = 0; i < ARCHS; i++)
        if (strlen(archs[i].name) == length && memcmp(archs[i].name, name, length) == 0)
            return &archs[i];
    return NULL;
}

const struct tmg_arch *tmg_arch_with(uint32_t features) {
    for (size_t i = 0; i < ARCHS; i++)
        if ((archs[i].features & features) == features) return &archs[i];
    return NULL;
}

// ---- What runs where

enum { NUMBER_MOST = 1 << 20 };

// 90 of "sm_90a"; 0 where there is none.
static int number_of(const char *name) {
    const long number = strncmp(name, "sm_", 3) ? 0 : strtol(name + 3, NULL, 10);
    return number > 0 && number < NUMBER_MOST ? (int)number : 0;
}

static char suffix_of(const char *name) {
    const char last = *name ? name[strlen(name) - 1] : 0;
    return last == 'a' || last == 'f' ? last : 0;
}

int tmg_arch_runs(const char *code, const char *gpu) {
    const int needed = number_of(code), has = number_of(gpu);
    if (!needed || !has) return 0;
    if (suffix_of(code) == 'a') return needed == has;
    return needed / 10 == has / 10 && needed <= has;
}

int tmg_arch_compiles(const char *ptx, const char *gpu) {
    const int needed = number_of(ptx), has = number_of(gpu);
    if (suffix_of(ptx)) return tmg_arch_runs(ptx, gpu);
    return needed && needed <= has;
}

int tmg_arch_rank(const char *name) { return 4 * number_of(name) + (suffix_of(name) ? 2 : 1); }

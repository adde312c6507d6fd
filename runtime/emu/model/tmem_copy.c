// The shapes of tcgen05.cp, a row each, its descriptor and its two formats.
#include "runtime/emu/model/tmem_copy.h"

#include <string.h>

#include "runtime/emu/model/tcgen05.h"

const struct tmg_tmem_copy tmg_tmem_copies[TMG_COPY_SHAPES] = {
    [TMG_COPY_128X256B] = {128, 2, 1, 1, 32, 0},
    [TMG_COPY_4X256B] = {4, 2, 1, 32, 0, 0},
    [TMG_COPY_128X128B] = {128, 1, 1, 1, 32, 0},
    [TMG_COPY_64X128B_02_13] = {64, 1, 2, 1, 32, 64},
    [TMG_COPY_64X128B_01_23] = {64, 1, 2, 1, 64, 32},
    [TMG_COPY_32X128B] = {32, 1, 4, 1, 0, 32},
};

const char *tmg_tmem_copy_source(uint64_t bits, struct tmg_matrix_descriptor *source) {
    *source = tmg_tcgen05_matrix_place(bits);
    if (source->swizzle == TMG_SWIZZLE_COUNT) return "swizzling mode";
    if ((bits >> 46 & 7) != 1) return "fixed constant (bits 46 to 48), which is 1";
    if (bits >> 52 & 1) return "leading dimension stride mode, which is 0";
    if (bits >> 53 & 255) return "fixed constant (bits 53 to 60), which is 0";
    return NULL;
}

uint32_t tmg_tmem_format_bytes(enum tmg_tmem_format format) {
    return format == TMG_COPY_B4X16 ? 8 : format == TMG_COPY_B6X16 ? 12 : 16;
}

void tmg_tmem_unpack(enum tmg_tmem_format format, uint8_t piece[16]) {
    uint8_t from[17] = {0};
    unsigned bits = format == TMG_COPY_B4X16 ? 4 : 6;

    if (format == TMG_COPY_AS_IT_IS) return;
    memcpy(from, piece, tmg_tmem_format_bytes(format));
    for (unsigned i = 0; i < 16; i++) {
        unsigned at = i * bits, both = from[at / 8] | (unsigned)from[at / 8 + 1] << 8;
        unsigned value = both >> at % 8 & ((1u << bits) - 1);
        piece[i] = (uint8_t)(bits == 4 ? value << 2 : value);
    }
}

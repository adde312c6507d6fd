// CuTe's layouts of tensor memory, evaluated symbolically: where mma_traits_sm100.hpp puts D, scale
// factors and metadata.
#ifndef TMG_TESTS_TCGEN05_CUTE_H
#define TMG_TESTS_TCGEN05_CUTE_H

#include "runtime/emu/model/tcgen05.h"

// Digits of a coordinate, the first mode fastest, with a stride each.
struct cute_modes {
    int count, shape[3], stride[3];
};

static int walk(const struct cute_modes *modes, int at) {
    int place = 0;
    for (int i = 0; i < modes->count; ++i) {
        int digit = i + 1 < modes->count ? at % modes->shape[i] : at;
        place += digit * modes->stride[i];
        at /= modes->shape[i];
    }
    return place;
}

// Virtual addresses: lane + 128 * column. The atoms of mma_traits_sm100.hpp, by the ISA's letter,
// of a CTA's rows and of [n] columns; the sparse pair's (C) is the half layout of F.
static int d_place(char layout, int n, int row, int column) {
    struct cute_modes rows = {1, {128, 1, 1}, {1, 0, 0}}, columns = {1, {n, 1, 1}, {128, 0, 0}};
    if (layout == 'B' || layout == 'E')
        columns = (struct cute_modes){2, {n / 2, 2, 1}, {128, 64, 0}};
    if (layout == 'G') columns = (struct cute_modes){2, {n / 4, 4, 1}, {128, 32, 0}};
    if (layout == 'F' || layout == 'C') rows = (struct cute_modes){2, {16, 4, 1}, {1, 32, 0}};
    return walk(&rows, row) + walk(&columns, column);
}

// Of scale factors, in bytes: lane + 128 * byte column; 2x2 as ScaleFactorDuplicated2by2.
static int scale_place(bool two_by_two, int count, int copy, int at, int index) {
    if (!two_by_two) return at % 32 + at / 32 * 512 + 32 * copy + 128 * index;
    int half = count / 2, in_half = at % half;
    return in_half % 32 + in_half / 32 * 512 + at / half * 64 + 32 * (copy % 2) + 128 * index;
}

// Of metadata in bits, by kind: tmem_e_frg for 128 rows.
static int metadata_place(enum tmg_tcgen05_kind kind, int row, int bit) {
    if (kind != TMG_KIND_F16 && kind != TMG_KIND_TF32) return row + 128 * bit;
    struct cute_modes rows = {3, {8, 2, 8}, {1, 128 * 16, 16}}, bits = {2, {16, 2, 1}, {128, 8, 0}};
    return walk(&rows, row) + walk(&bits, bit);
}

#endif

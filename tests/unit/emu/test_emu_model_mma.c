// What mma.sync is not; ldmatrix and stmatrix against their figures. What mma.sync computes is held
// to what an H200 gave, by emu/vectors/table_matrix.c.
#include "runtime/emu/model/mma.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void refuses_what_it_lacks(void **state) {
    (void)state;
    static const struct tmg_mma bad[] = {
        {16, 8, 16, TMG_F16, TMG_BF16, TMG_F32, TMG_F32, 0, 0, 0, 0},
        {16, 8, 32, TMG_F16, TMG_F16, TMG_F32, TMG_F32, 0, 0, 0, 0},
        {16, 8, 12, TMG_F16, TMG_F16, TMG_F32, TMG_F32, 0, 0, 0, 0},
        {16, 8, 16, TMG_BF16, TMG_BF16, TMG_F16, TMG_F16, 0, 0, 0, 0},
        {16, 8, 16, TMG_F16, TMG_F16, TMG_F16, TMG_F32, 0, 0, 0, 0},
        {8, 8, 4, TMG_F16, TMG_F16, TMG_F32, TMG_F32, 0, 0, 0, 0},
        {16, 8, 16, TMG_F16, TMG_F16, TMG_F32, TMG_F32, 1, 0, 0, 0},
        {16, 8, 16, TMG_S8, TMG_S8, TMG_S32, TMG_S32, 0, 1, 0, 0},
        {16, 16, 16, TMG_F16, TMG_F16, TMG_F32, TMG_F32, 0, 0, 0, 0},
        {16, 8, 0, TMG_F16, TMG_F16, TMG_F32, TMG_F32, 0, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        if (!tmg_mma_check(&bad[i])) fail_msg("row %zu is no instruction", i);
    }
}

// Figure 104: lane l holds elements (l / 4, 2 (l % 4)) and the next; .trans swaps rows and columns.
static void loads_and_stores_matrices(void **state) {
    (void)state;
    uint8_t rows[32][16], back[32][16];
    uint32_t registers[4][32], *d[4] = {registers[0], registers[1], registers[2], registers[3]};
    for (int i = 0; i < 32 * 8; ++i) {
        uint16_t element = (uint16_t)(i * 257 + 3);
        memcpy(&rows[i / 8][i % 8 * 2], &element, 2);
    }
    for (int count = 1; count <= 4; count *= 2) {
        for (int transpose = 0; transpose < 2; ++transpose) {
            tmg_ldmatrix(count, transpose, (const uint8_t(*)[16])rows, d);
            for (int j = 0; j < count; ++j) {
                for (int lane = 0; lane < 32; ++lane) {
                    for (int e = 0; e < 2; ++e) {
                        int row = lane / 4, column = lane % 4 * 2 + e;
                        int at = transpose ? column * 8 + row : row * 8 + column;
                        uint16_t want = (uint16_t)((j * 64 + at) * 257 + 3);
                        assert_int_equal(registers[j][lane] >> 16 * e & 0xffff, want);
                    }
                }
            }
            memset(back, 0, sizeof back);
            tmg_stmatrix(count, transpose, (const uint32_t *const *)d, back);
            assert_memory_equal(back, rows, (size_t)count * 128);
            for (int i = count * 8; i < 32; ++i) assert_int_equal(back[i][0], 0);
        }
    }
    uint32_t plain[32], transposed[32], *one = plain;
    tmg_ldmatrix(1, false, (const uint8_t(*)[16])rows, &one);
    one = transposed;
    tmg_ldmatrix(1, true, (const uint8_t(*)[16])rows, &one);
    tmg_movmatrix(plain, plain);
    assert_memory_equal(plain, transposed, sizeof plain);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_what_it_lacks),
        cmocka_unit_test(loads_and_stores_matrices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

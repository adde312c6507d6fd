// Swizzles against the tables of PTX ISA 5.5.7, copied here piece by piece.
// Each row says which 16-byte piece of the unswizzled line lies at each place of a 128-byte line.
#include "runtime/emu/model/swizzle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct swizzle_pattern {
    enum tmg_swizzle mode;
    int lines;
    const char *line[8];
} patterns[] = {
    {TMG_SWIZZLE_NONE, 1, {"01234567"}},
    {TMG_SWIZZLE_32B, 2, {"01234567", "10325476"}},
    {TMG_SWIZZLE_64B, 4, {"01234567", "10325476", "23016745", "32107654"}},
    {TMG_SWIZZLE_128B,
     8,
     {"01234567", "10325476", "23016745", "32107654", "45670123", "54761032", "67452301",
      "76543210"}},
    {TMG_SWIZZLE_128B_ATOM_32B, 4, {"01234567", "23016745", "45670123", "67452301"}},
    {TMG_SWIZZLE_128B_ATOM_32B_FLIP_8B, 4, {"01234567", "23016745", "45670123", "67452301"}},
    {TMG_SWIZZLE_128B_ATOM_64B, 2, {"01234567", "45670123"}},
};

static void agrees_with_the_tables(void **state) {
    (void)state;
    for (size_t p = 0; p < sizeof patterns / sizeof *patterns; ++p) {
        const struct swizzle_pattern *pattern = &patterns[p];
        for (uint32_t line = 0; line < 64; ++line) {
            const char *row = pattern->line[line % (uint32_t)pattern->lines];
            for (uint32_t place = 0; place < 8; ++place) {
                uint32_t piece = (uint32_t)(row[place] - '0');
                uint32_t from = line * 128 + piece * 16, to = line * 128 + place * 16;
                uint32_t flip = pattern->mode == TMG_SWIZZLE_128B_ATOM_32B_FLIP_8B && line % 2;
                assert_int_equal(tmg_swizzle_address(pattern->mode, from), to ^ (flip * 8));
                assert_int_equal(tmg_swizzle_address(pattern->mode, from + 13),
                                 (to + 13) ^ (flip * 8));
            }
        }
    }
}

static void is_its_own_inverse_and_repeats(void **state) {
    (void)state;
    for (int mode = 0; mode < TMG_SWIZZLE_COUNT; ++mode) {
        const struct tmg_swizzle_rule *rule = &tmg_swizzle_rules[mode];
        for (uint32_t address = 0; address < 8192; ++address) {
            uint32_t moved = tmg_swizzle_address(mode, address);
            assert_int_equal(tmg_swizzle_address(mode, moved), address);
            assert_int_equal(moved / rule->span, address / rule->span);
            assert_int_equal(tmg_swizzle_address(mode, address + rule->period),
                             moved + rule->period);
        }
    }
}

// A pattern that starts at line b: its first line is unswizzled, and b = 0 changes nothing.
static void base_offset_moves_the_pattern(void **state) {
    (void)state;
    for (int mode = TMG_SWIZZLE_32B; mode <= TMG_SWIZZLE_128B; ++mode) {
        for (uint32_t base = 0; base < 8; ++base) {
            for (uint32_t offset = 0; offset < 2048; offset += 16) {
                uint32_t shift = base * 128;
                assert_int_equal(tmg_swizzle_address_based(mode, shift + offset, base) ^
                                     (shift + offset),
                                 tmg_swizzle_address(mode, offset) ^ offset);
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_the_tables),
        cmocka_unit_test(is_its_own_inverse_and_repeats),
        cmocka_unit_test(base_offset_moves_the_pattern),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

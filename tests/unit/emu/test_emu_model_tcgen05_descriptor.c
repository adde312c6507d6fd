// Each field of tcgen05.mma's descriptors: one legal value, one that is refused, by name.
#include "runtime/emu/model/tcgen05.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define M(M)       ((uint32_t)(M) << 20)  // (M >> 4) << 24
#define N(N)       ((uint32_t)(N) << 14)  // (N >> 3) << 17
#define A(CODE)    ((uint32_t)(CODE) << 7)
#define B(CODE)    ((uint32_t)(CODE) << 10)
#define D(CODE)    ((uint32_t)(CODE) << 4)
#define BIT(PLACE) (UINT32_C(1) << (PLACE))
#define BF16       (A(1) | B(1) | D(1))
#define TF32       (A(2) | B(2) | D(1))
#define UE8M0      BIT(23)
#define FP4        (A(1) | B(1))

static const struct {
    struct tmg_tcgen05 text;  // what the instruction says
    uint32_t descriptor;
    const char *refused;  // NULL: it is legal
} rows[] = {
    {{.kind = TMG_KIND_F16}, BF16 | M(128) | N(256), NULL},
    {{.kind = TMG_KIND_F16}, BF16 | M(128) | N(8), NULL},
    {{.kind = TMG_KIND_F16}, BF16 | M(64) | N(24), NULL},
    {{.kind = TMG_KIND_F16}, BF16 | M(96) | N(64), "M: .kind::f16 with .cta_group::1 has no 96"},
    {{.kind = TMG_KIND_F16}, BF16 | M(256) | N(64), "M: .kind::f16 with .cta_group::1 has no 256"},
    {{.kind = TMG_KIND_F16}, BF16 | M(128), "N: .kind::f16 with .cta_group::1 has no 0"},
    {{.kind = TMG_KIND_F16}, BF16 | M(128) | N(264), "N: .kind::f16 with .cta_group::1 has no 264"},
    {{.kind = TMG_KIND_F16, .pair = true}, BF16 | M(256) | N(48), NULL},
    {{.kind = TMG_KIND_F16, .pair = true},
     BF16 | M(256) | N(24),
     "N: .kind::f16 with .cta_group::2 has no 24"},
    {{.kind = TMG_KIND_F16, .pair = true},
     BF16 | M(64) | N(32),
     "M: .kind::f16 with .cta_group::2 has no 64"},
    {{.kind = TMG_KIND_F16}, BF16 | M(128) | N(64) | BIT(6), "bits 6 to 6, reserved, are not 0"},
    {{.kind = TMG_KIND_F16}, BF16 | M(128) | N(64) | BIT(23), "bits 23 to 23, reserved, are not 0"},
    {{.kind = TMG_KIND_F16}, BF16 | M(128) | N(64) | BIT(29), "bits 29 to 29, reserved, are not 0"},
    {{.kind = TMG_KIND_F16}, BF16 | M(128) | N(64) | BIT(30), "maximum shift: only .ws shifts"},
    {{.kind = TMG_KIND_F16},
     BF16 | M(128) | N(64) | BIT(3),
     "saturate: .kind::f16 does not saturate"},
    {{.kind = TMG_KIND_F16},
     A(2) | B(1) | D(1) | M(128) | N(64),
     "A type: .kind::f16 has no type 2"},
    {{.kind = TMG_KIND_F16},
     A(1) | B(3) | D(1) | M(128) | N(64),
     "B type: .kind::f16 has no type 3"},
    {{.kind = TMG_KIND_F16},
     A(1) | B(1) | D(2) | M(128) | N(64),
     "D type: .kind::f16 has no type 2"},
    {{.kind = TMG_KIND_F16}, A(0) | B(1) | M(128) | N(64), "D type: f16 is for A and B of f16"},
    {{.kind = TMG_KIND_F16}, M(128) | N(64), NULL},
    {{.kind = TMG_KIND_F16}, BF16 | M(128) | N(64) | BIT(13) | BIT(14) | BIT(15) | BIT(16), NULL},
    {{.kind = TMG_KIND_F16, .a_in_tmem = true},
     BF16 | M(128) | N(64) | BIT(15),
     "transpose A: A in tensor memory does not transpose"},
    {{.kind = TMG_KIND_F16},
     BF16 | M(128) | N(64) | BIT(2),
     "sparsity: 1 in an instruction without .sp"},
    {{.kind = TMG_KIND_F16, .sparse = true},
     BF16 | M(128) | N(64),
     "sparsity: 0 in an instruction with .sp"},
    {{.kind = TMG_KIND_F16}, BF16 | M(128) | N(64) | 1, "sparsity selector: 1, but A is dense"},
    {{.kind = TMG_KIND_F16, .sparse = true}, BF16 | M(128) | N(64) | BIT(2) | 1, NULL},
    {{.kind = TMG_KIND_F16, .input_shift = 15, .scale_input = true}, BF16 | M(128) | N(64), NULL},
    {{.kind = TMG_KIND_F16, .input_shift = 16, .scale_input = true},
     BF16 | M(128) | N(64),
     "scale-input-d: 16 is not in 0 .. 15"},
    {{.kind = TMG_KIND_F16, .ashift = true},
     BF16 | M(128) | N(64),
     ".ashift is for A in tensor memory"},
    {{.kind = TMG_KIND_F16, .ashift = true, .a_in_tmem = true},
     BF16 | M(64) | N(64),
     "M: .ashift has no 64"},
    {{.kind = TMG_KIND_F16, .ws = true}, BF16 | M(32) | N(64) | BIT(30), NULL},
    {{.kind = TMG_KIND_F16, .ws = true}, BF16 | M(32) | N(32), "N: .ws has no 32"},
    {{.kind = TMG_KIND_F16, .ws = true, .sparse = true},
     BF16 | M(32) | N(256) | BIT(2),
     "N: .ws.sp has no 256"},
    {{.kind = TMG_KIND_F16, .ws = true, .pair = true},
     BF16 | M(128) | N(64),
     ".ws has no .kind::f16 with .cta_group::2"},
    {{.kind = TMG_KIND_F16}, BF16 | M(32) | N(64), "M: .kind::f16 with .cta_group::1 has no 32"},
    {{.kind = TMG_KIND_F16, .ws = true, .zero_columns = UINT64_C(17) << 56},
     BF16 | M(32) | N(64) | 3u << 30,
     "zero-column mask: M of 32 has no shift of 17 columns"},
    {{.kind = TMG_KIND_TF32}, TF32 | M(128) | N(64), NULL},
    {{.kind = TMG_KIND_TF32}, A(2) | B(2) | M(128) | N(64), "D type: .kind::tf32 has no type 0"},
    {{.kind = TMG_KIND_F8F6F4}, A(5) | B(3) | D(1) | M(128) | N(64), NULL},
    {{.kind = TMG_KIND_F8F6F4},
     A(2) | B(3) | D(1) | M(128) | N(64),
     "A type: .kind::f8f6f4 has no type 2"},
    {{.kind = TMG_KIND_F8F6F4},
     A(5) | B(0) | D(1) | M(128) | N(64) | BIT(15),
     "transpose A: elements of 4 and 6 bits do not transpose"},
    {{.kind = TMG_KIND_F8F6F4},
     D(1) | M(128) | N(24) | BIT(16),
     "N: .kind::f8f6f4 with .cta_group::1 and a transposed B of 8 bits has no 24"},
    {{.kind = TMG_KIND_F8F6F4, .pair = true},
     D(1) | M(256) | N(48) | BIT(16),
     "N: .kind::f8f6f4 with .cta_group::2 and a transposed B of 8 bits has no 48"},
    {{.kind = TMG_KIND_F8F6F4, .sparse = true},
     D(1) | M(128) | N(64) | BIT(2) | 2,
     "sparsity selector: 2, but .kind::f8f6f4 has none but 0"},
    {{.kind = TMG_KIND_F8F6F4, .scale_input = true},
     D(1) | M(128) | N(64),
     "scale-input-d is for .kind::f16 and .kind::tf32"},
    {{.kind = TMG_KIND_I8}, A(1) | B(0) | D(2) | M(128) | N(48) | BIT(3), NULL},
    {{.kind = TMG_KIND_I8},
     A(1) | D(2) | M(128) | N(40),
     "N: .kind::i8 with .cta_group::1 has no 40"},
    {{.kind = TMG_KIND_I8, .pair = true},
     A(1) | D(2) | M(128) | N(48),
     "N: .kind::i8 with .cta_group::2 has no 48"},
    {{.kind = TMG_KIND_I8}, D(2) | M(128) | N(64) | BIT(13), "negate A: .kind::i8 does not negate"},
    {{.kind = TMG_KIND_I8}, D(1) | M(128) | N(64), "D type: .kind::i8 has no type 1"},
    {{.kind = TMG_KIND_MXF8F6F4}, UE8M0 | M(128) | N(72) | 3u << 29 | 2u << 4, NULL},
    {{.kind = TMG_KIND_MXF8F6F4}, M(128) | N(64), "scale type: .kind::mxf8f6f4 has UE8M0 only"},
    {{.kind = TMG_KIND_MXF8F6F4}, UE8M0 | N(64), "M: .kind::mxf8f6f4 with .cta_group::1 has no 0"},
    {{.kind = TMG_KIND_MXF8F6F4}, UE8M0 | M(128) | N(64) | BIT(31), "bit 31, reserved, is not 0"},
    {{.kind = TMG_KIND_MXF8F6F4},
     UE8M0 | M(128) | N(64) | BIT(24),
     "bits 24 to 26, reserved, are not 0"},
    {{.kind = TMG_KIND_MXF8F6F4, .blocks = TMG_BLOCKS_2X},
     UE8M0 | M(128) | N(64),
     "the scale vector size is not one of .kind::mxf8f6f4"},
    {{.kind = TMG_KIND_MXF8F6F4, .pair = true, .sparse = true},
     UE8M0 | M(128) | N(64) | BIT(2),
     "M: .kind::mxf8f6f4.sp with .cta_group::2 has no 128"},
    {{.kind = TMG_KIND_MXF8F6F4, .ws = true},
     UE8M0 | M(128) | N(64),
     ".ws has no .kind::mxf8f6f4 with .cta_group::1"},
    {{.kind = TMG_KIND_MXF4}, FP4 | UE8M0 | M(128) | N(64) | 2u << 29, NULL},
    {{.kind = TMG_KIND_MXF4},
     FP4 | UE8M0 | M(128) | N(64) | 1u << 29,
     "scale factor A ID: 1, but with 2 scales a row it is 0 or 2"},
    {{.kind = TMG_KIND_MXF4},
     A(1) | B(0) | UE8M0 | M(128) | N(64),
     "B type: .kind::mxf4 has no type 0"},
    {{.kind = TMG_KIND_MXF4},
     FP4 | UE8M0 | M(128) | N(64) | BIT(15),
     "transpose A: .kind::mxf4 does not transpose"},
    {{.kind = TMG_KIND_MXF4}, FP4 | UE8M0 | M(128) | N(64) | BIT(31), NULL},
    {{.kind = TMG_KIND_MXF4, .pair = true},
     FP4 | UE8M0 | M(128) | N(64) | BIT(31),
     "K: 96 is for M of 256 with .cta_group::2"},
    {{.kind = TMG_KIND_MXF4, .sparse = true},
     FP4 | UE8M0 | M(128) | N(64) | BIT(31) | BIT(2),
     "K: a sparse A has no K of 96"},
    {{.kind = TMG_KIND_MXF4, .blocks = TMG_BLOCKS_16},
     FP4 | UE8M0 | M(128) | N(64),
     "the scale vector size is not one of .kind::mxf4"},
    {{.kind = TMG_KIND_MXF4NVF4, .blocks = TMG_BLOCKS_16}, FP4 | M(128) | N(64), NULL},
    {{.kind = TMG_KIND_MXF4NVF4, .blocks = TMG_BLOCKS_4X}, FP4 | UE8M0 | M(128) | N(64), NULL},
    {{.kind = TMG_KIND_MXF4NVF4},
     FP4 | M(128) | N(64),
     "the scale vector size is not one of .kind::mxf4nvf4"},
    {{.kind = TMG_KIND_MXF4NVF4, .blocks = TMG_BLOCKS_2X},
     FP4 | M(128) | N(64),
     "scale type: UE4M3 is for blocks of 16 elements"},
    {{.kind = TMG_KIND_MXF4NVF4, .blocks = TMG_BLOCKS_4X},
     FP4 | M(128) | N(64) | 2u << 4,
     "scale factor B ID: 2, but with 4 scales a row it is 0"},
};

static void instruction_descriptors(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        struct tmg_tcgen05 op = rows[i].text;
        char text[200];
        const char *got = tmg_tcgen05_decode(&op, rows[i].descriptor, text, sizeof text);
        if (rows[i].refused != NULL && got != NULL)
            assert_string_equal(got, rows[i].refused);
        else if ((rows[i].refused == NULL) != (got == NULL))
            fail_msg("row %zu: %s and not %s", i, got ? got : "legal",
                     rows[i].refused ? rows[i].refused : "legal");
    }
}

#define CONSTANT (UINT64_C(1) << 46)
#define MODE(N)  ((uint64_t)(N) << 61)

static const struct {
    struct tmg_tcgen05 op;
    bool is_b;
    uint64_t descriptor;
    const char *refused;
} matrices[] = {
    {{.k = 16}, false, CONSTANT | MODE(2) | 0x3fff, NULL},
    {{.k = 16}, false, MODE(2), "fixed constant: bits 46 to 48 are 0 and not 1"},
    {{.k = 16},
     false,
     CONSTANT | UINT64_C(3) << 47,
     "fixed constant: bits 46 to 48 are 7 and not 1"},
    {{.k = 16}, false, CONSTANT | UINT64_C(1) << 53, "fixed constant: bits 53 to 60 are not 0"},
    {{.k = 16}, false, CONSTANT | UINT64_C(1) << 60, "fixed constant: bits 53 to 60 are not 0"},
    {{.k = 16}, false, CONSTANT | 1 << 14, "bits 14 to 15, reserved, are not 0"},
    {{.k = 16}, false, CONSTANT | 1 << 30, "bits 30 to 31, reserved, are not 0"},
    {{.k = 16}, false, CONSTANT | MODE(3), "swizzling mode: there is no 3"},
    {{.k = 16}, false, CONSTANT | MODE(5), "swizzling mode: there is no 5"},
    {{.k = 16}, false, CONSTANT | MODE(7), "swizzling mode: there is no 7"},
    {{.k = 16},
     false,
     CONSTANT | UINT64_C(1) << 52,
     "leading dimension stride mode: an address is for K of 96"},
    {{.k = 96, .kind = TMG_KIND_MXF4}, false, CONSTANT | UINT64_C(1) << 52, NULL},
    {{.k = 16, .transpose_b = true},
     true,
     CONSTANT | MODE(1),
     "swizzling mode: a transposed B of .kind::f16 has no 128 bytes with atoms of 32"},
    {{.k = 16, .transpose_b = true}, false, CONSTANT | MODE(1), NULL},
    {{.k = 8, .kind = TMG_KIND_TF32, .transpose_a = true},
     false,
     CONSTANT | MODE(2),
     "swizzling mode: a transposed A of .kind::tf32 is for 128 bytes with atoms of 32"},
    {{.k = 8, .kind = TMG_KIND_TF32, .transpose_a = true}, false, CONSTANT | MODE(1), NULL},
};

static void matrix_descriptors(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices; ++i) {
        struct tmg_tcgen05_matrix matrix;
        char text[200];
        const char *got = tmg_tcgen05_matrix_decode(
            &matrices[i].op, matrices[i].is_b, matrices[i].descriptor, &matrix, text, sizeof text);
        if (matrices[i].refused != NULL && got != NULL)
            assert_string_equal(got, matrices[i].refused);
        else if ((matrices[i].refused == NULL) != (got == NULL))
            fail_msg("row %zu: %s", i, got ? got : "legal");
    }
}

static void fields_of_a_matrix(void **state) {
    (void)state;
    struct tmg_tcgen05 op = {.k = 16};
    struct tmg_tcgen05_matrix matrix;
    char text[200];
    uint64_t bits = 0x1234 | UINT64_C(0x0567) << 16 | UINT64_C(0x089a) << 32 | CONSTANT |
                    UINT64_C(5) << 49 | MODE(4);
    assert_null(tmg_tcgen05_matrix_decode(&op, false, bits, &matrix, text, sizeof text));
    assert_int_equal(matrix.at.start, 0x12340);
    assert_int_equal(matrix.at.leading_offset, 0x5670);
    assert_int_equal(matrix.at.stride_offset, 0x89a0);
    assert_int_equal(matrix.at.base_offset, 5);
    assert_int_equal(matrix.at.swizzle, TMG_SWIZZLE_64B);
}

// Rows of 48 bytes that begin 96 bytes into a line: two pieces there, the third at the address.
static void the_second_part_of_48_bytes(void **state) {
    (void)state;
    struct tmg_tcgen05 op = {.k = 96, .kind = TMG_KIND_MXF4};
    struct tmg_tcgen05_matrix matrix;
    char text[200];
    uint64_t bits = (4096 + 96) >> 4 | UINT64_C(512) << 16 | UINT64_C(64) << 32 | CONSTANT |
                    UINT64_C(1) << 52 | MODE(2);
    assert_null(tmg_tcgen05_matrix_decode(&op, false, bits, &matrix, text, sizeof text));
    assert_int_equal(tmg_tcgen05_piece(&matrix, false, 0, 1), 4096 + 112);
    assert_int_equal(tmg_tcgen05_piece(&matrix, false, 0, 2), 8192);
    assert_int_equal(tmg_tcgen05_piece(&matrix, false, 9, 2), 8192 + 1024 + (128 ^ 16));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instruction_descriptors),
        cmocka_unit_test(matrix_descriptors),
        cmocka_unit_test(fields_of_a_matrix),
        cmocka_unit_test(the_second_part_of_48_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

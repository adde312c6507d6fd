// Which words tcgen05.ld, .st and .cp move: every thread, register and repetition of every shape,
// held to strided layouts, (size: lanes, bits) a mode, which say the ISA's figures another way.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "runtime/emu/model/tmem_copy.h"
#include "runtime/emu/model/tmem_shape.h"

struct mode {
    uint32_t size, lanes, bits;
};

// Threads first, then the bits of a thread's registers up to those of .x1; .x2 and more repeat that
// every [repeat] bits.
static const struct {
    struct mode thread[3], value[3];
    uint32_t repeat;
} layouts[TMG_TMEM_SHAPES] = {
    [TMG_TMEM_32X32B] = {{{32, 1, 0}}, {{32, 0, 1}}, 32},
    [TMG_TMEM_16X64B] = {{{2, 8, 0}, {2, 0, 32}, {8, 1, 0}}, {{32, 0, 1}}, 64},
    [TMG_TMEM_16X128B] = {{{4, 0, 32}, {8, 1, 0}}, {{32, 0, 1}, {2, 8, 0}}, 128},
    [TMG_TMEM_16X256B] = {{{4, 0, 64}, {8, 1, 0}}, {{64, 0, 1}, {2, 8, 0}}, 256},
    [TMG_TMEM_16X32BX2] = {{{16, 1, 0}}, {{32, 0, 1}}, 32},
};

static void add(const struct mode *modes, uint32_t *number, uint32_t *lane, uint32_t *bit) {
    for (int i = 0; i < 3 && modes[i].size; i++) {
        *lane += *number % modes[i].size * modes[i].lanes;
        *bit += *number % modes[i].size * modes[i].bits;
        *number /= modes[i].size;
    }
}

static void hold(enum tmg_tmem_shape_id id, uint32_t times, bool packed) {
    enum { SPLIT = 256 };
    static bool seen[32][512];
    struct tmg_tmem_places places;
    memset(seen, 0, sizeof seen);
    assert_true(tmg_tmem_places(id, times, packed, SPLIT, &places));
    for (uint32_t t = 0; t < 32; t++)
        for (uint32_t r = 0; r < places.registers; r++) {
            uint32_t lane = 0, bit = 0, thread = t, value = r * 32;
            add(layouts[id].thread, &thread, &lane, &bit);
            add(layouts[id].value, &value, &lane, &bit);
            uint32_t column = (bit + value * layouts[id].repeat) / 32 * (packed ? 2 : 1);
            if (id == TMG_TMEM_16X32BX2) column += thread * SPLIT;
            assert_int_equal(places.thread_lane[t] + places.register_lane[r], lane);
            assert_int_equal(places.thread_column[t] + places.register_column[r], column);
            assert_true(lane < tmg_tmem_shapes[id].lanes);
            assert_true(column % SPLIT < places.columns);
            assert_false(seen[lane][column]);
            seen[lane][column] = true;
        }
}

static void every_register_has_its_word(void **state) {
    static const uint32_t most[TMG_TMEM_SHAPES] = {128, 128, 64, 32, 128};
    struct tmg_tmem_places places;
    (void)state;
    for (int id = 0; id < TMG_TMEM_SHAPES; id++) {
        for (uint32_t times = 1; times <= most[id]; times *= 2)
            for (int packed = 0; packed < 2; packed++)
                hold((enum tmg_tmem_shape_id)id, times, packed);
        assert_false(tmg_tmem_places((enum tmg_tmem_shape_id)id, 2 * most[id], false, 0, &places));
    }
    assert_true(tmg_tmem_places(TMG_TMEM_16X256B, 1, false, 0, &places));
    assert_int_equal(places.registers, 4);
    assert_int_equal(places.columns, 8);
}

// Of copies: rows, then copies of them.
static void every_lane_is_filled_once(void **state) {
    static const struct mode rows[TMG_COPY_SHAPES][3] = {
        {{128, 1, 0}},
        {{4, 32, 0}},
        {{128, 1, 0}},
        {{64, 1, 0}, {2, 64, 0}},
        {{32, 1, 0}, {2, 64, 0}, {2, 32, 0}},
        {{32, 1, 0}, {4, 32, 0}},
    };
    (void)state;
    for (int id = 0; id < TMG_COPY_SHAPES; id++) {
        const struct tmg_tmem_copy *shape = &tmg_tmem_copies[id];
        bool seen[128] = {false};
        for (uint32_t at = 0; at < (uint32_t)shape->rows * shape->copies; at++) {
            uint32_t number = at, lane = 0, bit = 0;
            add(rows[id], &number, &lane, &bit);
            assert_int_equal(tmg_tmem_copy_lane(shape, at % shape->rows, at / shape->rows), lane);
            assert_true(lane < 128 && !seen[lane]);
            seen[lane] = true;
        }
        assert_true(id == TMG_COPY_4X256B || shape->rows * shape->copies == 128);
    }
}

static void elements_become_bytes(void **state) {
    uint8_t four[16] = {0x21, 0x43}, six[16] = {0x41, 0x20, 0x0c, 0xff}, plain[16] = {0x21, 0x43};
    (void)state;
    tmg_tmem_unpack(TMG_COPY_B4X16, four);
    assert_memory_equal(four, ((uint8_t[]){1 << 2, 2 << 2, 3 << 2, 4 << 2, 0}), 5);
    tmg_tmem_unpack(TMG_COPY_B6X16, six);  // 000001, 000001, 000010, 000011; 111111, 000011
    assert_memory_equal(six, ((uint8_t[]){1, 1, 2, 3, 63, 3, 0}), 7);
    tmg_tmem_unpack(TMG_COPY_AS_IT_IS, plain);
    assert_memory_equal(plain, ((uint8_t[]){0x21, 0x43, 0}), 3);
}

static void a_descriptor_is_refused_by_its_field(void **state) {
    const uint64_t good = UINT64_C(0x4) << 60 | UINT64_C(1) << 46 | 8;
    struct tmg_matrix_descriptor source;
    (void)state;
    assert_null(tmg_tmem_copy_source(good, &source));
    assert_int_equal(source.swizzle, TMG_SWIZZLE_128B);
    assert_int_equal(source.start, 128);
    assert_non_null(strstr(tmg_tmem_copy_source(good | UINT64_C(1) << 61, &source), "swizzling"));
    assert_non_null(strstr(tmg_tmem_copy_source(good & ~(UINT64_C(1) << 46), &source), "46 to 48"));
    assert_non_null(strstr(tmg_tmem_copy_source(good | UINT64_C(1) << 52, &source), "stride mode"));
    assert_non_null(strstr(tmg_tmem_copy_source(good | UINT64_C(1) << 55, &source), "53 to 60"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_register_has_its_word),
        cmocka_unit_test(every_lane_is_filled_once),
        cmocka_unit_test(elements_become_bytes),
        cmocka_unit_test(a_descriptor_is_refused_by_its_field),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

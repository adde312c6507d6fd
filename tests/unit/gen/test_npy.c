// .npy files: what is written is read again, NumPy's own headers are understood, and of a hostile
// file every cut and every changed byte is refused or read within its bounds.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "gen/cli/npy.h"
#include "measure/random.h"

static void test_round_trip(void **state) {
    (void)state;
    const int64_t shape[] = {3, 1, 5, 2, 1, 1, 1, 2};
    uint8_t data[3 * 5 * 2 * 2 * 8];
    for (size_t i = 0; i < sizeof data; ++i) data[i] = (uint8_t)random_bits(1, i);
    for (int dtype = 0; dtype < TMG_DTYPES_OF_HOST; ++dtype) {
        int64_t count = 1;
        for (int rank = 0; rank <= NPY_RANK_MAX; ++rank) {
            if (rank) count *= shape[rank - 1];
            const size_t bytes = (size_t)count * tmg_dtype_bytes(dtype);
            size_t len;
            char *text = npy_format((enum tmg_dtype_id)dtype, rank, shape, data, bytes, &len);
            struct npy array;
            assert_null(npy_parse(text, len, &array));
            assert_int_equal(array.rank, rank);
            assert_memory_equal(array.shape, shape, (size_t)rank * sizeof *shape);
            assert_int_equal(array.bytes, bytes);
            assert_memory_equal(array.data, data, bytes);
            assert_int_equal((array.data - text) % 64, 0);
            assert_true(npy_holds(&array, (enum tmg_dtype_id)dtype));
            free(text);
        }
    }
}

// A file of version [major] with [dict] as its header and [bytes] zeros behind it.
static const char *parse(int major, const char *dict, size_t bytes, struct npy *array) {
    static char text[4096];
    const size_t len = strlen(dict), start = major > 1 ? 12 : 10;
    memset(text, 0, sizeof text);
    memcpy(text, "\x93NUMPY", 6);
    text[6] = (char)major;
    text[8] = (char)(len & 0xff);
    text[9] = (char)(len >> 8);
    memcpy(text + start, dict, len);
    return npy_parse(text, start + len + bytes, array);
}

static void test_headers(void **state) {
    (void)state;
    static const struct {
        const char *dict;
        size_t bytes;
        const char *why;  // NULL: it is fine
    } rows[] = {
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }     \n", 24, NULL},
        {"{'shape':(2,3),'fortran_order':False,'descr':'<f4'}", 24, NULL},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (), }", 4, NULL},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (0, 7), }", 0, NULL},
        {"{'descr': '|V2', 'fortran_order': False, 'shape': (2,), }", 4, NULL},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 23, "not as long"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 25, "not as long"},
        {"{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3), }", 24, "little-endian"},
        {"{'descr': '<c8', 'fortran_order': False, 'shape': (2, 3), }", 48, "no type"},
        {"{'descr': '', 'fortran_order': False, 'shape': (2, 3), }", 48, "no type"},
        {"{'descr': '<U12345678', 'fortran_order': False, 'shape': (2,), }", 8, "plain numbers"},
        {"{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (2,), }", 8, "plain numbers"},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", 24, "Fortran"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, -3), }", 24, "sizes"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': 6, }", 24, "tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2 3), }", 24, "tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3", 24, "tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1), }", 4, "8 dim"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", 0,
         "too large"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,), }", 0,
         "sizes"},
        {"{'descr': '<f4', 'shape': (2, 3), }", 24, "lacks"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'x': 1}", 24, "unknown key"},
        {"", 0, "no dict"},
        {"{", 0, "no dict"},
        {"{'descr", 0, "no dict"},
    };
    for (int major = 1; major <= 3; ++major) {
        for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
            struct npy array;
            const char *why = parse(major, rows[i].dict, rows[i].bytes, &array);
            if (!why != !rows[i].why || (why && !strstr(why, rows[i].why)))
                fail_msg("%s: %s", rows[i].dict, why ? why : "is taken");
        }
    }
    struct npy array;
    assert_non_null(parse(4, rows[0].dict, 24, &array));
    assert_non_null(parse(0, rows[0].dict, 24, &array));
}

// Copies of exactly the length that is passed, so that a sanitizer sees a look beyond the end.
static void test_damage(void **state) {
    (void)state;
    const int64_t shape[] = {2, 3};
    const float data[6] = {0};
    size_t len;
    struct npy array;
    char *text = npy_format(TMG_DTYPE_FP32, 2, shape, data, sizeof data, &len);
    for (size_t cut = 0; cut < len; ++cut) {
        char *part = malloc(cut ? cut : 1);
        memcpy(part, text, cut);
        assert_non_null(npy_parse(part, cut, &array));
        free(part);
    }
    for (size_t at = 0; at < len; ++at) {
        for (int value = 0; value < 256; ++value) {
            const char was = text[at];
            text[at] = (char)value;
            if (!npy_parse(text, len, &array))
                assert_true(array.data >= text && array.data + array.bytes <= text + len);
            text[at] = was;
        }
    }
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// Tensors with more than 2^31 elements or bytes between their first and their last: offsets must
// have 64 bits. The emulator runs small corners of them, in memory of which most is never touched.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/whole_file.h"
#include "runtime/key.h"
#include "runtime/tmagen.h"

#define WIDE (INT64_C(1) << 31)

static tmagen_device *device;

static void check(int status) {
    if (status) fail_msg("%s", tmagen_error_last());
}

static tmagen_kernel *load_with(const char *name, const tmagen_load_options *options) {
    tmagen_kernel *kernel = NULL;
    const int status = tmagen_kernel_load(device, name, options, &kernel);
    if (status == TMAGEN_ERROR_NO_COMPILER) skip();
    check(status);
    return kernel;
}

static tmagen_kernel *load(const char *name) {
    return load_with(name, &(tmagen_load_options){.directory = "out", .mode = TMAGEN_NO_CACHE});
}

// [text] with [first] added to each blockIdx.x.
static char *begin_at(const char *text, int64_t first) {
    static const char word[] = "blockIdx.x";
    char *moved = calloc(1, strlen(text) + 1000), *end = moved;
    for (const char *at; (at = strstr(text, word)); text = at + strlen(word))
        end += sprintf(end, "%.*s(blockIdx.x + %lldu)", (int)(at - text), text, (long long)first);
    assert_true(end != moved);
    strcpy(end, text);
    return moved;
}

// The tiles of [manifest]'s grid along [dim], which is [size].
static int64_t tiles_along(const json_t *manifest, const char *dim, int64_t size) {
    const json_t *tiles = json_object_get(json_object_get(manifest, "grid"), "tiles"), *tile;
    size_t i;
    json_array_foreach(tiles, i, tile) {
        if (strcmp(json_string_value(json_object_get(tile, "dim")), dim)) continue;
        const json_int_t times = json_integer_value(json_object_get(tile, "times"));
        const json_int_t by = json_integer_value(json_object_get(tile, "by"));
        return (size * (times ? times : 1) + by - 1) / by;
    }
    fail_msg("no tiles along %s", dim);
    return 0;
}

// A kernel whose grid is its last block alone, for work of which all would take hours: its source
// says so itself, and its manifest asks for one tile in steps of the largest [dim]. It has [rows]
// of that, each with tiles along [along], which is [size].
static tmagen_kernel *load_block(const char *name, const char *dim, int64_t rows, const char *along,
                                 int64_t size) {
    char path[100], digest[TMAGEN_KEY_CHARS], *source;
    size_t bytes;
    snprintf(path, sizeof path, "out/%s.cu", name);
    check(tmg_file_read(path, 1 << 20, &source, &bytes));
    snprintf(path, sizeof path, "out/%s.json", name);
    json_t *manifest = json_load_file(path, 0, NULL);
    char *moved = begin_at(source, rows * tiles_along(manifest, along, size) - 1);
    tmg_digest_text(moved, strlen(moved), digest);
    json_object_set_new(manifest, "source_sha256", json_string(digest));
    json_object_set_new(
        manifest, "grid",
        json_pack("{ss s[{ss si}]}", "rule", "tiles", "tiles", "dim", dim, "by", INT32_MAX));
    char *text = json_dumps(manifest, 0);
    tmagen_kernel *kernel =
        load_with(name, &(tmagen_load_options){
                            .manifest_text = text, .source_text = moved, .mode = TMAGEN_NO_CACHE});
    json_decref(manifest);
    free(text);
    free(moved);
    free(source);
    return kernel;
}

// [tensor], contiguous but for the stride over its first dimension, with memory of its own.
static tmagen_tensor make(const char *name, int rank, const int64_t *dims, int64_t stride,
                          size_t element) {
    tmagen_tensor tensor = {.name = name, .rank = rank};
    int64_t step = 1;
    for (int axis = rank - 1; axis >= 0; step *= dims[axis--]) {
        tensor.dims[axis] = dims[axis];
        tensor.strides[axis] = step;
    }
    if (stride) tensor.strides[0] = stride;
    const int64_t count =
        (dims[0] - 1) * tensor.strides[0] + (stride ? dims[rank - 1] : step / dims[0]);
    check(tmagen_memory_alloc(device, (size_t)count * element, &tensor.data));
    return tensor;
}

// [count] times the 16 bits [value] from element [at] on.
static void put(const tmagen_tensor *tensor, int64_t at, uint16_t value, int count) {
    uint16_t line[4096];
    assert_true(count <= 4096);
    for (int i = 0; i < count; ++i) line[i] = value;
    check(tmagen_memory_upload(device, tensor->data + (uint64_t)at * 2, line, (size_t)count * 2));
}

static uint16_t get(const tmagen_tensor *tensor, int64_t at) {
    uint16_t value;
    check(tmagen_memory_download(device, &value, tensor->data + (uint64_t)at * 2, sizeof value));
    return value;
}

static void launch(tmagen_kernel *kernel, tmagen_tensor *tensors, size_t count) {
    const tmagen_launch launch = {.tensors = tensors, .tensor_count = count};
    check(tmagen_kernel_launch(kernel, NULL, &launch));
    check(tmagen_device_synchronize(device));
    tmagen_kernel_unload(kernel);
}

static void free_all(const tmagen_tensor *tensors, size_t count) {
    for (size_t i = 0; i < count; ++i) tmagen_memory_free(device, tensors[i].data);
}

enum { ONE = 0x3f80, TWO = 0x4000, EIGHT = 0x4100, SIXTEEN = 0x4180 };  // bf16

// D = A B^T with rows [stride] elements apart, A all one but for twos in its last row.
static void multiply(const char *name, int64_t m, int64_t stride, int a_too) {
    const int64_t k = 8, n = 8, a[] = {m, k}, b[] = {n, k}, d[] = {m, n};
    tmagen_kernel *kernel = load(name);
    tmagen_tensor tensors[] = {make("a", 2, a, a_too ? stride : 0, 2), make("b", 2, b, 0, 2),
                               make("d", 2, d, stride, 2)};
    for (int64_t row = 0; row < m; ++row)
        put(&tensors[0], row * tensors[0].strides[0], row == m - 1 ? TWO : ONE, (int)k);
    put(&tensors[1], 0, ONE, (int)(n * k));
    launch(kernel, tensors, 3);
    for (int64_t row = 0; row < m; row += m - 1)
        for (int64_t column = 0; column < n; ++column)
            assert_int_equal(get(&tensors[2], row * stride + column), row ? SIXTEEN : EIGHT);
    free_all(tensors, 3);
}

static void test_gemm_naive(void **state) {
    (void)state;
    multiply("gemm_phase0", 3, WIDE / 2 + 8, 1);
}

static void test_gemm_direct_store(void **state) {
    (void)state;
    multiply("gemm_128x192_direct", 65, WIDE / 64 + 2, 0);
}

static void test_gemm_tma_store(void **state) {
    (void)state;
    multiply("gemm_64x64", 9, WIDE / 8 + 8, 1);
}

// One target of each of two batches whose sources take 2^31 elements each.
static void resample(const char *name) {
    enum { D = 4096, S = 1 << 19 };
    const int64_t source[] = {2, S, D}, source_times[] = {2, S}, target_times[] = {2, 1},
                  out[] = {2, 1, D};
    tmagen_kernel *kernel = load(name);
    tmagen_tensor tensors[] = {
        make("source", 3, source, 0, 2), make("source_times", 2, source_times, 0, 4),
        make("target_times", 2, target_times, 0, 4), make("out", 3, out, 0, 2)};
    float *times = malloc(2 * S * sizeof *times);
    for (int i = 0; i < 2 * S; ++i) times[i] = (float)(i % S);
    check(tmagen_memory_upload(device, tensors[1].data, times, 2 * S * sizeof *times));
    const float targets[] = {S - 2, S - 2};
    check(tmagen_memory_upload(device, tensors[2].data, targets, sizeof targets));
    for (int64_t batch = 0; batch < 2; ++batch)
        for (int64_t row = S - 2; row < S; ++row)
            put(&tensors[0], (batch * S + row) * D, batch ? TWO : ONE, D);
    launch(kernel, tensors, 4);
    for (int64_t at = 0; at < D; at += D - 1) {
        assert_int_equal(get(&tensors[3], at), ONE);
        assert_int_equal(get(&tensors[3], D + at), TWO);
    }
    free(times);
    free_all(tensors, 4);
}

static void test_resample_element(void **state) {
    (void)state;
    resample("resample_phase0");
}
static void test_resample_warp(void **state) {
    (void)state;
    resample("resample_phase1");
}
static void test_resample_lanes(void **state) {
    (void)state;
    resample("resample_phase2");
}
static void test_resample_tile(void **state) {
    (void)state;
    resample("resample_phase3");
}

// Half way between the largest number and the least, whose difference is none.
static void test_resample_far_apart(void **state) {
    (void)state;
    enum { D = 8, MOST = 0x7f7f, LEAST = 0xff7f };
    const int64_t source[] = {1, 2, D}, source_times[] = {1, 2}, one[] = {1, 1}, out[] = {1, 1, D};
    const float times[] = {0, 1}, half = 0.5f;
    tmagen_kernel *kernel = load("resample_phase0");
    tmagen_tensor tensors[] = {make("source", 3, source, 0, 2),
                               make("source_times", 2, source_times, 0, 4),
                               make("target_times", 2, one, 0, 4), make("out", 3, out, 0, 2)};
    check(tmagen_memory_upload(device, tensors[1].data, times, sizeof times));
    check(tmagen_memory_upload(device, tensors[2].data, &half, sizeof half));
    put(&tensors[0], 0, MOST, D);
    put(&tensors[0], D, LEAST, D);
    launch(kernel, tensors, 4);
    for (int64_t at = 0; at < D; ++at) assert_int_equal(get(&tensors[3], at), 0);
    free_all(tensors, 4);
}

enum { HEADS = 8, CHANNELS = 32, LEVELS = 4, POINTS = 4, RECORD = HEADS * CHANNELS };
static const struct {
    int first, width, height;
} levels[LEVELS] = {{0, 134, 100}, {13400, 67, 50}, {16750, 34, 25}, {17600, 17, 13}};

// 237 batches of 17821 pixels of 512 bytes: the last begins behind 2^31 bytes. One query each,
// whose points all lie between the first pixels of their levels; fp16.
static void test_deform_attn(void **state) {
    (void)state;
    enum {
        B = 237,
        S = 17821,
        ITEMS = HEADS * LEVELS * POINTS,
        HALF_ONE = 0x3c00,
        HALF_TWO = 0x4000
    };
    const int64_t value[] = {B, S, RECORD}, locations[] = {B, 1, 2 * ITEMS},
                  weights[] = {B, 1, ITEMS}, out[] = {B, 1, RECORD};
    tmagen_kernel *kernel = load("deform_attn_heads8");
    tmagen_tensor tensors[] = {make("value", 3, value, 0, 2), make("locations", 3, locations, 0, 2),
                               make("weights", 3, weights, 0, 2), make("out", 3, out, 0, 2)};
    for (int64_t batch = 0; batch < B; ++batch) {
        for (int l = 0; l < LEVELS; ++l)
            for (int row = 0; row < 3; ++row)
                put(&tensors[0], (batch * S + levels[l].first + row * levels[l].width) * RECORD,
                    batch == B - 1 ? HALF_TWO : HALF_ONE, 3 * RECORD);
        for (int at = 0; at < ITEMS; ++at) {
            static const uint16_t middle[LEVELS][2] = {
                {0x1fa4, 0x211f}, {0x23a4, 0x251f}, {0x2788, 0x291f}, {0x2b88, 0x2cec}};
            const int l = at / POINTS % LEVELS;  // one pixel from the border: 1 / width, 1 / height
            put(&tensors[1], batch * 2 * ITEMS + 2 * at, middle[l][0], 1);
            put(&tensors[1], batch * 2 * ITEMS + 2 * at + 1, middle[l][1], 1);
            put(&tensors[2], batch * ITEMS + at, at % (LEVELS * POINTS) ? 0 : HALF_ONE, 1);
        }
    }
    launch(kernel, tensors, 4);
    for (int64_t at = 0; at < RECORD; at += RECORD - 1) {
        assert_int_equal(get(&tensors[3], at), HALF_ONE);
        assert_int_equal(get(&tensors[3], (B - 1) * RECORD + at), HALF_TWO);
    }
    free_all(tensors, 4);
}

// The last tile of pairs that begin behind 2^31 elements: a pixel of twos, whose pair ends in zeros
// because a row ends there, and the pair before it.
static void test_deform_pair(void **state) {
    (void)state;
    enum { B = 1636, S = 20522, C = 32, TWO_HALF = 0x4000 };
    const int64_t value[] = {B, S, C}, pairs[] = {B, S, 2 * C}, last = (int64_t)B * S - 1;
    tmagen_kernel *kernel = load_block("deform_pair", "b", B, "s", S);
    tmagen_tensor tensors[] = {make("value", 3, value, 0, 2), make("pairs", 3, pairs, 0, 2)};
    put(&tensors[0], (last - 63) * C, TWO_HALF, 64 * C);
    launch(kernel, tensors, 2);
    assert_int_equal(get(&tensors[1], last * 2 * C), TWO_HALF);
    assert_int_equal(get(&tensors[1], last * 2 * C + C), 0);
    assert_int_equal(get(&tensors[1], last * 2 * C - 1), TWO_HALF);
    free_all(tensors, 2);
}

// The last row of those that take 2^31 elements, all ones: 448 (0x7e) by the scale 1 / 448.
static void quantise(const char *name) {
    enum { M = (1 << 18) + 1, K = 8192, BLOCKS = K / 128 };
    const int64_t x[] = {M, K}, scales[] = {M, BLOCKS}, last = M - 1;
    tmagen_kernel *kernel = load_block(name, "m", M, "k", K);
    tmagen_tensor tensors[] = {make("x", 2, x, 0, 2), make("y", 2, x, 0, 1),
                               make("scales", 2, scales, 0, 4)};
    put(&tensors[0], last * K, ONE, K / 2);
    put(&tensors[0], last * K + K / 2, ONE, K / 2);
    launch(kernel, tensors, 3);
    float scale;
    check(tmagen_memory_download(
        device, &scale, tensors[2].data + (uint64_t)(M * BLOCKS - 1) * sizeof scale, sizeof scale));
    assert_true(scale == 1.0f / 448);
    assert_int_equal(get(&tensors[1], (M * (int64_t)K - 2) / 2), 0x7e7e);
    free_all(tensors, 3);
}

static void test_quantise_phase0(void **state) {
    (void)state;
    quantise("quantise_phase0");
}
static void test_quantise_phase1(void **state) {
    (void)state;
    quantise("quantise_phase1");
}
static void test_quantise_phase2(void **state) {
    (void)state;
    quantise("quantise_phase2");
}

static int open_device(void **state) {
    (void)state;
    return tmagen_device_open("emu", &device);
}

static int close_device(void **state) {
    (void)state;
    tmagen_device_close(device);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gemm_naive),      cmocka_unit_test(test_gemm_direct_store),
        cmocka_unit_test(test_gemm_tma_store),  cmocka_unit_test(test_resample_element),
        cmocka_unit_test(test_resample_warp),   cmocka_unit_test(test_resample_lanes),
        cmocka_unit_test(test_resample_tile),   cmocka_unit_test(test_resample_far_apart),
        cmocka_unit_test(test_deform_attn),     cmocka_unit_test(test_deform_pair),
        cmocka_unit_test(test_quantise_phase0), cmocka_unit_test(test_quantise_phase1),
        cmocka_unit_test(test_quantise_phase2),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}

// Tensors with more than 2^31 elements or bytes between their first and their last: offsets must
// have 64 bits. The emulator runs small corners of them, in memory of which most is never touched.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "runtime/tmagen.h"

#define WIDE (INT64_C(1) << 31)

static tmagen_device *device;

static void check(int status) {
    if (status) fail_msg("%s", tmagen_error_last());
}

static tmagen_kernel *load(const char *name) {
    const tmagen_load_options options = {.directory = "out", .mode = TMAGEN_NO_CACHE};
    tmagen_kernel *kernel = NULL;
    const int status = tmagen_kernel_load(device, name, &options, &kernel);
    if (status == TMAGEN_ERROR_NO_COMPILER) skip();
    check(status);
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
        cmocka_unit_test(test_gemm_naive),     cmocka_unit_test(test_gemm_direct_store),
        cmocka_unit_test(test_gemm_tma_store), cmocka_unit_test(test_resample_element),
        cmocka_unit_test(test_resample_warp),  cmocka_unit_test(test_resample_lanes),
        cmocka_unit_test(test_resample_tile),  cmocka_unit_test(test_deform_attn),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}

// A complete program on libtmagen and libc: D = A * B^T in bf16, by a kernel found by its name.
// Usage: example [DEVICE [KERNEL [M N K]]], as in: example cuda gemm_256x128 1000 512 256
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tmagen.h"

static void check(int status) {
    if (status == TMAGEN_OK) return;
    fprintf(stderr, "example: %s\n", tmagen_error_last());
    exit(1);
}

static float to_float(uint16_t bf16) {
    uint32_t bits = (uint32_t)bf16 << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// A matrix of random bf16 numbers from -1 to 1, here and on the device.
static uint16_t *random_matrix(tmagen_device *device, int64_t count, tmagen_address *address) {
    uint16_t *matrix = malloc((size_t)count * sizeof *matrix);
    if (!matrix) exit(1);
    for (int64_t i = 0; i < count; ++i) {
        float value = (float)rand() / (float)RAND_MAX * 2 - 1;
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        matrix[i] = (uint16_t)(bits >> 16);
    }
    check(tmagen_memory_alloc(device, (size_t)count * 2, address));
    check(tmagen_memory_upload(device, *address, matrix, (size_t)count * 2));
    return matrix;
}

int main(int argc, char **argv) {
    const char *name = argc > 2 ? argv[2] : "gemm_256x128";
    const int64_t m = argc > 5 ? atoll(argv[3]) : 1000, n = argc > 5 ? atoll(argv[4]) : 512,
                  k = argc > 5 ? atoll(argv[5]) : 256;
    tmagen_device *device;
    tmagen_kernel *kernel;
    tmagen_kernel_info info;
    check(tmagen_device_open(argc > 1 ? argv[1] : "cuda", &device));
    check(
        tmagen_kernel_load(device, name, NULL, &kernel));  // out/NAME.json, out/NAME.cu, the cache
    check(tmagen_kernel_get_info(kernel, &info));
    printf("%s: %s, %d registers a thread\n", info.name, info.hit ? "from the cache" : "compiled",
           info.resources.registers);

    tmagen_address a_address, b_address, d_address;
    uint16_t *a = random_matrix(device, m * k, &a_address);
    uint16_t *b = random_matrix(device, n * k, &b_address);
    uint16_t *d = random_matrix(device, m * n, &d_address);

    const tmagen_tensor tensors[] = {{.name = "a", .data = a_address, .rank = 2, .dims = {m, k}},
                                     {.name = "b", .data = b_address, .rank = 2, .dims = {n, k}},
                                     {.name = "d", .data = d_address, .rank = 2, .dims = {m, n}}};
    const tmagen_launch launch = {.tensors = tensors, .tensor_count = 3};
    check(tmagen_kernel_launch(kernel, NULL, &launch));
    check(tmagen_device_synchronize(device));
    check(tmagen_memory_download(device, d, d_address, (size_t)(m * n) * 2));

    int wrong = 0;
    for (int sample = 0; sample < 1000; ++sample) {
        int64_t row = rand() % m, column = rand() % n;
        double sum = 0;
        for (int64_t i = 0; i < k; ++i)
            sum += (double)to_float(a[row * k + i]) * to_float(b[column * k + i]);
        double error = to_float(d[row * n + column]) - sum;
        wrong += !(error * error <= 1e-4 * (1 + sum * sum));  // not a number is wrong too
    }
    printf("%d of 1000 elements are wrong by more than 1%%\n", wrong);
    for (int i = 0; i < 3; ++i) tmagen_memory_free(device, tensors[i].data);
    free(a), free(b), free(d);
    tmagen_kernel_unload(kernel);
    tmagen_device_close(device);
    return wrong ? 1 : 0;
}

// One workspace for launches of one kernel at shapes in turn, as tmagen.h allows it: what a smaller
// shape writes there must not be what a larger one waits for.
// Usage: shapes_in_turn DEVICE KERNEL: a bf16 product, D = A * B^T, that divides K.
#include <stdio.h>
#include <stdlib.h>

#include "tmagen.h"

enum { M = 16, N_MOST = 8192, K = 256, WORKSPACE = 4 << 20, ONE = 0x3f80, BF16_OF_K = 0x4380 };

static void check(int status) {
    if (status == TMAGEN_OK) return;
    fprintf(stderr, "shapes_in_turn: %s\n", tmagen_error_last());
    exit(1);
}

static tmagen_address filled(tmagen_device *device, size_t count, unsigned short bits) {
    unsigned short *host = malloc(count * sizeof *host);
    tmagen_address address;
    if (!host) exit(1);
    for (size_t i = 0; i < count; ++i) host[i] = bits;
    check(tmagen_memory_alloc(device, count * sizeof *host, &address));
    check(tmagen_memory_upload(device, address, host, count * sizeof *host));
    free(host);
    return address;
}

int main(int argc, char **argv) {
    static const int columns[] = {N_MOST, 64, N_MOST, 200, N_MOST};
    static unsigned short d[M * N_MOST];
    tmagen_device *device;
    tmagen_kernel *kernel;
    tmagen_address workspace;
    long wrong = 0;
    if (argc != 3) return 2;
    check(tmagen_device_open(argv[1], &device));
    check(tmagen_kernel_load(device, argv[2], NULL, &kernel));
    check(tmagen_memory_alloc(device, WORKSPACE, &workspace));
    check(tmagen_memory_fill(device, workspace, 0xff, WORKSPACE));
    tmagen_tensor tensors[] = {{.name = "a", .rank = 2, .dims = {M, K}},
                               {.name = "b", .rank = 2, .dims = {0, K}},
                               {.name = "d", .rank = 2, .dims = {M, 0}}};
    tensors[0].data = filled(device, M * K, ONE);
    tensors[1].data = filled(device, (size_t)N_MOST * K, ONE);
    tensors[2].data = filled(device, M * N_MOST, 0);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; ++i) {
        tmagen_launch launch = {.tensors = tensors, .tensor_count = 3, .splits = 2};
        const size_t bytes = sizeof *d * M * (size_t)columns[i];
        tensors[1].dims[0] = tensors[2].dims[1] = columns[i];
        check(tmagen_kernel_workspace(kernel, &launch, &launch.workspace_bytes));
        if (launch.workspace_bytes > WORKSPACE) return 2;
        launch.workspace = workspace;
        check(tmagen_memory_fill(device, tensors[2].data, 0, bytes));
        check(tmagen_kernel_launch(kernel, NULL, &launch));
        check(tmagen_memory_download(device, d, tensors[2].data, bytes));
        for (size_t j = 0; j < bytes / sizeof *d; ++j) wrong += d[j] != BF16_OF_K;
    }
    printf("%ld wrong elements\n", wrong);
    tmagen_kernel_unload(kernel);
    for (int i = 0; i < 3; ++i) tmagen_memory_free(device, tensors[i].data);
    tmagen_memory_free(device, workspace);
    tmagen_device_close(device);
    return wrong != 0;
}

// Threads and processes that share kernels, as tmagen.h allows it: some launch one kernel, each
// into a matrix of its own, while others load another one from a bundle, launch and unload it; then
// a child of fork() is refused.
// Usage: crowd DEVICE FILE KERNEL OTHER [THREADS ROUNDS]: bf16 products, D = A * B^T.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tmagen.h"

enum { MOST = 64, N = 128, K = 64 };

static tmagen_device *device;
static tmagen_bundle *bundle;
static tmagen_kernel *shared;
static const char *other;
static int rounds;

static void check(int status) {
    if (status == TMAGEN_OK) return;
    fprintf(stderr, "crowd: %s\n", tmagen_error_last());
    exit(1);
}

// A matrix of which each element is the bf16 number [bits].
static tmagen_address filled(int64_t rows, int64_t columns, unsigned short bits) {
    const size_t bytes = (size_t)(rows * columns) * 2;
    unsigned short *host = malloc(bytes);
    tmagen_address address;
    if (!host) exit(1);
    for (size_t i = 0; i < bytes / 2; ++i) host[i] = bits;
    check(tmagen_memory_alloc(device, bytes, &address));
    check(tmagen_memory_upload(device, address, host, bytes));
    free(host);
    return address;
}

// How many elements are not K times the thread's number, which bf16 holds up to 64.
static long wrong(tmagen_address d, int64_t rows, int number) {
    const size_t bytes = (size_t)(rows * N) * 2;
    const float expected = (float)(K * number);
    unsigned short *host = malloc(bytes);
    uint32_t bits;
    long count = 0;
    if (!host) exit(1);
    memcpy(&bits, &expected, sizeof bits);
    check(tmagen_memory_download(device, host, d, bytes));
    for (size_t i = 0; i < bytes / 2; ++i) count += host[i] != bits >> 16;
    free(host);
    return count;
}

static void launch_one(tmagen_kernel *kernel, const tmagen_tensor tensors[3]) {
    check(tmagen_kernel_launch(kernel, NULL,
                               &(tmagen_launch){.tensors = tensors, .tensor_count = 3}));
}

// Odd threads load and unload; each has sizes of its own, which change from round to round.
static void *work(void *argument) {
    const int number = (int)(intptr_t)argument;
    const int64_t rows = 8 * number;
    const float value = (float)number;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    tmagen_tensor tensors[] = {
        {.name = "a", .data = filled(rows, K, (unsigned short)(bits >> 16)), .rank = 2},
        {.name = "b", .data = filled(N, K, 0x3f80), .rank = 2, .dims = {N, K}},
        {.name = "d", .data = filled(rows, N, 0), .rank = 2}};
    for (int round = 0; round < rounds; ++round) {
        const int64_t m = round ? 1 + (round + number) % rows : rows;
        tmagen_kernel *kernel = shared;
        tensors[0].dims[0] = tensors[2].dims[0] = m;
        tensors[0].dims[1] = K, tensors[2].dims[1] = N;
        if (number % 2) check(tmagen_bundle_load(bundle, device, other, &kernel));
        launch_one(kernel, tensors);
        if (kernel == shared) continue;
        check(tmagen_device_synchronize(device));
        tmagen_kernel_unload(kernel);
    }
    check(tmagen_device_synchronize(device));
    const long count = wrong(tensors[2].data, rows, number);
    if (count) printf("thread %d: %ld wrong elements\n", number, count);
    for (int i = 0; i < 3; ++i) tmagen_memory_free(device, tensors[i].data);
    return (void *)(intptr_t)(count != 0);
}

static int run_threads(int count) {
    pthread_t threads[MOST];
    int failed = 0;
    void *result;
    for (int i = 0; i < count; ++i)
        if (pthread_create(&threads[i], NULL, work, (void *)(intptr_t)(i + 1))) exit(1);
    for (int i = 0; i < count; ++i) {
        pthread_join(threads[i], &result);
        failed |= result != NULL;
    }
    return failed;
}

// What a child may do with its parent's handles: be refused, and close them.
static int run_child(void) {
    tmagen_address address;
    fflush(stdout);
    const pid_t child = fork();
    int status = 1;
    if (child < 0) return 1;
    if (!child) {
        status = tmagen_memory_alloc(device, 16, &address);
        printf("a child: %s\n", status ? tmagen_error_last() : "is served");
        fflush(stdout);
        tmagen_kernel_unload(shared);
        tmagen_device_close(device);
        _exit(status != TMAGEN_ERROR_DEVICE);
    }
    return waitpid(child, &status, 0) != child || status;
}

int main(int argc, char **argv) {
    tmagen_device *none;
    if (argc < 5) return 2;
    const int threads = argc > 6 ? atoi(argv[5]) : 8;
    rounds = argc > 6 ? atoi(argv[6]) : 4;
    other = argv[4];
    if (threads < 1 || threads > MOST) return 2;
    check(tmagen_device_open(argv[1], &device));
    check(tmagen_bundle_open(argv[2], &bundle));
    check(tmagen_bundle_load(bundle, device, argv[3], &shared));
    int failed = run_threads(threads);
    printf("%d threads, %d rounds: %s\n", threads, rounds, failed ? "WRONG" : "right");
    failed |= run_child();
    if (tmagen_device_open("cuda:99", &none) == TMAGEN_OK) return 1;
    printf("cuda:99: %s\n", tmagen_error_last());
    tmagen_kernel_unload(shared);
    tmagen_bundle_close(bundle);
    tmagen_device_close(device);
    return failed;
}

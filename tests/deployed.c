// A bundle as a deployed program uses it, in a process of its own: says what each step takes, and
// whether the first launch is right. With BUNDLE defined as a name, as in -DBUNDLE=kernels, the
// bundle is the one of that name linked into the program (tmagen bundle --object).
// Usage: deployed DEVICE FILE KERNEL [TABLE], or without FILE: bf16 products, D = A * B^T.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tmagen.h"

enum { M = 128, N = 256, K = 128 };

static void check(int status) {
    if (status == TMAGEN_OK) return;
    fprintf(stderr, "deployed: %s\n", tmagen_error_last());
    exit(1);
}

// Milliseconds since the latest call.
static double lap(void) {
    static struct timespec before;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const double ms =
        (double)(now.tv_sec - before.tv_sec) * 1e3 + (double)(now.tv_nsec - before.tv_nsec) / 1e6;
    before = now;
    return ms;
}

#ifdef BUNDLE
#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)
#define DATA        JOIN(tmagen_bundle_, BUNDLE)
#define BYTES       JOIN(DATA, _bytes)
extern const unsigned char DATA[];
extern const size_t BYTES;

static int open_bundle(char ***argument, tmagen_bundle **bundle) {
    (void)argument;
    return tmagen_bundle_from_memory(DATA, BYTES, bundle);
}
#else
static int open_bundle(char ***argument, tmagen_bundle **bundle) {
    return tmagen_bundle_open(*(*argument)++, bundle);
}
#endif

static tmagen_address ones(tmagen_device *device, size_t count) {
    unsigned short *host = malloc(count * 2);
    tmagen_address address;
    if (!host) exit(1);
    for (size_t i = 0; i < count; ++i) host[i] = 0x3f80;
    check(tmagen_memory_alloc(device, count * 2, &address));
    check(tmagen_memory_upload(device, address, host, count * 2));
    free(host);
    return address;
}

// Of ones each element is K.
static int wrong(tmagen_device *device, tmagen_address d) {
    static unsigned short host[M * N];
    int count = 0;
    check(tmagen_memory_download(device, host, d, sizeof host));
    check(tmagen_memory_fill(device, d, 0, sizeof host));
    for (int i = 0; i < M * N; ++i) count += host[i] != 0x4300;
    if (count) printf("%d of %d elements are wrong\n", count, M * N);
    return count != 0;
}

int main(int argc, char **argv) {
    tmagen_device *device;
    tmagen_bundle *bundle;
    tmagen_kernel *kernel;
    tmagen_set *set;
    tmagen_kernel_info info;
    char **argument = argv + 2;
    if (argc < 3) return 2;
    check(tmagen_device_open(argv[1], &device));
    const tmagen_address a = ones(device, M * K), b = ones(device, N * K), d = ones(device, M * N);
    const tmagen_tensor tensors[] = {{.name = "a", .data = a, .rank = 2, .dims = {M, K}},
                                     {.name = "b", .data = b, .rank = 2, .dims = {N, K}},
                                     {.name = "d", .data = d, .rank = 2, .dims = {M, N}}};
    tmagen_launch launch = {.tensors = tensors, .tensor_count = 3};
    check(tmagen_device_synchronize(device));

    lap();
    check(open_bundle(&argument, &bundle));
    const double opened = lap();
    check(tmagen_bundle_load(bundle, device, *argument++, &kernel));
    const double loaded = lap();
    check(tmagen_kernel_launch(kernel, NULL, &launch));
    const double launched = lap();
    check(tmagen_device_synchronize(device));
    const double ended = lap();
    check(tmagen_kernel_get_info(kernel, &info));
    printf("bundle opened in %.3f ms, %s loaded in %.3f, %.3f of that the driver's, launched in "
           "%.3f, done in %.3f; all %.3f, beside the driver's load %.3f\n",
           opened, info.name, loaded, info.module_ms, launched, ended,
           opened + loaded + launched + ended, opened + loaded + launched + ended - info.module_ms);
    int failed = wrong(device, d);

    if (*argument) {
        lap();
        check(tmagen_bundle_open_set(bundle, device, *argument, &set));
        const double set_opened = lap();
        check(tmagen_set_workspace(set, &launch, &launch.workspace_bytes));
        check(tmagen_memory_alloc(device, launch.workspace_bytes, &launch.workspace));
        check(tmagen_set_launch(set, NULL, &launch));
        check(tmagen_device_synchronize(device));
        printf("table %s opened in %.3f ms, its first launch done in %.3f\n", *argument, set_opened,
               lap());
        failed |= wrong(device, d);
        tmagen_set_close(set);
    }
    tmagen_bundle_close(bundle);
    tmagen_kernel_unload(kernel);
    tmagen_device_close(device);
    return failed;
}

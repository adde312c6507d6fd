// divide() of templates/ptx/arithmetic.cuh, by which kernels locate their tiles: what it gives is
// what the division of integers gives, by divisors up to 2^24, at their first multiples and around
// those of every size.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/tmagen.h"
#include "runtime/whole_file.h"

enum { DIVISORS = 1024 };

// wrong[i]: how often divide() is wrong by the i-th divisor: all up to 512, then ever larger ones
static const char kernel_text[] =
    "extern \"C\" __global__ void divides(float *wrong, int n) {\n"
    "    const int i = blockIdx.x * 256 + threadIdx.x;\n"
    "    if (i >= n) return;\n"
    "    const int divisor = i < 512 ? i + 1 : 1 + (i * 2654435761u >> (i % 24 + 8));\n"
    "    int count = 0;\n"
    "    for (int shift = 0; shift < 31; ++shift) {\n"
    "        const long multiple = (2147483647u >> shift) / divisor * static_cast<long>(divisor);\n"
    "        for (int behind = -1; behind <= 1; ++behind) {\n"
    "            const long value = multiple + behind;\n"
    "            if (value < 0 || value > 2147483647) continue;\n"
    "            count += divide(value, divisor) != static_cast<int>(value) / divisor;\n"
    "        }\n"
    "    }\n"
    "    for (int quotient = 0; quotient < 64; ++quotient) {\n"
    "        const long multiple = static_cast<long>(quotient) * divisor;\n"
    "        if (multiple <= 2147483647) count += divide(multiple, divisor) != quotient;\n"
    "    }\n"
    "    wrong[i] = count;\n"
    "}\n";

static const char manifest[] =
    "{\"tmagen_manifest\": 2, \"name\": \"divides\", \"family\": \"test\", \"entry\": \"divides\","
    " \"arch\": \"sm_90a\", \"source\": \"divides.cu\", \"block\": [256, 1, 1],"
    " \"cluster\": [1, 1, 1], \"shared_memory\": 0, \"dims\": [{\"name\": \"n\"}],"
    " \"tensors\": [{\"name\": \"wrong\", \"dtype\": \"fp32\", \"dims\": [\"n\"],"
    " \"access\": \"write\"}],"
    " \"grid\": {\"rule\": \"tiles\", \"tiles\": [{\"dim\": \"n\", \"by\": 256}]},"
    " \"params\": [{\"kind\": \"pointer\", \"tensor\": \"wrong\"},"
    " {\"kind\": \"dim\", \"dim\": \"n\", \"type\": \"i32\"}]}";

static void check(int status) {
    if (status) fail_msg("%s", tmagen_error_last());
}

static void test_quotients(void **state) {
    (void)state;
    char *helpers, *source;
    size_t bytes;
    check(tmg_file_read("templates/ptx/arithmetic.cuh", 1 << 20, &helpers, &bytes));
    assert_true(asprintf(&source, "%s\n%s", helpers, kernel_text) > 0);
    tmagen_device *device;
    tmagen_kernel *kernel;
    check(tmagen_device_open("emu", &device));
    const int status = tmagen_kernel_load(device, "divides",
                                          &(tmagen_load_options){.manifest_text = manifest,
                                                                 .source_text = source,
                                                                 .mode = TMAGEN_NO_CACHE},
                                          &kernel);
    if (status == TMAGEN_ERROR_NO_COMPILER) skip();
    check(status);
    tmagen_tensor tensor = {.name = "wrong", .rank = 1, .dims = {DIVISORS}, .strides = {1}};
    static float wrong[DIVISORS];
    check(tmagen_memory_alloc(device, sizeof wrong, &tensor.data));
    check(tmagen_kernel_launch(kernel, NULL,
                               &(tmagen_launch){.tensors = &tensor, .tensor_count = 1}));
    check(tmagen_device_synchronize(device));
    check(tmagen_memory_download(device, wrong, tensor.data, sizeof wrong));
    for (int i = 0; i < DIVISORS; ++i)
        if (wrong[i] != 0) fail_msg("divisor %d of the list: %g wrong", i, (double)wrong[i]);
    tmagen_memory_free(device, tensor.data);
    tmagen_kernel_unload(kernel);
    tmagen_device_close(device);
    free(source);
    free(helpers);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_quotients)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

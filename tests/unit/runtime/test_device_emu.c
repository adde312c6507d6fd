// The emulator as a device: memory with bounds, kernels from PTX, launches that fail where anything
// is reported, and the reports: whole in tmagen_device_reports(), as many as fit in the error.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/binding.h"
#include "runtime/device.h"

// y[i] = x[i]
static const char copy_ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                               ".visible .entry copy(.param .u64 x, .param .u64 y)\n{\n"
                               ".reg .b32 %r<4>;\n.reg .b64 %rd<8>;\n"
                               "ld.param.u64 %rd0, [x];\nld.param.u64 %rd1, [y];\n"
                               "mov.u32 %r0, %tid.x;\nmul.wide.u32 %rd2, %r0, 4;\n"
                               "add.u64 %rd0, %rd0, %rd2;\nadd.u64 %rd1, %rd1, %rd2;\n"
                               "ld.global.u32 %r1, [%rd0];\nst.global.u32 [%rd1], %r1;\nret;\n}\n";
static const size_t copy_params[] = {8, 8};

enum { COUNT = 32, BYTES = 4 * COUNT };

struct copy_kernel {
    tmagen_device *device;
    void *module;
    tmagen_address x, y;
    uint32_t values[COUNT];
};

static int load(tmagen_device *device, const char *ptx, const size_t *params, size_t count,
                void **module) {
    struct tmg_module_info info;
    const struct tmg_module_source source = {.code = ptx,
                                             .bytes = strlen(ptx),
                                             .entry = "copy",
                                             .param_bytes = params,
                                             .param_count = count,
                                             .block = {COUNT, 1, 1},
                                             .cluster = {1, 1, 1}};
    return device->backend->module_load(device->state, &source, module, &info);
}

// left of 4 rows of [left] / 4 words, right of 32, which alone is written.
static struct tmg_binding bind(const struct copy_kernel *copy, int64_t left) {
    static struct tmg_tensor tensors[] = {
        {.name = "left", .dtype = TMG_DTYPE_FP32, .rank = 2},
        {.name = "right", .dtype = TMG_DTYPE_FP32, .rank = 1, .writes = 1}};
    static struct tmg_manifest manifest = {.tensors = tensors, .tensor_count = 2};
    return (struct tmg_binding){
        .manifest = &manifest,
        .tensors = {{.data = copy->x, .dims = {4, left / 4}, .strides = {left / 4, 1}},
                    {.data = copy->y, .dims = {COUNT}, .strides = {1}}}};
}

static int launch_bound(const struct copy_kernel *copy, const struct tmg_binding *binding,
                        unsigned flags) {
    tmagen_address x = copy->x, y = copy->y;
    void *params[] = {&x, &y};
    const struct tmg_launch_config config = {.grid = {1, 1, 1},
                                             .block = {COUNT, 1, 1},
                                             .cluster = {1, 1, 1},
                                             .flags = flags,
                                             .binding = binding};
    return copy->device->backend->launch(copy->device->state, copy->module, &config, NULL, params);
}

static int launch(const struct copy_kernel *copy) {
    const struct tmg_binding binding = bind(copy, COUNT);
    return launch_bound(copy, &binding, 0);
}

static int setup(void **state) {
    static struct copy_kernel copy;
    for (uint32_t i = 0; i < COUNT; ++i) copy.values[i] = i * i;
    *state = &copy;
    return tmagen_device_open("emu:7", &copy.device) ||
           load(copy.device, copy_ptx, copy_params, 2, &copy.module) ||
           tmagen_memory_alloc(copy.device, BYTES, &copy.x) ||
           tmagen_memory_alloc(copy.device, BYTES, &copy.y);
}

static int teardown(void **state) {
    struct copy_kernel *copy = *state;
    copy->device->backend->module_unload(copy->device->state, copy->module);
    tmagen_device_close(copy->device);
    return 0;
}

static void must_say(const char *text, const char *part) {
    if (!strstr(text, part)) fail_msg("no '%s' in: %s", part, text);
}

static void test_names(void **state) {
    (void)state;
    tmagen_device *device;
    tmagen_device_info info;
    assert_int_equal(tmagen_device_open("emu:2147483647", &device), TMAGEN_OK);
    assert_int_equal(tmagen_device_get_info(device, &info), TMAGEN_OK);
    assert_string_equal(info.backend, "emu");
    assert_true(info.sms >= 4 && info.shared_memory_per_block == 232448);
    tmagen_device_close(device);
    static const char *const wrong[] = {"emu:",           "emu:-1", "emu:x", "emu:+1",
                                        "emu:2147483648", "emul",   "em",    "emu: 1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i)
        assert_int_equal(tmagen_device_open(wrong[i], &device), TMAGEN_ERROR_ARGUMENT);
}

static void test_memory(void **state) {
    struct copy_kernel *copy = *state;
    uint32_t back[COUNT];
    assert_int_equal(tmagen_memory_upload(copy->device, copy->x, copy->values, BYTES), TMAGEN_OK);
    assert_int_equal(tmagen_memory_fill(copy->device, copy->x + 4, 0x11, 4), TMAGEN_OK);
    assert_int_equal(tmagen_memory_download(copy->device, back, copy->x, BYTES), TMAGEN_OK);
    assert_int_equal(back[1], 0x11111111);
    assert_int_equal(back[5], 25);
    assert_int_equal(tmagen_memory_upload(copy->device, copy->x + 4, back, BYTES),
                     TMAGEN_ERROR_ARGUMENT);
    must_say(tmagen_error_last(), "not inside one allocation");
    assert_int_equal(tmagen_memory_download(copy->device, back, 4096, 4), TMAGEN_ERROR_ARGUMENT);
    assert_int_equal(tmagen_memory_fill(copy->device, copy->x - 1, 0, 4), TMAGEN_ERROR_ARGUMENT);
    tmagen_memory_free(copy->device, 4096);  // nothing there: nothing happens
}

// An address says which device it is of: what belongs to another one is nothing here.
static void test_address_of_another_device(void **state) {
    struct copy_kernel copy = *(struct copy_kernel *)*state;
    uint32_t back[COUNT];
    tmagen_device *other;
    tmagen_address there;
    assert_int_equal(tmagen_device_open("emu", &other), TMAGEN_OK);
    assert_int_equal(tmagen_memory_alloc(other, BYTES, &there), TMAGEN_OK);
    assert_int_equal(tmagen_memory_download(copy.device, back, there, BYTES),
                     TMAGEN_ERROR_ARGUMENT);
    copy.x = there;
    assert_int_equal(launch(&copy), TMAGEN_ERROR_DEVICE);
    must_say(tmagen_device_reports(copy.device), "where nothing is");
    tmagen_device_close(other);
}

static void test_budget(void **state) {
    struct copy_kernel *copy = *state;
    const tmagen_budget none = {0}, few = {.steps = 1}, small = {.memory_bytes = 1000};
    assert_int_equal(tmagen_device_set_budget(NULL, &few), TMAGEN_ERROR_ARGUMENT);
    assert_int_equal(tmagen_device_set_budget(copy->device, &few), TMAGEN_OK);
    assert_int_equal(launch(copy), TMAGEN_ERROR_DEVICE);
    must_say(tmagen_device_reports(copy->device), "1 warp instructions are spent (max_steps)");
    assert_int_equal(tmagen_device_set_budget(copy->device, &small), TMAGEN_OK);
    assert_int_equal(launch(copy), TMAGEN_ERROR_ARGUMENT);
    must_say(tmagen_error_last(), "(max_memory)");
    void *module;
    assert_int_equal(load(copy->device, copy_ptx, copy_params, 2, &module), TMAGEN_ERROR_DEVICE);
    must_say(tmagen_error_last(), "to read it takes more");
    assert_int_equal(tmagen_device_set_budget(copy->device, &none), TMAGEN_OK);
    tmagen_device_cancel(copy->device);
    tmagen_memory_upload(copy->device, copy->x, copy->values, BYTES);
    assert_int_equal(launch(copy), TMAGEN_ERROR_DEVICE);
    must_say(tmagen_device_reports(copy->device), "it was told to end");
    assert_int_equal(launch(copy), TMAGEN_OK);
    assert_string_equal(tmagen_device_reports(NULL), "");
    tmagen_device_cancel(NULL);
}

static void test_launch(void **state) {
    struct copy_kernel *copy = *state;
    uint32_t back[COUNT];
    tmagen_memory_upload(copy->device, copy->x, copy->values, BYTES);
    assert_int_equal(launch(copy), TMAGEN_OK);
    assert_string_equal(tmagen_device_reports(copy->device), "");
    tmagen_memory_download(copy->device, back, copy->y, BYTES);
    assert_memory_equal(back, copy->values, BYTES);
}

// A kernel that does not wait for the one before it may not overlap it; it does not where something
// else lies between the two.
static void test_overlap(void **state) {
    struct copy_kernel *copy = *state;
    const struct tmg_binding binding = bind(copy, COUNT);
    tmagen_memory_upload(copy->device, copy->x, copy->values, BYTES);
    for (int between = 0; between < 4; ++between) {
        assert_int_equal(launch(copy), TMAGEN_OK);
        if (between == 1) tmagen_memory_upload(copy->device, copy->x, copy->values, BYTES);
        if (between == 2) tmagen_memory_fill(copy->device, copy->y, 0, BYTES);
        if (between == 3) tmagen_device_synchronize(copy->device);
        assert_int_equal(launch_bound(copy, &binding, TMAGEN_LAUNCH_OVERLAP),
                         between ? TMAGEN_OK : TMAGEN_ERROR_DEVICE);
        if (!between)
            must_say(tmagen_device_reports(copy->device),
                     "which the kernel before this one writes");
    }
}

// %nsmid is the device's, or the launch's, where that is for more.
static void test_sms(void **state) {
    struct copy_kernel *copy = *state;
    static const int64_t sms[] = {0, 2, 9}, expected[] = {4, 4, 9};
    static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                              ".visible .entry copy(.param .u64 x, .param .u64 y)\n{\n"
                              ".reg .b32 %r<4>;\n.reg .b64 %rd<8>;\nld.param.u64 %rd1, [y];\n"
                              "mov.u32 %r0, %nsmid;\nst.global.u32 [%rd1], %r0;\nret;\n}\n";
    struct copy_kernel other = *copy;
    struct tmg_binding binding = bind(copy, COUNT);
    assert_int_equal(load(copy->device, ptx, copy_params, 2, &other.module), TMAGEN_OK);
    for (int i = 0; i < 3; ++i) {
        uint32_t seen = 0;
        binding.sms = sms[i];
        assert_int_equal(launch_bound(&other, &binding, 0), TMAGEN_OK);
        tmagen_memory_download(copy->device, &seen, copy->y, sizeof seen);
        assert_int_equal(seen, expected[i]);
    }
    copy->device->backend->module_unload(copy->device->state, other.module);
}

// Filled bytes are written ones, poisoned bytes are not; each launch has the next seed.
static void test_poison(void **state) {
    struct copy_kernel *copy = *state;
    assert_int_equal(tmagen_memory_fill(copy->device, copy->x, 0xff, BYTES), TMAGEN_OK);
    assert_int_equal(launch(copy), TMAGEN_OK);
    assert_int_equal(tmg_memory_poison(copy->device, copy->x, 0xff, BYTES), TMAGEN_OK);
    assert_int_equal(launch(copy), TMAGEN_ERROR_DEVICE);
    const char *reports = tmagen_device_reports(copy->device);
    must_say(reports, "uninitialised read in copy");
    must_say(reports, "at offset 0 of left, element [0, 0] was never written");
    must_say(reports, "in the order of seed 8\n\n");
    must_say(tmagen_error_last(), "copy: the emulator reports\nuninitialised read");
    tmagen_memory_upload(copy->device, copy->x, copy->values, BYTES);
    assert_int_equal(launch(copy), TMAGEN_OK);
    assert_string_equal(tmagen_device_reports(copy->device), "");
}

static void test_bounds(void **state) {
    struct copy_kernel copy = *(struct copy_kernel *)*state;
    tmagen_memory_upload(copy.device, copy.x, copy.values, BYTES);
    assert_int_equal(launch_bound(&copy, NULL, 0), TMAGEN_OK);
    copy.x += 4;
    assert_int_equal(launch_bound(&copy, NULL, 0), TMAGEN_ERROR_DEVICE);
    must_say(tmagen_device_reports(copy.device), "out of bounds in copy");
    must_say(tmagen_device_reports(copy.device), "at offset 128 of buffer 1, which has 128 bytes");
    assert_int_equal(launch(&copy), TMAGEN_ERROR_DEVICE);
    must_say(tmagen_device_reports(copy.device),
             "at offset 124 of left, beyond the 128 bytes of buffer 1");
    copy.x -= 4;
    assert_int_equal(tmagen_memory_alloc(copy.device, 4, &copy.y), TMAGEN_OK);
    assert_int_equal(launch(&copy), TMAGEN_ERROR_DEVICE);
    must_say(tmagen_device_reports(copy.device),
             "at offset 4 of right, beyond the 4 bytes of buffer 3");
}

// Of tensors in one allocation each is known by its name and ends where it ends.
static void test_tensors_of_one_allocation(void **state) {
    struct copy_kernel copy = *(struct copy_kernel *)*state;
    enum { GAP = 64 };
    tmagen_address all;
    assert_int_equal(tmagen_memory_alloc(copy.device, 3 * BYTES + GAP, &all), TMAGEN_OK);
    copy.x = all + BYTES;
    copy.y = copy.x + BYTES + GAP;
    assert_int_equal(tmagen_memory_fill(copy.device, all, 0, 3 * BYTES + GAP), TMAGEN_OK);
    assert_int_equal(launch(&copy), TMAGEN_OK);

    assert_int_equal(tmg_memory_poison(copy.device, copy.x + 36, 0xff, 4), TMAGEN_OK);
    assert_int_equal(launch(&copy), TMAGEN_ERROR_DEVICE);
    must_say(tmagen_device_reports(copy.device), "at offset 36 of left, element [1, 1] was never");
    assert_int_equal(tmagen_memory_fill(copy.device, all, 0, 3 * BYTES + GAP), TMAGEN_OK);

    // the gap behind a tensor, what lies before it, and what belongs to nobody
    const struct tmg_binding less = bind(&copy, COUNT - 4);
    assert_int_equal(launch_bound(&copy, &less, 0), TMAGEN_ERROR_DEVICE);
    must_say(tmagen_device_reports(copy.device),
             "read of 4 bytes at offset 112 of left, which has 112 bytes, 80 bytes before right");
    const struct tmg_binding there = bind(&copy, COUNT);
    copy.x -= 4;
    assert_int_equal(launch_bound(&copy, &there, 0), TMAGEN_ERROR_DEVICE);
    must_say(tmagen_device_reports(copy.device),
             "read of 4 bytes at offset 124 of buffer 3, 4 bytes before left");
    copy.x += 4;

    // a tensor that is only read
    copy.y = copy.x;
    assert_int_equal(launch_bound(&copy, &there, 0), TMAGEN_ERROR_DEVICE);
    must_say(tmagen_device_reports(copy.device),
             "write of 4 bytes at offset 0 of left, element [0, 0], which it may not write");
    const struct tmg_binding both = bind(&copy, COUNT);  // left and right are one memory
    assert_int_equal(launch_bound(&copy, &both, 0), TMAGEN_OK);
}

static void test_refused_modules(void **state) {
    struct copy_kernel *copy = *state;
    static const size_t wrong[] = {8, 4}, more[] = {8, 8, 8};
    void *module;
    assert_int_equal(load(copy->device, copy_ptx, wrong, 2, &module), TMAGEN_ERROR_MANIFEST);
    must_say(tmagen_error_last(), "parameter 1 has 8 bytes in the kernel and 4 in the manifest");
    assert_int_equal(load(copy->device, copy_ptx, more, 3, &module), TMAGEN_ERROR_MANIFEST);
    must_say(tmagen_error_last(), "the kernel has 2 parameters, its manifest 3");
    assert_int_equal(
        load(copy->device, ".version 8.0\n.target sm_80\nnonsense", copy_params, 2, &module),
        TMAGEN_ERROR_DEVICE);
    must_say(tmagen_error_last(), "copy.ptx:3:1");
}

// More reports than the error has room for: it ends with how many there are.
static void test_many_reports(void **state) {
    enum { LOADS = 80 };
    struct copy_kernel copy = *(struct copy_kernel *)*state;
    char ptx[8192];
    int used = snprintf(ptx, sizeof ptx,
                        ".version 8.0\n.target sm_80\n.address_size 64\n"
                        ".visible .entry copy(.param .u64 x, .param .u64 y)\n{\n"
                        ".reg .b32 %%r<2>;\n.reg .b64 %%rd<2>;\nld.param.u64 %%rd0, [x];\n");
    for (int i = 0; i < LOADS; ++i)
        used += snprintf(ptx + used, sizeof ptx - (size_t)used,
                         "ld.global.u32 %%r1, [%%rd0+%d];\nadd.u32 %%r0, %%r0, %%r1;\n", i * 4);
    snprintf(ptx + used, sizeof ptx - (size_t)used, "ret;\n}\n");
    assert_int_equal(load(copy.device, ptx, copy_params, 2, &copy.module), TMAGEN_OK);
    assert_int_equal(tmagen_memory_alloc(copy.device, 4 * LOADS, &copy.x), TMAGEN_OK);
    assert_int_equal(launch(&copy), TMAGEN_ERROR_DEVICE);
    must_say(tmagen_error_last(), " more reports");
    int count = 0;
    for (const char *at = tmagen_device_reports(copy.device); (at = strstr(at, "\n\n")); at += 2)
        ++count;
    assert_true(count >= 32);
    copy.device->backend->module_unload(copy.device->state, copy.module);
}

static void *launch_often(void *context) {
    int failed = 0;
    for (int i = 0; i < 50; ++i) failed |= launch(context);
    return failed ? context : NULL;
}

static void test_threads(void **state) {
    struct copy_kernel *copy = *state;
    pthread_t threads[4];
    void *failed;
    tmagen_memory_upload(copy->device, copy->x, copy->values, BYTES);
    for (int i = 0; i < 4; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, launch_often, copy), 0);
    for (int i = 0; i < 4; ++i) {
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test_setup_teardown(test_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(test_address_of_another_device, setup, teardown),
        cmocka_unit_test_setup_teardown(test_budget, setup, teardown),
        cmocka_unit_test_setup_teardown(test_launch, setup, teardown),
        cmocka_unit_test_setup_teardown(test_overlap, setup, teardown),
        cmocka_unit_test_setup_teardown(test_sms, setup, teardown),
        cmocka_unit_test_setup_teardown(test_poison, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bounds, setup, teardown),
        cmocka_unit_test_setup_teardown(test_tensors_of_one_allocation, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused_modules, setup, teardown),
        cmocka_unit_test_setup_teardown(test_many_reports, setup, teardown),
        cmocka_unit_test_setup_teardown(test_threads, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

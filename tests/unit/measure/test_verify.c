// verify_run on a device of its own: memory is the host's and the kernel is C, with faults to
// choose. Every fault that a kernel may have must be found, and a right kernel must pass.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "measure/verify.h"
#include "runtime/device.h"
#include "runtime/error.h"
#include "measure/numbers.h"
#include "tests/unit/fakes.h"
#include "tests/unit/measure/gemm_manifest.h"
#include "tests/unit/measure/reference_fixture.h"

static const char manifest[] = GEMM_MANIFEST("bf16", "bf16");

enum fault {
    NO_FAULT,
    WRITES_NOTHING,
    SKIPS_LAST_ROW,
    IGNORES_LAST_K,
    WRITES_BEHIND,
    WRITES_BEFORE,
    WRITES_INTO_GAP,
    WRITES_INTO_INPUT,
    READS_BEHIND_ROW,
    MOVES,
    KEEPS_A_SEMAPHORE,
    FAILS,
};
static enum fault fault;
static int launches;

struct gemm_arguments {
    uint16_t *a, *b, *bias, *d;
    int32_t m, n, k;
    int64_t a_stride, b_stride, d_stride;
    uint32_t *semaphores;  // a word for each of 4 tiles; NULL: it has none
};
static bool has_semaphores;

static float bf16(const uint16_t *at) {
    float value;
    num_decode(TMG_DTYPE_BF16, at, &value, 1);
    return value;
}

// As a GPU does, it gives any NaN the one positive form.
static void gemm(const struct gemm_arguments *p) {
    const int32_t rows = fault == SKIPS_LAST_ROW ? p->m - 1 : p->m;
    const int32_t k_end = fault == IGNORES_LAST_K     ? p->k - 1
                          : fault == READS_BEHIND_ROW ? p->k + 1
                                                      : p->k;
    for (int32_t i = 0; i < rows; ++i) {
        for (int32_t j = 0; j < p->n; ++j) {
            float sum = bf16(&p->bias[j]);
            for (int32_t k = 0; k < k_end; ++k) {
                sum += bf16(&p->a[i * p->a_stride + k]) * bf16(&p->b[j * p->b_stride + k]);
            }
            num_encode(TMG_DTYPE_BF16, isnan(sum) ? NAN : sum, &p->d[i * p->d_stride + j]);
        }
    }
}

static void plant(const struct gemm_arguments *p) {
    const uint16_t one = 0x3f80;
    if (fault == WRITES_BEHIND) p->d[(p->m - 1) * p->d_stride + p->d_stride] = one;
    if (fault == WRITES_BEFORE) p->d[-1] = one;
    if (fault == WRITES_INTO_GAP && p->d_stride > p->n) p->d[p->n] = one;
    if (fault == WRITES_INTO_INPUT) p->a[0] = one;
    if (fault == MOVES && launches == 3) p->d[5] = (uint16_t)(p->d[5] + 1);
    if (fault == KEEPS_A_SEMAPHORE) p->semaphores[1] = 1;
}

static int launch(void *state, void *module, const struct tmg_launch_config *config, void *stream,
                  void **params) {
    struct gemm_arguments p = {0};
    (void)state, (void)module, (void)config, (void)stream;
    memcpy(&p.a, params[0], 8), memcpy(&p.b, params[1], 8), memcpy(&p.bias, params[2], 8);
    memcpy(&p.d, params[3], 8), memcpy(&p.m, params[4], 4), memcpy(&p.n, params[5], 4);
    memcpy(&p.k, params[6], 4), memcpy(&p.a_stride, params[7], 8);
    memcpy(&p.b_stride, params[8], 8), memcpy(&p.d_stride, params[9], 8);
    ++launches;
    if (has_semaphores) memcpy(&p.semaphores, params[10], 8);
    for (int tile = 0; has_semaphores && tile < 4; ++tile)
        if (p.semaphores[tile]) return tmg_fail(TMAGEN_ERROR_DEVICE, "a semaphore is not zero");
    if (fault == FAILS) return tmg_fail(TMAGEN_ERROR_DEVICE, "an illegal memory access");
    if (fault == WRITES_NOTHING) return TMAGEN_OK;
    gemm(&p);
    plant(&p);
    return TMAGEN_OK;
}

// Must be 0 at the end of each test. What is allocated from 0 on is at the same addresses again,
// and holds what nobody wants.
static int allocated;

static int alloc(void *state, size_t bytes, tmagen_address *address) {
    static _Alignas(256) uint8_t memory[1 << 20];
    static size_t used;
    (void)state;
    if (!allocated++) used = 0;
    *address = (tmagen_address)(uintptr_t)&memory[used];
    used += (bytes + 255) / 256 * 256;
    if (used > sizeof memory) return tmg_fail_memory();
    memset((void *)(uintptr_t)*address, 0x77, bytes);
    return TMAGEN_OK;
}

static void release(void *state, tmagen_address address) {
    (void)state;
    allocated -= address != 0;
}

static int copy_in(void *state, tmagen_address to, const void *from, size_t bytes) {
    (void)state;
    memcpy((void *)(uintptr_t)to, from, bytes);
    return TMAGEN_OK;
}

static int copy_out(void *state, void *to, tmagen_address from, size_t bytes) {
    (void)state;
    memcpy(to, (void *)(uintptr_t)from, bytes);
    return TMAGEN_OK;
}

static int fill(void *state, tmagen_address to, uint8_t byte, size_t bytes) {
    (void)state;
    memset((void *)(uintptr_t)to, byte, bytes);
    return TMAGEN_OK;
}

static int clear(void *state, tmagen_address to, size_t bytes, void *stream) {
    (void)stream;
    return fill(state, to, 0, bytes);
}

static int synchronize(void *state) {
    (void)state;
    return TMAGEN_OK;
}

static int load(void *state, const struct tmg_module_source *source, void **module,
                struct tmg_module_info *info) {
    (void)state, (void)source;
    *module = &launches;
    *info = (struct tmg_module_info){.blocks_per_sm = 1};
    return TMAGEN_OK;
}

static void unload(void *state, void *module) { (void)state, (void)module; }
static void close_device(void *state) { (void)state; }

static const struct tmg_backend backend = {
    .name = "host",
    .kind = TMAGEN_PTX,
    .close = close_device,
    .synchronize = synchronize,
    .alloc = alloc,
    .free = release,
    .upload = copy_in,
    .download = copy_out,
    .fill = fill,
    .clear_async = clear,
    .module_load = load,
    .module_unload = unload,
    .launch = launch,
};
static tmagen_device device = {
    .backend = &backend, .holders = 1, .info = {.backend = "host", .arch = "sm_90", .sms = 4}};

static bool check_only;  // of verify()

static struct verify_result *verify(enum fault planted, int64_t padding) {
    static struct verify_result result;
    const tmagen_load_options options = {
        .manifest_text = manifest, .source_text = "kernel", .mode = TMAGEN_NO_CACHE};
    const int64_t dims[] = {139, 104, 72};
    const struct verify_case what = {.name = "gemm",
                                     .dims = dims,
                                     .row_padding = padding,
                                     .inputs = "",
                                     .seed = 11,
                                     .runs = 4,
                                     .check_only = check_only};
    tmagen_kernel *kernel;
    fault = planted;
    launches = 0;
    if (tmagen_kernel_load(&device, "gemm", &options, &kernel)) {
        fail_msg("%s", tmagen_error_last());
    }
    struct reference reference;
    open_built(tmg_kernel_manifest(kernel), &reference);
    verify_run(&device, kernel, &reference, &what, &result);
    tmagen_kernel_unload(kernel);
    assert_int_equal(allocated, 0);
    return &result;
}

static void test_a_right_kernel_passes(void **state) {
    (void)state;
    for (int64_t padding = 0; padding <= 64; padding += 64) {
        const struct verify_result *result = verify(NO_FAULT, padding);
        assert_string_equal(result->report, "");
        assert_int_equal(result->verdict, VERIFY_OK);
        assert_int_equal(launches, 4);
        assert_int_equal(result->elements, 139 * 104);
        assert_int_equal(result->checked, 139 * 104);
    }
}

static void test_each_fault_is_found(void **state) {
    (void)state;
    static const struct {
        enum fault fault;
        int64_t padding;
        const char *message;
    } rows[] = {
        {WRITES_NOTHING, 0, "d: 14456 of 14456 elements never written\n"},
        {WRITES_NOTHING, 64, "d: 14456 of 14456 elements never written\n"},
        {SKIPS_LAST_ROW, 0, "d: 104 of 14456 elements never written\n"},
        {IGNORES_LAST_K, 0, "elements computed by the reference are wrong\n"},
        {WRITES_BEHIND, 0, "d: wrote outside the tensor: behind it, byte 28912 from its start"},
        {WRITES_BEFORE, 0, "d: wrote outside the tensor: before it, byte -2 from its start"},
        {WRITES_INTO_GAP, 64, "d: wrote outside the tensor: between two rows, byte 208 from"},
        {WRITES_INTO_INPUT, 0, "a: the kernel wrote into this input\n"},
        {READS_BEHIND_ROW, 64, "d: 14456 of 14456 elements not a number or infinite\n"},
        {MOVES, 0, "d: 1 elements differ between run 1 and run 3 on the same inputs: a race\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        const struct verify_result *result = verify(rows[i].fault, rows[i].padding);
        if (!strstr(result->report, rows[i].message)) {
            fail_msg("fault %d: \"%s\" is not in:\n%s", rows[i].fault, rows[i].message,
                     result->report);
        }
        assert_int_equal(result->verdict, VERIFY_WRONG);
    }
}

// The manifest, with a workspace of semaphores that are zero at the first launch.
static const char *with_semaphores(void) {
    static char text[sizeof manifest + 300];
    const char *behind = strstr(manifest, "], \"reference\"");
    assert_non_null(behind);
    snprintf(text, sizeof text,
             "%.*s, {\"kind\": \"workspace\", \"part\": \"semaphores\"}], \"workspace\": "
             "[{\"name\": \"semaphores\", \"bytes\": 4, \"per\": \"tile\", \"zero\": "
             "\"first\"}%s",
             (int)(behind - manifest), manifest, behind);
    return text;
}

// Two cases of a kernel have their workspaces at one address, where the library clears the
// semaphores for the first of them only; whoever leaves one behind is found.
static void test_semaphores_are_zero_before_and_after(void **state) {
    (void)state;
    const tmagen_load_options options = {
        .manifest_text = with_semaphores(), .source_text = "kernel", .mode = TMAGEN_NO_CACHE};
    const int64_t dims[] = {139, 104, 72};
    const struct verify_case what = {
        .name = "gemm", .dims = dims, .inputs = "", .seed = 11, .runs = 2};
    struct verify_result result;
    struct reference reference;
    tmagen_kernel *kernel;
    has_semaphores = true;
    fault = NO_FAULT;
    if (tmagen_kernel_load(&device, "gemm", &options, &kernel)) fail_msg("%s", tmagen_error_last());
    open_built(tmg_kernel_manifest(kernel), &reference);
    for (int number = 0; number < 2; ++number) {
        verify_run(&device, kernel, &reference, &what, &result);
        assert_string_equal(result.report, "");
        assert_int_equal(result.verdict, VERIFY_OK);
        assert_int_equal(allocated, 0);
    }
    fault = KEEPS_A_SEMAPHORE;
    verify_run(&device, kernel, &reference, &what, &result);
    assert_non_null(strstr(result.report, "byte 4 of semaphores is not zero after run 1, as the"));
    assert_int_equal(result.verdict, VERIFY_WRONG);
    tmagen_kernel_unload(kernel);
    has_semaphores = false;
}

static void test_a_failing_device_is_reported(void **state) {
    (void)state;
    const struct verify_result *result = verify(FAILS, 0);
    assert_int_equal(result->verdict, VERIFY_BROKEN);
    assert_non_null(strstr(result->report, "an illegal memory access"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_right_kernel_passes),
        cmocka_unit_test(test_each_fault_is_found),
        cmocka_unit_test(test_semaphores_are_zero_before_and_after),
        cmocka_unit_test(test_a_failing_device_is_reported),
    };
    use_fake("TMAGEN_NVRTC", "nvrtc.so");
    return cmocka_run_group_tests(tests, NULL, NULL);
}

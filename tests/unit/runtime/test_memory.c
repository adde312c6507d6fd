// Sets where memory lacks for a moment: what is said of it, and that nothing stays of it.
#include <errno.h>

#include "tests/unit/runtime/set_fixture.h"

// The sanitizers have an allocator of their own: there, none fails.
static _Atomic long allocations, denied = -1;  // the one of them that fails
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__)

extern void *__libc_malloc(size_t bytes);
void *malloc(size_t bytes) {
    if (allocations++ == denied) return errno = ENOMEM, NULL;
    return __libc_malloc(bytes);
}

#endif

static void test_memory_that_comes_back(void **state) {
    (void)state;
    const tmagen_launch *launch = &rows_of(100, 64, 0)->launch;
    fake->load_result = CUDA_ERROR_OUT_OF_MEMORY;
    assert_int_equal(tmagen_set_launch(set, NULL, launch), TMAGEN_ERROR_MEMORY);
    fake->load_result = CUDA_SUCCESS;
    assert_string_equal(taken(rows_of(100, 64, 0)), "small");  // as if it had been there before
}

// Whichever allocation fails, that is what is said, but for the few after which jansson reads on,
// a byte of the text lost.
static void test_without_memory(void **state) {
    (void)state;
    int status = TMAGEN_OK;
    long failed = 0, blamed = 0;
    for (long i = 0; allocations && !(i && !status); ++i) {
        tmagen_set *opened = NULL;
        denied = allocations + i;
        status = open_set_of(table_text, 0, &opened);
        denied = -1;
        tmagen_set_close(opened);
        failed += status != TMAGEN_OK;
        blamed += status == TMAGEN_ERROR_MANIFEST;
        if (status && status != TMAGEN_ERROR_MEMORY && status != TMAGEN_ERROR_MANIFEST)
            fail_msg("%ld: %s", i, tmagen_error_last());
    }
    if (allocations) assert_in_range(failed, 100, 100000);
    if (allocations) assert_in_range(blamed, 0, failed / 50);
}

int main(void) {
    use_fake("TMAGEN_LIBCUDA", "cuda.so");
    use_fake("TMAGEN_NVRTC", "nvrtc.so");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_memory_that_comes_back, open_set, close_set),
        cmocka_unit_test_setup_teardown(test_without_memory, open_set, close_set),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}

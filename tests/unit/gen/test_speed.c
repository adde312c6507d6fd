// What generation costs as a process of its own: under 13 ms where a digest takes DIGEST_MS (how
// many instructions, to a tenth, cli/gen_instructions counts); and a first compile: under .4 s
// where NVRTC takes 30 ms for a kernel that does nothing. By those yardsticks and on the CPU's
// clock, since the machine may be slower, or busy.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "gen/embed.h"
#include "runtime/tmagen.h"
#include "tests/unit/yardstick.h"

extern char **environ;

enum { COLD_ROUNDS = 8 };
static const double most = 0.75;     // digests; .32 where it was set, .48 beside a dozen processes
static const double most_cold = 13;  // empty kernels; 9 to 10 where it was set

static bool ends_with(const char *path, const char *end) {
    const size_t len = strlen(path), end_len = strlen(end);
    return len >= end_len && !strcmp(path + len - end_len, end);
}

// Nothing of the program's own is parsed again in every run.
static void test_compiled(void **state) {
    (void)state;
    for (size_t i = 0; i < embed_files_count; i++) {
        const struct embed_file *file = &embed_files[i];
        const bool lua = ends_with(file->path, ".lua") || ends_with(file->path, ".in");
        if (lua != (file->code < file->code_end)) fail_msg("%s", file->path);
    }
}

static double empty_ms(void) {
    static const char source[] = "extern \"C\" __global__ void empty() {}\n";
    const tmagen_compile_options options = {
        .arch = "sm_90a", .name = "empty.cu", .mode = TMAGEN_NO_CACHE};
    tmagen_code code;
    const double before = used_ms();
    if (tmagen_compile(source, sizeof source - 1, &options, &code))
        fail_msg("%s", tmagen_error_last());
    tmagen_code_free(&code);
    return used_ms() - before;
}

static double ms(struct timeval time) {
    return (double)time.tv_sec * 1e3 + (double)time.tv_usec / 1e3;
}

// What tmagen takes for [spec] with this command; NULL: to compile it.
static double tmagen_ms(char *command, char *spec) {
    char *with[] = {getenv("TMAGEN"), command, "-o", getenv("TMPDIR"), spec, NULL};
    char *without[] = {getenv("TMAGEN"), "-o", getenv("TMPDIR"), spec, NULL};
    char **arguments = command ? with : without;
    struct rusage used;
    pid_t child;
    int status;
    assert_int_equal(posix_spawn(&child, arguments[0], NULL, NULL, arguments, environ), 0);
    assert_int_equal(wait4(child, &status, 0, &used), child);
    assert_int_equal(status, 0);
    return ms(used.ru_utime) + ms(used.ru_stime);
}

// How often [spec] is generated in a digest of a MiB.
static double generations(const void *spec) {
    const double ms = tmagen_ms("gen", (char *)spec);
    return digest_ms() / ms;
}

static void test_specs(void **state) {
    (void)state;
    static char *const specs[] = {"specs/gemm_256x128.yaml", "specs/gemm_patch_embedding.yaml",
                                  "specs/deform_attn_padded.yaml"};
    if (!getenv("TMAGEN") || !getenv("TMPDIR") || getenv("SANITIZED")) skip();
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        const double digests = 1 / typical(generations, specs[i], 1 / most);
        print_message("%s: %.2f digests\n", specs[i], digests);
        if (digests > most) fail_msg("%s takes as long as %.2f digests", specs[i], digests);
    }
}

static void test_first_compile(void **state) {
    (void)state;
    static char spec[] = "specs/gemm_256x128.yaml";
    char text[512], cache[256], *before = getenv("TMAGEN_CACHE");
    if (!getenv("TMAGEN") || !getenv("TMPDIR") || getenv("SANITIZED")) skip();
    if (tmagen_compiler_describe(text, sizeof text)) skip();
    char *own = before ? strdup(before) : NULL;
    double least = 1e9, empty = empty_ms();
    for (int i = 0; i < COLD_ROUNDS && least > most_cold * empty; i++) {
        snprintf(cache, sizeof cache, "%s/cold%d", getenv("TMPDIR"), i);
        setenv("TMAGEN_CACHE", cache, 1);
        const double now = tmagen_ms(NULL, spec);
        if (now < least) least = now;
        for (int k = 0; k < 4; k++) empty = fmin(empty, empty_ms());
    }
    print_message("%s: %.0f ms, %.1f empty kernels\n", spec, least, least / empty);
    if (own) setenv("TMAGEN_CACHE", own, 1);
    free(own);
    if (least > most_cold * empty)
        fail_msg("a first compile takes as long as %.1f empty kernels", least / empty);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compiled),
        cmocka_unit_test(test_specs),
        cmocka_unit_test(test_first_compile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// The cache through tmagen_compile(): hits, misses, other compilers, its care, and why something
// missed.
#include <pthread.h>

#include "tests/unit/runtime/cache_fixture.h"

static void test_second_time_is_a_hit(void **state) {
    (void)state;
    tmagen_code first, second;
    assert_int_equal(compile("#pragma spill", 0, &first), TMAGEN_OK);
    assert_string_equal(tmagen_warning_last(), "");
    assert_int_equal(compile("#pragma spill", 0, &second), TMAGEN_OK);
    assert_false(first.hit);
    assert_true(second.hit);
    assert_int_equal(first.bytes, second.bytes);
    assert_memory_equal(first.data, second.data, first.bytes);
    assert_string_equal(first.key, second.key);
    assert_string_equal(first.compiler, second.compiler);
    assert_memory_equal(&first.resources, &second.resources, sizeof first.resources);
    assert_int_equal(second.resources.spill_load_bytes, 12);
    assert_int_equal(compiles(), 1);
    tmagen_code_free(&first);
    tmagen_code_free(&second);
}

static void test_kinds_are_apart(void **state) {
    (void)state;
    tmagen_code code;
    const tmagen_compile_options ptx = {.arch = "sm_90a", .name = "k.cu", .kind = TMAGEN_PTX};
    assert_false(hits(NULL));
    assert_int_equal(tmagen_compile("source", 6, &ptx, &code), TMAGEN_OK);
    assert_false(code.hit);
    assert_memory_equal(code.data, "// fake PTX", 11);
    assert_int_equal(strlen(code.data), code.bytes);
    tmagen_code_free(&code);
    assert_int_equal(tmagen_compile("source", 6, &ptx, &code), TMAGEN_OK);
    assert_true(code.hit);
    assert_int_equal(strlen(code.data), code.bytes);
    tmagen_code_free(&code);
}

// A cubin that is to be compiled leaves its PTX by the same compile; one that is there gets it.
static void test_a_cubin_with_its_ptx(void **state) {
    (void)state;
    tmagen_code code;
    const tmagen_compile_options ptx = {.arch = "sm_90a", .name = "k.cu", .kind = TMAGEN_PTX};
    tmagen_compile_options both = ptx;
    both.kind = TMAGEN_CUBIN_AND_PTX;
    assert_int_equal(tmagen_compile("#pragma warn", 12, &both, &code), TMAGEN_OK);
    assert_false(code.hit);
    assert_int_equal(code.bytes, 4096);
    assert_int_equal(code.resources.registers, 40);
    tmagen_code_free(&code);
    assert_int_equal(tmagen_compile("#pragma warn", 12, &ptx, &code), TMAGEN_OK);
    assert_true(code.hit);
    assert_memory_equal(code.data, "// fake PTX", 11);
    assert_int_equal(strlen(code.data), code.bytes);
    assert_int_equal(code.resources.registers, -1);
    assert_string_equal(code.log, "k.cu(1): warning: as you wish");
    tmagen_code_free(&code);
    assert_int_equal(compiles(), 1);

    assert_false(hits(NULL));
    for (int pass = 0; pass < 2; ++pass) {
        assert_int_equal(tmagen_compile("source", 6, &both, &code), TMAGEN_OK);
        assert_true(code.hit);
        assert_int_equal(code.bytes, 4096);
        tmagen_code_free(&code);
        assert_int_equal(compiles(), 3);
    }
    both.mode = TMAGEN_FAIL_ON_MISS;
    assert_int_equal(tmagen_compile("other", 5, &both, &code), TMAGEN_ERROR_MISS);
}

// Of any kind, once only: what was half given is nobody's.
static void test_outputs_that_cannot_be_had(void **state) {
    (void)state;
    const tmagen_kind kinds[] = {TMAGEN_CUBIN, TMAGEN_PTX, TMAGEN_CUBIN_AND_PTX};
    for (int i = 0; i < 3; ++i) {
        tmagen_code code;
        const tmagen_compile_options options = {.arch = "sm_90a", .name = "k.cu", .kind = kinds[i]};
        assert_int_equal(tmagen_compile("#pragma keep", 12, &options, &code), TMAGEN_ERROR_COMPILE);
        assert_non_null(strstr(tmagen_error_last(), "NVRTC gave no "));
        assert_int_equal(compiles(), i + 1);
    }
}

static void test_warnings_of_the_compiler_are_kept(void **state) {
    (void)state;
    for (int pass = 0; pass < 2; ++pass) {
        tmagen_code code;
        assert_int_equal(compile("#pragma warn", 0, &code), TMAGEN_OK);
        assert_int_equal(code.hit, pass);
        assert_string_equal(code.log, "k.cu(1): warning: as you wish");
        tmagen_code_free(&code);
    }
}

static void test_errors_are_not_kept(void **state) {
    (void)state;
    tmagen_code code = {0};
    for (int pass = 1; pass <= 2; ++pass) {
        assert_int_equal(compile("#error", 0, &code), TMAGEN_ERROR_COMPILE);
        assert_non_null(
            strstr(tmagen_error_last(), "k.cu does not compile for sm_90a:\nk.cu(1): error"));
        assert_int_equal(compiles(), pass);
    }
    assert_null(code.data);
}

static void test_an_older_nvrtc_knows_fewer_options(void **state) {
    (void)state;
    tmagen_code code;
    setenv("FAKE_NVRTC_OLD", "1", 1);
    assert_int_equal(compile("source", 0, &code), TMAGEN_OK);
    assert_int_equal(code.resources.registers, 40);
    tmagen_code_free(&code);
    unsetenv("FAKE_NVRTC_OLD");
}

static void *compile_in_thread(void *argument) {
    tmagen_code code;
    int status = compile("source", 0, &code);
    if (!status) tmagen_code_free(&code);
    *(int *)argument = status;
    return NULL;
}

static void test_threads_compile_once(void **state) {
    (void)state;
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    int results[THREADS];
    setenv("FAKE_NVRTC_MS", "50", 1);
    for (int i = 0; i < THREADS; ++i)
        pthread_create(&threads[i], NULL, compile_in_thread, &results[i]);
    for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
    unsetenv("FAKE_NVRTC_MS");
    for (int i = 0; i < THREADS; ++i) assert_int_equal(results[i], TMAGEN_OK);
    assert_int_equal(compiles(), 1);
}

static void test_fail_on_miss(void **state) {
    (void)state;
    tmagen_code code;
    assert_int_equal(compile("source", TMAGEN_FAIL_ON_MISS, &code), TMAGEN_ERROR_MISS);
    assert_non_null(strstr(tmagen_error_last(), "k.cu: not in the cache"));
    assert_false(hits(NULL));
    assert_int_equal(compile("source", TMAGEN_FAIL_ON_MISS, &code), TMAGEN_OK);
    tmagen_code_free(&code);
    assert_int_equal(compile("other", TMAGEN_FAIL_ON_MISS, &code), TMAGEN_ERROR_MISS);
    assert_non_null(strstr(tmagen_error_last(), "there is no such entry"));
    assert_int_equal(compiles(), 1);
}

static void test_no_cache_is_neither_read_nor_written(void **state) {
    (void)state;
    tmagen_code code;
    assert_int_equal(compile("source", TMAGEN_NO_CACHE, &code), TMAGEN_OK);
    tmagen_code_free(&code);
    assert_int_not_equal(access(cache_dir, F_OK), 0);
}

static void test_bad_options(void **state) {
    (void)state;
    tmagen_code code;
    tmagen_compile_options options = {.arch = "sm_90a", .name = "../k.cu"};
    assert_int_equal(tmagen_compile("s", 1, &options, &code), TMAGEN_ERROR_ARGUMENT);
    options = (tmagen_compile_options){.arch = "sm_90a -I/", .name = "k.cu"};
    assert_int_equal(tmagen_compile("s", 1, &options, &code), TMAGEN_ERROR_ARGUMENT);
    options = (tmagen_compile_options){.name = "k.cu"};
    assert_int_equal(tmagen_compile("s", 1, &options, &code), TMAGEN_ERROR_ARGUMENT);
    assert_int_equal(compile("a\0b", 0, &code), TMAGEN_OK);
    tmagen_code_free(&code);
    options = (tmagen_compile_options){.arch = "sm_90a", .name = "k.cu"};
    assert_int_equal(tmagen_compile("a\0b", 3, &options, &code), TMAGEN_ERROR_ARGUMENT);
    assert_int_equal(tmagen_compile(NULL, 0, &options, &code), TMAGEN_ERROR_ARGUMENT);
    options.kind = (tmagen_kind)3;
    assert_int_equal(tmagen_compile("s", 1, &options, &code), TMAGEN_ERROR_ARGUMENT);
    options = (tmagen_compile_options){.arch = "sm_90a", .name = "k.cu", .mode = (tmagen_mode)3};
    assert_int_equal(tmagen_compile("s", 1, &options, &code), TMAGEN_ERROR_ARGUMENT);
    tmagen_code_free(NULL);
}

// ---- Machines without, or with another, NVRTC: in child processes, because a process finds it
// once

static int run_child(const char *nvrtc, tmagen_mode mode, const char *source) {
    pid_t child = fork();
    if (child == 0) {
        tmagen_code code;
        setenv("TMAGEN_NVRTC", nvrtc, 1);
        int status = compile(source, mode, &code);
        _exit(status ? -status : 100 + code.hit);
    }
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

// A warm cache that is moved to another machine serves there: another path, other times, another
// user, no NVRTC. Runs first, as what follows.
static void test_moved(void **state) {
    (void)state;
    char fake[4096], moved[4300], command[6 * 4300];
    strcpy(fake, getenv("TMAGEN_NVRTC"));
    assert_int_equal(run_child(fake, 0, "source"), 100);
    snprintf(moved, sizeof moved, "%s.moved", cache_dir);
    snprintf(command, sizeof command,
             "umask 077 && chmod 711 '%s/..' && cp -r '%s' '%s' && rm -r '%s' && "
             "find '%s' -type f -exec touch -d 2001-02-03 {} +",
             cache_dir, cache_dir, moved, cache_dir, moved);
    assert_int_equal(system(command), 0);
    setenv("TMAGEN_CACHE", moved, 1);
    assert_int_equal(run_child("/nonexistent", TMAGEN_FAIL_ON_MISS, "source"), 101);
    const pid_t child = geteuid() ? 0 : fork();
    if (child == 0 && !geteuid()) {
        snprintf(command, sizeof command, "chown -R 65534:65534 '%s'", moved);
        if (system(command) || setgid(65534) || setuid(65534)) _exit(1);
        if (access(moved, R_OK | X_OK)) _exit(101);  // the folders above are not for everybody
        _exit(run_child("/nonexistent", TMAGEN_FAIL_ON_MISS, "source"));
    }
    int status = 101 << 8;
    if (child) waitpid(child, &status, 0);
    assert_int_equal(WEXITSTATUS(status), 101);
}

// Runs first, before this process has looked for NVRTC.
static void test_without_nvrtc(void **state) {
    (void)state;
    char fake[4096], copy[4300], command[16384];
    strcpy(fake, getenv("TMAGEN_NVRTC"));
    assert_int_equal(run_child("/nonexistent", 0, "source"), -TMAGEN_ERROR_NO_COMPILER);
    assert_int_equal(run_child(fake, 0, "source"), 100);
    assert_int_equal(run_child("/nonexistent", 0, "source"), 101);
    assert_int_equal(run_child("/nonexistent", TMAGEN_FAIL_ON_MISS, "source"), 101);
    assert_int_equal(run_child("/nonexistent", 0, "other"), -TMAGEN_ERROR_NO_COMPILER);
    // Another compiler is another key, but production takes what it was shipped.
    snprintf(copy, sizeof copy, "%s.nvrtc.so", cache_dir);
    snprintf(command, sizeof command, "cp '%s' '%s' && printf x >>'%s'", fake, copy, copy);
    assert_int_equal(system(command), 0);
    assert_int_equal(run_child(copy, TMAGEN_FAIL_ON_MISS, "source"), 101);
    int other_build = run_child(copy, 0, "source");
    assert_true(other_build == 100 || other_build == 101);  // 101 where the linker wrote a build id
    assert_int_equal(run_child(copy, 0, "source"), 101);
}

// ---- Care

static void test_stat_list_clear(void **state) {
    (void)state;
    tmagen_cache_stats stats;
    assert_int_equal(tmagen_cache_stat(NULL, &stats), TMAGEN_OK);
    assert_int_equal(stats.entries, 0);
    assert_false(hits(NULL));
    assert_int_equal(tmagen_cache_stat(NULL, &stats), TMAGEN_OK);
    assert_int_equal(stats.entries, 1);
    assert_true(stats.bytes > 4096);
    assert_string_equal(stats.directory, cache_dir);
    assert_int_equal(tmagen_cache_clear(NULL, &stats), TMAGEN_OK);
    assert_int_equal(stats.removed, 1);
    assert_false(hits(NULL));
}

static void test_clear_removes_what_has_no_bytes(void **state) {
    (void)state;
    char key[TMAGEN_KEY_CHARS], path[4400];
    tmagen_cache_stats stats;
    assert_false(hits(key));
    entry_path(key, path);
    damage(path, 0, 0);
    assert_int_equal(tmagen_cache_clear(NULL, &stats), TMAGEN_OK);
    assert_int_equal(stats.removed, 1);
    assert_int_not_equal(access(path, F_OK), 0);
}

static void test_care_needs_room_for_its_answer(void **state) {
    (void)state;
    assert_int_equal(tmagen_cache_list(NULL, 0, NULL, NULL), TMAGEN_ERROR_ARGUMENT);
    assert_int_equal(tmagen_cache_stat(NULL, NULL), TMAGEN_ERROR_ARGUMENT);
    assert_int_equal(tmagen_cache_gc(NULL, -1, NULL), TMAGEN_ERROR_ARGUMENT);
    assert_int_equal(tmagen_cache_clear(NULL, NULL), TMAGEN_ERROR_ARGUMENT);
    assert_int_equal(tmagen_cache_prune(NULL, NULL), TMAGEN_ERROR_ARGUMENT);
    assert_int_equal(tmagen_compiler_describe(NULL, 8), TMAGEN_ERROR_ARGUMENT);
}

static int count_faults(const tmagen_cache_entry *entry, void *context) {
    *(int *)context += entry->fault != NULL;
    return 0;
}

static int faults(void) {
    int count = 0;
    assert_int_equal(tmagen_cache_list(NULL, 1, count_faults, &count), TMAGEN_OK);
    return count;
}

// The source is outside the digest, but inside the key: verify sees it, and so does a lookup.
static void test_verify_and_prune(void **state) {
    (void)state;
    char key[TMAGEN_KEY_CHARS], path[4400], text[65536];
    tmagen_cache_stats stats;
    assert_false(hits(key));
    assert_int_equal(faults(), 0);
    entry_path(key, path);
    int file = open(path, O_RDONLY);
    ssize_t bytes = read(file, text, sizeof text);
    close(file);
    char *source = memmem(text, (size_t)bytes, "source", 6);
    assert_non_null(source);
    damage(path, source - text, -1);
    assert_int_equal(faults(), 1);
    assert_int_equal(tmagen_cache_prune(NULL, &stats), TMAGEN_OK);
    assert_int_equal(stats.removed, 1);
    assert_int_equal(faults(), 0);
}

// Stores [count] entries, the first the longest unused.
static void store_many(int count) {
    for (int i = 0; i < count; ++i) {
        char source[32], path[4400];
        tmagen_code code;
        snprintf(source, sizeof source, "source %d", i);
        assert_int_equal(compile(source, 0, &code), TMAGEN_OK);
        entry_path(code.key, path);
        struct timespec used[2] = {{.tv_sec = time(NULL) - 1000 + i},
                                   {.tv_sec = time(NULL) - 1000 + i}};
        assert_int_equal(utimensat(AT_FDCWD, path, used, 0), 0);
        tmagen_code_free(&code);
    }
}

static void test_longest_unused_go_first(void **state) {
    (void)state;
    tmagen_cache_stats stats;
    tmagen_code code;
    store_many(10);
    assert_int_equal(compile("source 0", 0, &code), TMAGEN_OK);  // used now
    assert_true(code.hit);
    tmagen_code_free(&code);
    assert_int_equal(tmagen_cache_gc(NULL, 3 * 5000, &stats), TMAGEN_OK);
    assert_int_equal(stats.entries, 3);
    assert_int_equal(stats.removed, 7);
    assert_int_equal(compile("source 0", TMAGEN_FAIL_ON_MISS, &code), TMAGEN_OK);
    tmagen_code_free(&code);
    assert_int_equal(compile("source 1", TMAGEN_FAIL_ON_MISS, &code), TMAGEN_ERROR_MISS);
    assert_int_equal(compile("source 9", TMAGEN_FAIL_ON_MISS, &code), TMAGEN_OK);
    tmagen_code_free(&code);
}

static void test_stores_keep_to_the_limit(void **state) {
    (void)state;
    tmagen_cache_stats stats;
    setenv("FAKE_NVRTC_BYTES", "300000", 1);
    setenv("TMAGEN_CACHE_LIMIT", "1", 1);
    store_many(12);
    assert_int_equal(tmagen_cache_stat(NULL, &stats), TMAGEN_OK);
    assert_true(stats.bytes <= 1 << 20);
    assert_true(stats.entries >= 2);
    setenv("TMAGEN_CACHE_LIMIT", "0", 1);  // smaller than any entry: the one just made stays
    store_many(2);
    assert_int_equal(tmagen_cache_stat(NULL, &stats), TMAGEN_OK);
    assert_int_equal(stats.entries, 1);
    unsetenv("FAKE_NVRTC_BYTES");
    unsetenv("TMAGEN_CACHE_LIMIT");
}

static void test_what_killed_processes_left(void **state) {
    (void)state;
    char path[4400], alien[4400];
    tmagen_cache_stats stats;
    assert_false(hits(NULL));
    entry_path(".new-1-2-3", path);
    entry_path("somebody's file", alien);
    int held = open(path, O_CREAT | O_RDWR, 0600);
    fclose(fopen(alien, "w"));
    struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    futimens(held, old);
    flock(held, LOCK_EX);
    assert_int_equal(tmagen_cache_gc(NULL, -1, &stats), TMAGEN_OK);
    assert_int_equal(access(path, F_OK), 0);  // its writer lives
    close(held);
    assert_int_equal(tmagen_cache_gc(NULL, -1, &stats), TMAGEN_OK);
    assert_int_equal(stats.stale_files, 1);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_equal(access(alien, F_OK), 0);
    assert_true(hits(NULL));
}

// ---- Why

static void expect_why(const char *source, const char *arch, const char *words) {
    char text[4096];
    const tmagen_compile_options options = {.arch = arch, .name = "k.cu"};
    assert_int_equal(tmagen_cache_why(source, strlen(source), &options, text, sizeof text),
                     TMAGEN_OK);
    if (!strstr(text, words)) fail_msg("said '%s', not '%s'", text, words);
}

static void test_why(void **state) {
    (void)state;
    tmagen_code code;
    const char *source = "// header\nconstexpr int STAGES = 4;\nend\n";
    expect_why(source, "sm_90a", "no other entry is of this kernel");
    assert_int_equal(compile(source, 0, &code), TMAGEN_OK);
    tmagen_code_free(&code);
    expect_why(source, "sm_90a", "hit: ");
    expect_why(source, "sm_90", "arch: 'sm_90' here, 'sm_90a' there");
    expect_why("// other\nconstexpr int STAGES = 5;\nend\n", "sm_90a",
               "source: differs in line 2\n      here:  constexpr int STAGES = 5;\n"
               "      there: constexpr int STAGES = 4;\n");
    expect_why("// other\nconstexpr int STAGES = 4;\nend\n", "sm_90a", "source: differs in line 1");
    expect_why("// header\n", "sm_90a", "here:  (ends before)\n      there: constexpr");
}

#define TEST(name) cmocka_unit_test_setup(name, fresh)

int main(void) {
    use_fake("TMAGEN_NVRTC", "nvrtc.so");
    const struct CMUnitTest tests[] = {
        TEST(test_moved),
        TEST(test_without_nvrtc),
        TEST(test_second_time_is_a_hit),
        TEST(test_kinds_are_apart),
        TEST(test_a_cubin_with_its_ptx),
        TEST(test_outputs_that_cannot_be_had),
        TEST(test_warnings_of_the_compiler_are_kept),
        TEST(test_errors_are_not_kept),
        TEST(test_an_older_nvrtc_knows_fewer_options),
        TEST(test_threads_compile_once),
        TEST(test_fail_on_miss),
        TEST(test_no_cache_is_neither_read_nor_written),
        TEST(test_bad_options),
        TEST(test_stat_list_clear),
        TEST(test_clear_removes_what_has_no_bytes),
        TEST(test_care_needs_room_for_its_answer),
        TEST(test_verify_and_prune),
        TEST(test_longest_unused_go_first),
        TEST(test_stores_keep_to_the_limit),
        TEST(test_what_killed_processes_left),
        TEST(test_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
